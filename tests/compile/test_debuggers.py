"""Debuggers in compiled code."""

import re

import pytest

DEBUGGED = """
import pdb
from pdb import set_trace
import msjax as ms
from msjax import nn

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(x) * 2

class Stopping(Net):
    def construct(self, x):
        breakpoint()
        return self.relu(x) * 2

def stopping_hook(cell, args, out):
    pdb.set_trace()

def stopping_modifier(cell, args, out):
    set_trace()
    return out * 1

x = ms.Tensor([3.0, 4.0])
print("in construct", ms.jit(Stopping())(x))

net = Net()
net.relu.register_forward_hook(stopping_modifier)
print("in a modifier", ms.jit(lambda x: net(x))(x))

net = Net()
net.relu.register_forward_hook(stopping_hook)
ms.set_context(mode=ms.GRAPH_MODE)
print("in a hook", net(x))
"""


@pytest.mark.long
def test_a_debugger_in_compiled_code_has_a_usable_prompt(forks, tmp_path):
    commands = [f"p 'value', {name}.asnumpy().sum()\nc\n" for name in ("x", "out", "out")]
    (tmp_path / "input").write_text("".join(commands))
    (tmp_path / "script.py").write_text(DEBUGGED)
    done = forks.command("run", tmp_path / "script.py", stdin=tmp_path / "input")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"in \w+(?: \w+)? \[.*\]|'value', .*7\.0.*|\(Pdb\)", done.stdout) == [
        line
        for place in ("in construct", "in a modifier", "in a hook")
        for line in ("(Pdb)", "'value', 7.0)", "(Pdb)", f"{place} [6. 8.]")
    ]
    assert done.stderr.count("runs in PyNative mode") == 2
