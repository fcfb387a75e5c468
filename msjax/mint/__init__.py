"""Functions under PyTorch's names and conventions: MindSpore's ``mint``.

What ops has with the same arguments is the same function.
"""

from msjax.mint import linalg, nn, optim, special
from msjax.mint.arranging import *
from msjax.mint.creating import *
from msjax.mint.reducing import *
from msjax.mint.shared import *
from msjax.offers import missing_name

__getattr__ = missing_name(__name__)
