"""In the place of MindSpore's transforms of data, which msjax lacks."""

from msjax.lazy import NO_DATA, stand_ins_for_classes

__getattr__ = stand_ins_for_classes(__name__, NO_DATA)
