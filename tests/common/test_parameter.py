"""Parameter and ParameterTuple."""

import copy
import pickle

import jax
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import Parameter, ParameterTuple, Tensor
from tests.autograd.product import numbers
from tests.x64 import present


def make(name="w", data=(1.0, 2.0), **kwargs):
    return Parameter(Tensor(list(data)), name=name, **kwargs)


# ---- creation and name

DEFAULT_TYPES = [
    (Tensor([1.0]), ms.float32),
    ([1.0, 2.0], ms.float32),
    (1, ms.int32),
    (1.5, ms.float32),
    (np.ones(2), ms.float64),
    ([1, 2], ms.int64),
    (Tensor(1, ms.int64), ms.int64),
]


@pytest.mark.parametrize("data, dtype", DEFAULT_TYPES, ids=str)
def test_dtype(data, dtype):
    assert Parameter(data).dtype is present(dtype)


def test_is_a_tensor_and_an_nnx_param():
    w = make()
    assert isinstance(w, Tensor) and isinstance(w, nnx.Param) and isinstance(w, nnx.Variable)
    assert ms.is_tensor(w)
    assert (w.shape, w.ndim, w.size, len(w)) == ((2,), 1, 2, 2)


def test_data_is_a_plain_tensor_that_shares_the_value():
    w = make()
    data = w.data
    assert not isinstance(data, Parameter) and isinstance(data, Tensor)
    data.add_(1)
    data[0] = 7.0
    assert w.asnumpy().tolist()[0] == 7.0 and (data + 0).asnumpy().tolist() == w.asnumpy().tolist()
    w.data = Tensor([5.0, 6.0])
    assert w.asnumpy().tolist() == data.asnumpy().tolist() == [5.0, 6.0]
    assert jax.tree.leaves(data)[0].tolist() == [5.0, 6.0]
    assert ms.grad(lambda: (w.data * w).sum(), None, w)().asnumpy().tolist() == [5.0, 6.0]


def test_text():
    w = make(requires_grad=False)
    text = "Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=False)"
    assert str(w) == repr(w) == f"{w}" == text
    assert str([w]) == f"[{text}]"


def test_names():
    w = Parameter(1.0)
    assert not w.is_named and w.name.startswith("Parameter#")
    assert Parameter(1.0).name != w.name
    w.name = "v"
    assert w.is_named and w.name == "v"
    for anonymous in (None, ""):
        w.name = anonymous
        assert not w.is_named and w.name.startswith("Parameter#")
    assert not Parameter(1.0, name="").is_named


BAD = [
    (("text",), {}, TypeError),
    ((None,), {}, TypeError),
    ((1.0,), {"name": 3}, ValueError),
    ((1.0,), {"requires_grad": 1}, TypeError),
]


@pytest.mark.parametrize("args, kwargs, error", BAD, ids=str)
def test_bad_arguments(args, kwargs, error):
    with pytest.raises(error):
        Parameter(*args, **kwargs)


def test_bad_settings():
    w = make()
    with pytest.raises(ValueError, match="str, but got 3"):
        w.name = 3
    with pytest.raises(TypeError, match="bool, but got int 3"):
        w.requires_grad = 3
    assert w.name == "w" and w.requires_grad is True


def test_settings_without_effect_are_kept():
    w = make(layerwise_parallel=True, parallel_optimizer=False)
    assert w.layerwise_parallel is True and w.parallel_optimizer is False
    w.layerwise_parallel, w.parallel_optimizer = False, True
    assert w.layerwise_parallel is False and w.parallel_optimizer is True
    assert w.inited_param is None and w.init_data() is w


# ---- operators

BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "pow": lambda a, b: a**b,
    "matmul": lambda a, b: a @ b,
    "gt": lambda a, b: a > b,
    "eq": lambda a, b: a == b,
}


@pytest.mark.parametrize("op", BINARY.values(), ids=BINARY)
def test_operators_make_tensors(op):
    a, b = np.array([3.0, 5.0], np.float32), np.array([2.0, 4.0], np.float32)
    for x, y in [(Parameter(a), Tensor(b)), (Tensor(a), Parameter(b)), (Parameter(a), Parameter(b)), (Parameter(a), b)]:
        result = op(x, y)
        assert type(result) is Tensor
        np.testing.assert_allclose(result.asnumpy(), op(a, b), rtol=1e-6)


def test_what_tensors_can_not_parameters_can_not():
    for value in (Tensor([1, 2]), Parameter(Tensor([1, 2]))):
        for operation in (lambda v: v << 1, lambda v: 1 << v, lambda v: v >> 1, lambda v: 1 >> v):
            with pytest.raises(TypeError, match="unsupported operand"):
                operation(value)


IN_PLACE = ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "@="]


@pytest.mark.parametrize("sign", IN_PLACE)
def test_in_place_operators_make_tensors(sign):
    names = {"w": make(data=(4.0, 9.0)), "b": Tensor([2.0, 2.0]), "a": np.array([4.0, 9.0], np.float32)}
    before = names["w"]
    exec(f"w {sign} b\na {sign[:-1]}= b.asnumpy()" if sign != "@=" else "w @= b\na = a @ b.asnumpy()", names)
    assert type(names["w"]) is Tensor
    np.testing.assert_allclose(names["w"].asnumpy(), names["a"])
    assert before.tolist() == [4.0, 9.0]


def test_in_place_bits_make_tensors():
    w = before = Parameter(Tensor([6, 5]), name="w")
    w &= 4
    assert type(w) is Tensor and w.tolist() == [4, 4]
    w = before
    w |= 8
    w ^= 1
    assert type(w) is Tensor and w.tolist() == [15, 12] and before.tolist() == [6, 5]


def test_unary_and_index_make_tensors():
    w = make(data=(1.0, -2.0))
    for result, want in [(-w, [-1.0, 2.0]), (abs(w), [1.0, 2.0]), (w[0], 1.0), (w[::-1], [-2.0, 1.0]), (w.sum(), -1.0)]:
        assert type(result) is Tensor and result.tolist() == want
    assert [type(row) for row in w] == [Tensor, Tensor]


def test_hash_and_truth():
    w, v = make(), make()
    assert hash(w) != hash(v) and {w: 1, v: 2}[v] == 2
    assert bool(Parameter(0.0)) is False and bool(Parameter([3.0])) is True
    assert isinstance(w == w, Tensor)
    assert 1.0 in w and 5.0 not in w


# ---- data


def test_setitem_writes_in_place():
    w = make()
    w[0] = 5
    assert isinstance(w, Parameter) and w.name == "w" and w.tolist() == [5.0, 2.0]


def test_value_is_a_snapshot():
    w = make()
    value = w.value()
    w.set_data(Tensor([9.0, 9.0]))
    assert type(value) is Tensor and value.tolist() == [1.0, 2.0]


def test_set_data():
    w = make()
    assert w.set_data(Tensor([3, 4])) is w
    assert w.dtype is ms.float32 and w.tolist() == [3.0, 4.0]
    assert w.set_data(Tensor([[5.0]])).shape == (1, 1)
    assert w.set_data(7).shape == () and w.item() == 7.0
    n = Parameter(Tensor([1, 2]))
    assert n.set_data(Tensor([3.7, 4.0])).tolist() == [3, 4]
    w.set_data(make(data=(8.0, 9.0)))
    assert w.tolist() == [8.0, 9.0]
    for bad in (np.ones(2), [1.0, 2.0], "text", None):
        with pytest.raises(TypeError, match="'w' should be a Tensor or a number"):
            w.set_data(bad)


def test_clone():
    w = make(requires_grad=False)
    same = w.clone()
    assert same is not w and type(same) is Parameter
    assert (same.name, same.requires_grad, same.tolist()) == ("w", False, [1.0, 2.0])
    assert w.clone("zeros").tolist() == [0.0, 0.0]
    assert w.clone(3).tolist() == [3.0, 3.0]
    assert w.clone(Tensor([5.0, 6.0])).tolist() == [5.0, 6.0]
    assert w.clone(ms.common.initializer.One()).tolist() == [1.0, 1.0]
    assert not Parameter(1.0).clone().is_named


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w)), Parameter.copy],
    ids=["copy", "deep", "pickle", "own"],
)
def test_copies(duplicate):
    w = make(requires_grad=False)
    other = duplicate(w)
    assert type(other) is Parameter and other is not w
    assert (other.name, other.requires_grad, other.tolist()) == ("w", False, [1.0, 2.0])
    other[0] = 9.0
    assert w.tolist() == [1.0, 2.0]


def test_pytree_gives_the_value():
    (leaf,) = jax.tree.leaves(make(requires_grad=False))
    assert np.asarray(leaf).tolist() == [1.0, 2.0]


# ---- gradients


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_switching_requires_grad_counts_at_once(mode):
    ms.set_context(mode=mode)
    w, v, calls = make(), Parameter(Tensor([5.0, 6.0]), name="v"), []
    w.register_hook(calls.append)
    x = Tensor([3.0, 4.0])
    product = lambda x: (x * w * v).sum()  # noqa: E731
    of_both = ms.grad(product, None, [w, v])
    want_v = (x * w).tolist()
    for switched_on in (True, False, True):
        w.requires_grad = switched_on
        assert numbers(of_both(x)) == ([15.0, 24.0] if switched_on else [0.0, 0.0], want_v)
        assert numbers(ms.vjp(product, x, weights=w)[1](Tensor(1.0))[1]) == ([15.0, 24.0] if switched_on else [0.0, 0.0])
    assert len(calls) == 4


def test_gradient_after_set_data_is_of_the_new_value():
    w = make()
    f = lambda x: (x * w * w).sum()  # noqa: E731
    x = Tensor([1.0, 1.0])
    assert ms.grad(f, None, w)(x).tolist() == [2.0, 4.0]
    w.set_data(Tensor([10.0, 20.0]))
    assert ms.grad(f, None, w)(x).tolist() == [20.0, 40.0]
    assert ms.grad(f)(x).tolist() == [100.0, 400.0]


# ---- ParameterTuple


def test_parameter_tuple():
    a, b = make("a"), make("b")
    both = ParameterTuple(p for p in (a, b))
    assert isinstance(both, tuple) and both == (a, b) and both[1] is b
    assert ParameterTuple([]) == ()
    assert ParameterTuple([a, a])[1] is a
    clones = both.clone("new", init="ones")
    assert type(clones) is ParameterTuple
    assert [p.name for p in clones] == ["new.a", "new.b"] and clones[0].tolist() == [1.0, 1.0]
    assert a.tolist() == [1.0, 2.0] and a.name == "a"


@pytest.mark.parametrize(
    "members, error", [([1], TypeError), (3, TypeError), ([Tensor(1.0)], TypeError), ([None], TypeError)], ids=str
)
def test_parameter_tuple_refuses(members, error):
    with pytest.raises(error, match="ParameterTuple"):
        ParameterTuple(members)


def test_parameter_tuple_refuses_equal_names():
    with pytest.raises(ValueError, match="'w'"):
        ParameterTuple([make(), make()])
    with pytest.raises(TypeError, match="prefix"):
        ParameterTuple([make()]).clone(3)
