"""Transforms of arrays: for `map`, or called on values."""

from typing import TYPE_CHECKING

from msjax.dataset.transforms.general import (
    Concatenate,
    Duplicate,
    Fill,
    Mask,
    OneHot,
    PadEnd,
    Relational,
    Slice,
    TypeCast,
    Unique,
)
from msjax.dataset.transforms.groups import Compose, RandomApply, RandomChoice, RandomOrder
from msjax.lazy import class_placeholders

if not TYPE_CHECKING:
    __getattr__ = class_placeholders(__name__, "a function of numpy arrays can be given to map in its place.")
