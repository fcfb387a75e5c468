"""Operators: MindSpore's ``ops``. Each topic's file says in ``__all__`` what it offers."""

from typing import TYPE_CHECKING

from msjax.autograd.grad import GradOperation, get_grad, grad, value_and_grad
from msjax.autograd.vjp import jvp, vjp
from msjax.lazy import COMMUNICATION, module_getattr
from msjax.ops.function.array_func.arrange import *
from msjax.ops.function.array_func.assigning import *
from msjax.ops.function.array_func.creation import *
from msjax.ops.function.array_func.gathering import *
from msjax.ops.function.array_func.indexing import *
from msjax.ops.function.array_func.sorting import *
from msjax.ops.function.control.from_jax import from_jax
from msjax.ops.function.control.functions import *
from msjax.ops.function.control.gradient import stop_gradient
from msjax.ops.function.image_func.boxes import *
from msjax.ops.function.image_func.grids import *
from msjax.ops.function.image_func.pixels import *
from msjax.ops.function.image_func.resizing import *
from msjax.ops.function.linalg_func.linear import *
from msjax.ops.function.math_func.elementwise import *
from msjax.ops.function.math_func.reduction import *
from msjax.ops.function.math_func.special import *
from msjax.ops.function.nn_func.activations import *
from msjax.ops.function.nn_func.convolution import *
from msjax.ops.function.nn_func.losses import *
from msjax.ops.function.nn_func.normalization import *
from msjax.ops.function.nn_func.pooling import *
from msjax.ops.function.random_func.sampling import *

if TYPE_CHECKING:
    from msjax.ops.operations import *

# The operator classes are imported when one is first used.
__getattr__, __dir__ = module_getattr(__name__, "operations", COMMUNICATION)
