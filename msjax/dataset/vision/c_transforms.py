"""MindSpore 1's name for `msjax.dataset.vision`."""

from msjax.dataset.vision import *
from msjax.dataset.vision import __getattr__ as __getattr__  # pyright: ignore[reportAttributeAccessIssue]
