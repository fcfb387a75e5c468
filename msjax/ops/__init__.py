"""Operators: MindSpore's ``ops``. Each topic's file says in ``__all__`` what it offers."""

from typing import TYPE_CHECKING

from msjax.autograd.grad import GradOperation, get_grad, grad, value_and_grad
from msjax.autograd.vjp import jvp, vjp
from msjax.offers import COMMUNICATION, rest
from msjax.ops.activations import *
from msjax.ops.arrange import *
from msjax.ops.assigning import *
from msjax.ops.convolution import *
from msjax.ops.creation import *
from msjax.ops.elementwise import *
from msjax.ops.from_jax import from_jax
from msjax.ops.functions import *
from msjax.ops.gathering import *
from msjax.ops.gradient import stop_gradient
from msjax.ops.images import *
from msjax.ops.indexing import *
from msjax.ops.linear import *
from msjax.ops.losses import *
from msjax.ops.normalization import *
from msjax.ops.pooling import *
from msjax.ops.reduction import *
from msjax.ops.sampling import *
from msjax.ops.sorting import *
from msjax.ops.special import *

if TYPE_CHECKING:
    from msjax.ops.operations import *

# The operator classes are imported when one is first used.
__getattr__, __dir__ = rest(__name__, "operations", COMMUNICATION)
