"""Tensor methods of arithmetic, activations, reductions and linear algebra.

MindSpore's methods accept two sets of argument names: the older axis, keepdims (or keep_dims) and ddof, and the newer
dim, keepdim and correction. So do these.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from msjax.autograd.op import apply
from msjax.base.typing import Number, TensorLike
from msjax.common.dtype import Type
from msjax.common.random import Generator
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import freeze
from msjax.ops.dispatch.random_keys import next_key
from msjax.ops.function.array_func import casting
from msjax.ops.function.control.gradient import stop_gradient
from msjax.ops.function.linalg_func import decompositions, layers, linear, solvers
from msjax.ops.function.math_func import (
    arithmetic,
    bessel,
    comparison,
    complexes,
    cumulative,
    elementary,
    elementwise,
    extremes,
    inplace_math,
    logic,
    norms,
    reduction,
    special,
    statistics,
)
from msjax.ops.function.nn_func import activations, softmaxes
from msjax.ops.function.random_func import choices, distributions
from msjax.ops.methods.inplace import inplace
from msjax.ops.primitive import method_of, same_named


def _axis(kwargs: dict[str, Any], axis: Any) -> Any:
    return kwargs.pop("dim", kwargs.pop("axis", axis))


def _keep(kwargs: dict[str, Any], keep: bool) -> bool:
    for name in ("keepdim", "keepdims", "keep_dims"):
        keep = kwargs.pop(name, keep)
    return keep


def _done(name: str, kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise TypeError(f"Tensor.{name}() got an unexpected keyword argument {next(iter(kwargs))!r}.")


# ---- reductions


def _sum(
    self: Tensor,
    axis: int | Sequence[int] | None = None,
    dtype: Type | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    **kwargs: Any,
) -> Tensor:
    """The sum over axes (all by default); of Bools and integers as Int64.

    Args:
        axis (int, tuple or list, optional): also called `dim`. Default: None, for all.
        dtype (ms.dtype, optional): the dtype to convert to first. Default: None.
        keepdims (bool): whether reduced axes stay, with size 1; also called `keepdim`, then second. Default: False.
        initial (number, optional): added to the sum. Default: None.
    """
    axis = _axis(kwargs, axis)
    if isinstance(dtype, builtins.bool):
        dtype, keepdims = None, dtype
    keepdims = _keep(kwargs, keepdims)
    _done("sum", kwargs)
    out = reduction.sum(self, axis, keepdims, dtype=dtype)
    return out if initial is None else out + initial


def _mean(
    self: Tensor, axis: int | Sequence[int] | None = None, keep_dims: bool = False, *, dtype: Type | None = None, **kwargs: Any
) -> Tensor:
    """The mean over axes (all by default); of integers an integer, rounded towards zero.

    Args:
        axis (int, tuple or list, optional): also called `dim`. Default: None, for all.
        keep_dims (bool): whether reduced axes stay, with size 1; also called `keepdim`. Default: False.
        dtype (ms.dtype, optional): the dtype to convert to first. Default: None.
    """
    axis, keep = _axis(kwargs, axis), _keep(kwargs, keep_dims)
    _done("mean", kwargs)
    return reduction.mean(self if dtype is None else casting.cast(self, dtype), axis, keep)


def _prod(
    self: Tensor, axis: int | Sequence[int] | None = None, keep_dims: bool = False, dtype: Type | None = None, **kwargs: Any
) -> Tensor:
    """The product over axes (all by default); of Bools and integers as Int64.

    Args:
        axis, keep_dims, dtype: as in `mean`.
    """
    axis, keep = _axis(kwargs, axis), _keep(kwargs, keep_dims)
    _done("prod", kwargs)
    if isinstance(keep, Type):
        keep, dtype = False, keep
    return reduction.prod(self, axis, keep, dtype)


_OLD = frozenset(("axis", "keepdims", "initial", "where", "return_indices"))


def _extreme(name: str, whole: Callable[..., Any], with_index: Callable[..., Any]) -> Any:
    def method(self, *args, **kwargs):
        old = not _OLD.isdisjoint(kwargs) or (args and not isinstance(args[0], builtins.int))
        names = ("axis", "keepdims") if old else ("dim", "keepdim")
        if len(args) > 2:
            raise TypeError(f"Tensor.{name}() takes at most 2 positional arguments, but got {len(args)}.")
        given = {**dict(zip(names, args)), **kwargs}
        axis, keep = freeze(_axis(given, None)), _keep(given, False)
        if builtins.any(not isinstance(a, builtins.int) for a in (axis if isinstance(axis, tuple) else (axis or 0,))):
            raise TypeError(f"For 'Tensor.{name}', the axis should be an int or several, but got {axis!r}.")
        initial, where, indices = given.pop("initial", None), given.pop("where", None), given.pop("return_indices", False)
        _done(name, given)
        if isinstance(axis, builtins.int) and (indices or not old):
            return with_index(self, axis, keep, initial=initial, where=where)
        return whole(self, axis, keep, initial=initial, where=where)

    what = "largest" if name == "max" else "smallest"
    method.__name__ = name
    method.__doc__ = f"""The {what} value of all; or those along an axis.

    ``x.{name}(dim, keepdim=False)`` gives (values, indices) along an axis; ``x.{name}(axis=axis, keepdims=False, *,
    initial=None, where=None, return_indices=False)`` the values alone, over one axis or several.
    """
    return method


def _moment(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(
        self: Tensor, axis: int | Sequence[int] | None = None, ddof: float | bool = 0, keepdims: bool = False, **kwargs: Any
    ) -> Tensor:
        axis, keep = _axis(kwargs, axis), _keep(kwargs, keepdims)
        ddof = kwargs.pop("correction", ddof)
        _done(name, kwargs)
        return function(self, axis, ddof, keep)

    method.__name__ = name
    method.__doc__ = f"""{(function.__doc__ or "").strip()}

    Args:
        axis (int, tuple or list, optional): also called `dim`. Default: None, for all.
        ddof (int): also called `correction`. Default: 0.
        keepdims (bool): whether reduced axes stay, with size 1; also called `keepdim`. Default: False.
    """
    return method


def _count_nonzero(
    self: Tensor, axis: tuple[Any, ...] | int = (), keep_dims: bool = False, dtype: Type | None = None, **kwargs: Any
) -> Tensor:
    """How many values over axes (all by default) are not 0, as Int32 by default."""
    axis, keep = _axis(kwargs, axis), _keep(kwargs, keep_dims)
    _done("count_nonzero", kwargs)
    return reduction.count_nonzero(self, () if axis is None else axis, keep, **({} if dtype is None else {"dtype": dtype}))


def _with_value(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        return function(self, axis, keep_dims)

    method.__doc__ = f"{function.__doc__.splitlines()[0]}\n\n    Returns:\n        (values, indices).\n    "  # pyright: ignore[reportOptionalMemberAccess]
    return method


def _ptp(self: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The largest value minus the smallest, over axes (all by default)."""
    return extremes.amax(self, axis, keepdims) - extremes.amin(self, axis, keepdims)


def _sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over the axes along which a Tensor of the shape `size` would be repeated to this one's shape."""
    size = freeze(size[0] if len(size) == 1 and not isinstance(size[0], builtins.int) else size)
    lead = self.ndim - len(size)
    if lead < 0 or builtins.any(n not in (1, m) for n, m in zip(size, self.shape[lead:])):
        raise ValueError(f"For 'Tensor.sum_to_size', the shape {self.shape} can't be summed to {size}.")
    axes = [lead + i for i, n in enumerate(size) if n == 1 and self.shape[lead + i] != 1]
    out = reduction.sum_kept(self, tuple(axes), True) if axes else self
    return reduction.sum_kept(out, tuple(builtins.range(lead)), False) if lead else out


# ---- elementwise


def _add(self: Tensor, other: TensorLike, *, alpha: int = 1) -> Tensor:
    """self + alpha * other, elementwise with broadcasting."""
    return arithmetic.add(self, other if alpha == 1 else arithmetic.mul(other, alpha))


def _sub(self: Tensor, other: TensorLike, *, alpha: int = 1) -> Tensor:
    """self - alpha * other, elementwise with broadcasting."""
    return arithmetic.sub_method(self, other) if alpha == 1 else arithmetic.subtract(self, other, alpha=alpha)


def _round(self: Tensor, decimals: int = 0) -> Tensor:
    """Rounded to a number of decimals, halves to the even digit."""
    return elementary.round(self, decimals=decimals or 0)


def _allclose(self: Tensor, other: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """True if all elements are close; see `isclose`. A Python bool."""
    return builtins.bool(reduction.all(comparison.isclose(self, other, rtol, atol, equal_nan)))


def _softmax(self: Tensor, axis: int, dtype: Type | None = None) -> Tensor:
    """exp(self) / sum(exp(self)) along `axis`."""
    return softmaxes.softmax(self, axis, dtype=dtype)


def _swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, other: TensorLike) -> Tensor:
        return function(other, self)

    method.__doc__ = function.__doc__
    return method


# ---- linear algebra


def _addition(function: Callable[..., Any], first: str, second: str) -> Callable[..., Any]:
    """The method of a function such as addmm, whose two operands have these names."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        given = dict(zip((first, second, "beta", "alpha"), args))
        if len(args) > 4 or given.keys() & kwargs.keys():
            raise TypeError(f"{function.__name__} takes {first}, {second}, beta and alpha, each once.")
        return function(self, **given, **kwargs)

    method.__doc__ = function.__doc__
    return method


def _qr(self: Tensor, some: bool = True) -> Any:
    """The QR decomposition; q is square unless `some`."""
    return decompositions.qr(self, "reduced" if some else "complete")


def _triangular_solve(
    self: Tensor, A: TensorLike, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The solution X of A X = self for a triangular A, and A itself."""
    return solvers.triangular_solve(A, self, not upper, False, transpose, unitriangular), A


# ---- random


def _bernoulli(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Ones with the probabilities that this Tensor holds, else zeros."""
    return choices.bernoulli_ext(self, generator=generator)


def _uniform(self: Tensor, from_: float = 0.0, to: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Random numbers, uniform in [from_, to), in this Tensor's shape and dtype."""
    return inplace_math.uniform_.__wrapped__(self, from_, to, generator=generator)


def _cauchy(self: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Random numbers of a Cauchy distribution, in this Tensor's shape, as Float32."""
    return apply(distributions.CAUCHY, (next_key(), builtins.float(median), builtins.float(sigma)), (self.shape,))


def _log_normal(self: Tensor, mean: float = 1.0, std: float = 2.0) -> Tensor:
    """Random numbers whose logarithms are normal, in this Tensor's shape and dtype."""
    return apply(distributions.LOG_NORMAL, (self, next_key(), builtins.float(mean), builtins.float(std)))


METHODS = {
    "__neg__": elementary.neg,
    "__pos__": elementary.positive,
    "__abs__": elementary.abs,
    "__invert__": logic.bitwise_not,
    "__round__": _round,
    "__and__": logic.bitwise_and,
    "__or__": logic.bitwise_or,
    "__xor__": logic.bitwise_xor,
    "__rand__": _swapped(logic.bitwise_and),
    "__ror__": _swapped(logic.bitwise_or),
    "__rxor__": _swapped(logic.bitwise_xor),
    # reductions
    "sum": _sum,
    "mean": _mean,
    "prod": _prod,
    "max": _extreme("max", extremes.amax, extremes.max),
    "min": _extreme("min", extremes.amin, extremes.min),
    "amax": method_of(extremes.amax, dim="axis", keepdim="keepdims"),
    "amin": method_of(extremes.amin, dim="axis", keepdim="keepdims"),
    "ptp": _ptp,
    "argmax": method_of(extremes.argmax, axis="dim", keepdims="keepdim"),
    "argmin": method_of(extremes.argmin, dim="axis", keepdim="keepdims"),
    "argmax_with_value": _with_value(extremes.max),
    "argmin_with_value": _with_value(extremes.min),
    "any": method_of(reduction.any, keepdims="keep_dims", keepdim="keep_dims", dim="axis"),
    "all": method_of(reduction.all, keepdims="keep_dims", keepdim="keep_dims", dim="axis"),
    "std": _moment("std", reduction.std),
    "var": _moment("var", reduction.var),
    "count_nonzero": _count_nonzero,
    "logsumexp": method_of(reduction.logsumexp, axis="dim", keepdims="keepdim"),
    "nansum": method_of(reduction.nansum, dim="axis", keepdim="keepdims"),
    "nanmean": method_of(reduction.nanmean, dim="axis", keepdim="keepdims"),
    "median": method_of(statistics.median, dim="axis", keepdim="keepdims"),
    "nanmedian": method_of(statistics.nanmedian, dim="axis", keepdim="keepdims"),
    "sum_to_size": _sum_to_size,
    # cumulative
    "cumsum": method_of(cumulative.cumsum, dim="axis"),
    "cumprod": method_of(cumulative.cumprod, axis="dim"),
    "cummax": method_of(cumulative.cummax, dim="axis"),
    "cummin": method_of(cumulative.cummin, dim="axis"),
    "logcumsumexp": method_of(cumulative.logcumsumexp, dim="axis"),
    "diff": method_of(cumulative.diff, dim="axis"),
    # norms
    # linear algebra
    "matmul": method_of(linear.matmul, tensor2="other"),
    "addmm": _addition(layers.addmm, "mat1", "mat2"),
    "addmv": _addition(layers.addmv, "mat", "vec"),
    "addr": _addition(layers.addr, "vec1", "vec2"),
    "addbmm": _addition(layers.addbmm, "batch1", "batch2"),
    "baddbmm": _addition(layers.baddbmm, "batch1", "batch2"),
    "trace": decompositions.trace_method,
    "qr": _qr,
    "ormqr": method_of(decompositions.ormqr, input2="tau", input3="other"),
    "triangular_solve": _triangular_solve,
    # random
    "bernoulli": _bernoulli,
    "uniform": _uniform,
    "cauchy": _cauchy,
    "log_normal": _log_normal,
    # elementwise, of other names or arguments than the functions
    "add": _add,
    "sub": _sub,
    "subtract": _sub,
    "round": _round,
    "allclose": _allclose,
    "softmax": _softmax,
    "approximate_equal": method_of(comparison.approximate_equal, other="y"),
    "detach": stop_gradient,
    # In place, as their names say; on CPU, MindSpore 2.10 returns a new Tensor and leaves this one as it was.
    "add_": inplace(_add),
    "sub_": inplace(_sub),
    "mul_": inplace(arithmetic.mul),
    "div_": inplace(arithmetic.div),
    "remainder_": inplace(arithmetic.remainder),
    "floor_divide_": inplace(arithmetic.floor_divide),
    "addmm_": inplace(_addition(layers.addmm, "mat1", "mat2")),
    "exp_": inplace(elementary.exp),
    "log_": inplace(elementary.log),
    "floor_": inplace(elementary.floor),
    "sign_": inplace(elementary.sign),
    "sigmoid_": inplace_math.inplace_sigmoid,
}
METHODS |= same_named(
    {
        arithmetic: "addcdiv addcmul div divide floor_divide fmod mul multiply pow remainder true_divide float_power",
        comparison: "eq equal ge greater greater_equal gt isclose le less less_equal lt ne not_equal",
        elementwise: """arctan2 atan2 clamp clip fmax fmin heaviside hypot ldexp lerp logaddexp logaddexp2 maximum minimum nextafter
        copysign""",
        elementary: """abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil cos cosh
        deg2rad exp exp2 expm1 floor frac inv log log10 log1p log2 logit nan_to_num neg negative positive rad2deg
        reciprocal rsqrt sgn sign sin sinc sinh sqrt square tan tanh trunc""",
        logic: """bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor gcd invert isfinite
        isinf isnan isneginf isposinf isreal lcm logical_and logical_not logical_or logical_xor signbit""",
        complexes: "angle conj imag real",
        bessel: "i0",
        special: "digamma erf erfc erfinv igamma igammac lgamma mvlgamma xlogy xdivy",
        activations: "hardshrink sigmoid soft_shrink",
        decompositions: """adjoint cholesky det eigvals geqrf log_matrix_determinant logdet matrix_determinant matrix_power orgqr slogdet
        svd""",
        solvers: "cholesky_inverse cholesky_solve inverse lstsq lu_solve",
        inplace_math: "bernoulli_ clamp_ erfinv_ exponential_ normal_ random_ tanh_ uniform_",
        extremes: "aminmax",
        statistics: "kthvalue quantile nanquantile cov",
        norms: "norm renorm",
        linear: "mm bmm dot inner outer ger cross",
        choices: "multinomial random_categorical",
    }
)
METHODS["multiply"] = method_of(arithmetic.mul, value="other")
