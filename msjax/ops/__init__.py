"""Operators: MindSpore's ``ops``. Each topic's file says in ``__all__`` what it offers."""

from typing import TYPE_CHECKING

from msjax.autograd.grad import (
    GradOperation as GradOperation,
    get_grad as get_grad,
    grad as grad,
    value_and_grad as value_and_grad,
)
from msjax.autograd.vjp import jvp as jvp, vjp as vjp
from msjax.lazy import COMMUNICATION, module_getattr
from msjax.ops.function.array_func.arrange import *
from msjax.ops.function.array_func.assigning import *
from msjax.ops.function.array_func.casting import *
from msjax.ops.function.array_func.creation import *
from msjax.ops.function.array_func.diagonals import *
from msjax.ops.function.array_func.gathering import *
from msjax.ops.function.array_func.indexing import *
from msjax.ops.function.array_func.joining import *
from msjax.ops.function.array_func.ordering import *
from msjax.ops.function.array_func.scattering import *
from msjax.ops.function.array_func.searching import *
from msjax.ops.function.array_func.segments import *
from msjax.ops.function.array_func.selecting import *
from msjax.ops.function.array_func.sorting import *
from msjax.ops.function.array_func.splitting import *
from msjax.ops.function.array_func.windows import *
from msjax.ops.function.control.from_jax import from_jax as from_jax
from msjax.ops.function.control.functions import *
from msjax.ops.function.control.gradient import stop_gradient as stop_gradient
from msjax.ops.function.control.multitype import *
from msjax.ops.function.control.series import *
from msjax.ops.function.control.transforms import *
from msjax.ops.function.image_func.boxes import *
from msjax.ops.function.image_func.grids import *
from msjax.ops.function.image_func.pixels import *
from msjax.ops.function.image_func.resizing import *
from msjax.ops.function.linalg_func.decompositions import *
from msjax.ops.function.linalg_func.layers import *
from msjax.ops.function.linalg_func.linear import *
from msjax.ops.function.linalg_func.solvers import *
from msjax.ops.function.math_func.arithmetic import *
from msjax.ops.function.math_func.bessel import *
from msjax.ops.function.math_func.comparison import *
from msjax.ops.function.math_func.complexes import *
from msjax.ops.function.math_func.cumulative import *
from msjax.ops.function.math_func.elementary import *
from msjax.ops.function.math_func.elementwise import *
from msjax.ops.function.math_func.extremes import *
from msjax.ops.function.math_func.fourier import *
from msjax.ops.function.math_func.inplace_math import *
from msjax.ops.function.math_func.logic import *
from msjax.ops.function.math_func.norms import *
from msjax.ops.function.math_func.reduction import *
from msjax.ops.function.math_func.special import *
from msjax.ops.function.math_func.statistics import *
from msjax.ops.function.nn_func.activations import *
from msjax.ops.function.nn_func.classification import *
from msjax.ops.function.nn_func.convolution import *
from msjax.ops.function.nn_func.ctc import *
from msjax.ops.function.nn_func.dropouts import *
from msjax.ops.function.nn_func.gated import *
from msjax.ops.function.nn_func.local_response import *
from msjax.ops.function.nn_func.losses import *
from msjax.ops.function.nn_func.normalization import *
from msjax.ops.function.nn_func.pads import *
from msjax.ops.function.nn_func.pooling import *
from msjax.ops.function.nn_func.softmaxes import *
from msjax.ops.function.nn_func.unpooling import *
from msjax.ops.function.random_func.choices import *
from msjax.ops.function.random_func.distributions import *
from msjax.ops.function.random_func.sampling import *

if TYPE_CHECKING:
    from msjax.ops.operations import *

# The operator classes are imported when one is first used.
if not TYPE_CHECKING:
    __getattr__, __dir__ = module_getattr(__name__, "operations", COMMUNICATION)
