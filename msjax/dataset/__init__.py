"""In the place of MindSpore's data pipelines, which msjax lacks: programs that import them run as far as they don't use them."""

from msjax.dataset import transforms, vision
from msjax.lazy import NO_DATA, class_placeholders

__getattr__ = class_placeholders(__name__, NO_DATA)
