"""Operator classes that gather, sort, count and scatter elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msjax.base.typing import TensorLike
from msjax.common import dtype as mstype
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.array_func import assigning, gathering, indexing, scattering, searching, segments, selecting, sorting
from msjax.ops.primitive import REQUIRED, class_form, given_as, name_classes, operator_class, unused

if TYPE_CHECKING:
    from msjax.ops.primitive import PrimitiveSelf


Select = class_form(selecting.select)
MaskedFill = class_form(selecting.masked_fill)
MaskedSelect = class_form(selecting.masked_select)
MaskedScatter = class_form(selecting.masked_scatter)
NonZero = class_form(selecting.nonzero)
GatherD = class_form(gathering.gather_d)
GatherNd = class_form(gathering.gather_nd)
GatherV2 = class_form(gathering.gather)
EmbeddingLookup = class_form(gathering.embedding_lookup)
ScatterNd = class_form(scattering.scatter_nd)
IndexFill = class_form(scattering.index_fill)
Unique = class_form(sorting.unique)
UniqueWithPad = class_form(sorting.unique_with_pad)
Assign = class_form(assigning.assign)
AssignAdd = class_form(assigning.assign_add)
AssignSub = class_form(assigning.assign_sub)
UnravelIndex = class_form(searching.unravel_index)
InvertPermutation = class_form(searching.invert_permutation)
Coalesce = class_form(searching.coalesce)
ScatterNonAliasingAdd = class_form(assigning.scatter_nd_add)

# ---- with attributes

Gather = class_form(gathering.gather, batch_dims=0)
OneHot = class_form(selecting.one_hot, axis=-1)
UniqueConsecutive = class_form(sorting.unique_consecutive, return_inverse=False, return_counts=False, dim=None)
Histogram = class_form(searching.histc, bins=100, min=0.0, max=0.0)
HistogramFixedWidth = class_form(searching.histogram_fixed_width, nbins=REQUIRED, dtype="int32")
ListDiff = class_form(searching.list_difference, out_idx=mstype.int32)
NthElement = class_form(searching.nth_element, reverse=given_as("largest", False))
InTopK = class_form(sorting.intopk, k=REQUIRED)
TopK = class_form(sorting.top_k, sorted=True)
Sort = class_form(sorting.sort, axis=-1, descending=False)
TensorScatterElements = class_form(scattering.tensor_scatter_elements, axis=0, reduction="none")
InplaceUpdate = class_form(scattering.inplace_update, indices=REQUIRED)
InplaceAdd = class_form(scattering.inplace_add, indices=REQUIRED)
InplaceSub = class_form(scattering.inplace_sub, indices=REQUIRED)

TensorScatterUpdate = class_form(scattering.tensor_scatter_update)
TensorScatterAdd = class_form(scattering.tensor_scatter_add)
TensorScatterSub = class_form(scattering.tensor_scatter_sub)
TensorScatterMul = class_form(scattering.tensor_scatter_mul)
TensorScatterDiv = class_form(scattering.tensor_scatter_div)
TensorScatterMax = class_form(scattering.tensor_scatter_max)
TensorScatterMin = class_form(scattering.tensor_scatter_min)
ScatterUpdate = class_form(assigning.scatter_update, use_locking=unused(True))
ScatterAdd = class_form(assigning.scatter_add, use_locking=unused(False))
ScatterSub = class_form(assigning.scatter_sub, use_locking=unused(False))
ScatterMul = class_form(assigning.scatter_mul, use_locking=unused(False))
ScatterDiv = class_form(assigning.scatter_div, use_locking=unused(False))
ScatterMax = class_form(assigning.scatter_max, use_locking=unused(False))
ScatterMin = class_form(assigning.scatter_min, use_locking=unused(False))
ScatterNdUpdate = class_form(assigning.scatter_nd_update, use_locking=unused(True))
ScatterNdAdd = class_form(assigning.scatter_nd_add, use_locking=unused(False))
ScatterNdSub = class_form(assigning.scatter_nd_sub, use_locking=unused(False))
ScatterNdMul = class_form(assigning.scatter_nd_mul, use_locking=unused(False))
ScatterNdDiv = class_form(assigning.scatter_nd_div, use_locking=unused(False))
ScatterNdMax = class_form(assigning.scatter_nd_max, use_locking=unused(False))
ScatterNdMin = class_form(assigning.scatter_nd_min, use_locking=unused(False))
UnsortedSegmentSum = class_form(segments.unsorted_segment_sum)
UnsortedSegmentProd = class_form(segments.unsorted_segment_prod)
UnsortedSegmentMax = class_form(segments.unsorted_segment_max)
UnsortedSegmentMin = class_form(segments.unsorted_segment_min)
SegmentSum = class_form(segments.SEGMENTS["sum"])
SegmentMean = class_form(segments.SEGMENTS["mean"])
SegmentProd = class_form(segments.SEGMENTS["prod"])
SegmentMax = class_form(segments.SEGMENTS["max"])
SegmentMin = class_form(segments.SEGMENTS["min"])


@operator_class()
def SparseGatherV2(self: PrimitiveSelf, params: TensorLike, indices: TensorLike, axis: int) -> Tensor:
    """Slices along an axis, picked by index: ``SparseGatherV2()(params, indices, axis)``."""
    return gathering.gather(params, indices, axis)


@operator_class()
def InplaceUpdateV2(self: PrimitiveSelf, x: TensorLike, indices: TensorLike, v: TensorLike) -> Tensor:
    """`x` with its rows number `indices` replaced by `v`: ``InplaceUpdateV2()(x, indices, v)``."""
    return scattering.inplace_update(x, v, indices)


@operator_class(dtype=mstype.int64, right=False)
def SearchSorted(self: PrimitiveSelf, x: TensorLike, values: TensorLike, sorter: TensorLike | None = None) -> Tensor:
    """Where values would go in a sorted sequence.

    Args:
        dtype (ms.dtype): ms.int32 or ms.int64. Default: ms.int64.
        right (bool): after equal elements. Default: False.
    """
    return searching.searchsorted(x, values, out_int32=self.dtype is mstype.int32, right=self.right, sorter=sorter)


@operator_class(boundaries=REQUIRED)
def Bucketize(self: PrimitiveSelf, x: TensorLike) -> Tensor:
    """The number of the bucket that each element falls into.

    Args:
        boundaries (list): ascending; each belongs to the bucket after it, unlike those of `ops.bucketize`.
    """
    return searching.bucketize(x, list(self.boundaries), right=True)


@operator_class(out_type=mstype.int32)
def LowerBound(self: PrimitiveSelf, x: TensorLike, values: TensorLike) -> Tensor:
    """Where values would go in sorted rows, before equal elements.

    Args:
        out_type (ms.dtype): Default: ms.int32.
    """
    return searching.bound(x, values, False, self.out_type)


@operator_class(out_type=mstype.int32)
def UpperBound(self: PrimitiveSelf, x: TensorLike, values: TensorLike) -> Tensor:
    """Where values would go in sorted rows, after equal elements.

    Args:
        out_type (ms.dtype): Default: ms.int32.
    """
    return searching.bound(x, values, True, self.out_type)


@operator_class(axis=0)
def ScatterAddWithAxis(self: PrimitiveSelf, x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """Updates added along an axis, at an index for each element.

    Args:
        axis (int): Default: 0.
    """
    return scattering.tensor_scatter_elements(x, indices, updates, self.axis, "add")


def _index_add(x: Parameter, indices: Tensor, y: Tensor, axis: int) -> Parameter:
    """Slices added to those of a Parameter along an axis, in place.

    Args:
        x (Parameter): of any shape; it gets the sums.
        indices (Tensor): of Int32, a vector.
        y (Tensor): one slice for each index.
        axis (int): the axis.
    """
    return assigning.written(x, scattering.index_add(x, indices, y, axis))


InplaceIndexAdd = class_form(_index_add, axis=REQUIRED)
IndexAdd = class_form(_index_add, axis=REQUIRED, use_lock=unused(True), check_index_bound=unused(True))


@operator_class(accumulate=0)
def IndexPut(self: PrimitiveSelf, x1: TensorLike, x2: TensorLike, indices: Sequence[TensorLike]) -> Tensor:
    """Values put in at indices, one Tensor for each axis: ``IndexPut()(x, values, indices)``.

    Args:
        accumulate (int): 1 to add. Default: 0.
    """
    return indexing.index_put(x1, indices, x2, bool(self.accumulate))


@operator_class()
def Bincount(self: PrimitiveSelf, array: TensorLike, size: int, weights: TensorLike) -> Tensor:
    """How often each integer from 0 up to a size occurs: ``Bincount()(x, size, weights)``."""
    size = freeze(size)
    weights = weights if isinstance(weights, Tensor) and weights.size else None  # pyright: ignore[reportAssignmentType]
    return searching.bincount(array, weights, size)[:size]


name_classes(globals())
