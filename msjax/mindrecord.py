"""Placeholders for MindRecord files, which msjax neither reads nor writes: programs may import them without using them."""

from typing import TYPE_CHECKING

from msjax.base.lazy import NO_MINDRECORD, class_placeholders

if not TYPE_CHECKING:
    __getattr__ = class_placeholders(__name__, NO_MINDRECORD)
