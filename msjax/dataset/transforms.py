"""In the place of MindSpore's transforms of data, which msjax lacks."""

from msjax.lazy import NO_DATA, class_placeholders

__getattr__ = class_placeholders(__name__, NO_DATA)
