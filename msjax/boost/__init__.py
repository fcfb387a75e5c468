"""MindSpore's ``boost``: of its ways to train faster, the accumulation of gradients."""

from msjax.boost.grad_accumulation import GradientAccumulation
from msjax.lazy import missing_name

__all__ = ["GradientAccumulation"]
__getattr__ = missing_name(__name__)
