"""SequentialCell, CellList, CellDict."""

from collections import OrderedDict

import numpy as np
import pytest

from msjax import Tensor, nn


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
