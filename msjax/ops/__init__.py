"""Operators: MindSpore's ``ops``. Each topic's file says in ``__all__`` what it offers."""

from msjax.autograd.grad import GradOperation, get_grad, grad, value_and_grad
from msjax.autograd.vjp import jvp, vjp
from msjax.offers import COMMUNICATION, missing_name

# MindSpore's short name for it.
from msjax.ops import operations as P
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
from msjax.ops.operations import *
from msjax.ops.pooling import *
from msjax.ops.reduction import *
from msjax.ops.sampling import *
from msjax.ops.sorting import *
from msjax.ops.special import *

__getattr__ = missing_name(__name__, COMMUNICATION)
