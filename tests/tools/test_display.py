"""tools.tree and tools.hooks_of: what of a network is shown."""

import functools
import subprocess
import sys

import pytest

import msjax as ms
from msjax import nn
from msjax.tools import hooks_of, tree


def look(cell, *values):
    pass


class Look:
    def __call__(self, *values):
        pass


def test_tree_shows_parameters_shapes_and_hooks():
    net = nn.SequentialCell(nn.Dense(20, 30), nn.BatchNorm1d(2), nn.ReLU())
    net[2].register_backward_hook(look)
    net[0].weight.register_hook(look)
    text = str(tree(net))
    assert "weight=Parameter(" in text and "(30, 20)" in text and "not trained" in text
    assert "2=ReLU(),  # hooks: backward: look" in text
    assert "gradient of weight: look" in text and "638 parameters" in text


def test_tree_in_a_notebook():
    net = nn.SequentialCell(nn.Dense(2, 3))
    net[0].register_forward_hook(look)
    page = tree(net)._repr_html_()
    assert "<script" in page and "treescope" in page
    with pytest.raises(TypeError, match="should be a flax nnx module"):
        tree(3)


def test_a_cell_may_be_what_shows_itself_in_a_notebook():
    class Shown(nn.SequentialCell):
        def _repr_html_(self):
            return tree(self)._repr_html_()

    page = Shown(Shown(nn.Dense(2, 3)), nn.ReLU())._repr_html_()
    assert "treescope" in page and len(page) < 2_000_000


def test_hooks_of():
    relu = nn.ReLU()
    assert hooks_of(relu) == {}
    relu.register_forward_hook(look)
    relu.register_forward_hook(Look(), prepend=True)
    relu.register_backward_pre_hook(functools.wraps(look)(lambda *values: None))
    assert hooks_of(relu) == {"forward": ["Look", "look"], "backward_pre": ["look"]}


def test_nothing_of_it_is_imported_with_msjax():
    code = "import msjax, sys; print([m for m in sys.modules if m.startswith('msjax.tools.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    assert callable(ms.tools.summary)
