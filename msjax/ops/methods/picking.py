"""Tensor methods that gather, scatter, sort and count elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msjax.common import dtype as mstype
from msjax.common.bases import attached_to
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.ops.function.array_func import arrange, casting, gathering, joining, scattering, searching, selecting, sorting


@attached_to(Tensor)
class PickingMethods:
    """Methods that gather, scatter, sort and count elements."""

    from msjax.ops.function.array_func.indexing import getitem as __getitem__, setitem as __setitem__

    # picking and putting
    def gather(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Slices picked along an axis: ``gather(input_indices, axis, batch_dims=0)``; or elements: ``gather(dim, index)``.

        See `ops.gather` and `ops.gather_elements`.
        """
        if "dim" in kwargs or "index" in kwargs or (args and isinstance(args[0], int)):
            return gathering.gather_elements(self, *args, **kwargs)
        return gathering.gather(self, *args, **kwargs)

    def index_select(
        self: Tensor, axis: int | Sequence[int] | None = None, index: TensorLike | None = None, *, dim: int | None = None
    ) -> Tensor:
        """Slices along an axis, picked by a vector of integers."""
        return gathering.index_select(self, axis if dim is None else dim, index)

    def index_add(
        self: Tensor,
        *args: Any,
        dim: int | None = None,
        axis: int | Sequence[int] | None = None,
        indices: Tensor | None = None,
        index: Tensor | None = None,
        y: Tensor | None = None,
        source: Tensor | None = None,
        alpha: int = 1,
        use_lock: bool = True,
        check_index_bound: bool = True,
    ) -> Tensor:
        """Slices added along an axis, in place: ``index_add(indices, y, axis)`` or ``index_add(dim, index, source, alpha=1)``."""
        if args and isinstance(args[0], Tensor):
            indices, y, axis = (*args, y, axis)[:3] if len(args) < 3 else args[:3]  # pyright: ignore[reportAssignmentType]
        else:
            given = list(args)
            axis = given.pop(0) if given and dim is None and axis is None else dim if axis is None else axis
            indices = given.pop(0) if given else indices if index is None else index
            y = given.pop(0) if given else y if source is None else source
        return scattering.index_add(self, indices, y * alpha if alpha != 1 else y, axis)  # pyright: ignore[reportOptionalOperand]

    def take(
        self: Tensor,
        indices: Tensor | None = None,
        axis: int | None = None,
        mode: str | None = None,
        *,
        index: TensorLike | None = None,
    ) -> Tensor:
        """Elements of the flattened Tensor, or slices along an axis, picked by index.

        Args:
            indices (Tensor): of integers.
            axis (int, optional): the axis.
            mode (str, optional): what to do with an index out of range: "clip", "wrap" or "raise". By default "clip" with an axis and
                "raise" without.
        """
        indices = gathering.integers(indices if index is None else index, "take")
        if axis is None and mode is None:
            return gathering.take(self, indices)
        if axis is None:
            self, axis = self.reshape((-1,)), 0
        size, mode = self.shape[axis], mode or "clip"
        if mode == "wrap":
            indices = indices % size
        elif mode == "clip":
            indices = indices.clip(0, size - 1)
        elif mode != "raise":
            raise ValueError(f"For 'Tensor.take', 'mode' should be 'clip', 'wrap' or 'raise', but got {mode!r}.")
        return gathering.gather(self, indices, axis)

    def choose(self: Tensor, choices: Tensor | Sequence[Tensor], mode: str = "clip") -> Tensor:
        """For each element, an index, the element of the choice of that number.

        Args:
            choices (Tensor, tuple or list): what to choose from, along the first axis.
            mode (str): what to do with an index out of range: "clip", "wrap" or "raise". Default: "clip".
        """
        choices = (
            choices
            if isinstance(choices, Tensor)
            else joining.stack([c if isinstance(c, Tensor) else Tensor(c) for c in choices])
        )
        index = self.astype(mstype.int64)
        index = index % choices.shape[0] if mode == "wrap" else index.clip(0, choices.shape[0] - 1) if mode == "clip" else index
        shape = np.broadcast_shapes(self.shape, choices.shape[1:])
        choices = arrange.broadcast_to(
            choices.reshape((-1, *(1,) * (len(shape) - choices.ndim + 1), *choices.shape[1:])), (-1, *shape)
        )
        return gathering.gather_d(choices, 0, arrange.broadcast_to(index, shape).expand_dims(0))[0]

    def itemset(self: Tensor, *args: Any) -> Tensor:
        """The Tensor with one element, at a flat index or a tuple of them, replaced, as a new Tensor."""
        *at, value = args
        if not at and self.size == 1:
            at = [0]
        if len(at) != 1:
            raise ValueError(f"For 'Tensor.itemset', give an index and a value, but got {args}.")
        index = at[0] if isinstance(at[0], tuple) else tuple(int(i) for i in np.unravel_index(at[0], self.shape))
        out = casting.identity(self)
        out[index] = value
        return out

    def scatter(
        self: Tensor,
        *args: Any,
        dim: int | None = None,
        axis: int | Sequence[int] | None = None,
        index: TensorLike | None = None,
        src: TensorLike | None = None,
        value: TensorLike | None = None,
    ) -> Tensor:
        """Values put in along an axis, at an index for each: ``scatter(axis, index, src)``; see `ops.scatter`."""
        given = list(args)
        axis = given.pop(0) if given and dim is None and axis is None else dim if axis is None else axis
        index = given.pop(0) if given else index
        src = given.pop(0) if given else value if src is None else src
        return scattering.scatter(self, axis, index, src)

    def scatter_add(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Values added: ``scatter_add(dim, index, src)`` along an axis, ``scatter_add(indices, updates)`` at rows of indices."""
        if (args and isinstance(args[0], Tensor)) or "indices" in kwargs:
            return scattering.tensor_scatter_add(self, *args, **kwargs)
        names = dict(zip(("dim", "index", "src"), args)) | kwargs
        return scattering.tensor_scatter_elements(self, names["index"], names["src"], names["dim"], "add")

    def select(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """``select(dim, index)``: the slice at one position of an axis; ``select(condition, y)``: the Tensor or `y`, by a condition."""
        if (args and isinstance(args[0], Tensor)) or "condition" in kwargs:
            names = dict(zip(("condition", "y"), args)) | kwargs
            return selecting.select(names["condition"], self, names["y"])
        names = dict(zip(("dim", "index"), args)) | kwargs
        dim = names["dim"] % self.ndim
        return self[(slice(None),) * dim + (int(names["index"]),)]

    def where(self: Tensor, condition: Tensor, y: TensorLike) -> Tensor:
        """The Tensor where the condition holds, `y` elsewhere."""
        return selecting.where(condition, self, y)

    from msjax.ops.function.array_func.gathering import gather_elements, gather_nd
    from msjax.ops.function.array_func.indexing import index_put
    from msjax.ops.function.array_func.scattering import (
        index_fill,
        inplace_update,
        tensor_scatter_div as scatter_div,
        tensor_scatter_max as scatter_max,
        tensor_scatter_min as scatter_min,
        tensor_scatter_mul as scatter_mul,
        tensor_scatter_sub as scatter_sub,
        unsorted_segment_max,
        unsorted_segment_min,
        unsorted_segment_prod,
        unsorted_segment_sum,
    )
    from msjax.ops.function.array_func.selecting import argwhere, masked_fill, masked_scatter, masked_select, nonzero

    # sorting and counting
    def sort(
        self: Tensor, axis: int = -1, descending: bool = False, *, dim: int | None = None, stable: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The elements sorted along an axis, and where each came from; see `ops.sort`."""
        return sorting.sort(self, axis if dim is None else dim, descending)

    def argsort(
        self: Tensor, axis: int = -1, descending: bool = False, *, dim: int | None = None, stable: bool = False
    ) -> Tensor:
        """Where each element of the Tensor sorted along an axis comes from; see `ops.argsort`."""
        return sorting.argsort(self, axis if dim is None else dim, descending)

    def searchsorted(self: Tensor, v: Tensor, side: str = "left", sorter: TensorLike | None = None) -> Tensor:
        """Where values would go in the sorted Tensor, as Int32; see `ops.searchsorted`."""
        return searching.searchsorted(self, v if isinstance(v, Tensor) else Tensor(v), out_int32=True, side=side, sorter=sorter)

    from msjax.ops.function.array_func.searching import bincount, histc
    from msjax.ops.function.array_func.sorting import distinct as unique, msort, top_k, topk, unique_consecutive, unique_with_pad
