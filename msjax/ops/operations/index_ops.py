"""Operator classes that pick elements by index, sort and count them, and write them."""

from __future__ import annotations

from collections.abc import Sequence

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.array_func import assigning, gathering, indexing, scattering, searching, segments, selecting, sorting
from msjax.ops.primitive import REQUIRED, Primitive, plain_primitives, primitive_class
from msjax.typing import TensorLike

__all__ = ["Bincount"]


def _sparse_gather(params, indices, axis):
    """Slices along an axis, picked by index."""
    return gathering.gather(params, indices, axis)


_PLAIN = plain_primitives(
    {
        "Select": selecting.select,
        "MaskedFill": selecting.masked_fill,
        "MaskedSelect": selecting.masked_select,
        "MaskedScatter": selecting.masked_scatter,
        "NonZero": selecting.nonzero,
        "GatherD": gathering.gather_d,
        "GatherNd": gathering.gather_nd,
        "GatherV2": gathering.gather,
        "SparseGatherV2": _sparse_gather,
        "EmbeddingLookup": gathering.embedding_lookup,
        "ScatterNd": scattering.scatter_nd,
        "IndexFill": scattering.index_fill,
        "InplaceUpdateV2": lambda x, indices, v: scattering.inplace_update(x, v, indices),
        "Unique": sorting.unique,
        "UniqueWithPad": sorting.unique_with_pad,
        "Assign": assigning.assign,
        "AssignAdd": assigning.assign_add,
        "AssignSub": assigning.assign_sub,
        "UnravelIndex": searching.unravel_index,
        "InvertPermutation": searching.invert_permutation,
        "Coalesce": searching.coalesce,
        "ScatterNonAliasingAdd": assigning.scatter_nd_add,
    }
    | {
        "TensorScatter" + how.capitalize(): getattr(scattering, "tensor_scatter_" + how)
        for how in ("update", "add", "sub", "mul", "div", "max", "min")
    }
    | {
        "UnsortedSegment" + how.capitalize(): getattr(segments, "unsorted_segment_" + how)
        for how in ("sum", "prod", "max", "min")
    }
    | {"Segment" + how.capitalize(): segments.SEGMENTS[how] for how in segments.SEGMENTS}
)
globals().update(_PLAIN)
__all__ += list(_PLAIN)

_LOCK = "\n\n    Args:\n        use_locking (bool): kept for MindSpore's programs, without effect."


def _locked(function, default):
    doc = function.__doc__.split("\n\n")[0] + _LOCK
    return {"use_locking": default}, lambda self, x, indices, updates: function(x, indices, updates), doc


def _one_hot(self, indices, depth, on_value, off_value):
    return selecting.one_hot(indices, depth, on_value, off_value, self.axis)


def _unique_consecutive(self, x):
    return sorting.unique_consecutive(x, self.return_inverse, self.return_counts, self.dim)


def _inplace(function):
    doc = function.__doc__ + "\n\n    Args:\n        indices (int or tuple): the rows."
    return {"indices": REQUIRED}, lambda self, x, v: function(x, v, self.indices), doc


def _index_put(self, x1, x2, indices):
    return indexing.index_put(x1, indices, x2, bool(self.accumulate))


def _elements(self, x, indices, updates):
    return scattering.tensor_scatter_elements(x, indices, updates, self.axis, self.reduction)


def _index_add(self, x, indices, y):
    return assigning.written(x, scattering.index_add(x, indices, y, self.axis))


def _bound(right):
    return lambda self, x, values: searching.bound(x, values, right, self.out_type)


_CLASSES = {
    "Gather": (
        {"batch_dims": 0},
        lambda self, x, indices, axis: gathering.gather(x, indices, axis, self.batch_dims),
        "Slices along an axis, picked by index: ``Gather()(x, indices, axis)``.\n\n    Args:\n        batch_dims (int): how many leading axes the inputs have in common. Default: 0.",
    ),
    "OneHot": (
        {"axis": -1},
        _one_hot,
        "A new axis with one value at the position that the index names: ``OneHot()(indices, depth, on, off)``.\n\n    Args:\n        axis (int): where the new axis goes. Default: -1.",
    ),
    "UniqueConsecutive": (
        {"return_inverse": False, "return_counts": False, "dim": None},
        _unique_consecutive,
        "The elements without those equal to the one before; the arguments are those of `ops.unique_consecutive`.",
    ),
    "SearchSorted": (
        {"dtype": mstype.int64, "right": False},
        lambda self, x, values, sorter=None: searching.searchsorted(
            x, values, out_int32=self.dtype is mstype.int32, right=self.right, sorter=sorter
        ),
        "Where values would go in a sorted sequence.\n\n    Args:\n        dtype (ms.dtype): ms.int32 or ms.int64. Default: ms.int64.\n        right (bool): after equal elements. Default: False.",
    ),
    "Bucketize": (
        {"boundaries": REQUIRED},
        # This operator's boundaries belong to the bucket after them, unlike those of ops.bucketize.
        lambda self, x: searching.bucketize(x, list(self.boundaries), right=True),
        "The number of the bucket that each element falls into.\n\n    Args:\n        boundaries (list): ascending.",
    ),
    "Histogram": (
        {"bins": 100, "min": 0.0, "max": 0.0},
        lambda self, x: searching.histc(x, self.bins, self.min, self.max),
        "How many elements fall into each of equal intervals; the arguments are those of `ops.histc`.",
    ),
    "HistogramFixedWidth": (
        {"nbins": REQUIRED, "dtype": "int32"},
        lambda self, x, range_: searching.histogram_fixed_width(x, range_, self.nbins, mstype.as_dtype(self.dtype)),
        "How many elements fall into each of equal intervals of a range.\n\n    Args:\n        nbins (int): how many intervals.\n        dtype (str): of the result. Default: 'int32'.",
    ),
    "ListDiff": (
        {"out_idx": mstype.int32},
        lambda self, x, y: searching.list_difference(x, y, self.out_idx),
        "The elements of the first vector that the second lacks, and where they are.\n\n    Args:\n        out_idx (ms.dtype): of the positions. Default: ms.int32.",
    ),
    "NthElement": (
        {"reverse": False},
        lambda self, x, n: searching.nth_element(x, freeze(n), self.reverse),
        "The n-th smallest element of each row.\n\n    Args:\n        reverse (bool): the n-th largest. Default: False.",
    ),
    "LowerBound": (
        {"out_type": mstype.int32},
        _bound(False),
        "Where values would go in sorted rows, before equal elements.\n\n    Args:\n        out_type (ms.dtype): Default: ms.int32.",
    ),
    "UpperBound": (
        {"out_type": mstype.int32},
        _bound(True),
        "Where values would go in sorted rows, after equal elements.\n\n    Args:\n        out_type (ms.dtype): Default: ms.int32.",
    ),
    "InTopK": (
        {"k": REQUIRED},
        lambda self, x1, x2: sorting.intopk(x1, x2, self.k),
        "Whether each row's target is among its k best classes; see `ops.intopk`.\n\n    Args:\n        k (int): how many classes.",
    ),
    "TopK": (
        {"sorted": True},
        lambda self, x, k: sorting.top_k(x, k, self.sorted),
        "The k largest elements along the last axis, in order, and their Int32 indices.\n\n    Args:\n        sorted (bool): kept for MindSpore's programs. Default: True.",
    ),
    "Sort": (
        {"axis": -1, "descending": False},
        lambda self, x: sorting.sort(x, self.axis, self.descending),
        "The elements sorted along an axis, and where each came from.\n\n    Args:\n        axis (int): Default: -1.\n        descending (bool): Default: False.",
    ),
    "TensorScatterElements": (
        {"axis": 0, "reduction": "none"},
        _elements,
        "Updates put in, or added, along an axis, at an index for each element.\n\n    Args:\n        axis (int): Default: 0.\n        reduction (str): 'none' or 'add'. Default: 'none'.",
    ),
    "ScatterAddWithAxis": (
        {"axis": 0},
        lambda self, x, indices, updates: scattering.tensor_scatter_elements(x, indices, updates, self.axis, "add"),
        "Updates added along an axis, at an index for each element.\n\n    Args:\n        axis (int): Default: 0.",
    ),
    "InplaceUpdate": _inplace(scattering.inplace_update),
    "InplaceAdd": _inplace(scattering.inplace_add),
    "InplaceSub": _inplace(scattering.inplace_sub),
    "InplaceIndexAdd": (
        {"axis": REQUIRED},
        _index_add,
        "Slices added to those of a Parameter along an axis, in place.\n\n    Args:\n        axis (int): the axis.",
    ),
    "IndexAdd": (
        {"axis": REQUIRED, "use_lock": True, "check_index_bound": True},
        _index_add,
        "Slices added to those of a Parameter along an axis, in place.\n\n    Args:\n        axis (int): the axis.\n        use_lock, check_index_bound (bool): kept for MindSpore's programs, without effect.",
    ),
    "IndexPut": (
        {"accumulate": 0},
        _index_put,
        "Values put in at indices, one Tensor for each axis: ``IndexPut()(x, values, indices)``.\n\n    Args:\n        accumulate (int): 1 to add. Default: 0.",
    ),
}
_CLASSES |= {
    "Scatter" + how.capitalize(): _locked(getattr(assigning, "scatter_" + how), how == "update")
    for how in ("update", "add", "sub", "mul", "div", "max", "min")
}
_CLASSES |= {
    "ScatterNd" + how.capitalize(): _locked(getattr(assigning, "scatter_nd_" + how), how == "update")
    for how in ("update", "add", "sub", "mul", "div", "max", "min")
}
for _name, (_attributes, _call, _doc) in _CLASSES.items():
    globals()[_name] = primitive_class(_name, _attributes, _call, _doc)
    __all__.append(_name)


class Bincount(Primitive):
    """How often each integer from 0 up to a size occurs: ``Bincount()(x, size, weights)``."""

    def __call__(self, array: TensorLike, size: int | Sequence[int], weights: TensorLike):
        size = freeze(size)
        weights = weights if isinstance(weights, Tensor) and weights.size else None
        return searching.bincount(array, weights, size)[:size]
