"""PyTorch's names on cells."""

import pytest
from flax import nnx

import msjax as ms
from msjax import nn, ops


def net_of_two():
    return nn.SequentialCell(nn.ReLU(), nn.Tanh())


def test_modules_can_be_replaced_through_their_dict():
    net = net_of_two()
    assert list(net._modules) == ["0", "1"] and len(net._modules) == 2 and net._modules["1"] is net[1]
    net._modules["1"] = nn.Sigmoid()
    assert type(net[1]) is nn.Sigmoid and "Sigmoid" in repr(net._modules)
    outer = nn.Cell()
    outer.add_module("body", net)
    del outer._modules["body"]
    assert not outer._modules
    with pytest.raises(KeyError):
        del outer._modules["body"]
    with pytest.raises(TypeError):
        net._modules["1"] = 3


def test_shared_members_once_or_under_each_name():
    dense = nn.Dense(1, 1)
    net = nn.SequentialCell(dense, nn.Tanh(), dense)
    assert [n for n, _ in net.named_modules()] == ["", "0", "1"]
    assert [n for n, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1", "2"]
    assert [n for n, _ in net.named_parameters("net")] == ["net.0.weight", "net.0.bias"]
    assert [n for n, _ in net.named_parameters(remove_duplicate=False)] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert list(net.named_parameters(recurse=False)) == []


def test_lookups_and_registration():
    net = nn.SequentialCell(nn.Dense(2, 1))
    assert net.get_submodule("0") is net[0] and net.get_parameter("0.bias") is net[0].bias
    with pytest.raises(AttributeError, match=r"0\.nothing"):
        net.get_parameter("0.nothing")
    net.register_parameter("scale", ms.Parameter(ms.Tensor(2.0)))
    net.register_parameter("shift", None)
    assert net.scale.name == "scale" and net.shift is None


def test_requires_grad_of_all_parameters():
    net = nn.SequentialCell(nn.Dense(2, 1))
    assert net.requires_grad_(False) is net and not net.trainable_params()
    assert not net(ops.ones((1, 2))).requires_grad
    net.requires_grad_()
    assert net(ops.ones((1, 2))).requires_grad


def test_train_and_eval_reach_flax_modules_inside():
    class Mixed(nn.Cell):
        def __init__(self):
            super().__init__()
            self.act = nn.ReLU()
            self.dropout = nnx.Dropout(0.5, rngs=nnx.Rngs(0))

    net = Mixed()
    net.eval()
    assert net.dropout.deterministic and not net.training and not net.act.training
    net.train()
    assert not net.dropout.deterministic and net.training and net.act.training
    net.train(False)
    assert net.dropout.deterministic and not net.act.training


def test_names_may_be_used_for_members():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.children = nn.CellList([nn.ReLU()])
            self.modules = 3

        def construct(self, x):
            return self.children[0](x)

    net = Net()
    assert net(ms.Tensor(-1.0)).item() == 0.0
    assert [n for n, _ in net.named_modules()] == ["", "children", "children.0"]
    net.zero_grad()
