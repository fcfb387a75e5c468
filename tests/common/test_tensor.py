"""Tensor without operators: creation, attributes, numbers, numpy and jax, copies."""

import copy
import math
import operator
import pickle
import sys
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, ops
from msjax.common.initializer import One
from msjax.common.tensor import filled_like
from tests.x64 import needs_x64, present

# ---- creation

DEFAULT_TYPES = [
    (1, ms.int64),
    pytest.param(-(2**40), ms.int64, marks=needs_x64),
    (1.0, ms.float32),
    (True, ms.bool_),
    (1j, ms.complex128),
    ([1, 2], ms.int64),
    ((1, 2.5), ms.float32),
    ([1, 2j], ms.complex128),
    ([True, False], ms.bool_),
    ([], ms.float32),
    ([[1, 2], [3, 4]], ms.int64),
    (np.int8(3), ms.int8),
    (np.float64(1.0), ms.float64),
    (np.float16(1.0), ms.float16),
    (np.array([1.0]), ms.float64),
    (np.array([1.0], np.float32), ms.float32),
    (np.array([1], np.uint16), ms.uint16),
    (np.zeros((0, 3), np.float32), ms.float32),
    (jnp.array([1.0], jnp.bfloat16), ms.bfloat16),
    ([np.float32(1), np.float32(2)], ms.float32),
]


@pytest.mark.parametrize("data, dtype", DEFAULT_TYPES, ids=lambda v: str(v).replace("\n", " "))
def test_default_dtype(data, dtype):
    tensor = Tensor(data)
    assert tensor.dtype is present(dtype)
    assert tensor.shape == np.shape(data)
    np.testing.assert_array_equal(tensor.asnumpy(), np.asarray(data))


@pytest.mark.parametrize("dtype", [t for t in ms.dtype.all_types if t is not ms.bool_], ids=str)
def test_dtype_is_what_was_asked_for(dtype):
    tensor, dtype = Tensor([1, 2], dtype), present(dtype)
    assert tensor.dtype is dtype
    assert tensor.asnumpy().dtype == dtype.np
    assert tensor.asnumpy().tolist() == [1, 2]
    assert tensor.itemsize == dtype.np.itemsize == tensor.element_size()
    assert tensor.nbytes == 2 * tensor.itemsize


def test_conversion_to_int_cuts():
    assert Tensor([1.9, -1.9], ms.int32).asnumpy().tolist() == [1, -1]
    assert Tensor(Tensor([1.9]), ms.int64).asnumpy().tolist() == [1]
    assert Tensor([0, 3], ms.bool_).asnumpy().tolist() == [False, True]


def test_from_tensors():
    x = Tensor([1.0, 2.0])
    assert Tensor(x).asnumpy().tolist() == [1.0, 2.0]
    assert Tensor([x, x]).shape == (2, 2)
    assert Tensor([x, x]).dtype is ms.float32
    assert Tensor([Tensor(1), Tensor(2)]).dtype is present(ms.int64)
    assert Tensor([x[0], 5]).asnumpy().tolist() == [1.0, 5.0]


def test_data_is_copied():
    array = np.array([1.0, 2.0])
    tensor = Tensor(array)
    array[0] = 7
    assert tensor.asnumpy().tolist() == [1.0, 2.0]
    shown = tensor.asnumpy()
    shown[0] = 9
    assert tensor.asnumpy().tolist() == [1.0, 2.0]


def test_init():
    assert Tensor(shape=(2, 3), dtype=ms.float32, init=One()).asnumpy().tolist() == [[1.0] * 3] * 2
    assert Tensor(shape=2, dtype=ms.float16, init="zeros").dtype is ms.float16
    assert Tensor(shape=(2,), dtype=ms.float32, init="ones").init_data().asnumpy().tolist() == [1.0, 1.0]


def test_dlpack_hands_over_the_memory_but_no_recorded_gradient():
    x = Tensor([1.0, 2.0])
    assert np.from_dlpack(x).tolist() == jax.dlpack.from_dlpack(x).tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="whose gradient is being recorded"):
        ms.grad(lambda x: Tensor(np.from_dlpack(x * 2)).sum())(x)


def test_tensor_function_and_from_numpy():
    assert ms.tensor([1, 2], ms.float16).dtype is ms.float16
    assert ms.tensor(2.5).dtype is ms.float32
    assert ms.from_numpy(np.array([1, 2], np.int16)).dtype is ms.int16
    assert Tensor.from_numpy(np.ones((2, 1), np.float32)).shape == (2, 1)
    with pytest.raises(TypeError, match="numpy array, but got list"):
        Tensor.from_numpy([1])


BAD = [
    (("text",), {}, TypeError, "str"),
    (([1, "a"],), {}, TypeError, "numbers"),
    (([[1], [2, 3]],), {}, TypeError, "equal lengths"),
    ((np.array(["a"]),), {}, TypeError, "<U1"),
    ((np.array([None]),), {}, TypeError, "object"),
    (({},), {}, TypeError, "dict"),
    (([1, None],), {}, TypeError, "numbers"),
    ((), {}, TypeError, "got None"),
    ((None,), {}, TypeError, "got None"),
    (([1], "float32"), {}, TypeError, "'float32'"),
    (([1], np.float32), {}, TypeError, "numpy.float32"),
    (([1], float), {}, TypeError, "float"),
    (([1], ms.number), {}, TypeError, "concrete"),
    (([1],), {"init": "ones", "shape": (1,), "dtype": ms.float32}, ValueError, "not both"),
    ((), {"init": "ones"}, ValueError, "'shape' and 'dtype'"),
]


@pytest.mark.parametrize("args, kwargs, error, words", BAD, ids=lambda v: str(v)[:30])
def test_bad_arguments(args, kwargs, error, words):
    with pytest.raises(error, match=words):
        Tensor(*args, **kwargs)


# ---- what it says of itself


def test_shape_attributes():
    tensor = Tensor(np.zeros((2, 3, 4), np.int16))
    assert (tensor.shape, tensor.ndim, tensor.size) == ((2, 3, 4), 3, 24)
    assert tensor.dim() == tensor.ndimension() == 3
    assert tensor.numel() == tensor.nelement() == 24
    assert tensor.strides == (24, 8, 2)
    assert tensor.stride() == [12, 4, 1]
    assert tensor.stride(-1) == 1 and not tensor.is_pinned()
    assert tensor.is_contiguous() and tensor.contiguous() is tensor
    assert Tensor(1.0).shape == () and Tensor(1.0).strides == ()


@pytest.mark.parametrize(
    "dtype, floating, is_complex, signed",
    [
        (ms.float16, True, False, True),
        (ms.bfloat16, True, False, True),
        (ms.float64, True, False, True),
        (ms.int8, False, False, True),
        (ms.uint8, False, False, False),
        (ms.bool_, False, False, False),
        (ms.complex64, False, True, True),
    ],
    ids=str,
)
def test_kinds(dtype, floating, is_complex, signed):
    tensor = Tensor([0, 1], dtype)
    assert tensor.is_floating_point() is floating
    assert tensor.is_complex() is is_complex
    assert tensor.is_signed() is signed


def test_is_tensor():
    assert ms.is_tensor(Tensor(1)) and ms.is_tensor(ms.Parameter(1.0))
    assert not ms.is_tensor(1) and not ms.is_tensor(np.zeros(1)) and not ms.is_tensor(jnp.zeros(1))


def test_unknown_attribute():
    with pytest.raises(AttributeError, match=r"'frobnicate'.*from_jax"):
        _ = Tensor(1).frobnicate
    assert not hasattr(Tensor(1), "frobnicate")


# ---- Python numbers


def test_one_element_becomes_a_number():
    assert int(Tensor([1.7])) == 1
    assert float(Tensor([[2]])) == 2.0
    assert complex(Tensor(1 + 2j)) == 1 + 2j
    assert bool(Tensor([3])) is True and bool(Tensor(0.0)) is False
    assert [5, 6, 7][Tensor(1)] == 6
    assert list(range(Tensor(2))) == [0, 1]
    assert math.sqrt(Tensor(4.0)) == 2.0


@pytest.mark.parametrize("kind", [int, float, complex, bool])
def test_several_elements_become_no_number(kind):
    with pytest.raises(ValueError, match=r"\(2,\)"):
        kind(Tensor([1, 2]))
    with pytest.raises(ValueError, match=r"\(0,\)"):
        kind(Tensor([]))


def test_only_integers_are_indices():
    with pytest.raises(TypeError, match="Float32"):
        operator.index(Tensor(1.0))
    with pytest.raises(ValueError, match="one element"):
        operator.index(Tensor([1, 2]))


def test_item_and_tolist():
    assert Tensor(3).item() == 3 and isinstance(Tensor(3).item(), int)
    assert isinstance(Tensor([1.5]).item(), float)
    assert Tensor([[1, 2], [3, 4]]).item(3) == 4
    assert Tensor([[1, 2], [3, 4]]).item((1, 0)) == 3
    assert Tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert Tensor(7).tolist() == 7
    with pytest.raises(ValueError, match=r"\(2,\)"):
        Tensor([1, 2]).item()
    with pytest.raises(IndexError):
        Tensor([1, 2]).item(2)


def test_len_and_iteration():
    assert len(Tensor([[1, 2], [3, 4], [5, 6]])) == 3
    rows = list(Tensor([[1, 2], [3, 4]]))
    assert [type(r) for r in rows] == [Tensor, Tensor]
    assert [r.tolist() for r in rows] == [[1, 2], [3, 4]]
    assert list(Tensor([])) == []
    with pytest.raises(TypeError, match="0-d"):
        len(Tensor(1))
    with pytest.raises(TypeError, match="0-d"):
        iter(Tensor(1))


def test_identity_hash_and_membership():
    x, y = Tensor([1.0]), Tensor([1.0])
    assert hash(x) == hash(x) and hash(x) != hash(y)
    assert {x: "x", y: "y"}[y] == "y"
    assert 1.0 in x and 2.0 not in x
    assert isinstance(x == y, Tensor) and (x == y).tolist() == [True]


# ---- numpy and jax


def test_numpy_protocol():
    x = Tensor([[1, 2], [3, 4]])
    assert np.asarray(x).tolist() == [[1, 2], [3, 4]]
    assert np.asarray(x, np.float32).dtype == np.float32
    assert np.array(x, dtype=np.int8).dtype == np.int8
    assert np.sum(x.asnumpy()) == 10
    assert x.numpy().flags.writeable and x.asnumpy().flags.writeable
    assert type(np.array([1, 2]) * x) is Tensor
    assert type(np.float32(2) * Tensor([1.0])) is Tensor


def test_jax_takes_tensors():
    x = Tensor([1.0, 2.0])
    assert jnp.sin(x).dtype == jnp.float32
    assert jnp.asarray(x).tolist() == [1.0, 2.0]
    assert Tensor(jnp.arange(3)).tolist() == [0, 1, 2]


def test_is_a_pytree():
    tree = {"a": Tensor([1.0]), "b": (Tensor([2.0]), 3)}
    leaves, treedef = jax.tree.flatten(tree)
    assert [type(leaf) for leaf in leaves[:2]] == [type(jnp.zeros(1))] * 2 and leaves[2] == 3
    back = jax.tree.unflatten(treedef, leaves)
    assert type(back["b"][0]) is Tensor and back["b"][0].tolist() == [2.0]
    doubled = jax.tree.map(lambda v: v * 2, tree)
    assert doubled["a"].tolist() == [2.0] and doubled["b"][1] == 6
    (path, _), *_ = jax.tree_util.tree_leaves_with_path(Tensor(1))
    assert jax.tree_util.keystr(path) == ".value"


def test_crosses_jax_transformations():
    def f(x):
        assert type(x) is Tensor
        return x * x

    assert jax.jit(f)(Tensor([3.0])).tolist() == [9.0]
    assert jax.vmap(f)(Tensor([1.0, 2.0])).tolist() == [1.0, 4.0]
    slope = jax.grad(lambda x: jnp.asarray(f(x).sum()))(Tensor([3.0]))
    assert type(slope) is Tensor and slope.tolist() == [6.0]


def test_unknown_values_are_errors_that_say_so():
    def needs(read):
        with pytest.raises(TypeError, match=r"needs the value of a Tensor \(shape \(2,\), dtype Float32\)"):
            jax.jit(lambda x: read(x) and x)(Tensor([1.0, 2.0]))

    needs(lambda x: x.asnumpy())
    needs(lambda x: x.tolist())
    needs(lambda x: np.asarray(x))
    needs(lambda x: x.item(0))
    with pytest.raises(TypeError, match=r"bool\(\) needs the value"):
        jax.jit(lambda x: 1 if x else 2)(Tensor(1.0))


def test_text_and_values_under_jax_grad():
    seen = []

    def f(x):
        t = Tensor([5.0]) * ms.Tensor(x)
        seen.append((str(t), t.asnumpy().tolist()))
        return jnp.asarray((t * t).sum())

    assert jax.grad(f)(jnp.array([2.0], jnp.float32)).tolist() == [100.0]
    assert seen == [("[10.]", [10.0])]


def test_recorded_tensor_does_not_leave_the_tape_unnoticed():
    def leaks(x):
        with pytest.raises(RuntimeError, match="from_jax"):
            jnp.sin(x * 2)
        with pytest.raises(RuntimeError, match="stop_gradient"):
            jax.tree.map(lambda v: v, {"x": x * 2})
        return x + jnp.sin(ops.stop_gradient(x))

    assert ms.grad(leaks)(Tensor(3.0)).item() == 1.0
    y = Tensor(3.0)
    ms.grad(lambda x: x * y)(y)
    assert float(jnp.sin(y)) == pytest.approx(math.sin(3.0))


def test_list_operand_does_not_cut_the_gradient():
    x = Tensor([1.0, 2.0])
    assert (x + [1.0, 3.0]).tolist() == [2.0, 5.0]
    with pytest.raises(TypeError, match=r"ops\.stack"):
        ms.grad(lambda x: x + [x[0], 2.0])(x)
    with pytest.raises(TypeError, match=r"ops\.stack"):
        ms.grad(lambda x: [2.0, x[0]] ** x)(x)


@pytest.mark.parametrize("compiled", [lambda fn: fn, jax.jit], ids=["eager", "jax.jit"])
@pytest.mark.parametrize("function", [lambda x: x + [x[0], 2.0], lambda x: x + Tensor([x[0], 2.0])], ids=["operand", "Tensor"])
def test_jax_differentiates_along_lists_of_tensors(function, compiled):
    class Net(ms.nn.Cell):
        def construct(self, x):
            return function(x)

    apply, params, buffers = ms.functionalize(Net())
    gradient = compiled(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))
    assert gradient(jnp.array([1.0, 2.0])).tolist() == [2.0, 1.0]


# ---- copies


def test_copies():
    x = Tensor([1.0, 2.0])
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(other) is Tensor and other is not x and other.tolist() == [1.0, 2.0]
        other[0] = 7.0
        assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", [ms.bool_, ms.float16, ms.bfloat16, ms.int64, ms.complex64], ids=str)
def test_pickle_keeps_the_dtype(dtype):
    x = Tensor([[0, 1]], dtype)
    back = pickle.loads(pickle.dumps(x))
    assert back.dtype is present(dtype) and back.tolist() == x.tolist()


def test_deepcopy_keeps_what_is_shared():
    x = Tensor([1.0])
    a, b = copy.deepcopy([x, x])
    assert a is b and a is not x


def test_in_place_operator_makes_a_new_tensor():
    x = y = Tensor([1.0])
    x += 1
    assert x is not y and (x.tolist(), y.tolist()) == ([2.0], [1.0])


def test_setitem_writes_in_place():
    x = y = Tensor([1.0, 2.0])
    x[0] = 5
    assert y.tolist() == [5.0, 2.0] and x.dtype is ms.float32


def test_no_hidden_references():
    x = Tensor([1.0])
    gone = weakref.ref(x)
    assert sys.getrefcount(x) == 2
    y = x * 2
    del x
    assert gone() is None and y.tolist() == [2.0]


@pytest.mark.parametrize("make", [ms.Tensor, ms.tensor, lambda x: ms.Tensor(x, ms.float16)])
@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_a_tensor_made_of_a_tensor_passes_its_gradient(make, mode):
    ms.set_context(mode=mode)
    x = ms.Tensor(np.float32([1, 2]))
    assert ms.grad(lambda x: (make(x) * 3).sum())(x).asnumpy().tolist() == [3, 3]
    y = make(x)
    y += 1
    assert x.asnumpy().tolist() == [1, 2]


@needs_x64
def test_large_integers_are_unsigned():
    assert ms.Tensor(2**63).dtype == ms.uint64 and ms.Tensor(2**63).item() == 2**63


def test_integers_wrap_where_a_type_was_asked_for():
    assert ms.Tensor(-1, ms.uint8).item() == 255 and ms.Tensor(300, ms.uint8).item() == 44
    with pytest.raises(OverflowError, match="64 bits"):
        ms.Tensor(2**64)
    with pytest.raises(TypeError, match="got None"):
        ms.Tensor(None)


def test_data_device_and_set_dtype():
    x = ms.Tensor(np.float32([1.5, 2]))
    assert x.data.asnumpy().tolist() == [1.5, 2] and x.device == jax.default_backend().upper() and x.storage_offset() == 0
    assert ms.grad(lambda x: (x.data * 3).sum())(x).asnumpy().tolist() == [0, 0]
    x.data = ms.Tensor([7.0])
    assert x.asnumpy().tolist() == [7]
    assert x.set_dtype(ms.int32) == ms.int32 and x.dtype == ms.int32
    with pytest.raises(TypeError, match="set_dtype"):
        x.set_dtype("int32")


def test_arrays_compile_nothing():
    compiled = []
    listen = lambda name, _, **about: compiled.append(about) if "backend_compile" in name else None  # noqa: E731
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        x = Tensor(np.arange(37, dtype=np.float64).astype(np.float32))
        ms.Parameter(Tensor(np.ones((37, 2)), ms.float16))
        filled_like(jnp.asarray(x), 3)
        Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert not compiled


def test_an_array_of_its_own_memory():
    given = np.zeros(1 << 12, np.float32)
    tensor = Tensor(given)
    given[:] = 1
    assert not tensor.asnumpy().any()
