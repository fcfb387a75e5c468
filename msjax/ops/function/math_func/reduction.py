"""Reductions: sums, means, extremes, tests. Cumulative operators, norms and statistics are joined in here."""

import jax
import jax.numpy as jnp

from msjax.checks import check_axis
from msjax.common import dtype as mstype
from msjax.errors import describe
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.dispatch.promotion import as_operand, kind_of, to_float

__all__ = [
    "all", "amax", "amin", "aminmax", "any", "argmax", "argmin", "count_nonzero", "logsumexp", "max", "mean", "min", "nanmean",
    "nansum", "prod", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "std", "std_mean", "sum", "var", "var_mean",
]  # fmt: skip


def _axes(axis, x, scalars=True):
    """The axes as jax takes them; None or an empty tuple: all.

    Args:
        axis: an int, several, or None.
        x: the array that is reduced.
        scalars: whether a 0-d array has an axis 0, of size 1.

    Raises:
        TypeError: an axis is no int.
        ValueError: there is no such axis.
    """
    if axis is None or axis == ():
        return None
    count = x.ndim or int(scalars)
    for a in axis if isinstance(axis, tuple) else (axis,):
        check_axis(a, count, bools=True)
    return axis if x.ndim else None


def _wide(x):
    """Bools and integers as Int64, which sums and products are counted in."""
    return x.astype(mstype.to_jax(mstype.int64)) if kind_of(x.dtype) in "biu" else x


def _cast(x, dtype):
    return x if dtype is None else x.astype(mstype.to_jax(dtype))


@operator(int_grad=True, tensors=True)
def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum over axes; of Bools and integers as Int64.

    Args:
        input (Tensor): any shape.
        dim (int, tuple or list, optional): the axes. Default: None, for all.
        keepdim (bool): whether reduced axes stay, with size 1. Default: False.
        dtype (ms.dtype, optional): convert to it first. Default: None.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.sum(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [3. 7.]
    """
    return jnp.sum(x := _wide(_cast(as_operand(input), dtype)), _axes(dim, x), keepdims=keepdim)


@operator(tensors=True)
def mean(x, axis=None, keep_dims=False):
    """The mean over axes; of integers an integer, rounded towards zero.

    Args:
        x (Tensor): any shape, not of Bools.
        axis (int, tuple or list, optional): the axes. Default: None, for all.
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.

    Raises:
        TypeError: `x` holds Bools.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.mean(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [2. 3.]
    """
    x = as_operand(x)
    axes = _axes(axis, x)
    kind = kind_of(x.dtype)
    if kind == "b":
        raise TypeError("the mean of Bools is not defined; convert to Float32 first.")
    if kind in "iu":
        total = jnp.sum(_wide(x), axes, keepdims=keep_dims)
        return jax.lax.div(total, jnp.full_like(total, x.size // total.size if total.size else 1)).astype(x.dtype)
    return jnp.mean(x, axes, keepdims=keep_dims)


@operator(int_grad=True, tensors=True)
def prod(input, axis=None, keep_dims=False, dtype=None):
    """The product over axes; of Bools and integers as Int64.

    Args:
        input (Tensor): any shape.
        axis (int, tuple or list, optional): the axes. Default: None, for all.
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
        dtype (ms.dtype, optional): convert to it first. Default: None.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.prod(ms.Tensor([2.0, 3.0, 4.0])))
        24.0
    """
    return jnp.prod(x := _wide(_cast(as_operand(input), dtype)), _axes(axis, x), keepdims=keep_dims)


# The class forms keep the dtype of integers, where the functions count in Int64.


def _kept(name, fn):
    def kernel(x, axis, keep_dims):
        x = as_operand(x)
        bools = kind_of(x.dtype) == "b"
        out = fn(x.astype(jnp.int32) if bools else x, _axes(axis, x), keepdims=keep_dims)
        return out != 0 if bools else out.astype(x.dtype)

    kernel.__name__ = name
    return operator(int_grad=True)(kernel)


sum_kept = _kept("ReduceSum", jnp.sum)
prod_kept = _kept("ReduceProd", jnp.prod)


def reduce_sum(x, axis=()):
    """The sum over axes (all by default), in the dtype of `x`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.reduce_sum(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [3. 7.]
    """
    return sum_kept(x, axis, False)


def reduce_mean(x, axis=()):
    """The mean over axes (all by default); see `mean`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.reduce_mean(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [2. 3.]
    """
    return mean(x, axis)


def reduce_max(x, axis=()):
    """The largest values over axes (all by default); see `amax`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.reduce_max(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [3. 4.]
    """
    return amax(x, axis)


def reduce_min(x, axis=()):
    """The smallest values over axes (all by default); see `amin`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.reduce_min(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [1. 2.]
    """
    return amin(x, axis)


# ---- extremes


@operator(2, name="amax", int_grad=(0,))
def _amax(input, where, axis, keepdims, initial):
    if where is None and initial is None:
        return jnp.max(input, _axes(axis, input), keepdims=keepdims)
    return jnp.max(input, _axes(axis, input), keepdims=keepdims, initial=initial, where=where)


@operator(2, name="amin", int_grad=(0,))
def _amin(input, where, axis, keepdims, initial):
    if where is None and initial is None:
        return jnp.min(input, _axes(axis, input), keepdims=keepdims)
    return jnp.min(input, _axes(axis, input), keepdims=keepdims, initial=initial, where=where)


def _check_where(name, initial, where):
    if where is not None and initial is None:
        raise ValueError(f"For '{name}', 'where' needs 'initial', the value where nothing is selected.")


def amax(input, axis=None, keepdims=False, *, initial=None, where=None):
    """The largest values over axes; equal ones share the gradient.

    Args:
        input (Tensor): any shape and real dtype.
        axis (int, tuple or list, optional): the axes. Default: None, for all.
        keepdims (bool): whether reduced axes stay, with size 1. Default: False.
        initial (number, optional): the result is at least this. Default: None.
        where (Tensor of Bool, optional): which elements count; needs `initial`. Default: None, for all.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.amax(ms.Tensor([[1.0, 5.0], [3.0, 4.0]]), 0))
        [3. 5.]
    """
    _check_where("amax", initial, where)
    return _amax(input, where, axis, keepdims, initial)


def amin(input, axis=None, keepdims=False, *, initial=None, where=None):
    """The smallest values over axes; equal ones share the gradient.

    Args:
        input (Tensor): any shape and real dtype.
        axis (int, tuple or list, optional): the axes. Default: None, for all.
        keepdims (bool): whether reduced axes stay, with size 1. Default: False.
        initial (number, optional): the result is at most this. Default: None.
        where (Tensor of Bool, optional): which elements count; needs `initial`. Default: None, for all.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.amin(ms.Tensor([[1.0, 5.0], [3.0, 4.0]]), 0))
        [1. 4.]
    """
    _check_where("amin", initial, where)
    return _amin(input, where, axis, keepdims, initial)


def _with_index(name, arg, fill):
    def kernel(input, where, axis, keepdims, initial):
        x = input
        if where is not None:
            x = jnp.where(where, x, jnp.asarray(initial, x.dtype))
        if x.ndim == 0:
            return x, jnp.zeros((), mstype.to_jax(mstype.int64))
        index = arg(x, _axes(axis, x), keepdims=True)
        values = jnp.take_along_axis(x, index, axis)
        if not keepdims:
            index, values = jnp.squeeze(index, axis), jnp.squeeze(values, axis)
        return values, index.astype(mstype.to_jax(mstype.int64))

    kernel.__name__ = name
    return operator(2, name=name, int_grad=(0,))(kernel)


_max_with_index = _with_index("max", jnp.argmax, -jnp.inf)
_min_with_index = _with_index("min", jnp.argmin, jnp.inf)


def _extreme(name, whole, with_index, input, axis, keepdims, initial, where):
    _check_where(name, initial, where)
    if axis is None:
        from msjax.ops.function.array_func.creation import zeros

        return whole(input, where, None, False, initial), zeros((), mstype.int64)
    axis = freeze(axis)
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise TypeError(f"For '{name}', 'axis' should be an int or None, but got {describe(axis)}.")
    return with_index(input, where, axis, keepdims, initial)


def max(input, axis=None, keepdims=False, *, initial=None, where=None):
    """The largest values along an axis, and where they are.

    Args:
        input (Tensor): any shape and real dtype.
        axis (int, optional): the axis. Default: None, for the largest of all elements, given with the index 0.
        keepdims (bool): whether the axis stays, with size 1. Default: False.
        initial (number, optional): stands for elements that don't count. Default: None.
        where (Tensor of Bool, optional): which elements count; needs `initial`. Default: None, for all.

    Returns:
        (values, indices): two Tensors, the second of Int64. Among equal values the first counts.

    Raises:
        TypeError: `axis` is no int.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> values, indices = ops.max(ms.Tensor([[1.0, 5.0], [3.0, 4.0]]), 1)
        >>> print(values, indices)
        [5. 4.] [1 1]
    """
    return _extreme("max", _amax, _max_with_index, input, axis, keepdims, initial, where)


def min(input, axis=None, keepdims=False, *, initial=None, where=None):
    """The smallest values along an axis, and where they are.

    Args:
        input (Tensor): any shape and real dtype.
        axis (int, optional): the axis. Default: None, for the smallest of all elements, given with the index 0.
        keepdims (bool): whether the axis stays, with size 1. Default: False.
        initial (number, optional): stands for elements that don't count. Default: None.
        where (Tensor of Bool, optional): which elements count; needs `initial`. Default: None, for all.

    Returns:
        (values, indices): two Tensors, the second of Int64. Among equal values the first counts.

    Raises:
        TypeError: `axis` is no int.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> values, indices = ops.min(ms.Tensor([[1.0, 5.0], [3.0, 4.0]]), 1)
        >>> print(values, indices)
        [1. 3.] [0 0]
    """
    return _extreme("min", _amin, _min_with_index, input, axis, keepdims, initial, where)


@operator(int_grad=True)
def aminmax(input, *, axis=0, keepdims=False):
    """The smallest and the largest values along an axis (of all elements if it is None).

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print([str(t) for t in ops.aminmax(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=1)])
        ['[1. 3.]', '[2. 4.]']
    """
    return jnp.min(input, axis, keepdims=keepdims), jnp.max(input, axis, keepdims=keepdims)


@operator(differentiable=False)
def argmax(input, dim=None, keepdim=False):
    """The index of the largest value along axis `dim`, of the flattened Tensor by default, as Int64.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.argmax(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [1 1]
    """
    return jnp.argmax(input, _axes(dim, input), keepdims=keepdim and dim is not None).astype(mstype.to_jax(mstype.int64))


@operator(differentiable=False)
def argmin(input, axis=None, keepdims=False):
    """The index of the smallest value along `axis`, of the flattened Tensor by default, as Int32.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.argmin(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [0 0]
    """
    return jnp.argmin(input, _axes(axis, input), keepdims=keepdims and axis is not None).astype(jnp.int32)


# ---- tests


@operator(differentiable=False, tensors=True)
def all(input, axis=None, keep_dims=False):
    """True where all values over the axes `axis` (all by default) are true.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.all(ms.Tensor([True, False])))
        False
    """
    return jnp.all(x := as_operand(input), _axes(axis, x), keepdims=keep_dims)


@operator(differentiable=False, tensors=True)
def any(input, axis=None, keep_dims=False):
    """True where any value over the axes `axis` (all by default) is true.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.any(ms.Tensor([True, False])))
        True
    """
    return jnp.any(x := as_operand(input), _axes(axis, x), keepdims=keep_dims)


@operator(differentiable=False)
def count_nonzero(x, axis=(), keep_dims=False, dtype=mstype.int32):
    """How many values over the axes `axis` (all by default) are not 0, as Int32 by default.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.count_nonzero(ms.Tensor([0, 3, 4])))
        2
    """
    return jnp.count_nonzero(x, _axes(axis, x), keepdims=keep_dims).astype(mstype.to_jax(dtype))


# ---- moments


@operator(tensors=True)
def var(input, axis=None, ddof=0, keepdims=False):
    """The variance over the axes `axis` (all by default), with the divisor N - ddof.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.var(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [1. 1.]
    """
    return jnp.var(x := to_float(input), _axes(axis, x, False), ddof=int(ddof), keepdims=keepdims)


@operator(tensors=True)
def std(input, axis=None, ddof=0, keepdims=False):
    """The standard deviation over the axes `axis` (all by default), with the divisor N - ddof.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.std(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [1. 1.]
    """
    return jnp.std(x := to_float(input), _axes(axis, x, False), ddof=int(ddof), keepdims=keepdims)


@operator()
def var_mean(input, axis=None, ddof=0, keepdims=False):
    """The variance (with the divisor N - ddof) and the mean over the axes `axis`, all by default.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print([str(t) for t in ops.var_mean(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0)])
        ['[1. 1.]', '[2. 3.]']
    """
    x = to_float(input)
    axes = _axes(axis, x, False)
    return jnp.var(x, axes, ddof=int(ddof), keepdims=keepdims), jnp.mean(x, axes, keepdims=keepdims)


@operator()
def std_mean(input, axis=None, ddof=0, keepdims=False):
    """The standard deviation (with the divisor N - ddof) and the mean over the axes `axis`, all by default.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print([str(t) for t in ops.std_mean(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0)])
        ['[1. 1.]', '[2. 3.]']
    """
    x = to_float(input)
    axes = _axes(axis, x, False)
    return jnp.std(x, axes, ddof=int(ddof), keepdims=keepdims), jnp.mean(x, axes, keepdims=keepdims)


@operator(name="logsumexp")
def _logsumexp(input, dim, keepdim):
    x = as_operand(input)
    if dim is None or kind_of(x.dtype) in "iu":
        raise TypeError("'logsumexp' takes a Tensor of floats, and axes or () for all.")
    x = to_float(x)
    return jax.nn.logsumexp(x, _axes(dim, x), keepdims=keepdim)


def logsumexp(input, dim, keepdim=False, *, keep_dims=None):
    """log(sum(exp(input))) over axes, computed without overflow.

    Args:
        input (Tensor): any shape, of floats.
        dim (int, tuple or list): the axes; () for all.
        keepdim (bool): whether reduced axes stay, with size 1; also taken as `keep_dims`. Default: False.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.logsumexp(ms.Tensor([1000.0, 1000.0]), 0))
        1000.69315
    """
    return _logsumexp(input, dim, keepdim if keep_dims is None else keep_dims)


# ---- without NaN


@operator()
def nansum(input, axis=None, keepdims=False, *, dtype=None):
    """The sum over the axes `axis` (all by default), NaN counted as 0.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.nansum(ms.Tensor([1.0, 3.0, float('nan')])))
        4.0
    """
    x = _cast(input, dtype)
    return jnp.nansum(x, _axes(axis, x), keepdims=keepdims).astype(x.dtype)


@operator()
def nanmean(input, axis=None, keepdims=False, *, dtype=None):
    """The mean over the axes `axis` (all by default) of the elements that are not NaN.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.nanmean(ms.Tensor([1.0, 3.0, float('nan')])))
        2.0
    """
    return jnp.nanmean(x := _cast(to_float(input), dtype), _axes(axis, x), keepdims=keepdims)
