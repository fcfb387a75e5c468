"""In the place of MindSpore's transforms of data, which msjax lacks."""

from typing import TYPE_CHECKING

from msjax.lazy import NO_DATA, class_placeholders

if not TYPE_CHECKING:
    __getattr__ = class_placeholders(__name__, NO_DATA)
