"""The transforms of sounds under the name of the file that MindSpore has them in."""

from msjax.dataset.audio import *
from msjax.dataset.audio import __getattr__ as __getattr__  # pyright: ignore[reportAttributeAccessIssue]
