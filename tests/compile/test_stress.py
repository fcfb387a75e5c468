"""Hooks that compute on large arrays, in every way to deliver them: nothing hangs. A watchdog ends the process that does."""

import subprocess
import sys

import pytest

SCRIPT = """
import faulthandler, sys
faulthandler.dump_traceback_later(240, exit=True)
import jax, numpy as np, msjax as ms
from msjax import nn, ops
STEPS = 15
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()
    def construct(self, x):
        return self.relu(x) * 2
count = [0, 0]
def forward(cell, args, out):
    count[0] += 1
    float((ops.matmul(out[:64], out) + 1).sum())
def backward(cell, gi, go):
    count[1] += 1
    float((ops.matmul(gi[0][:64], go[0]) + 1).sum())
x = ms.Tensor(np.full((1024, 1024), 1e-3, np.float32))

def hooked():
    net = Net()
    net.relu.register_forward_hook(forward)
    net.relu.register_backward_hook(backward)
    return net

def graph():
    net = hooked()
    ms.set_context(mode=ms.GRAPH_MODE)
    for _ in range(STEPS):
        ms.grad(net)(x)
    ms.set_context(mode=ms.PYNATIVE_MODE)

def functional(around):
    apply, params, buffers = ms.functionalize(hooked())
    step, v = jax.jit(jax.grad(around(lambda v: apply(params, buffers, v)[0].sum()))), jax.numpy.asarray(x)
    for _ in range(STEPS):
        out = step(v)
    jax.block_until_ready(out)
    ms.hooks.barrier()

def scanned(f):
    return lambda v: jax.lax.scan(lambda c, _: (c + f(v), None), 0.0, None, length=1)[0]

for name, run in {"graph": graph, "jit": lambda: functional(lambda f: f), "scan": lambda: functional(scanned)}.items():
    count[:] = [0, 0]
    run()
    print(name, *count)
"""


@pytest.mark.long
def test_large_arrays_in_hooks():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300)
    assert done.stdout == "graph 15 15\njit 15 15\nscan 15 15\n", done.stderr[-2000:]
