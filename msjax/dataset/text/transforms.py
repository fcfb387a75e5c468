"""MindSpore's other name for `msjax.dataset.text`."""

from typing import TYPE_CHECKING

from msjax.dataset.text import *

if not TYPE_CHECKING:
    pass
