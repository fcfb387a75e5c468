"""Transforms of any arrays, and transforms made of others: all of them in turn, one by chance, or in an order by chance."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from msjax.common.dtype import Type, bool_
from msjax.common.typing import ArrayLike, DTypeLike
from msjax.core.base.checks import check_int, check_kind, check_number, is_int
from msjax.core.base.errors import describe
from msjax.core.base.typing import Number
from msjax.dataset.checks import check_data, check_enum
from msjax.dataset.run import row_rng
from msjax.dataset.transforms.base import OF_BATCHES, Transform, call_in_turn, check_transforms
from msjax.dataset.values import as_value, is_text, numpy_dtype, pad_to, same_type

__all__ = [
    "Compose", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot", "OneHotOp", "PadEnd", "RandomApply", "RandomChoice",
    "RandomOrder", "Relational", "Slice", "TypeCast", "Unique",
]  # fmt: skip


class Relational(enum.IntEnum):
    """How `Mask` compares: EQ, NE, LT, LE, GT, GE.

    Example:
        >>> transforms.Relational.LE.name
        'LE'
    """

    EQ = 0
    NE = 1
    GT = 2
    GE = 3
    LT = 4
    LE = 5


class TypeCast(Transform):
    """Cast to another type; fractions are cut off.

    Args:
        data_type: a type such as ``ms.int32`` or ``np.int32``.

    Raises:
        TypeError: no type.

    Example:
        >>> import msjax as ms
        >>> from msjax.dataset import transforms
        >>> transforms.TypeCast(ms.int32)([1.9, -1.9])
        array([ 1, -1], dtype=int32)
    """

    def __init__(self, data_type: DTypeLike):
        self.data_type: Any = numpy_dtype(data_type, "data_type", type(self).__name__)
        check_kind(data_type, self.data_type.kind in "biufV", "be a type of numbers", "data_type", type(self).__name__)

    def _apply(self, array):
        if is_text(array):
            raise RuntimeError(f"TypeCast: text can't be cast, but got {describe(array.tolist())}; ToNumber reads numbers.")
        try:
            return array.astype(self.data_type)
        except ValueError as error:
            raise RuntimeError(f"TypeCast: {describe(array.tolist())} can't be cast to {self.data_type}: {error}") from error


OF_BATCHES[TypeCast] = TypeCast._apply


class OneHot(Transform):
    """Labels as vectors of zeros with a one.

    Args:
        num_classes (int): the length of the vectors.
        smoothing_rate (float): the share of the one that is spread over all classes. Default: 0.0. Then the type is float64,
            otherwise that of the labels.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: a label is not an int from 0 to ``num_classes - 1``, or labels are neither a scalar nor of the shape
            :math:`(N,)` or :math:`(N, 1)`.

    Example:
        >>> transforms.OneHot(3)(np.array([2, 0], np.int32))
        array([[0, 0, 1],
               [1, 0, 0]], dtype=int32)
    """

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0):
        self.num_classes: int = check_int(num_classes, "num_classes", "OneHot", low=1)
        self.smoothing_rate: Any = check_number(smoothing_rate, "smoothing_rate", "OneHot", low=0, high=1)

    def _apply(self, labels):
        fits = labels.dtype.kind in "iu" and (labels.ndim < 2 or (labels.ndim == 2 and labels.shape[1] == 1))
        check_data(labels, fits, "labels should be an int, or ints of shape (N,) or (N, 1)", "OneHot")
        if labels.ndim and labels.shape[-1] == 1:
            labels = labels[..., 0]
        fits = not labels.size or (labels.min() >= 0 and labels.max() < self.num_classes)
        check_data(labels.tolist(), fits, f"labels should be in [0, {self.num_classes})", "OneHot")
        hot = np.arange(self.num_classes) == labels[..., None]
        if not self.smoothing_rate:
            return hot.astype(labels.dtype)
        return hot * (1 - self.smoothing_rate) + self.smoothing_rate / self.num_classes


OneHotOp = OneHot  # MindSpore 1's name


class Fill(Transform):
    """An array of the same shape and type with one value: `fill_value`, a number, str or bytes.

    Example:
        >>> transforms.Fill(9)([1, 2])
        array([9, 9])
    """

    def __init__(self, fill_value: ArrayLike):
        fits = isinstance(fill_value, (int, float, str, bytes, np.generic))
        check_kind(fill_value, fits, "be a number, str or bytes", "fill_value", "Fill")
        self.fill_value = fill_value

    def _apply(self, array):
        value = np.asarray(self.fill_value)
        if is_text(array) != is_text(value):
            raise RuntimeError(f"Fill: the value {self.fill_value!r} doesn't fit the type {array.dtype}.")
        return np.full(array.shape, value.astype(value.dtype if is_text(array) else array.dtype))


class PadEnd(Transform):
    """Fill up each axis at its end to a given size; longer ones are cut.

    Args:
        pad_shape (list of int): the size of each axis; None leaves it.
        pad_value (number, str or bytes, optional): what is filled in. Default: 0, or empty text.

    Raises:
        RuntimeError: the array has another number of axes; a scalar stays as it is.

    Example:
        >>> transforms.PadEnd([4], -1)([1, 2])
        array([ 1,  2, -1, -1])
    """

    def __init__(self, pad_shape: list[int | None], pad_value: ArrayLike | None = None):
        fits = isinstance(pad_shape, list) and all(size is None or is_int(size) for size in pad_shape)
        check_kind(pad_shape, fits, "be a list of int or None", "pad_shape", "PadEnd")
        self.pad_shape: list[int | None] = [
            size if size is None else check_int(size, "pad_shape", "PadEnd", low=1) for size in pad_shape
        ]
        self.pad_value = pad_value

    def _apply(self, array):
        if array.ndim and array.ndim != len(self.pad_shape):
            raise RuntimeError(f"PadEnd: 'pad_shape' is {self.pad_shape}, but the array has {array.ndim} axes.")
        shape = [old if new is None else new for old, new in zip(array.shape, self.pad_shape)]
        try:
            return pad_to(array, shape, self.pad_value)
        except TypeError as error:
            raise RuntimeError(f"PadEnd: {error}") from error


class Concatenate(Transform):
    """The arrays of several columns as one.

    Args:
        axis (int): along which axis. Default: 0.
        prepend, append (array, optional): what comes before and after.

    Raises:
        RuntimeError: types or shapes don't fit.

    Example:
        >>> transforms.Concatenate(append=[9])([1, 2], [3])
        array([1, 2, 3, 9])
    """

    def __init__(self, axis: int = 0, prepend: ArrayLike | None = None, append: ArrayLike | None = None):
        self.axis: int = check_int(axis, "axis", "Concatenate")
        self.prepend: Any | None = None if prepend is None else as_value(prepend)
        self.append: Any | None = None if append is None else as_value(append)

    def _apply(self, *arrays):
        parts = [part for part in (self.prepend, *arrays, self.append) if part is not None]
        fits = all(same_type(part.dtype, parts[0].dtype) for part in parts)
        check_data(parts, fits, "all should have the same type", "Concatenate")
        try:
            return np.concatenate(parts, self.axis)
        except ValueError as error:
            raise RuntimeError(f"Concatenate: {error}") from error


class Duplicate(Transform):
    """A value twice, for two columns.

    Example:
        >>> transforms.Duplicate()([1, 2])
        (array([1, 2]), array([1, 2]))
    """

    def _apply(self, array):
        return array, array.copy()


class Mask(Transform):
    """Where a comparison with a constant holds.

    Args:
        operator (Relational): the comparison.
        constant (number or str): what is compared with; a number is cast to the type of the array.
        dtype: the type of the result. Default: ``ms.bool_``.

    Example:
        >>> transforms.Mask(transforms.Relational.GE, 2)([1, 2, 3])
        array([False,  True,  True])
    """

    def __init__(self, operator: Relational, constant: Number | str, dtype: Type | None = bool_):
        check_enum(operator, Relational, "operator", "Mask")
        fits = isinstance(constant, (int, float, str, bytes, np.generic))
        check_kind(constant, fits, "be a number or a str", "constant", "Mask")
        self.operator, self.constant, self.dtype = operator, constant, numpy_dtype(dtype, "dtype", "Mask")

    def _apply(self, array):
        if is_text(array) != isinstance(self.constant, (str, bytes)):
            raise RuntimeError(f"Mask: the constant {self.constant!r} can't be compared with {array.dtype}.")
        constant = self.constant if is_text(array) else np.asarray(self.constant).astype(array.dtype)
        return np.asarray(getattr(operator, self.operator.name.lower())(array, constant)).astype(self.dtype)


class Slice(Transform):
    """Part of an array.

    Args:
        slices (int, list of int, slice, None or ...): for each axis an index, which keeps the axis, several of them, a range, or
            None or True for all of it; ``...`` stands for the axes between.

    Raises:
        RuntimeError: there is no such index.

    Example:
        >>> transforms.Slice(slice(1, 3))([1, 2, 3, 4]), transforms.Slice(-1)([1, 2])
        (array([2, 3]), array([2]))
    """

    def __init__(self, *slices: Any):
        for one in slices:
            fine = one is None or one is Ellipsis or one is True or isinstance(one, slice) or is_int(one)
            fits = fine or (isinstance(one, list) and all(map(is_int, one)))
            check_kind(one, fits, "be an int, a list of int, a slice, None or ...", "each of 'slices'", "Slice")
        self.slices = slices

    def _apply(self, array):
        slices = list(self.slices) or [None]
        if Ellipsis in slices:
            at = slices.index(Ellipsis)
            slices[at : at + 1] = [None] * (array.ndim - len(slices) + 1)
        if len(slices) > array.ndim:
            raise RuntimeError(f"Slice: there are {len(slices)} slices, but the array has {array.ndim} axes.")
        for axis, one in enumerate(slices):
            if one is None or one is True:
                continue
            try:
                if isinstance(one, slice):
                    array = array[(slice(None),) * axis + (one,)]
                else:
                    array = array.take([one] if is_int(one) else one, axis)
            except IndexError as error:
                raise RuntimeError(f"Slice: {error}") from error
        return np.ascontiguousarray(array)


class Unique(Transform):
    """The different values of an array, for three columns.

    The array has at least two axes. Results: the values in order of appearance; for each of the array's elements, int32, the
    index of its value; for each value, int32, how often it is there.

    Example:
        >>> transforms.Unique()([[3, 1], [3, 3]])
        (array([3, 1]), array([0, 1, 0, 0], dtype=int32), array([3, 1], dtype=int32))
    """

    def _apply(self, array):
        check_data(array, array.ndim >= 2, "the array should have at least two axes", "Unique")
        values, first, inverse, counts = np.unique(array.ravel(), return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        rank = np.argsort(order)
        return values[order], rank[inverse.ravel()].astype(np.int32), counts[order].astype(np.int32)


# ---- groups


class _Group(Transform):
    _chosen: Callable[[], list[Any]]

    def __init__(self, transforms: Any):
        self.transforms: list[Any] = check_transforms(transforms, type(self).__name__)

    def __call__(self, *values: Any) -> Any:
        if not values:
            raise RuntimeError(f"{type(self).__name__} should be called with a value, but got none.")
        result = call_in_turn(self._chosen(), values)
        # What numpy's arithmetic makes of 0-dimensional arrays are its scalars; functions get their own kind of these arrays.
        return np.asarray(result) if isinstance(result, (np.generic, np.ndarray)) else result


class Compose(_Group):
    """Transforms and functions one after the other.

    Args:
        transforms (list): each is given what the one before returned; a tuple is several values.

    Raises:
        TypeError, ValueError: no list, an empty one, or something in it that can't be called.

    Example:
        >>> transforms.Compose([lambda v: v + 1, transforms.Fill(3)])(np.array([1, 2]))
        array([3, 3])
    """

    def _chosen(self):
        return self.transforms


class RandomApply(_Group):
    """All transforms one after the other, or none of them.

    Args:
        transforms (list): transforms and functions.
        prob (float): the probability that they are applied. Default: 0.5.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> transforms.RandomApply([lambda v: v + 1], prob=1.0)(np.array(1))
        array(2)
    """

    def __init__(self, transforms: list[Any], prob: float = 0.5):
        super().__init__(transforms)
        self.prob: Any = check_number(prob, "prob", "RandomApply", low=0, high=1)

    def _chosen(self):
        return self.transforms if row_rng().random() < self.prob else []


class RandomChoice(_Group):
    """One of `transforms`, a list of transforms and functions.

    Example:
        >>> transforms.RandomChoice([lambda v: v + 1, lambda v: v + 1])(np.array(1))
        array(2)
    """

    def _chosen(self):
        return [self.transforms[int(row_rng().integers(len(self.transforms)))]]


class RandomOrder(_Group):
    """All of `transforms`, a list of transforms and functions, in an order by chance.

    Example:
        >>> transforms.RandomOrder([lambda v: v + 1, lambda v: v + 2])(np.array(1))
        array(4)
    """

    def _chosen(self):
        return [self.transforms[i] for i in row_rng().permutation(len(self.transforms))]
