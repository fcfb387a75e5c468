"""`Cell._cells` and `Cell._params`: mappings that change the cell; and constructors with an argument `cls`."""

from collections import OrderedDict

import pytest

import msjax as ms
from msjax import nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 3)
        self.out = nn.Dense(3, 1)
        self.w = ms.Parameter(ms.Tensor([1.0]), name="w")

    def construct(self, x):
        return self.out(self.fc(x)) * self.w


def names(net):
    return [p.name for p in net.get_parameters()], [path for path, _ in net.parameters_and_names()]


def test_they_list_the_members():
    net = Net()
    assert list(net._cells) == ["fc", "out"] and net._cells["fc"] is net.fc
    assert list(net._params) == ["w"] and net._params["w"] is net.w
    assert "w" not in net._cells and repr(net._cells).startswith("{'fc': Dense(")


def test_a_replaced_child_is_called_and_keeps_its_names():
    net, x = Net(), ms.Tensor([[1.0, 2.0]])
    compiled = ms.jit(net)
    compiled(x)
    net._cells["fc"] = nn.Dense(2, 3, weight_init="ones", bias_init="zeros")
    net._cells["out"] = nn.Dense(3, 1, weight_init="ones", bias_init="zeros")
    assert names(net)[0] == ["w", "weight", "bias", "weight", "bias"]
    assert names(net)[1] == ["w", "fc.weight", "fc.bias", "out.weight", "out.bias"]
    assert net(x).item() == compiled(x).item() == 9.0


def test_members_are_added_and_deleted():
    net = Net()
    net._cells["act"] = nn.ReLU()
    assert isinstance(net.act, nn.ReLU) and list(net.name_cells()) == ["fc", "out", "act"]
    del net._cells["act"]
    net._params.pop("w")
    assert not hasattr(net, "act") and not hasattr(net, "w")
    net._params["v"] = ms.Parameter(ms.Tensor([2.0]), name="q")
    assert net.v.name == "q" and names(net)[0][0] == "q"
    with pytest.raises(TypeError, match=r"Member 'x' of cell Net should be a Cell, not int 3\."):
        net._cells["x"] = 3
    with pytest.raises(KeyError):
        del net._cells["missing"]


def test_a_dict_replaces_them_all():
    net = Net()
    net._cells = OrderedDict(reversed(list(net._cells.items())))
    assert list(net._cells) == ["out", "fc"] and names(net)[0] == ["w", "out.weight", "out.bias", "fc.weight", "fc.bias"]
    net._cells = OrderedDict(a=nn.ReLU())
    assert str(net) == "Net(\n  (a): ReLU()\n)"


def test_a_subclass_may_keep_something_else_there():
    net = Net()
    net._params = {"lr": 3}
    assert net._params == {"lr": 3} and net.w is not None


def test_a_constructor_may_have_an_argument_cls():
    class Head(nn.Cell):
        def __init__(self, width, cls=2, *, deep=False):
            super().__init__()
            self.settings = width, cls, deep

    assert Head(1, cls=3).settings == (1, 3, False)
    assert Head(cls=4, width=2, deep=True).settings == (2, 4, True)
    with pytest.raises(TypeError, match="missing a required argument: 'width'"):
        Head(cls=4)
