"""Placeholders for MindRecord files, which msjax neither reads nor writes: programs may import them without using them."""

from typing import TYPE_CHECKING

from msjax.base.lazy import NO_MINDRECORD, on_first_use

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, {"[A-Z]*": NO_MINDRECORD})
