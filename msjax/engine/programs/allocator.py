"""Settings of the C library that keep freed memory in the process.

XLA for CPUs takes the temporary memory of a program with malloc at each call and frees it afterwards. Above glibc's limits, malloc asks the
system for it and `free` gives it back, so that each call maps, zeroes and unmaps all of it: some 14,000 page faults and a fifth of the
time of a ResNet-18 step with 8 images of 64x64. With freed memory kept, there are none; a process is 1 to 38 % larger.

Threads share eight arenas, of which each keeps what it once had. In a process with one, XLA's threads wait for one another's calls of malloc: a step of
LeNet-5 with one image takes 1.3 times as long (1.4 in PyNative mode), one of MobileNetV3-small with 8 images 1.2 times. But in arenas other than the
first, glibc maps blocks of about 64 MB and more whatever the limits are. Huge pages make that cheap, and only the environment that Python is started with
can ask for them (GLIBC_TUNABLES=glibc.malloc.hugetlb=1): an LSTM whose step has 120 MB of temporary memory takes 0.8 of the time with them.
"""

from __future__ import annotations

import ctypes
import functools
import os

# mallopt's numbers, of glibc's malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8
_LARGEST = (1 << 31) - 1
# glibc gives a whole heap of an arena, of 64 MB, back to the system unless there is to be as much room behind the last block.
_HEAP = 1 << 26

VARIABLE = "MSJAX_KEEP_MEMORY"


@functools.cache
def keep_freed_memory() -> str:
    """Have the C library keep freed memory, once in a process, and before jax starts its threads.

    The environment variable MSJAX_KEEP_MEMORY=0 leaves its settings alone, as do settings of malloc in the environment (MALLOC_..., but for huge pages
    GLIBC_TUNABLES), another allocator (LD_PRELOAD) and other C libraries than glibc.

    Returns:
        str, "kept" or the reason why not.
    """
    if os.environ.get(VARIABLE, "1") == "0":
        return f"given back ({VARIABLE}=0)"
    own = [name for name in os.environ if name.startswith("MALLOC_")]
    if "glibc.malloc." in os.environ.get("GLIBC_TUNABLES", "").replace("glibc.malloc.hugetlb", ""):
        own.append("GLIBC_TUNABLES")
    if "malloc" in os.environ.get("LD_PRELOAD", ""):
        own.append("LD_PRELOAD")
    if own:
        return f"as {own[0]} says"
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018
    except (OSError, AttributeError):
        return "given back (the C library is not glibc)"
    settings = (_MMAP_THRESHOLD, 1 << 30), (_TRIM_THRESHOLD, _LARGEST), (_TOP_PAD, _HEAP), (_ARENA_MAX, 8)
    return "kept" if all(libc.mallopt(*setting) for setting in settings) else "given back (glibc refuses the settings)"
