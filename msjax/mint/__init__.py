"""Functions under PyTorch's names and conventions: MindSpore's ``mint``.

What ops has with the same arguments is the same function.
"""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.mint import distributed as distributed, linalg as linalg, nn as nn, optim as optim, special as special
from msjax.mint.arrange import *
from msjax.mint.creation import *
from msjax.mint.reduction import *
from msjax.mint.same import *
from msjax.mint.shared import *

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
