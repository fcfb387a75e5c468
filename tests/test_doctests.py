"""The examples in the docstrings of the package run and print what they show."""

import doctest
import importlib
import pkgutil

import pytest

import msjax
from tests.printed import Checker, same_print

# Packages that an installation may lack; modules that need them are skipped without them.
_OPTIONAL = ("PIL", "matplotlib", "orbax", "safetensors", "treescope", "IPython")


def module_names():
    names = [msjax.__name__]
    names += [m.name for m in pkgutil.walk_packages(msjax.__path__, "msjax.") if not m.name.endswith("__main__")]
    return names


@pytest.mark.parametrize("name", module_names())
def test_examples(name, tmp_path, monkeypatch, no_alias_left):
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _OPTIONAL:
            pytest.skip(f"needs {error.name}")
        raise
    runner = doctest.DocTestRunner(Checker(), optionflags=doctest.ELLIPSIS)
    report = []
    for example in doctest.DocTestFinder().find(module, name, globs={"__name__": "__main__"}):
        msjax.set_seed(0)
        runner.run(example, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize(
    "got, expected, same",
    [
        ("[-1.96351     0.42278463]", "[-1.9635102  0.4227843]", True),
        ("[1. 2.]\n", "[ 1.  2. ]", True),
        ("value= [ 1.00000000e+00]", "value= [ 1.00000012e+00]", True),
        ("[1.0 2.0]", "[1.0 2.1]", False),
        ("Tensor(shape=[2], dtype=Float32)", "Tensor(shape=[3], dtype=Float32)", False),
        ("Int32", "Int64", False),
        ("value=1.5", "value= 1.5", False),
        ("a\nb 1.0", "a b 1.0", False),
    ],
)
def test_printed_texts_are_compared_with_numbers_as_numbers(got, expected, same):
    assert same_print(got, expected) is same
