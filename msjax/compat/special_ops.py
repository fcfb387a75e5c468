"""Private operators of MindSpore for quantization and reinforcement learning: their names can be imported."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if not TYPE_CHECKING:
    _PLACEHOLDERS = {"[A-Z]*": "it is a private operator of MindSpore. Lift a function of jax arrays with ms.from_jax."}
    __getattr__, __dir__ = on_first_use(__name__, _PLACEHOLDERS, door="msjax.ops.operations")
