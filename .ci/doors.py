"""Both doors of an installed msjax: the Python code of README.md prints what README.md shows, and `msjax run` runs a script.

Run with the Python of an environment that has msjax's wheel and nothing of the checkout, in a folder outside of it:
`python .../.ci/doors.py .../README.md`. Prints the seconds of each door's first example and the number of installed packages.
"""

import contextlib
import importlib.metadata
import io
import re
import subprocess
import sys
import time
from pathlib import Path

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = """
import mindspore as ms
from mindspore import nn, ops

net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
net.register_backward_hook(lambda cell, grad_input, grad_output: print(cell.cls_name, grad_output[0]))
print(ops.sum(ms.grad(net)(ms.Tensor([[1.0, 2.0]]))))
"""
TEST = """
import msjax as ms
from msjax import hooks, nn, tools


def test_doors(hook_log):
    net = nn.ReLU()
    log = hook_log(net)
    assert float(net(ms.Tensor([2.0])).asnumpy()[0]) == 2.0 and tools.hooks_of(net) and log and hooks.capture
"""


def readme(path):
    """Run README's Python blocks, in order, as one program, and compare what they print with the blocks of text behind them."""
    names, fences = {"__name__": "__main__"}, FENCE.findall(path.read_text())
    for (language, code), (following, shown) in zip(fences, [*fences[1:], ("", "")]):
        if language != "python":
            continue
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, str(path), "exec"), names)
        expected = shown if following == "text" else ""
        assert printed.getvalue() == expected, f"README shows\n{expected}\nbut this is printed:\n{printed.getvalue()}"
        print(f"{code.splitlines()[0]} ...: {time.perf_counter() - start:.1f} s")


def script():
    """Run a MindSpore script by the command that the wheel installs."""
    Path("script.py").write_text(SCRIPT)
    command = Path(sys.executable).with_name("msjax")
    printed = subprocess.run([command, "run", "script.py"], check=True, capture_output=True, text=True).stdout
    assert printed == "Dense [[1.]]\n2.0\n", printed
    print("msjax run script.py: done")


def under_pytest():
    """Run a test with pytest, which loads the packages of its plugins, msjax among them, in a way of its own."""
    Path("test_doors.py").write_text(TEST)
    subprocess.run([sys.executable, "-m", "pytest", "-q", "test_doors.py"], check=True)


def main():
    if sys.argv[1] == "pytest":
        return under_pytest()
    import msjax

    checkout = Path(__file__).resolve().parent.parent
    installed = Path(msjax.__file__).resolve()
    assert checkout not in installed.parents or "site-packages" in installed.parts, f"{installed} is the checkout, not the wheel"
    readme(Path(sys.argv[1]))
    script()
    print(
        f"msjax {importlib.metadata.version('msjax')} of {installed.parent}, {len(list(importlib.metadata.distributions()))} packages in all"
    )


main()
