"""MindSpore's other name for `msjax.dataset.text`."""

from msjax.dataset.text import *
from msjax.dataset.text import __getattr__ as __getattr__  # pyright: ignore[reportAttributeAccessIssue]
