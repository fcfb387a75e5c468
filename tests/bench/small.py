"""Measurements other than training steps: an operator, a cell's construction, importing, first calls, memory."""

import os
import subprocess
import sys
import tempfile
import time
import timeit

import jax
import jax.numpy as jnp
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


HOOKS = 10


def callbacks(repeats, each_step, number=100):
    """As `add`: ten backward hooks under jax.jit, waited for at each step or after `number` steps, against jax.debug.callback.

    What the same program without hooks takes is taken off both.
    """
    x = jnp.ones((8, 8), jnp.float32)
    plain, ours, theirs = _hooked_chain(None), _hooked_chain(_discard), _chain_with_debug_callbacks()

    def seconds(program, wait):
        started = time.perf_counter()
        for _ in range(number):
            program(x)
            if each_step:
                wait()
        wait()
        return (time.perf_counter() - started) / number

    def step():
        without = seconds(plain, lambda: None)
        return seconds(ours, ms.hooks.barrier) - without, seconds(theirs, jax.effects_barrier) - without

    step()
    times = [step() for _ in range(repeats)]
    return [a / b for a, b in times], [min(t[i] for t in times) for i in (0, 1)]


def empty_barrier(repeats, number=1000):
    """Milliseconds of ms.hooks.barrier() with nothing pending, one for each repetition."""
    _hooked_chain(_discard)(jnp.ones((8, 8), jnp.float32))
    ms.hooks.barrier()
    return [1e3 * timeit.timeit(ms.hooks.barrier, number=number) / number for _ in range(repeats)]


def _discard(cell, grad_input, grad_output):
    pass


def _hooked_chain(hook):
    net = nn.SequentialCell(*[nn.Tanh() for _ in range(HOOKS)])
    for cell in net:
        if hook is not None:
            cell.register_backward_hook(hook)
    apply, params, buffers = ms.functionalize(net)
    return jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))


def _chain_with_debug_callbacks():
    @jax.custom_vjp
    def watched(x):
        return x

    def backward(_, gradient):
        jax.debug.callback(lambda value: None, gradient)
        return (gradient,)

    watched.defvjp(lambda x: (x, None), backward)

    def run(x):
        for _ in range(HOOKS):
            x = jnp.tanh(watched(x))
        return x.sum()

    return jax.jit(jax.grad(run))


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
