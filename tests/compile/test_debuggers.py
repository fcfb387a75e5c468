"""Debuggers in compiled code."""

import subprocess
import sys
import textwrap

import pytest

DEBUGGED = """
import msjax as ms
from msjax import nn
import pdb

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()

    def construct(self, x):
        {construct}
        return self.relu(x) * 2

def hook(cell, args, out):
    {hook}

def modifier(cell, args, out):
    {modifier}
    return out * 1

net = Net()
net.relu.register_forward_hook(hook)
net.relu.register_forward_hook(modifier)
x = ms.Tensor([3.0, 4.0])
{run}
print("the end")
"""


@pytest.mark.parametrize(
    ("place", "call", "run"),
    [
        ("construct", "breakpoint()", "print(ms.jit(net)(x))"),
        ("hook", "pdb.set_trace()", "ms.set_context(mode=ms.GRAPH_MODE); print(net(x))"),
        ("modifier", "set_trace()", "print(ms.jit(lambda x: net(x))(x))"),
    ],
)
def test_a_debugger_in_compiled_code_has_a_usable_prompt(place, call, run):
    where = {"construct": "pass", "hook": "pass", "modifier": "pass", place: call}
    code = DEBUGGED.format(run=run, **where).replace("import pdb", "import pdb\nfrom pdb import set_trace")
    name = "x" if place == "construct" else "out"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        input=f"p 'value', {name}.asnumpy().sum()\nc\n",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("(Pdb)") == 2 and "('value', " in done.stdout and "7.0" in done.stdout
    assert done.stdout.endswith("[6. 8.]\nthe end\n")
    assert ("runs in PyNative mode" in done.stderr) == (place != "hook")
