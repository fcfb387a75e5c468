"""Tensor methods of arithmetic, activations, reductions and linear algebra."""

from msjax.ops import activations, elementwise, linear, reduction
from msjax.ops.gradient import stop_gradient
from msjax.ops.primitive import method_of


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


METHODS = {
    "__neg__": elementwise.neg,
    "__pos__": elementwise.positive,
    "__abs__": elementwise.abs,
    "__invert__": elementwise.bitwise_not,
    "sum": _sum,
    "mean": method_of(reduction.mean, keepdims="keep_dims", keepdim="keep_dims", dim="axis"),
    "prod": method_of(reduction.prod, keepdims="keep_dims", keepdim="keep_dims", dim="axis"),
    "max": _max,
    "min": _min,
    "argmax": method_of(reduction.argmax, axis="dim", keepdims="keepdim"),
    "argmin": method_of(reduction.argmin, dim="axis", keepdim="keepdims"),
    "any": method_of(reduction.any, keepdims="keep_dims", keepdim="keep_dims", dim="axis"),
    "all": method_of(reduction.all, keepdims="keep_dims", keepdim="keep_dims", dim="axis"),
    "std": method_of(reduction.std, keepdim="keepdims", dim="axis"),
    "var": method_of(reduction.var, keepdim="keepdims", dim="axis"),
    "cumsum": method_of(reduction.cumsum, dim="axis"),
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
    "logical_not",
):
    METHODS[_name] = getattr(elementwise, _name)
METHODS["div"] = elementwise.true_divide
METHODS["matmul"] = linear.matmul
METHODS["sigmoid"] = activations.sigmoid
