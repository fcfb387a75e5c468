"""What is not a training step: an operator, a cell's construction, importing, first calls, memory."""

import os
import subprocess
import sys
import tempfile
import timeit

import jax
import numpy as np

import msjax as ms
from msjax import nn
from tests.bench import others


def add(repeats, number=2000):
    """(ratios, seconds of each): eager a + b of Tensors against jax.jit(add)(a, b)."""
    a, b = ms.Tensor(np.ones(3, np.float32)), ms.Tensor(np.ones(3, np.float32))
    x, y = a._value, b._value
    compiled = jax.jit(lambda x, y: x + y)
    a + b, compiled(x, y)
    return _paired(lambda: a + b, lambda: compiled(x, y), repeats, number)


def construction(repeats, number=2000):
    """Microseconds of nn.Cell(), one for each repetition."""
    return [1e6 * timeit.timeit(nn.Cell, number=number) / number for _ in range(repeats)]


def _paired(ours, theirs, repeats, number):
    times = [(timeit.timeit(ours, number=number) / number, timeit.timeit(theirs, number=number) / number) for _ in range(repeats)]
    return [a / b for a, b in times], [min(t[i] for t in times) for i in (0, 1)]


_IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def importing(repeats):
    """As `add`: `import msjax` against `import jax, flax.nnx`, in new processes."""

    # Both from bytecode, as an installed package has it.
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}

        def seconds(what):
            command = [sys.executable, "-c", _IMPORT.format(what)]
            done = subprocess.run(command, cwd=others.ROOT, env=environment, capture_output=True, text=True, check=True)
            return float(done.stdout)

        seconds("msjax"), seconds("jax, flax.nnx")
        times = [(seconds("msjax"), seconds("jax, flax.nnx")) for _ in range(repeats)]
    return [a / b for a, b in times], [min(t[i] for t in times) for i in (0, 1)]
