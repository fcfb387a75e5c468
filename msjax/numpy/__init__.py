"""numpy's names on Tensors: MindSpore's ``numpy``."""

from msjax.offers import missing_name

__getattr__ = missing_name(__name__)
