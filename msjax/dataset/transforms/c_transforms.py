"""MindSpore 1's name for `msjax.dataset.transforms`."""

from msjax.dataset.transforms import *
from msjax.dataset.transforms import __getattr__ as __getattr__  # pyright: ignore[reportAttributeAccessIssue]
