"""Operators: MindSpore's ``ops``. Each topic's file says in ``__all__`` what it offers."""

from msjax.autograd.grad import GradOperation, get_grad, grad, value_and_grad
from msjax.autograd.vjp import jvp, vjp
from msjax.ops.activation import *  # noqa: F403
from msjax.ops.create import *  # noqa: F403
from msjax.ops.from_jax import from_jax
from msjax.ops.gradient import stop_gradient
from msjax.ops.linalg import *  # noqa: F403
from msjax.ops.loss import *  # noqa: F403
from msjax.ops.math import *  # noqa: F403
from msjax.ops.math import true_divide as div
from msjax.ops.operations import *  # noqa: F403
from msjax.ops.random import *  # noqa: F403
from msjax.ops.reduce import *  # noqa: F403
from msjax.ops.shape import *  # noqa: F403
from msjax.offers import missing_name

__getattr__ = missing_name(__name__)
