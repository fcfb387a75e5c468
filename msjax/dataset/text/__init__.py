"""Transforms of text: for `map`, or called on text."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.dataset.text.normalizers import *
from msjax.dataset.text.pieces import *
from msjax.dataset.text.tokenizers import *
from msjax.dataset.text.vectors import *
from msjax.dataset.text.vocab import Lookup as Lookup, Vocab as Vocab

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, {"[A-Z]*": "a function of numpy arrays can be given to map in its place."})
