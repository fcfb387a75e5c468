"""In the place of MindSpore's transforms of data, which msjax lacks."""

from msjax.dataset.sentence import SENTENCE
from msjax.offers import stand_ins_for_classes

__getattr__ = stand_ins_for_classes(__name__, SENTENCE)
