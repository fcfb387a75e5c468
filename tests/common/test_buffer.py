"""Buffers: state of a cell that is not trained."""

import copy

import pytest
from flax import nnx

import msjax as ms
from msjax import Parameter, Tensor, nn
from tests.x64 import present


def cell(persistent=True):
    c = nn.Cell()
    c.register_buffer("b", Tensor([1.0, 2.0]), persistent=persistent)
    return c


def test_is_a_tensor_of_the_cell():
    c = cell()
    assert isinstance(c.b, Tensor) and isinstance(c.b, nnx.BatchStat)
    assert not isinstance(c.b, Parameter)
    assert str(c.b) == "[1. 2.]" and repr(c.b).startswith("Tensor(shape=[2], dtype=Float32")
    assert type(c.b * 2) is Tensor and (c.b * 2).tolist() == [2.0, 4.0]
    assert list(c.get_parameters()) == []


def test_in_state_dict_only_if_persistent():
    assert list(cell().state_dict()) == ["b"]
    assert list(cell(persistent=False).state_dict()) == []
    assert [n for n, _ in cell(persistent=False).named_buffers()] == ["b"]
    assert cell().b.persistent is True and cell(False).b.persistent is False


def test_paths():
    net = nn.SequentialCell(cell(), nn.ReLU())
    assert [n for n, _ in net.named_buffers()] == ["0.b"]
    assert [n for n, _ in net.named_buffers(name_prefix="x")] == ["x.0.b"]
    assert list(net.named_buffers(recurse=False)) == []
    assert net.get_buffer("0.b") is net[0].b
    assert list(net.buffers()) == [net[0].b]
    for missing in ("q", "0.q", "1.b", "9.b", ""):
        with pytest.raises(AttributeError):
            net.get_buffer(missing)


def test_shared_buffer_is_listed_once():
    c = cell()
    net = nn.CellList([c, c])
    assert [n for n, _ in net.named_buffers()] == ["0.b"]


def test_empty_buffer():
    c = nn.Cell()
    c.register_buffer("b", None)
    assert c.b is None and list(c.state_dict()) == [] and list(c.buffers()) == []
    with pytest.raises(TypeError, match="buffer"):
        c.b = Tensor([1.0])
    c.register_buffer("b", Tensor([1.0]))
    assert list(c.state_dict()) == ["b"]


def test_write_in_place():
    c = cell()
    own = c.b
    c.b[0] = 7
    assert c.b is own and own.tolist() == [7.0, 2.0]
    c.load_state_dict({"b": Tensor([3.0, 4.0])})
    assert c.b is own and own.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("value", [Tensor([3.0]), 3, "text", Parameter(1.0)], ids=lambda v: type(v).__name__)
def test_assignment_is_refused(value):
    c = cell()
    with pytest.raises((TypeError, KeyError), match=r"'b'.*buffer"):
        c.b = value
    with pytest.raises(TypeError, match="buffer"):
        c.b += 1
    assert c.b.tolist() == [1.0, 2.0] and list(c.state_dict()) == ["b"]


def test_none_and_delete_take_it_away():
    c = cell()
    c.b = None
    assert c.b is None and list(c.state_dict()) == []
    c = cell()
    del c.b
    assert not hasattr(c, "b") and list(c.named_buffers()) == []


def test_registered_again():
    c = cell()
    c.register_buffer("b", Tensor([5]))
    assert c.b.tolist() == [5] and c.b.dtype is present(ms.int64)


BAD = [
    (("b", 3), TypeError),
    (("b", [1.0]), TypeError),
    ((3, Tensor(1.0)), TypeError),
    (("", Tensor(1.0)), KeyError),
    (("a.b", Tensor(1.0)), KeyError),
    (("training", Tensor(1.0)), KeyError),
    (("construct", Tensor(1.0)), KeyError),
    (("w", Tensor(1.0)), KeyError),
]


@pytest.mark.parametrize("args, error", BAD, ids=str)
def test_bad_arguments(args, error):
    c = nn.Cell()
    c.w = Parameter(1.0)
    with pytest.raises(error, match="register_buffer"):
        c.register_buffer(*args)


def test_a_buffer_takes_part_in_gradients_as_a_constant():
    c = cell()
    assert ms.grad(lambda x: (x * c.b).sum())(Tensor([5.0, 6.0])).tolist() == [1.0, 2.0]


def test_deepcopy():
    c = cell(persistent=False)
    other = copy.deepcopy(c)
    other.b[0] = 9
    assert c.b.tolist() == [1.0, 2.0] and other.b.tolist() == [9.0, 2.0]
    assert other.b.persistent is False and type(other.b) is type(c.b)
