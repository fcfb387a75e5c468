"""Operator classes that gather, sort, count and scatter elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.typing import Number
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.array_func import assigning, gathering, indexing, scattering, searching, selecting, sorting
from msjax.ops.primitive import Form, OfInput, OfX1X2

__all__ = [
    "Select", "MaskedFill", "MaskedSelect", "MaskedScatter", "NonZero", "GatherD", "GatherNd", "GatherV2", "EmbeddingLookup",
    "ScatterNd", "IndexFill", "Unique", "UniqueWithPad", "Assign", "AssignAdd", "AssignSub", "UnravelIndex",
    "InvertPermutation", "Coalesce", "ScatterNonAliasingAdd", "Gather", "OneHot", "UniqueConsecutive", "Histogram",
    "HistogramFixedWidth", "ListDiff", "NthElement", "InTopK", "TopK", "Sort", "TensorScatterElements", "InplaceUpdate",
    "InplaceAdd", "InplaceSub", "TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMul",
    "TensorScatterDiv", "TensorScatterMax", "TensorScatterMin", "ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul",
    "ScatterDiv", "ScatterMax", "ScatterMin", "ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMul",
    "ScatterNdDiv", "ScatterNdMax", "ScatterNdMin", "UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax",
    "UnsortedSegmentMin", "SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin", "SparseGatherV2",
    "InplaceUpdateV2", "SearchSorted", "Bucketize", "LowerBound", "UpperBound", "ScatterAddWithAxis", "InplaceIndexAdd",
    "IndexAdd", "IndexPut", "Bincount",
]  # fmt: skip


class _Locking(Form):
    use_locking: bool = False


class _LockingByDefault(Form):
    use_locking: bool = True


class _Rows(Form):
    indices: int | tuple[int, ...] | Tensor

    def __call__(self, x: TensorLike, v: TensorLike) -> Tensor:
        return self._function(x, v, self.indices)


# fmt: off
class Select(Form): __call__ = staticmethod(selecting.select)
class MaskedFill(Form): __call__ = staticmethod(selecting.masked_fill)
class MaskedSelect(Form): __call__ = staticmethod(selecting.masked_select)
class MaskedScatter(Form): __call__ = staticmethod(selecting.masked_scatter)
class NonZero(Form): __call__ = staticmethod(selecting.nonzero)
class GatherD(Form): __call__ = staticmethod(gathering.gather_d)
class GatherNd(Form): __call__ = staticmethod(gathering.gather_nd)
class GatherV2(Form): __call__ = staticmethod(gathering.gather)
class EmbeddingLookup(Form): __call__ = staticmethod(gathering.embedding_lookup)
class ScatterNd(Form): __call__ = staticmethod(scattering.scatter_nd)
class IndexFill(Form): __call__ = staticmethod(scattering.index_fill)
class Unique(Form): __call__ = staticmethod(sorting.unique)
class UniqueWithPad(Form): __call__ = staticmethod(sorting.unique_with_pad)
class Assign(Form): __call__ = staticmethod(assigning.assign)
class AssignAdd(Form): __call__ = staticmethod(assigning.assign_add)
class AssignSub(Form): __call__ = staticmethod(assigning.assign_sub)
class UnravelIndex(Form): __call__ = staticmethod(searching.unravel_index)
class InvertPermutation(Form): __call__ = staticmethod(searching.invert_permutation)
class Coalesce(Form): __call__ = staticmethod(searching.coalesce)
class ScatterNonAliasingAdd(Form): __call__ = staticmethod(assigning.scatter_nd_add)
class TensorScatterUpdate(Form): __call__ = staticmethod(scattering.tensor_scatter_update)
class TensorScatterAdd(Form): __call__ = staticmethod(scattering.tensor_scatter_add)
class TensorScatterSub(Form): __call__ = staticmethod(scattering.tensor_scatter_sub)
class TensorScatterMul(Form): __call__ = staticmethod(scattering.tensor_scatter_mul)
class TensorScatterDiv(Form): __call__ = staticmethod(scattering.tensor_scatter_div)
class TensorScatterMax(Form): __call__ = staticmethod(scattering.tensor_scatter_max)
class TensorScatterMin(Form): __call__ = staticmethod(scattering.tensor_scatter_min)
class ScatterUpdate(_LockingByDefault): __call__ = staticmethod(assigning.scatter_update)
class ScatterNdUpdate(_LockingByDefault): __call__ = staticmethod(assigning.scatter_nd_update)
class ScatterAdd(_Locking): __call__ = staticmethod(assigning.scatter_add)
class ScatterSub(_Locking): __call__ = staticmethod(assigning.scatter_sub)
class ScatterMul(_Locking): __call__ = staticmethod(assigning.scatter_mul)
class ScatterDiv(_Locking): __call__ = staticmethod(assigning.scatter_div)
class ScatterMax(_Locking): __call__ = staticmethod(assigning.scatter_max)
class ScatterMin(_Locking): __call__ = staticmethod(assigning.scatter_min)
class ScatterNdAdd(_Locking): __call__ = staticmethod(assigning.scatter_nd_add)
class ScatterNdSub(_Locking): __call__ = staticmethod(assigning.scatter_nd_sub)
class ScatterNdMul(_Locking): __call__ = staticmethod(assigning.scatter_nd_mul)
class ScatterNdDiv(_Locking): __call__ = staticmethod(assigning.scatter_nd_div)
class ScatterNdMax(_Locking): __call__ = staticmethod(assigning.scatter_nd_max)
class ScatterNdMin(_Locking): __call__ = staticmethod(assigning.scatter_nd_min)
class UnsortedSegmentSum(Form): __call__ = staticmethod(scattering.unsorted_segment_sum)
class UnsortedSegmentProd(Form): __call__ = staticmethod(scattering.unsorted_segment_prod)
class UnsortedSegmentMax(Form): __call__ = staticmethod(scattering.unsorted_segment_max)
class UnsortedSegmentMin(Form): __call__ = staticmethod(scattering.unsorted_segment_min)
class SegmentSum(Form): __call__ = staticmethod(scattering.SEGMENTS["sum"])
class SegmentMean(Form): __call__ = staticmethod(scattering.SEGMENTS["mean"])
class SegmentProd(Form): __call__ = staticmethod(scattering.SEGMENTS["prod"])
class SegmentMax(Form): __call__ = staticmethod(scattering.SEGMENTS["max"])
class SegmentMin(Form): __call__ = staticmethod(scattering.SEGMENTS["min"])
class InTopK(OfX1X2, of=sorting.intopk): k: int
class InplaceUpdate(_Rows, of=scattering.inplace_update): ...
class InplaceAdd(_Rows, of=scattering.inplace_add): ...
class InplaceSub(_Rows, of=scattering.inplace_sub): ...
# fmt: on


class Gather(Form, of=gathering.gather):
    batch_dims: int = 0

    def __call__(self, input_params: Tensor, input_indices: Tensor, axis: int) -> Tensor:
        return gathering.gather(input_params, input_indices, axis, self.batch_dims)


class OneHot(Form, of=selecting.one_hot):
    axis: int = -1

    def __call__(self, indices: Tensor, depth: int, on_value: Number | Tensor = 1, off_value: Number | Tensor = 0) -> Tensor:
        return selecting.one_hot(indices, depth, on_value, off_value, self.axis)


class UniqueConsecutive(Form, of=sorting.unique_consecutive):
    return_inverse: bool = False
    return_counts: bool = False
    dim: int | None = None

    def __call__(self, input: Tensor) -> Tensor | tuple[Tensor, ...]:
        return sorting.unique_consecutive(input, self.return_inverse, self.return_counts, self.dim)


class Histogram(OfInput, of=searching.histc):
    bins: int = 100
    min: Number = 0.0
    max: Number = 0.0


class HistogramFixedWidth(Form, of=searching.histogram_fixed_width):
    nbins: int
    dtype: DTypeLike = "int32"

    def __call__(self, x: TensorLike, range_: Tensor | Sequence[float]) -> Tensor:
        return searching.histogram_fixed_width(x, range_, self.nbins, self.dtype)


class ListDiff(Form, of=searching.list_difference):
    out_idx: Type = mstype.int32

    def __call__(self, x: TensorLike, y: TensorLike) -> tuple[Tensor, Tensor]:
        return searching.list_difference(x, y, self.out_idx)


class NthElement(Form, of=searching.nth_element, reverse="largest"):
    reverse: bool = False

    def __call__(self, x: TensorLike, n: int) -> Tensor:
        return searching.nth_element(x, n, self.reverse)


class TopK(Form, of=sorting.top_k):
    sorted: bool = True

    def __call__(self, input_x: TensorLike, k: int) -> tuple[Tensor, Tensor]:
        return sorting.top_k(input_x, k, self.sorted)


class Sort(Form, of=sorting.sort):
    axis: int = -1
    descending: bool = False

    def __call__(self, input_x: Tensor) -> tuple[Tensor, Tensor]:
        return sorting.sort(input_x, self.axis, self.descending)


class TensorScatterElements(Form, of=scattering.tensor_scatter_elements):
    axis: int = 0
    reduction: str = "none"

    def __call__(self, input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return scattering.tensor_scatter_elements(input_x, indices, updates, self.axis, self.reduction)


class SparseGatherV2(Form):
    """Slices along an axis, picked by index: ``SparseGatherV2()(params, indices, axis)``."""

    def __call__(self, params: TensorLike, indices: TensorLike, axis: int) -> Tensor:
        return gathering.gather(params, indices, axis)


class InplaceUpdateV2(Form):
    """`x` with its rows number `indices` replaced by `v`: ``InplaceUpdateV2()(x, indices, v)``."""

    def __call__(self, x: TensorLike, indices: TensorLike, v: TensorLike) -> Tensor:
        return scattering.inplace_update(x, v, indices)


class SearchSorted(Form):
    """Where values would go in a sorted sequence.

    Args:
        dtype (ms.dtype): ms.int32 or ms.int64. Default: ms.int64.
        right (bool): after equal elements. Default: False.
    """

    dtype: DTypeLike = mstype.int64
    right: bool = False

    def __call__(self, x: TensorLike, values: TensorLike, sorter: TensorLike | None = None) -> Tensor:
        return searching.searchsorted(x, values, out_int32=self.dtype is mstype.int32, right=self.right, sorter=sorter)


class Bucketize(Form):
    """The number of the bucket that each element falls into.

    Args:
        boundaries (list): ascending; each belongs to the bucket after it, unlike those of `ops.bucketize`.
    """

    boundaries: Sequence[Any]

    def __call__(self, x: TensorLike) -> Tensor:
        return searching.bucketize(x, list(self.boundaries), right=True)


class _Bound(Form):
    """The base of places in sorted rows.

    Args:
        out_type (ms.dtype): Default: ms.int32.
    """

    out_type: DTypeLike = mstype.int32
    _right: ClassVar[bool]

    def __call__(self, x: TensorLike, values: TensorLike) -> Tensor:
        return searching.found_places(x, values, None, self._right, self.out_type)


class LowerBound(_Bound):
    """Where values would go in sorted rows, before equal elements."""

    _right = False


class UpperBound(_Bound):
    """Where values would go in sorted rows, after equal elements."""

    _right = True


class ScatterAddWithAxis(Form):
    """Updates added along an axis, at an index for each element.

    Args:
        axis (int): Default: 0.
    """

    axis: int = 0

    def __call__(self, x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
        return scattering.tensor_scatter_elements(x, indices, updates, self.axis, "add")


class _IndexAdd(Form):
    axis: int

    def __call__(self, x: Parameter | Tensor, indices: Tensor, y: Tensor) -> Tensor:
        return self._function(x, indices, y, self.axis)


class InplaceIndexAdd(_IndexAdd, of=scattering.index_add): ...


class IndexAdd(_IndexAdd, of=scattering.index_add):
    use_lock: bool = True
    check_index_bound: bool = True


class IndexPut(Form):
    """Values put in at indices, one Tensor for each axis: ``IndexPut()(x, values, indices)``.

    Args:
        accumulate (int): 1 to add. Default: 0.
    """

    accumulate: int = 0

    def __call__(self, x1: TensorLike, x2: TensorLike, indices: Sequence[TensorLike]) -> Tensor:
        return indexing.index_put(x1, indices, x2, bool(self.accumulate))


class Bincount(Form):
    """How often each integer from 0 up to a size occurs: ``Bincount()(x, size, weights)``."""

    def __call__(self, array: TensorLike, size: int, weights: TensorLike) -> Tensor:
        size = freeze(size)
        weights = weights if isinstance(weights, Tensor) and weights.size else None  # pyright: ignore[reportAssignmentType]
        return searching.bincount(array, weights, size)[:size]
