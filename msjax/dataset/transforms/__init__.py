"""Transforms of arrays: for `map`, or called on values."""

from typing import TYPE_CHECKING

from msjax.base.lazy import class_placeholders as _class_placeholders
from msjax.dataset.transforms.general import (
    Concatenate as Concatenate,
    Duplicate as Duplicate,
    Fill as Fill,
    Mask as Mask,
    OneHot as OneHot,
    PadEnd as PadEnd,
    Relational as Relational,
    Slice as Slice,
    TypeCast as TypeCast,
    Unique as Unique,
)
from msjax.dataset.transforms.groups import (
    Compose as Compose,
    RandomApply as RandomApply,
    RandomChoice as RandomChoice,
    RandomOrder as RandomOrder,
)

if not TYPE_CHECKING:
    __getattr__ = _class_placeholders(__name__, "a function of numpy arrays can be given to map in its place.")
