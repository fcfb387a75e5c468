"""MindSpore's ``boost``: of its ways to train faster, the accumulation of gradients."""

from msjax.boost.grad_accumulation import GradientAccumulation
from msjax.lazy import module_placeholders

__all__ = ["GradientAccumulation"]
__getattr__ = module_placeholders(__name__)
