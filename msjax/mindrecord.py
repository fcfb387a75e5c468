"""In the place of MindRecord files, which msjax neither reads nor writes: programs that import it run as far as they don't use it."""

from typing import TYPE_CHECKING

from msjax.lazy import NO_MINDRECORD, class_placeholders

if not TYPE_CHECKING:
    __getattr__ = class_placeholders(__name__, NO_MINDRECORD)
