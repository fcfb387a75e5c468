"""The part of MindSpore's ``boost`` that msjax has: gradient accumulation."""

from typing import TYPE_CHECKING

from msjax.base.lazy import module_placeholders
from msjax.boost.grad_accumulation import GradientAccumulation

__all__ = ["GradientAccumulation"]
if not TYPE_CHECKING:
    __getattr__ = module_placeholders(__name__)
