"""SequentialCell, CellList, CellDict."""

from collections import OrderedDict

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
