"""Data types: names, conversions, singletons."""

import copy
import pickle

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import msjax as ms
from msjax.common import dtype as mstype
from tests.x64 import X64

NAMES = [
    (ms.bool_, "Bool", "mindspore.bool", np.bool_, bool, 1),
    (ms.int8, "Int8", "mindspore.int8", np.int8, int, 1),
    (ms.int16, "Int16", "mindspore.int16", np.int16, int, 2),
    (ms.int32, "Int32", "mindspore.int32", np.int32, int, 4),
    (ms.int64, "Int64", "mindspore.int64", np.int64, int, 8),
    (ms.uint8, "UInt8", "mindspore.uint8", np.uint8, int, 1),
    (ms.uint16, "UInt16", "mindspore.uint16", np.uint16, int, 2),
    (ms.uint32, "UInt32", "mindspore.uint32", np.uint32, int, 4),
    (ms.uint64, "UInt64", "mindspore.uint64", np.uint64, int, 8),
    (ms.float16, "Float16", "mindspore.float16", np.float16, float, 2),
    (ms.float32, "Float32", "mindspore.float32", np.float32, float, 4),
    (ms.float64, "Float64", "mindspore.float64", np.float64, float, 8),
    (ms.bfloat16, "BFloat16", "mindspore.bfloat16", ml_dtypes.bfloat16, float, 2),
    (ms.complex64, "Complex64", "mindspore.complex64", np.complex64, complex, 8),
    (ms.complex128, "Complex128", "mindspore.complex128", np.complex128, complex, 16),
]


@pytest.mark.parametrize("dtype, text, code, np_type, py_type, size", NAMES, ids=lambda v: str(v))
def test_names_and_counterparts(dtype, text, code, np_type, py_type, size):
    assert (str(dtype), repr(dtype)) == (text, code)
    assert ms.dtype_to_nptype(dtype) is np_type
    assert ms.dtype_to_pytype(dtype) is py_type
    assert ms.pytype_to_dtype(np_type) is dtype
    assert ms.pytype_to_dtype(np.dtype(np_type)) is dtype
    assert mstype.from_np(np_type) is dtype
    assert mstype.type_size_in_bytes(dtype) == size


def test_aliases_are_the_same_objects():
    assert ms.half is ms.float16 and ms.single is ms.float32 and ms.double is ms.float64
    assert ms.byte is ms.int8 and ms.short is ms.int16 and ms.intc is ms.int32 and ms.long is ms.int64
    assert ms.ubyte is ms.uint8 and ms.uintc is ms.uint32 and ms.uintp is ms.uint64


def test_python_types():
    assert ms.pytype_to_dtype(bool) is ms.bool_
    assert ms.pytype_to_dtype(int) is ms.int64
    assert ms.pytype_to_dtype(float) is ms.float64
    assert ms.get_py_obj_dtype(1) is ms.int64
    assert ms.get_py_obj_dtype([1]) is ms.list_
    assert ms.dtype_to_pytype(ms.string) is str
    for unknown in (dict, object, "no type"):
        with pytest.raises(NotImplementedError):
            ms.pytype_to_dtype(unknown)
    with pytest.raises(NotImplementedError):
        ms.get_py_obj_dtype(lambda: 1)


def test_singletons_survive_copies_and_pickle():
    for dtype in (*ms.dtype.all_types, ms.number, ms.string, ms.tensor_type):
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert copy.deepcopy(dtype) is dtype and copy.copy(dtype) is dtype
    assert len({ms.float32, ms.float32, ms.float64}) == 2
    assert ms.float32 == ms.float32 and ms.float32 != ms.float64 and ms.float32 != np.float32


def test_groups():
    assert set(ms.dtype.number_type) == set(ms.dtype.int_type + ms.dtype.uint_type + ms.dtype.float_type + ms.dtype.complex_type)
    assert ms.bool_ not in ms.dtype.number_type and ms.bool_ in ms.dtype.all_types
    assert {t.kind for t in ms.dtype.float_type} == {"f"}


@pytest.mark.parametrize(
    "value, dtype",
    [("float32", ms.float32), ("Int8", ms.int8), ("bool_", ms.bool_), (float, ms.float32), (int, ms.int64), (bool, ms.bool_)]
    + [(np.float16, ms.float16), (np.dtype("uint8"), ms.uint8), (jnp.bfloat16, ms.bfloat16), (ms.int16, ms.int16)]
    + [(np.dtype(kind), ms.pytype_to_dtype(kind)) for kind in (bool, int, float)],
    ids=str,
)
def test_as_dtype(value, dtype):
    assert mstype.as_dtype(value) is dtype


@pytest.mark.parametrize("value", ["float31", None, object, 3, "U5"], ids=str)
def test_as_dtype_refuses(value):
    with pytest.raises(TypeError, match=r"such as ms\.float32"):
        mstype.as_dtype(value)


def test_from_np_refuses():
    with pytest.raises(TypeError, match="no data type"):
        mstype.from_np(np.dtype("U3"))


def test_types_without_data_make_no_tensor():
    with pytest.raises(TypeError, match="concrete one"):
        mstype.to_jax(ms.number)


def test_x64_off_shows_what_is_there():
    try:
        jax.config.update("jax_enable_x64", False)
        assert mstype.to_jax(ms.int64) == np.int32
        assert ms.Tensor(3).dtype is ms.int32
        assert ms.Tensor(np.array([1.0])).dtype is ms.float32
        assert repr(ms.Tensor(3)) == "Tensor(shape=[], dtype=Int32, value= 3)"
        jax.config.update("jax_enable_x64", True)
        assert mstype.to_jax(ms.int64) == np.int64
        assert ms.Tensor(3).dtype is ms.int64
    finally:
        jax.config.update("jax_enable_x64", X64)


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**63, [1, 2**40]], ids=str)
def test_integers_that_need_64_bits_are_an_error_without_them(value):
    try:
        jax.config.update("jax_enable_x64", False)
        assert ms.Tensor([2**31 - 1, -(2**31)]).tolist() == [2**31 - 1, -(2**31)]
        assert ms.Tensor(2**31, ms.int32).item() == -(2**31)
        with pytest.raises(OverflowError, match=r"64-bit types are off, but got -?\d+"):
            ms.Tensor(value)
    finally:
        jax.config.update("jax_enable_x64", X64)


def test_classes_of_kinds():
    kinds = [mstype.Int, mstype.UInt, mstype.Float, mstype.BFloat, mstype.Bool, mstype.Complex, mstype.TensorType]
    types = [ms.int8, ms.uint16, ms.float32, ms.bfloat16, ms.bool_, ms.complex64, ms.tensor_type]
    for number, of_kind in enumerate(types):
        assert [isinstance(of_kind, kind) for kind in kinds] == [n == number for n in range(len(kinds))]
        assert isinstance(of_kind, mstype.Number) == (of_kind is not ms.tensor_type)
    assert isinstance(mstype.int_, mstype.Int) and isinstance(mstype.number, mstype.Number) and not isinstance(3, mstype.Int)
    assert mstype.Float(32) is ms.float32 and mstype.UInt(8) is ms.uint8 and mstype.Bool() is ms.bool_
    with pytest.raises(TypeError, match="no data type Float7"):
        mstype.Float(7)
