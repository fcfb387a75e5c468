"""In the place of MindSpore's data pipelines, which msjax lacks: programs that import them run as far as they don't use them."""

from typing import TYPE_CHECKING

from msjax.dataset import transforms as transforms, vision as vision
from msjax.lazy import NO_DATA, class_placeholders

if not TYPE_CHECKING:
    __getattr__ = class_placeholders(__name__, NO_DATA)
