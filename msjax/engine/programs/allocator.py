"""Settings of the C library that keep freed memory in the process.

XLA for CPUs takes the temporary memory of a program with malloc at each call and frees it afterwards. Above glibc's limits, malloc asks the
system for it and `free` gives it back, so that each call maps, zeroes and unmaps all of it: some 14,000 page faults and a fifth of the
time of a ResNet-18 step with 8 images of 64x64. With freed memory kept, there are none; a process is 3 to 10 % larger.

One arena instead of one for each thread: XLA's threads take this memory, and in arenas other than the first, glibc maps blocks of more
than 32 MB whatever the limits are. Eight threads of a data pipeline that do nothing but make small arrays take 1.1 times as long with it.
"""

from __future__ import annotations

import ctypes
import functools
import os

# mallopt's numbers, of glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_LARGEST = (1 << 31) - 1

VARIABLE = "MSJAX_KEEP_MEMORY"


@functools.cache
def keep_freed_memory() -> str:
    """Have the C library keep freed memory, once in a process, and before jax starts its threads.

    The environment variable MSJAX_KEEP_MEMORY=0 leaves its settings alone, as do settings of malloc in the environment (MALLOC_..., GLIBC_TUNABLES),
    another allocator (LD_PRELOAD) and other C libraries than glibc.

    Returns:
        str, "kept" or the reason why not.
    """
    if os.environ.get(VARIABLE, "1") == "0":
        return f"given back ({VARIABLE}=0)"
    own = [name for name in os.environ if name.startswith("MALLOC_") or name == "GLIBC_TUNABLES"]
    if own or "malloc" in os.environ.get("LD_PRELOAD", ""):
        return f"as {own[0] if own else 'LD_PRELOAD'} says"
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018
    except (OSError, AttributeError):
        return "given back (the C library is not glibc)"
    settings = (_ARENA_MAX, 1), (_MMAP_THRESHOLD, 1 << 30), (_TRIM_THRESHOLD, _LARGEST)
    return "kept" if all(libc.mallopt(*setting) for setting in settings) else "given back (glibc refuses the settings)"
