"""`msjax check`: the names in a program that msjax lacks, and that a run of the program stumbles over, too."""

import pytest

from msjax.cli import main

PROGRAM = """\
import mindspore as ms
import mindspore.nn as nn
from mindspore import Symbol, Tensor, utils
from mindspore.hub import distribution
from mindspore.ops import *
from mindspore.ops import operations as P, zeros_likes

try:
    from mindspore.nothing import fast
except ImportError:
    fast = None


def other(nn):
    return nn.NotOurs


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = nn.ReLU()
        self.b = nn.Conv2dThor(1, 1)
        self.c = P.Addd()

    def construct(self, x, ops=None):
        return add(x, x) + ops.whatever(x)


F = ms.ops
if __name__ == "__main__":
    print(F.nope(Tensor(1)), ms.utils.dryrun, Symbol(1), ms.ops.function.math_func.softmin)
    nn = None
    nn.gone()
"""
EXPECTED = {
    (3, "mindspore.utils"),
    (4, "mindspore.hub"),
    (6, "mindspore.ops.zeros_likes"),
    (22, "mindspore.nn.Conv2dThor"),
    (23, "mindspore.ops.operations.Addd"),
    (31, "mindspore.Symbol"),
    (31, "mindspore.ops.nope"),
    (31, "mindspore.utils"),
}


def test_missing_names_by_line_with_what_to_do(tmp_path, capsys, no_alias_left):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "net.py").write_text(PROGRAM)
    (tmp_path / "fine.py").write_text("import numpy as np\nfrom mindspore import nn\nprint(nn.Dense(1, 1), np.nothing)\n")
    assert main(["check", str(tmp_path)]) == 1
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == "7 names that msjax lacks in 2 files, and 1 name in branches and optional imports"
    *lines, between, optional = lines
    assert (
        between == "only in branches, or imported by programs that can do without:"
        and "net.py:9: mindspore.nothing: " in optional
    )
    found = {}
    for line in lines:
        path, number, name, advice = line.split(":", 3)
        assert path == str(tmp_path / "sub" / "net.py")
        found[int(number), name.strip()] = advice.strip()
    assert set(found) == EXPECTED
    assert found[6, "mindspore.ops.zeros_likes"].startswith("msjax has zeros_like. Write it with other operators")
    assert found[31, "mindspore.Symbol"] == "a program is compiled for each shape."
    assert main(["check", str(tmp_path / "fine.py")]) == 0
    assert capsys.readouterr().out == "no names that msjax lacks in 1 file\n"


BRANCHES = """\
import mindspore as ms
if ms.__version__ < "2.0":
    ms.old
else:
    ms.new
if ms.nn:
    ms.perhaps
net = ms.nn.Dense(1, 1)
net.anything, ms.train.serialization.load_checkpoint, ms.ops.operations._grad_ops
"""


def test_branches(tmp_path, capsys, no_alias_left):
    (tmp_path / "branches.py").write_text(BRANCHES)
    assert main(["check", str(tmp_path)]) == 1
    lines = [line.rpartition("branches.py:")[2].split(": ")[:2] for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if len(line) > 1] == [
        ["5", "mindspore.new"],
        ["3", "mindspore.old"],
        ["7", "mindspore.perhaps"],
    ]


@pytest.mark.parametrize("line", sorted({line for line, _ in EXPECTED if line < 10}))
def test_running_stumbles_over_the_same_imports(line, no_alias_left):
    from msjax.alias import install_as_mindspore

    install_as_mindspore(x64=False)
    (name,) = [name for number, name in EXPECTED if number == line]
    with pytest.raises(ImportError, match=rf"doesn't offer {name}"):
        exec(PROGRAM.splitlines()[line - 1])


def test_wrong_paths(tmp_path, capsys, no_alias_left):
    assert main(["check", str(tmp_path / "none.py")]) == 2
    (tmp_path / "bad.py").write_text("def f(:\n")
    assert main(["check", str(tmp_path / "bad.py")]) == 2
    err = capsys.readouterr().err
    assert "there is no file or folder" in err and "bad.py" in err


def test_files_of_a_folder_that_are_no_python_are_left_out(tmp_path, capsys, no_alias_left):
    (tmp_path / "bad.py").write_text("\ndef f(:\n")
    (tmp_path / "mark.py").write_bytes(b"\xef\xbb\xbffrom mindspore import nothing_of_this_name\n")
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\ntext = '\xe9'\n")
    assert main(["check", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert f"{tmp_path / 'mark.py'}:1: mindspore.nothing_of_this_name" in out and out.endswith("msjax lacks in 2 files\n")
    assert err.count("\n") == 1 and err.startswith(f"{tmp_path / 'bad.py'}:2: not read, since it is no Python: ")


def test_a_name_is_looked_up_where_python_does(tmp_path, capsys, monkeypatch, no_alias_left):
    """MindSpore has a module of this name beside the function, so that an import of the module alone would find something."""
    monkeypatch.delattr("msjax.nn.optim.thor", raising=False)  # an earlier import of the module sets it
    program = tmp_path / "program.py"
    program.write_text("from mindspore.nn.optim import Adam, thor\nfrom mindspore.train.serialization import export\n")
    assert main(["check", str(program)]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert "mindspore.nn.optim.thor: " in first and last.startswith("1 name ")
