"""Operators: MindSpore's ``ops``. Each topic's file lists its public names in ``__all__``."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.engine.autograd.grad import (
    GradOperation as GradOperation,
    get_grad as get_grad,
    grad as grad,
    value_and_grad as value_and_grad,
)
from msjax.ops.dispatch.docs import complete_examples as _complete_examples
from msjax.ops.function.array_func import *
from msjax.ops.function.control.from_jax import from_jax as from_jax
from msjax.ops.function.control.functions import *
from msjax.ops.function.control.functions import constexpr as _primexpr
from msjax.ops.function.control.gradient import stop_gradient as stop_gradient
from msjax.ops.function.control.multitype import *
from msjax.ops.function.control.transforms import *
from msjax.ops.function.control.vjp import jvp as jvp, vjp as vjp
from msjax.ops.function.image_func import *
from msjax.ops.function.linalg_func import *
from msjax.ops.function.math_func import *
from msjax.ops.function.nn_func import *
from msjax.ops.function.random_func import *
from msjax.ops.function.sparse_func import *
from msjax.ops.not_offered import NOT_OFFERED

# The operator classes are imported when one is first used.
if TYPE_CHECKING:
    from msjax.ops.operations import *
else:
    __getattr__, __dir__ = on_first_use(__name__, NOT_OFFERED)

_complete_examples(globals())
