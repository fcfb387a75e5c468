"""What `import msjax` brings, and what comes when it is first used."""

import subprocess
import sys

import pytest

from msjax import nn, ops


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_layers_and_operator_classes_are_imported_when_first_used():
    code = """
import sys, msjax as ms
def loaded(*names): return [n in sys.modules for n in names]
print(loaded("msjax.nn.layer.basic", "msjax.nn.optim", "msjax.ops.operations.math_ops", "msjax.nn.cell.base"))
from msjax import nn, ops
nn.Dense, ops.Add
print(loaded("msjax.nn.layer.basic", "msjax.ops.operations.math_ops"))
from msjax.nn import *
print(Dense is nn.Dense, "Adam" in dir(nn), "Add" in dir(ops), nn.optim.Adam is Adam)
"""
    assert run(code).splitlines() == ["[False, False, False, True]", "[True, True]", "True True True True"]


@pytest.mark.parametrize("module", [nn, ops])
def test_what_isnt_offered_is_said_in_both_ways_of_asking(module):
    name = module.__name__.replace("msjax", "mindspore")
    with pytest.raises(AttributeError, match=f"msjax doesn't offer {name}.NoSuchThing"):
        module.NoSuchThing  # noqa: B018
    with pytest.raises(ImportError, match=f"msjax doesn't offer {name}.NoSuchThing"):
        exec(f"from {module.__name__} import NoSuchThing")
    assert not hasattr(module, "_no_such_thing")
