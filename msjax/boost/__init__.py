"""The part of MindSpore's ``boost`` that msjax has: gradient accumulation."""

from typing import TYPE_CHECKING

from msjax.boost.grad_accumulation import GradientAccumulation
from msjax.core.base.lazy import on_first_use

__all__ = ["GradientAccumulation"]
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
