"""Functions under PyTorch's names and conventions: MindSpore's ``mint``.

What ops has with the same arguments is the same function.
"""

from msjax.lazy import module_placeholders
from msjax.mint import linalg, nn, optim, special
from msjax.mint.arrange import *
from msjax.mint.creation import *
from msjax.mint.reduction import *
from msjax.mint.shared import *

__getattr__ = module_placeholders(__name__)
