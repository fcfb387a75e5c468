"""How tests of MindSpore's are run and told apart, on a small repository that is written here."""

import json
from pathlib import Path

import pytest

from tests.mindspore_tests.causes import cause
from tests.mindspore_tests.groups import GROUPS, Group, files_of
from tests.mindspore_tests.run import run

TESTS = """
import os
import mindspore as ms
import pytest

def test_passes():
    assert ms.__version__.startswith("2.") and float(ms.Tensor(2.0) * 3) == 6

def test_differs():
    assert float(ms.Tensor(2.0)) == 3

def test_dies():
    os._exit(3)

def test_comes_later():
    with pytest.raises(TypeError):
        ms.Tensor(1)
"""


@pytest.mark.long
def test_each_test_has_a_result(tmp_path):
    folder = tmp_path / "tests" / "st" / "nn"
    folder.mkdir(parents=True)
    file = "tests/st/nn/test_a.py"
    (tmp_path / file).write_text(TESTS)
    (tmp_path / "tests" / "vm_impl").mkdir()
    (tmp_path / "tests" / "vm_impl" / "vm_interface.py").write_text("vm = None\n")
    (tmp_path / "tests" / "__init__.py").write_text("")
    names = ["passes", "differs", "dies", "comes_later", "is_not_there"]
    found = run(tmp_path, [f"{file}::test_{name}" for name in names], "msjax", 60)
    assert {name: found[f"{file}::test_{name}"]["ends"] for name in names[:-1]} == {
        "passes": "passed", "differs": "failed", "dies": "died", "comes_later": "failed",
    }  # fmt: skip
    assert f"{file}::test_is_not_there" not in found
    causes = [cause(found[f"{file}::test_{name}"]) for name in names[1:-1]]
    assert causes == ["values differ", "the process dies", "no error"]


@pytest.mark.parametrize(
    "why, expected",
    [
        ("E   ImportError: msjax doesn't offer mindspore.common._monad.", "private name"),
        ("E   ImportError: msjax doesn't offer mindspore.train.BackupAndRestore.", "public name"),
        ("AttributeError: msjax doesn't offer mindspore.context.get_jit_config.", "public name"),
        ("AttributeError: 'int' object has no attribute 'x'", "attribute"),
        ("Failed: DID NOT RAISE TypeError", "no error"),
        ("assert 'a' in str(info.value)", "text of an error"),
        ("NotImplementedError: msjax doesn't offer mindspore.dataset.LFWDataset: it doesn't read such files.", "refused"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'x'", "environment"),
        ("not run", "not found"),
        ("AssertionError: Not equal to tolerance rtol=0.001", "values differ"),
    ],
)
def test_causes(why, expected):
    assert cause({"ends": "failed", "why": why}) == expected


def test_files_of_a_group(tmp_path):
    for name in ("st/nn/test_b.py", "st/nn/deep/test_hook.py", "st/nn/other.py", "st/ops/test_hook.py"):
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / name).write_text("")
    assert sorted(files_of(Group(("st/nn",)), tmp_path)) == ["tests/st/nn/deep/test_hook.py", "tests/st/nn/test_b.py"]
    assert sorted(files_of(Group(("st:hook",)), tmp_path)) == ["tests/st/nn/deep/test_hook.py", "tests/st/ops/test_hook.py"]


def test_every_group_has_tests_that_pass():
    passing = json.loads((Path(__file__).with_name("passing.json")).read_text())
    assert set(passing) == set(GROUPS)
    for name, files in passing.items():
        assert sum(map(len, files.values())) == GROUPS[name].most, name
