"""Data types: MindSpore's type objects and their numpy and Python counterparts."""

from __future__ import annotations

import builtins
import enum
import functools
import types
from typing import Any, TypeAlias

import jax
import ml_dtypes
import numpy as np

__all__ = [
    "Type",
    "type_size_in_bytes",
    "dtype_to_nptype",
    "dtype_to_pytype",
    "pytype_to_dtype",
    "get_py_obj_dtype",
    "bool_",
    "int8",
    "byte",
    "int16",
    "short",
    "int32",
    "intc",
    "int64",
    "intp",
    "long",
    "uint8",
    "ubyte",
    "uint16",
    "ushort",
    "uint32",
    "uintc",
    "uint64",
    "uintp",
    "float16",
    "half",
    "float32",
    "single",
    "float64",
    "double",
    "bfloat16",
    "complex64",
    "complex128",
    "cfloat",
    "cdouble",
    "int_",
    "uint",
    "float_",
    "number",
    "string",
    "list_",
    "tuple_",
    "tensor_type",
    "type_none",
    "qint4x2",
    "QuantDtype",
    "all_types",
    "number_type",
    "int_type",
    "uint_type",
    "float_type",
    "complex_type",
    "signed_type",
]

# What names a data type.
DTypeLike: TypeAlias = "Type | np.dtype[Any] | type[Any] | str"


class Type:
    """A MindSpore data type, such as ``ms.float32``.

    Types are singletons: compare them with ``==`` or ``is``. ``str()`` gives the name that Tensors
    print (``Float32``), ``repr()`` the name to write in code (``mindspore.float32``).

    Example:
        >>> import msjax as ms
        >>> str(ms.float32), ms.float32.np
        ('Float32', dtype('float32'))
    """

    __slots__ = ("name", "code", "np", "kind")

    def __init__(self, name: str, code: str, np_dtype: np.typing.DTypeLike | None = None):
        self.name: str = name
        self.code: str = code
        self.np: np.dtype[Any] | None = None if np_dtype is None else np.dtype(np_dtype)
        # numpy gives bfloat16 the kind 'V'; here it counts as a float. Types that numpy lacks have the kind "?".
        self.kind: str = "?" if self.np is None else ("f" if self.np == ml_dtypes.bfloat16 else self.np.kind)

    @property
    def identity(self) -> tuple[str, str]:
        """The values that programs depend on; see `programs.originals`."""
        return self.code, str(self.np)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"mindspore.{self.code}"

    def __reduce__(self) -> str:
        # The name of the singleton: pickles refer to it, and copies are the type itself.
        return next(name for name, value in globals().items() if value is self)


class _Kinds(type):
    """Classes by the kind of data type: ``isinstance(ms.int8, Int)``; called with a number of bits, they give the type of that size."""

    names: tuple[str, ...]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Type) and instance.name.rstrip("0123456789") in cls.names

    def __call__(cls, bits: int | str = "") -> Type:
        for found in globals().values():
            if isinstance(found, Type) and found.name == f"{cls.names[-1]}{bits}":
                return found
        raise TypeError(f"There is no data type {cls.names[-1]}{bits}.")


Int: _Kinds = _Kinds("Int", (), {"names": ("Int",)})
UInt: _Kinds = _Kinds("UInt", (), {"names": ("UInt",)})
Float: _Kinds = _Kinds("Float", (), {"names": ("Float",)})
BFloat: _Kinds = _Kinds("BFloat", (), {"names": ("BFloat",)})
Bool: _Kinds = _Kinds("Bool", (), {"names": ("Bool",)})
Complex: _Kinds = _Kinds("Complex", (), {"names": ("Complex",)})
String: _Kinds = _Kinds("String", (), {"names": ("String",)})
List: _Kinds = _Kinds("List", (), {"names": ("List",)})
Tuple: _Kinds = _Kinds("Tuple", (), {"names": ("Tuple",)})
TensorType: _Kinds = _Kinds("TensorType", (), {"names": ("Tensor",)})
Number: _Kinds = _Kinds("Number", (), {"names": ("Int", "UInt", "Float", "BFloat", "Bool", "Complex", "Number")})


bool_: Type = Type("Bool", "bool", np.bool_)
int8: Type = Type("Int8", "int8", np.int8)
int16: Type = Type("Int16", "int16", np.int16)
int32: Type = Type("Int32", "int32", np.int32)
int64: Type = Type("Int64", "int64", np.int64)
uint8: Type = Type("UInt8", "uint8", np.uint8)
uint16: Type = Type("UInt16", "uint16", np.uint16)
uint32: Type = Type("UInt32", "uint32", np.uint32)
uint64: Type = Type("UInt64", "uint64", np.uint64)
float16: Type = Type("Float16", "float16", np.float16)
float32: Type = Type("Float32", "float32", np.float32)
float64: Type = Type("Float64", "float64", np.float64)
bfloat16: Type = Type("BFloat16", "bfloat16", ml_dtypes.bfloat16)
complex64: Type = Type("Complex64", "complex64", np.complex64)
complex128: Type = Type("Complex128", "complex128", np.complex128)

byte: Type = int8
short: Type = int16
intc: Type = int32
intp: Type = int64
long: Type = int64
ubyte: Type = uint8
ushort: Type = uint16
uintc: Type = uint32
uintp: Type = uint64
half: Type = float16
single: Type = float32
double: Type = float64
cfloat: Type = complex64
cdouble: Type = complex128

int_: Type = Type("Int", "int_")
uint: Type = Type("UInt", "uint")
float_: Type = Type("Float", "float_")
number: Type = Type("Number", "number")
string: Type = Type("String", "string_")
list_: Type = Type("List", "list_")
tuple_: Type = Type("Tuple", "tuple_")
tensor_type: Type = Type("Tensor", "tensor")
type_none: Type = Type("None", "type_none")
# A name for four bits; no Tensor has this type.
qint4x2: Type = Type("Int4", "int4")

int_type: tuple[Type, ...] = (int8, int16, int32, int64)
uint_type: tuple[Type, ...] = (uint8, uint16, uint32, uint64)
float_type: tuple[Type, ...] = (float16, float32, float64, bfloat16)
complex_type: tuple[Type, ...] = (complex64, complex128)
number_type: tuple[Type, ...] = (*int_type, *uint_type, *float_type, *complex_type)
signed_type: tuple[Type, ...] = (bool_, *int_type, *uint_type, *float_type, *complex_type)
all_types: tuple[Type, ...] = (bool_, *number_type)

_BY_NP: dict[Any, Type] = {t.np: t for t in all_types}
_BY_NAME = {t.code: t for t in all_types} | {"bool_": bool_, "half": half, "float": float32, "int": int32, "double": double}
_BY_PY = {
    builtins.bool: bool_,
    builtins.int: int64,
    builtins.float: float64,
    builtins.str: string,
    builtins.list: list_,
    builtins.tuple: tuple_,
    type(None): type_none,
}


class QuantDtype(enum.Enum):
    """Names of integers of few bits, which quantization tools use."""

    INT1, INT2, INT3, INT4, INT5, INT6, INT7, INT8, INT9, INT10, INT11, INT12, INT13, INT14, INT15, INT16 = range(16)
    UINT1, UINT2, UINT3, UINT4, UINT5, UINT6, UINT7, UINT8, UINT9, UINT10, UINT11, UINT12, UINT13, UINT14, UINT15, UINT16 = range(
        100, 116
    )

    def __str__(self) -> str:
        return self.name

    def value(self) -> builtins.int:
        """The number of the type."""
        return self._value_


def from_np(np_dtype: np.dtype[Any] | type[Any]) -> Type:
    """The type of a numpy (or jax) dtype; TypeError for one that has no counterpart."""
    found = _BY_NP.get(np_dtype) or _BY_NP.get(np.dtype(np_dtype))
    if found is None:
        raise TypeError(f"msjax has no data type for numpy's {np.dtype(np_dtype)}; it offers {', '.join(map(str, all_types))}.")
    return found


def has_counterpart(np_dtype: np.dtype[Any]) -> bool:
    """Whether there is a type for a numpy dtype (an instance of np.dtype)."""
    return np_dtype in _BY_NP


def as_dtype(value: DTypeLike, what: str = "dtype") -> Type:
    """A type from a type object, its name, a numpy dtype or a Python type.

    Raises:
        TypeError: `value` names no data type.
    """
    if isinstance(value, Type):
        return value
    if isinstance(value, str):
        found = _BY_NAME.get(value) or _BY_NAME.get(value.lower())
        if found is not None:
            return found
    elif value is builtins.float:
        return float32
    elif value is not None:
        try:
            return from_np(value)
        except TypeError as error:
            raise TypeError(f"{what} should be a msjax data type such as ms.float32, but got {value!r}.") from error
    raise TypeError(f"{what} should be a msjax data type such as ms.float32, but got {value!r}.")


# Cached for each state of jax's x64 flag: asking jax each time costs more.
@functools.cache
def _canonical(np_dtype, x64: bool):
    return np.dtype(jax.dtypes.canonicalize_dtype(np_dtype))


def to_jax(value: DTypeLike) -> np.dtype[Any]:
    """The numpy dtype that jax will use for a type: 64-bit types become 32-bit ones unless jax's x64 flag is on."""
    np_dtype = value.np if isinstance(value, Type) else as_dtype(value).np
    if np_dtype is None:
        raise TypeError(f"{value} is no data type of tensors; use a concrete one, such as ms.float32.")
    return _canonical(np_dtype, jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]


def dtype_to_nptype(type_: DTypeLike) -> type[np.generic]:
    """The numpy scalar type of a msjax type.

    Example:
        >>> import msjax as ms
        >>> ms.dtype_to_nptype(ms.int32).__name__
        'int32'
    """
    return as_dtype(type_).np.type  # pyright: ignore[reportOptionalMemberAccess]


def dtype_to_pytype(type_: Type) -> type[Any]:
    """The Python type of a msjax type: bool, int, float, complex, str, list or tuple."""
    if type_.np is not None:
        return type(np.zeros((), type_.np).item())
    return {string: str, list_: list, tuple_: tuple, type_none: type(None)}[type_]


def pytype_to_dtype(obj: object) -> Type:
    """The msjax type of a Python or numpy type.

    Raises:
        NotImplementedError: the type has no counterpart.

    Example:
        >>> import msjax as ms
        >>> print(ms.pytype_to_dtype(int))
        Int64
    """
    if isinstance(obj, Type):
        return obj
    if isinstance(obj, type) and obj in _BY_PY:
        return _BY_PY[obj]
    if isinstance(obj, np.dtype) or (isinstance(obj, type) and issubclass(obj, np.generic)):
        return from_np(obj)
    raise NotImplementedError(f"msjax has no data type for {obj!r}.")


def get_py_obj_dtype(obj: object) -> Type:
    """The msjax type of a Python object: that of a function is Func, that of other objects pytype_to_dtype's."""
    if isinstance(obj, (types.FunctionType, types.MethodType)):
        raise NotImplementedError("msjax has no type object for functions.")
    return pytype_to_dtype(type(obj))


def type_size_in_bytes(type_: DTypeLike) -> int:
    """Bytes of one element of the type."""
    return as_dtype(type_).np.itemsize  # pyright: ignore[reportOptionalMemberAccess]
