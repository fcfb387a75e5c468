"""Hooks that compute on large arrays, in every delivery route: nothing hangs. A watchdog ends the process that does."""

import subprocess
import sys

import pytest

SCRIPT = """
import faulthandler, sys
faulthandler.dump_traceback_later(240, exit=True)
import jax, numpy as np, msjax as ms
from msjax import nn, ops
STEPS = int(sys.argv[2])
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()
    def construct(self, x):
        return self.relu(x) * 2
net, count = Net(), [0, 0]
def forward(cell, args, out):
    count[0] += 1
    float((ops.matmul(out[:64], out) + 1).sum())
def backward(cell, gi, go):
    count[1] += 1
    float((ops.matmul(gi[0][:64], go[0]) + 1).sum())
net.relu.register_forward_hook(forward)
net.relu.register_backward_hook(backward)
x = ms.Tensor(np.full((1024, 1024), 1e-3, np.float32))
route = sys.argv[1]
if route == "graph":
    ms.set_context(mode=ms.GRAPH_MODE)
    for _ in range(STEPS):
        ms.grad(net)(x)
else:
    apply, params, buffers = ms.functionalize(net)
    f = lambda v: apply(params, buffers, v)[0].sum()
    if route == "scan":
        f = lambda v: jax.lax.scan(lambda c, _: (c + apply(params, buffers, v)[0].sum(), None), 0.0, None, length=1)[0]
    step = jax.jit(jax.grad(f))
    v = jax.numpy.asarray(x)
    for _ in range(STEPS):
        out = step(v)
    jax.block_until_ready(out)
    ms.hooks.barrier()
assert count == [STEPS, STEPS], count
print("done")
"""


@pytest.mark.parametrize("route", ["graph", "jit", "scan"])
def test_large_arrays_in_hooks(route):
    done = subprocess.run([sys.executable, "-c", SCRIPT, route, "15"], capture_output=True, text=True, timeout=300)
    assert done.stdout == "done\n", done.stderr[-2000:]
