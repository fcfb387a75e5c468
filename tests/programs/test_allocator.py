"""Freed memory is kept in programs with Cells, not for hooks alone, and not where somebody else has decided about it."""

import os
import platform
import subprocess
import sys

import pytest

# Prints the fewest page faults of a call of a program with 48 MB of temporary memory.
PROGRAM = """
import resource
import jax, jax.numpy as jnp

def loss(w, x):
    for _ in range(3):
        x = jnp.tanh(x @ w)
    return x.sum()

step, x, w = jax.jit(jax.grad(loss)), jnp.ones((49152, 64), jnp.float32), jnp.full((64, 64), 1e-2, jnp.float32)
for _ in range(3):
    step(w, x).block_until_ready()
faults = []
for _ in range(8):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    step(w, x).block_until_ready()
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(min(faults))  # a system that is short of memory takes pages away meanwhile
"""
CELLS = "import msjax as ms; ms.Tensor"
HOOKS = "from msjax import hooks"
ASK = "from msjax.engine.programs.allocator import keep_freed_memory; print(keep_freed_memory())"


def printed(code, **variables):
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_", "LD_PRELOAD", "XLA_"))
    }
    run = [sys.executable, "-c", code]
    return subprocess.run(run, env={**environment, **variables}, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.long
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has the settings")
def test_programs_with_cells_keep_temporary_memory_and_hooks_alone_leave_the_allocator():
    assert int(printed(f"{CELLS}\n{PROGRAM}")) < 500
    assert int(printed(f"{HOOKS}\n{PROGRAM}")) > 5000


@pytest.mark.long
def test_what_somebody_else_has_set_stays():
    assert printed(ASK, MSJAX_KEEP_MEMORY="0") == "given back (MSJAX_KEEP_MEMORY=0)"
    assert printed(ASK, MALLOC_ARENA_MAX="4") == "as MALLOC_ARENA_MAX says"
    assert printed(ASK, MALLOC_TRIM_THRESHOLD_="100000") == "as MALLOC_TRIM_THRESHOLD_ says"
    assert printed(ASK, GLIBC_TUNABLES="glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1") == "as GLIBC_TUNABLES says"
    assert printed(ASK, GLIBC_TUNABLES="glibc.malloc.hugetlb=1") == "kept"
