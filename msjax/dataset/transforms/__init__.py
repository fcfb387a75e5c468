"""Transforms of arrays: for `map`, or called on values."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.dataset.transforms.general import *

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, {"[A-Z]*": "a function of numpy arrays can be given to map in its place."})
