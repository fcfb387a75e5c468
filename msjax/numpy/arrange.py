"""Shapes, axes, repetition, joining and splitting under numpy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, overload

import jax.numpy as jnp
import numpy as np

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike, Shape
from msjax.core.base.checks import check_one_of
from msjax.core.base.typing import Axes, JaxArray, Number
from msjax.engine.autograd.op import Op, apply
from msjax.engine.autograd.views import Rule
from msjax.numpy.lifting import lifted, tensor, tensors
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.function.array_func.arrange import RESHAPED
from msjax.ops.function.array_func.casting import ints

__all__ = [
    "append", "apply_along_axis", "apply_over_axes", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays",
    "broadcast_to", "column_stack", "concatenate", "dsplit", "dstack", "expand_dims", "flip", "fliplr", "flipud", "hsplit", "hstack",
    "ix_", "meshgrid", "moveaxis", "pad", "ravel", "repeat", "reshape", "roll", "rollaxis", "rot90", "size", "split", "squeeze", "stack",
    "swapaxes", "tile", "transpose", "vsplit", "vstack",
]  # fmt: skip


def reshape(x: ArrayLike, new_shape: Shape) -> Tensor:
    """The same elements in another shape; one size may be -1 and is then inferred."""
    return ops.reshape(tensor(x), new_shape)


def ravel(x: ArrayLike) -> Tensor:
    """The elements as one axis."""
    return ops.ravel(tensor(x))


def size(a: ArrayLike, axis: int | None = None) -> int:
    """The number of elements, or the size of an axis."""
    a = tensor(a)
    return a.size if axis is None else a.shape[axis]


@lifted(int_grad=True, view=RESHAPED)
def expand_dims(a: ArrayLike, axis: int) -> JaxArray:
    """New axes of size 1 at the positions `axis`, an int or a tuple."""
    return jnp.expand_dims(a, axis)


def squeeze(a: ArrayLike, axis: Axes | None = None) -> Tensor:
    """Without axes of size 1: all of them, or those named."""
    return ops.squeeze(tensor(a), freeze(axis))


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order, reversed by default."""
    a = tensor(a)
    return ops.transpose(a, tuple(range(a.ndim))[::-1] if axes is None else axes)


def swapaxes(x: ArrayLike, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged."""
    return ops.swapaxes(tensor(x), axis1, axis2)


def moveaxis(a: ArrayLike, source: Axes, destination: Axes) -> Tensor:
    """Axes moved to other positions, the others in their order."""
    return ops.moveaxis(tensor(a), freeze(source), freeze(destination))


@lifted(int_grad=True, view=Rule(layout=np.rollaxis))
def rollaxis(x: ArrayLike, axis: int, start: int = 0) -> JaxArray:
    """An axis moved in front of the axis `start`."""
    return jnp.rollaxis(x, axis, start)


class _AtLeast(Protocol):
    @overload
    def __call__(self, arys: Tensor, /) -> Tensor: ...
    @overload
    def __call__(self, *arys: ArrayLike) -> Any: ...


def _atleast(function: Callable[[Tensor], Tensor], doc: str) -> _AtLeast:
    def call(*arys: Any) -> Any:
        several = len(arys) == 1 and isinstance(arys[0], (tuple, list)) and hasattr(arys[0][0], "shape")
        out = [function(tensor(a)) for a in (arys[0] if several else arys)]
        return out[0] if len(out) == 1 else out

    return titled(call, function.__name__, doc)


atleast_1d: _AtLeast = _atleast(ops.atleast_1d, "Arrays with at least one axis.")
atleast_2d: _AtLeast = _atleast(ops.atleast_2d, "Arrays with at least two axes; new ones go in front.")
atleast_3d: _AtLeast = _atleast(
    ops.atleast_3d, "Arrays with at least three axes: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1)."
)


def broadcast_to(array: ArrayLike, shape: Shape) -> Tensor:
    """The array repeated to a larger shape."""
    return ops.broadcast_to(tensor(array), ints(shape))


def broadcast_arrays(*args: ArrayLike) -> list[Tensor]:
    """Arrays repeated to the shape that all of them fit, as a list."""
    args = tensors(args)  # pyright: ignore[reportAssignmentType]
    shape = np.broadcast_shapes(*(a.shape for a in args))
    return [ops.broadcast_to(a, shape) for a in args]


def tile(a: ArrayLike, reps: Axes) -> Tensor:
    """The array repeated along its axes."""
    return ops.tile(tensor(a), ints(reps))


def repeat(a: ArrayLike, repeats: int | Sequence[int], axis: Axes | None = None) -> Tensor:
    """Each element, or each slice along an axis, repeated where it stands."""
    return ops.repeat_interleave(tensor(a), repeats, axis)


def flip(m: ArrayLike, axis: Axes | None = None) -> Tensor:
    """The order of elements reversed along axes, all by default."""
    m = tensor(m)
    return ops.flip(m, tuple(range(m.ndim)) if axis is None else ints(axis))


def fliplr(m: ArrayLike) -> Tensor:
    """The order of elements reversed along the second axis."""
    return ops.flip(tensor(m), (1,))


def flipud(m: ArrayLike) -> Tensor:
    """The order of elements reversed along the first axis."""
    return ops.flip(tensor(m), (0,))


def rot90(a: ArrayLike, k: int = 1, axes: Shape = (0, 1)) -> Tensor:
    """The plane of two axes turned by k times 90 degrees."""
    return ops.rot90(tensor(a), k, ints(axes))


def roll(a: ArrayLike, shift: Axes, axis: Axes | None = None) -> Tensor:
    """Elements moved along axes, those that leave coming in at the other end; the flattened array by default."""
    return ops.roll(tensor(a), freeze(shift), freeze(axis))


_GRID = Op("meshgrid", lambda *args: tuple(jnp.meshgrid(*args[:-2], sparse=args[-2], indexing=args[-1])), int_grad=True)


def meshgrid(*xi: ArrayLike, sparse: bool = False, indexing: str = "xy") -> list[Tensor]:
    """Grids of coordinates from vectors, as a list, other arrays being flattened; with `sparse`, arrays that broadcast to them.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> x, y = mnp.meshgrid(Tensor([1, 2]), Tensor([5, 6, 7]))
        >>> print(x)
        [[1 2]
         [1 2]
         [1 2]]
    """
    check_one_of(indexing, ("xy", "ij"), "indexing", "meshgrid")
    return list(apply(_GRID, [ops.reshape(x, (-1,)) for x in tensors(xi)], (sparse, indexing)))


def ix_(*args: ArrayLike) -> tuple[Tensor, ...]:
    """Vectors shaped so that together they index the grid of their elements."""
    args = tensors(args)  # pyright: ignore[reportAssignmentType]
    return tuple(ops.reshape(a, (1,) * i + (-1,) + (1,) * (len(args) - 1 - i)) for i, a in enumerate(args))


# ---- joining and splitting


def concatenate(arrays: ArrayLike, axis: int = 0) -> Tensor:
    """Arrays joined along an axis; flattened first if that is None.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.concatenate((Tensor([1, 2]), Tensor([3]))))
        [1 2 3]
    """
    arrays = tensors(arrays)
    return ops.concat([ops.ravel(a) for a in arrays] if axis is None else arrays, 0 if axis is None else axis)


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Tensor:
    """`values` joined to the end of an array along an axis; flattened first if that is None."""
    return concatenate((arr, values), axis)


def stack(arrays: ArrayLike, axis: int = 0) -> Tensor:
    """Arrays of one shape joined along a new axis."""
    return ops.stack(tensors(arrays), axis)


class _Stack(Protocol):
    def __call__(self, tup: ArrayLike) -> Tensor: ...


def _stack(function: Callable[[list[Tensor]], Tensor], doc: str) -> _Stack:
    def call(tup: ArrayLike) -> Tensor:
        return tup if isinstance(tup, Tensor) else function(tensors(tup))

    return titled(call, function.__name__, f"{doc} One Tensor is returned as it is.")


hstack: _Stack = _stack(ops.hstack, "Arrays joined along the second axis; 1-d ones along their only axis.")
vstack: _Stack = _stack(ops.vstack, "Arrays joined along the first axis; 1-d ones as rows.")
dstack: _Stack = _stack(ops.dstack, "Arrays joined along the third axis, which is added where it is missing.")
column_stack: _Stack = _stack(ops.column_stack, "Arrays joined along the second axis; 1-d ones as columns.")


def split(x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces along an axis: a number of equal ones, or those between positions to cut at.

    Raises:
        ValueError: the axis can't be split into that many equal pieces.
    """
    x, where = tensor(x), freeze(indices_or_sections)
    if isinstance(where, int) and x.shape[axis] % where:
        raise ValueError(f"For 'split', axis {axis} of shape {x.shape} can't be split into {where} equal pieces.")
    return ops.tensor_split(x, where, axis)


def array_split(x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces along an axis, the first ones larger by one where the number doesn't divide."""
    return ops.tensor_split(tensor(x), indices_or_sections, axis)


def hsplit(x: ArrayLike, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`split` along the second axis; of a 1-d array along its only one."""
    x = tensor(x)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(x: ArrayLike, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`split` along the first axis."""
    return split(x, indices_or_sections, 0)


def dsplit(x: ArrayLike, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`split` along the third axis."""
    return split(x, indices_or_sections, 2)


# ---- padding


@operator(2, int_grad=(0,))
def _pad(arr, constant, pad_width, mode, options):
    options = dict(options)
    if constant is not None:
        options["constant_values"] = constant
    return jnp.pad(arr, pad_width, mode, **options)


def pad(
    arr: ArrayLike,
    pad_width: int | tuple[int, ...],
    mode: str | Callable[..., Any] = "constant",
    stat_length: int | tuple[int, ...] | None = None,
    constant_values: Number | tuple[Any, ...] = 0,
    end_values: Number | tuple[Any, ...] = 0,
    reflect_type: str = "even",
    **kwargs: Any,
) -> Tensor:
    """The array with elements added at its edges.

    Args:
        arr (array-like): of any shape.
        pad_width (int or tuple): how many: for all edges, (before, after), or a pair for each axis.
        mode (str or callable): "constant", "empty", "edge", "linear_ramp", "maximum", "mean", "minimum", "reflect",
            "symmetric" or "wrap"; or a function as numpy's. Default: "constant".
        stat_length (int or tuple, optional): how many elements at the edge count for "maximum", "mean" and "minimum".
        constant_values, end_values (number or tuple): of "constant" and "linear_ramp". Default: 0.
        reflect_type (str): "even" or "odd", for "reflect" and "symmetric". Default: "even".
    """
    arr, constant = tensor(arr), None
    if arr.ndim == 0:
        return arr
    if callable(mode):
        options = kwargs
    elif mode == "constant":
        options, constant = {}, constant_values
    elif mode in ("maximum", "mean", "minimum"):
        options = {"stat_length": stat_length}
    elif mode == "linear_ramp":
        options = {"end_values": end_values}
    else:
        options = {"reflect_type": reflect_type} if mode in ("reflect", "symmetric") else {}
    options = tuple((k, freeze(v)) for k, v in options.items())
    return _pad(arr, _numbers(constant), freeze(pad_width), mode, options)


def _numbers(values):
    """Nested numbers as an array, one as a Python number."""
    if isinstance(values, (tuple, list)):
        return np.asarray(freeze(values))
    return values.tolist() if hasattr(values, "tolist") else values


# ---- functions along axes


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> Tensor:
    """A function of vectors called on each vector along an axis, and the results put in its place.

    Args:
        func1d (callable): from a vector, and further arguments, to a Tensor.
        axis (int): the axis.
        arr (array-like): of any shape.
    """
    arr = tensor(arr)
    axis = axis % arr.ndim
    rest = arr.shape[:axis] + arr.shape[axis + 1 :]
    rows = ops.reshape(ops.moveaxis(arr, axis, -1), (-1, arr.shape[axis]))
    out = ops.vmap(lambda row: func1d(row, *args, **kwargs))(rows)
    out = ops.reshape(out, rest + out.shape[1:])
    made = out.ndim - len(rest)
    return ops.moveaxis(out, tuple(range(len(rest), out.ndim)), tuple(range(axis, axis + made))) if made else out


def apply_over_axes(func: Callable[[Tensor, int], Tensor], a: ArrayLike, axes: int | Sequence[int]) -> Tensor:
    """A function of (array, axis) called for one axis after the other; a reduced axis comes back with size 1."""
    a = tensor(a)
    for axis in ints(axes):
        axis = axis % a.ndim
        out = func(a, axis)
        a = out if out.ndim == a.ndim else ops.expand_dims(out, axis)
    return a
