"""Operators as methods of Tensor."""

import numbers

import jax
import numpy as np

from msjax.autograd.op import apply, raise_op_error
from msjax.common.tensor import CONCRETE, Tensor
from msjax.context import SETTINGS
from msjax.ops import activations, arrange, elementwise, indexing, linear, reduction
from msjax.ops.gradient import stop_gradient

_OPERANDS = (Tensor, numbers.Number, np.ndarray, np.generic, jax.Array, list, tuple)
_new = object.__new__


def _binary(function):
    """A method for an operator of two Tensors, quick where nothing is recorded."""
    op = getattr(function, "op", None)
    jit = None if op is None else op.jit

    def method(self, other):
        if jit is not None and other.__class__ is Tensor and self._node is None and other._node is None:
            a, b = self._value, other._value
            if a.__class__ in CONCRETE and b.__class__ in CONCRETE and not SETTINGS.pynative_synchronize:
                try:
                    value = jit(a, b)
                except Exception as error:
                    raise_op_error(error, op, (self, other))
                result = _new(Tensor)
                result._value = value
                return result
        elif not isinstance(other, _OPERANDS):
            return NotImplemented
        return apply(op, (self, other)) if op is not None else function(self, other)

    return method


def _reflected(function):
    def method(self, other):
        return function(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    return method


_BINARY = {
    "add": elementwise.add,
    "sub": elementwise.sub,
    "mul": elementwise.mul,
    "truediv": elementwise.true_divide,
    "floordiv": elementwise.floor_divide,
    "mod": elementwise.floor_mod,
    "pow": elementwise.pow,
    "matmul": linear.matmul,
}
_COMPARISONS = {
    "eq": elementwise.equal,
    "ne": elementwise.not_equal,
    "gt": elementwise.greater,
    "ge": elementwise.greater_equal,
    "lt": elementwise.less,
    "le": elementwise.less_equal,
}


def _iterate(self):
    if not self._value.ndim:
        raise TypeError("A 0-d Tensor can't be iterated.")
    return (self[i] for i in range(self._value.shape[0]))


def _shape_arguments(args):
    return args[0] if len(args) == 1 and not isinstance(args[0], int) else args


def _reshape(self, *shape_):
    """The same elements in another shape, given as ints or a tuple; one -1 is worked out."""
    return arrange.reshape(self, _shape_arguments(shape_))


def _transpose(self, *axes):
    """The axes in another order, given as ints or a tuple; reversed by default."""
    axes = _shape_arguments(axes)
    return arrange.transpose(self, axes if axes or self.ndim == 0 else tuple(range(self.ndim))[::-1])


def _permute(self, *axis):
    """The axes in another order, given as ints or a tuple."""
    return arrange.permute(self, _shape_arguments(axis))


def _astype(self, dtype, copy=True):
    """The elements converted to another data type, given as a type or its name."""
    return arrange.cast(self, dtype)


def _expand(self, *size):
    """The Tensor repeated to a larger shape; -1 keeps the size of an axis."""
    return arrange.broadcast_to(self, _shape_arguments(size))


def _caster(code):
    def method(self):
        return arrange.cast(self, code)

    method.__doc__ = f"The elements converted to {code}."
    return method


def _aliased(function, **renamed):
    """A method that takes some arguments under MindSpore's method's names, too."""

    def method(self, *args, **kwargs):
        for name, own in renamed.items():
            if name in kwargs:
                kwargs[own] = kwargs.pop(name)
        return function(self, *args, **kwargs)

    method.__doc__ = function.__doc__
    return method


def _sum(self, axis=None, dtype=None, keepdims=False, **kwargs):
    """The sum over axes (all by default); of Bools and integers as Int64."""
    axis = kwargs.pop("dim", axis)
    keepdims = kwargs.pop("keepdim", keepdims)
    return reduction.sum(self, axis, keepdims, dtype=dtype, **kwargs)


def _max(self, axis=None, keepdims=False, **kwargs):
    """The largest value, or those over `axis`."""
    return reduction.amax(self, kwargs.pop("dim", axis), kwargs.pop("keepdim", keepdims), **kwargs)


def _min(self, axis=None, keepdims=False, **kwargs):
    """The smallest value, or those over `axis`."""
    return reduction.amin(self, kwargs.pop("dim", axis), kwargs.pop("keepdim", keepdims), **kwargs)


def _item_set(self, index_, value):
    indexing.setitem(self, index_, value)


def _T(self):
    """The Tensor with its axes reversed."""
    return _transpose(self)


METHODS = {
    "__neg__": elementwise.neg,
    "__pos__": elementwise.positive,
    "__abs__": elementwise.abs,
    "__invert__": elementwise.bitwise_not,
    "__getitem__": indexing.getitem,
    "__setitem__": _item_set,
    "__iter__": _iterate,
    "T": property(_T),
    "reshape": _reshape,
    "view": _reshape,
    "transpose": _transpose,
    "permute": _permute,
    "swapaxes": arrange.swapaxes,
    "expand_dims": arrange.expand_dims,
    "unsqueeze": arrange.unsqueeze,
    "squeeze": arrange.squeeze,
    "flatten": lambda self, order="C", *, start_dim=0, end_dim=-1: arrange.flatten(
        self, order, start_dim=start_dim, end_dim=end_dim
    ),
    "ravel": lambda self: arrange.reshape(self, (-1,)),
    "broadcast_to": _expand,
    "expand": _expand,
    "tile": arrange.tile,
    "split": arrange.split,
    "astype": _astype,
    "to": _astype,
    "type_as": lambda self, other: arrange.cast(self, other.dtype),
    "int": _caster("int32"),
    "long": _caster("int64"),
    "half": _caster("float16"),
    "float": _caster("float32"),
    "bool": _caster("bool"),
    "sum": _sum,
    "mean": _aliased(reduction.mean, keepdims="keep_dims", keepdim="keep_dims", dim="axis"),
    "prod": _aliased(reduction.prod, keepdims="keep_dims", keepdim="keep_dims", dim="axis"),
    "max": _max,
    "min": _min,
    "argmax": _aliased(reduction.argmax, axis="dim", keepdims="keepdim"),
    "argmin": _aliased(reduction.argmin, dim="axis", keepdim="keepdims"),
    "any": _aliased(reduction.any, keepdims="keep_dims", keepdim="keep_dims", dim="axis"),
    "all": _aliased(reduction.all, keepdims="keep_dims", keepdim="keep_dims", dim="axis"),
    "std": _aliased(reduction.std, keepdim="keepdims", dim="axis"),
    "var": _aliased(reduction.var, keepdim="keepdims", dim="axis"),
    "cumsum": _aliased(reduction.cumsum, dim="axis"),
    "norm": reduction.norm,
    "detach": stop_gradient,
}
for _name in (
    "add",
    "sub",
    "mul",
    "pow",
    "maximum",
    "minimum",
    "abs",
    "neg",
    "square",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "tanh",
    "erf",
    "logical_not",
):
    METHODS[_name] = getattr(elementwise, _name)
METHODS["div"] = elementwise.true_divide
METHODS["matmul"] = linear.matmul
METHODS["sigmoid"] = activations.sigmoid


def attach(cls):
    """Put the methods on a class of Tensors."""
    for name, function in _BINARY.items():
        setattr(cls, f"__{name}__", _binary(function))
        setattr(cls, f"__r{name}__", _reflected(function))
    for name, function in _COMPARISONS.items():
        setattr(cls, f"__{name}__", _binary(function))
    for name, function in METHODS.items():
        setattr(cls, name, function)


attach(Tensor)
