"""Cells are called, shown, copied and let go of."""

import copy
import gc
import inspect
import weakref

import pytest

import msjax as ms
from msjax import Tensor, nn
from tests.nn.cell.trees import Leaf, Root, names, paths

# ---- calling


def test_call_errors():
    with pytest.raises(AttributeError, match="'construct'"):
        nn.Cell()(Tensor(1.0))
    for args, kwargs in [((), {}), ((Tensor(1.0), Tensor(1.0)), {}), ((), {"y": Tensor(1.0)})]:
        with pytest.raises(TypeError, match="construct"):
            Leaf()(*args, **kwargs)
    assert Leaf()(x=Tensor([1.0, 1.0])).tolist() == [1.0, 2.0]


def test_construct_may_return_anything():
    class Returns(nn.Cell):
        def construct(self, value):
            return value

    for value in (None, 3, "text", [1], {"a": Tensor(1.0)}, (1, (2, Tensor(3.0)))):
        assert Returns()(value) is value


def test_error_names_the_cell_it_was_raised_in():
    class Fails(nn.Cell):
        def construct(self, x):
            raise KeyError("no")

    net = nn.SequentialCell(nn.ReLU(), Fails())
    with pytest.raises(KeyError) as caught:
        net(Tensor(1.0))
    assert caught.value.__notes__ == ["in cell SequentialCell.1 (Fails)"]


def test_operator_error_names_operator_cell_and_operands():
    class Adds(nn.Cell):
        def construct(self, x):
            return x + Tensor([1.0, 2.0, 3.0])

    with pytest.raises(ValueError, match=r"(?s)'[Aa]dd' in cell SequentialCell\.0 \(Adds\).*shape=\[2\].*shape=\[3\]"):
        nn.SequentialCell(Adds())(Tensor([1.0, 2.0]))


# ---- text


def test_repr():
    assert str(nn.Cell()) == "Cell()" and repr(nn.SequentialCell()) == "SequentialCell()"
    assert str(Root()) == ("Root(\n  (branch): Branch(\n    (left): Leaf()\n    (right): Leaf()\n  )\n  (head): Leaf()\n)")


def test_extend_repr():
    class Shown(Leaf):
        def extend_repr(self):
            return "k=1"

    assert str(Shown()) == "Shown(k=1)"
    shown = Shown()
    shown.act = nn.ReLU()
    assert str(shown) == "Shown(\n  k=1\n  (act): ReLU()\n)"


def test_a_class_shows_the_signature_of_its_constructor():
    class Steep(nn.ELU):
        def __init__(self, factor, *more):
            super().__init__(2.0 * factor)

    assert list(inspect.signature(nn.Conv2d).parameters)[:3] == ["in_channels", "out_channels", "kernel_size"]
    assert str(inspect.signature(Steep)) == "(factor, *more)" and str(inspect.signature(nn.ELU)) == "(alpha=1.0)"
    assert str(inspect.signature(nn.CellList)) == "(*args: 'Any', **kwargs: 'Any')"
    with pytest.raises(AttributeError, match="type object 'Conv2d' has no attribute 'kernel'"):
        nn.Conv2d.kernel  # noqa: B018


def test_cells_are_no_sequences():
    with pytest.raises(TypeError, match="can't be iterated"):
        iter(Leaf())
    with pytest.raises(TypeError):
        len(Leaf())
    assert bool(Leaf()) is True and Leaf() != Leaf()
    leaf = Leaf()
    assert {leaf: 1}[leaf] == 1


# ---- copies and lifetime


def test_deepcopy():
    root = Root()
    root.head.register_forward_hook(lambda cell, args, out: out * 10)
    other = copy.deepcopy(root)
    x = Tensor([1.0, 1.0])
    want = root(x).tolist()
    assert other(x).tolist() == want
    assert paths(other) == paths(root) and names(other) == names(root)
    assert not {id(p) for p in root.get_parameters()} & {id(p) for p in other.get_parameters()}
    other.head.w.set_data(Tensor([0.0, 0.0]))
    assert root(x).tolist() == want


def test_deepcopy_keeps_what_is_shared():
    leaf = Leaf()
    net = copy.deepcopy(nn.CellList([leaf, leaf]))
    assert net[0] is net[1] and net[0] is not leaf


def test_deepcopy_has_hooks_of_its_own():
    seen = []
    leaf = Leaf()
    handle = leaf.register_forward_hook(lambda cell, args, out: seen.append(cell))
    other = copy.deepcopy(leaf)
    handle.remove()
    x = Tensor([1.0, 1.0])
    leaf(x)
    other(x)
    assert seen == [other]


def test_cells_and_their_parameters_go_when_nothing_needs_them():
    root = Root()
    ms.grad(root, 0, root.trainable_params())(Tensor([1.0, 1.0]))
    gone = [weakref.ref(root), weakref.ref(root.branch.left), weakref.ref(root.head.w)]
    del root
    gc.collect()
    assert [r() for r in gone] == [None] * 3


@pytest.mark.parametrize("layer", [nn.GRUCell, nn.ReflectionPad1d, nn.ExponentialDecayLR, ms.mint.nn.Conv2d])
def test_missing_arguments_are_told_by_the_name_of_the_layer(layer):
    with pytest.raises(TypeError, match=rf"^{layer.__name__}.__init__\(\) missing"):
        layer()
