"""SequentialCell, CellList, CellDict."""

from collections import OrderedDict

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn


class Times(nn.Cell):
    def __init__(self, factor):
        super().__init__()
        self.factor = ms.Parameter(Tensor(float(factor)))

    def construct(self, x):
        return x * self.factor


def factors(cells):
    return [c.factor.item() for c in cells]


def names(cell):
    return [p.name for p in cell.get_parameters()]


NUMBERED = [nn.SequentialCell, nn.CellList]


@pytest.mark.parametrize("kind", NUMBERED)
def test_made_from_arguments_or_a_list(kind):
    for made in (kind(Times(2), Times(3)), kind([Times(2), Times(3)]), kind((Times(2), Times(3)))):
        assert factors(made) == [2, 3] and names(made) == ["0.factor", "1.factor"] and len(made) == 2
    assert len(kind()) == 0 and len(kind([])) == 0 and str(kind()) == f"{kind.__name__}()"


@pytest.mark.parametrize("kind", NUMBERED)
def test_indexing(kind):
    cells = kind([Times(i) for i in range(4)])
    assert cells[0] is next(iter(cells)) and cells[-1] is list(cells)[3]
    part = cells[1:3]
    assert type(part) is kind and factors(part) == [1, 2] and factors(cells[::-2]) == [3, 1]
    assert part[0] is cells[1]
    for bad, error in [(4, IndexError), (-5, IndexError), ("0", TypeError), (1.0, TypeError), (True, TypeError)]:
        with pytest.raises(error, match=kind.__name__):
            cells[bad]


@pytest.mark.parametrize("kind", NUMBERED)
def test_changes(kind):
    cells = kind([Times(0), Times(1), Times(2)])
    cells[1] = Times(7)
    cells[-1] = Times(8)
    assert factors(cells) == [0, 7, 8] and names(cells) == ["0.factor", "1.factor", "2.factor"]
    cells.append(Times(9))
    assert factors(cells) == [0, 7, 8, 9] and names(cells)[-1] == "3.factor"
    del cells[0]
    assert factors(cells) == [7, 8, 9] and [n for n, _ in cells.parameters_and_names()] == ["0.factor", "1.factor", "2.factor"]
    del cells[1:]
    assert factors(cells) == [7]
    for change in (lambda: cells.append(3), lambda: cells.__setitem__(0, 3), lambda: cells.__setitem__(0, None)):
        with pytest.raises(TypeError, match="should be a Cell"):
            change()
    for change in (lambda: cells.__setitem__(5, Times(1)), lambda: cells.__delitem__(5)):
        with pytest.raises(IndexError, match="out of range"):
            change()
    assert factors(cells) == [7]


@pytest.mark.parametrize("kind", NUMBERED)
def test_refuses_what_is_no_cell(kind):
    for bad in ([3], [Times(1), None], [Tensor(1.0)]):
        with pytest.raises(TypeError, match=f"'{kind.__name__}'|'CellList'"):
            kind(bad)


@pytest.mark.parametrize("kind", NUMBERED)
def test_one_cell_twice(kind):
    cell = Times(2)
    cells = kind([cell, cell])
    assert len(cells) == 2 and cells[0] is cells[1]
    assert [n for n, _ in cells.cells_and_names()] == ["", "0"] and names(cells) == ["1.factor"]
    assert list(cells.state_dict()) == ["0.factor", "1.factor"]


@pytest.mark.parametrize("kind", NUMBERED)
def test_truth_is_length(kind):
    assert not kind() and kind([Times(1)])


def test_sequential_calls_in_order():
    net = nn.SequentialCell(Times(2), Times(3), nn.ReLU())
    assert net(Tensor(5.0)).item() == 30.0
    assert nn.SequentialCell()(Tensor(5.0)).item() == 5.0
    assert ms.grad(net)(Tensor(5.0)).item() == 6.0
    twice = Times(2)
    assert nn.SequentialCell(twice, twice)(Tensor(1.0)).item() == 4.0


def test_sequential_with_names():
    net = nn.SequentialCell(OrderedDict([("first", Times(2)), ("act", nn.ReLU())]))
    assert names(net) == ["first.factor"] and net.first is net[0]
    assert str(net) == "SequentialCell(\n  (first): Times()\n  (act): ReLU()\n)"
    assert list(net[:1].name_cells()) == ["first"]
    net[0] = Times(5)
    assert net.first.factor.item() == 5.0
    del net[0]
    assert list(net.name_cells()) == ["act"]


def test_nested():
    net = nn.SequentialCell([Times(1), nn.SequentialCell([Times(2)]), nn.CellList([Times(3)])])
    assert names(net) == ["0.factor", "1.0.factor", "2.0.factor"]


def test_set_grad_of_containers_returns_none():
    net = nn.SequentialCell(Times(1))
    assert net.set_grad() is None and net.requires_grad is True and net[0].requires_grad is True


def test_list_insert_and_extend():
    cells = nn.CellList([Times(1)])
    cells.insert(0, Times(0))
    cells.insert(2, Times(3))
    cells.insert(-1, Times(2))
    assert factors(cells) == [0, 1, 2, 3] and [n for n, _ in cells.parameters_and_names()] == [f"{i}.factor" for i in range(4)]
    assert cells.extend([Times(4)]) is cells and cells.extend(nn.CellList([Times(5)])) is cells
    assert factors(cells) == [0, 1, 2, 3, 4, 5]
    for index, cell, error in [(7, Times(1), IndexError), ("a", Times(1), TypeError), (0, 3, TypeError)]:
        with pytest.raises(error, match="CellList"):
            cells.insert(index, cell)
    for bad in (3, [3], None):
        with pytest.raises(TypeError, match="CellList"):
            cells.extend(bad)
    assert len(cells) == 6


def test_lists_and_dicts_can_not_be_called():
    for cells in (nn.CellList([Times(1)]), nn.CellDict({"a": Times(1)})):
        with pytest.raises(NotImplementedError, match="can't be called"):
            cells(Tensor(1.0))


def test_list_without_auto_prefix():
    assert names(nn.CellList([Times(1)], auto_prefix=False)) == ["factor"]


def test_dict():
    cells = nn.CellDict({"a": Times(1), "b": Times(2)})
    assert list(cells) == list(cells.keys()) == ["a", "b"] and "a" in cells and "q" not in cells and len(cells) == 2
    assert [k for k, _ in cells.items()] == ["a", "b"] and factors(cells.values()) == [1, 2]
    assert cells["b"] is cells.b and names(cells) == ["a.factor", "b.factor"]
    cells["c"] = Times(3)
    cells["a"] = Times(4)
    assert names(cells) == ["a.factor", "b.factor", "c.factor"] and factors(cells.values()) == [4, 2, 3]
    cells.update([("d", Times(5))])
    cells.update({"d": Times(6)})
    cells.update(nn.CellDict([("e", Times(7))]))
    assert factors(cells.values()) == [4, 2, 3, 6, 7]
    assert cells.pop("d").factor.item() == 6.0 and "d" not in cells
    del cells["e"]
    assert list(cells) == ["a", "b", "c"]
    cells.clear()
    assert len(cells) == 0 and not cells and nn.CellDict() is not None


DICT_ERRORS = [
    (lambda d: d["q"], KeyError),
    (lambda d: d.pop("q"), KeyError),
    (lambda d: d.__delitem__("q"), KeyError),
    (lambda d: d.__setitem__("c", 3), TypeError),
    (lambda d: d.__setitem__(3, nn.ReLU()), TypeError),
    (lambda d: d.__setitem__("", nn.ReLU()), KeyError),
    (lambda d: d.__setitem__("a.b", nn.ReLU()), KeyError),
    (lambda d: d.__setitem__("keys", nn.ReLU()), KeyError),
    (lambda d: d.update(3), TypeError),
    (lambda d: d.update([("x",)]), ValueError),
    (lambda d: d.update({"x": 1}), TypeError),
    (lambda d: nn.CellDict(3), TypeError),
    (lambda d: nn.CellDict({"a": 1}), TypeError),
    (lambda d: nn.CellDict({}, {}), TypeError),
]


@pytest.mark.parametrize("act, error", DICT_ERRORS, ids=range(len(DICT_ERRORS)))
def test_dict_errors(act, error):
    cells = nn.CellDict({"a": Times(1)})
    with pytest.raises(error):
        act(cells)
    assert list(cells) == ["a"]


def test_sequential_calls_one_after_the_other():
    net = nn.SequentialCell(nn.Dense(4, 3), nn.ReLU(), nn.Dense(3, 2))
    x = Tensor(np.ones((2, 4), np.float32))
    np.testing.assert_array_equal(net(x).asnumpy(), net[2](net[1](net[0](x))).asnumpy())
    assert [p.name for p in net.get_parameters()] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert nn.SequentialCell()(3) == 3


def test_sequential_takes_lists_and_ordered_dicts():
    assert len(nn.SequentialCell([nn.ReLU(), nn.Tanh()])) == 2
    net = nn.SequentialCell(OrderedDict(fc=nn.Dense(4, 3), act=nn.ReLU()))
    assert [p.name for p in net.get_parameters()] == ["fc.weight", "fc.bias"]
    assert repr(net[1:]) == "SequentialCell(\n  (act): ReLU()\n)"


def test_sequential_is_edited():
    net = nn.SequentialCell(nn.ReLU(), nn.Tanh())
    net.append(nn.Sigmoid())
    net[0] = nn.Identity()
    del net[1]
    assert [type(c).__name__ for c in net] == ["Identity", "Sigmoid"]
    assert net[-1] is net[1] and len(net) == 2


def test_sequential_shows_its_list_of_cells():
    relu, tanh = nn.ReLU(), nn.Tanh()
    net = nn.SequentialCell(OrderedDict(a=relu, b=tanh))
    assert net.cell_list == [relu, tanh]
    net.append(nn.Sigmoid())
    assert len(net.cell_list) == 3

    class Own(nn.SequentialCell):
        def __init__(self):
            super().__init__(relu)
            self.cell_list = nn.CellList([tanh])

    assert list(Own().cell_list) == [tanh] and nn.SequentialCell().cell_list == []


@pytest.mark.parametrize("compiled", [lambda net: net, ms.jit])
def test_sequential_calls_no_cell_that_is_an_attribute(compiled):
    class Residual(nn.SequentialCell):
        def __init__(self):
            super().__init__(nn.ReLU())
            self.shortcut = nn.Tanh()

        def construct(self, x):
            return super().construct(x) + 10 * self.shortcut(x)

    x, net, plain = Tensor([-2.0, 1.0]), Residual(), nn.SequentialCell(nn.ReLU())
    np.testing.assert_allclose(compiled(net)(x).asnumpy(), np.maximum(x, 0) + 10 * np.tanh(x), rtol=1e-4)
    plain.act = nn.Tanh()
    assert len(plain) == 2 and compiled(plain)(x).asnumpy().tolist() == [0, 1]
    plain.append(nn.Identity())  # as in MindSpore, all are called from here on
    np.testing.assert_allclose(compiled(plain)(x).asnumpy(), np.tanh([0, 1]), rtol=1e-4)
    torch_like = nn.SequentialCell(nn.ReLU())
    torch_like.add_module("act", nn.Tanh())
    np.testing.assert_allclose(torch_like(x).asnumpy(), np.tanh([0, 1]), rtol=1e-4)


def test_list_is_edited_and_numbered_anew():
    cells = nn.CellList([nn.Dense(2, 2), nn.ReLU()])
    cells.append(nn.Dense(2, 1))
    cells.extend([nn.Tanh()])
    cells.insert(0, nn.Flatten())
    cells += [nn.Sigmoid()]
    assert [type(c).__name__ for c in cells] == ["Flatten", "Dense", "ReLU", "Dense", "Tanh", "Sigmoid"]
    assert list(cells.parameters_dict()) == ["1.weight", "1.bias", "3.weight", "3.bias"]
    del cells[0]
    assert list(cells.parameters_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert isinstance(cells[1:3], nn.CellList) and len(cells[1:3]) == 2


def test_dict_is_a_dict():
    cells = nn.CellDict({"a": nn.Dense(2, 2)})
    cells["b"] = nn.ReLU()
    cells.update([("c", nn.Tanh())])
    assert list(cells.keys()) == ["a", "b", "c"] and "b" in cells and len(cells) == 3
    assert [k for k, _ in cells.items()] == list(cells)
    assert [p.name for p in cells.get_parameters()] == ["a.weight", "a.bias"]
    assert isinstance(cells.pop("b"), nn.ReLU) and "b" not in cells
    cells.clear()
    assert len(cells) == 0 and not list(cells.get_parameters())


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: nn.SequentialCell(3), TypeError),
        (lambda: nn.SequentialCell([nn.ReLU()], [nn.ReLU()]), TypeError),
        (lambda: nn.SequentialCell(nn.ReLU())[5], IndexError),
        (lambda: nn.SequentialCell(nn.ReLU())["a"], TypeError),
        (lambda: nn.CellList([nn.ReLU(), 3]), TypeError),
        (lambda: nn.CellList(3), TypeError),
        (lambda: nn.CellList([nn.ReLU()]).insert(5, nn.Tanh()), IndexError),
        (lambda: nn.CellList([nn.ReLU()]).insert("a", nn.Tanh()), TypeError),
        (lambda: nn.CellList([nn.ReLU()]).extend(nn.Tanh()), TypeError),
        (lambda: nn.CellList([nn.ReLU()]).append(3), TypeError),
        (lambda: nn.CellList([nn.ReLU()])[1.0], TypeError),
        (lambda: nn.CellList([nn.ReLU()])(3), NotImplementedError),
        (lambda: nn.CellDict([("a", 3)]), TypeError),
        (lambda: nn.CellDict({"a": nn.ReLU()})["b"], KeyError),
        (lambda: nn.CellDict({"a": nn.ReLU()}).pop("b"), KeyError),
        (lambda: nn.CellDict().update(3), TypeError),
        (lambda: nn.CellDict().update([("x",)]), ValueError),
        (lambda: nn.CellDict({1: nn.ReLU()}), TypeError),
        (lambda: nn.CellDict({"": nn.ReLU()}), KeyError),
        (lambda: nn.CellDict({"a.b": nn.ReLU()}), KeyError),
        (lambda: nn.CellDict({"keys": nn.ReLU()}), KeyError),
        (lambda: nn.CellDict({"a": nn.ReLU()})(3), NotImplementedError),
    ],
)
def test_bad_uses_are_refused(call, error):
    with pytest.raises(error):
        call()


class Holder(nn.Cell):
    """Edits a container that is a member already."""

    def __init__(self, layers, edit):
        super().__init__()
        self.layers = layers
        edit(self.layers)


def dense():
    return nn.Dense(1, 1, has_bias=False)


def stage():
    return Holder(nn.CellList(), lambda cells: cells.extend([dense(), dense()]))


@pytest.mark.parametrize(
    "layers, edit, names",
    [
        (nn.CellList([dense()]), lambda c: c.append(dense()), ["layers.0.weight", "layers.1.weight"]),
        (nn.CellList(), lambda c: c.extend([dense(), dense()]), ["0.weight", "1.weight"]),
        (nn.CellList([dense(), dense()]), lambda c: c.insert(0, dense()), [f"layers.{i}.weight" for i in range(3)]),
        (nn.CellList([dense(), dense()]), lambda c: c.__delitem__(0), ["layers.0.weight"]),
        (nn.CellList([dense(), dense()]), lambda c: c.__setitem__(1, dense()), ["layers.0.weight", "layers.1.weight"]),
        (nn.SequentialCell([dense()]), lambda c: c.append(dense()), ["layers.0.weight", "layers.1.weight"]),
        (nn.CellDict({"a": dense()}), lambda c: c.update([("b", dense())]), ["layers.a.weight", "layers.b.weight"]),
        (
            nn.CellList(),
            lambda c: c.extend([stage(), stage()]),
            ["0.layers.0.weight", "0.layers.1.weight", "0.layers.1.layers.0.weight", "0.layers.1.layers.1.weight"],
        ),
    ],
)
def test_names_after_an_edit_are_mindspores(layers, edit, names):
    assert [p.name for p in Holder(layers, edit).get_parameters()] == names
