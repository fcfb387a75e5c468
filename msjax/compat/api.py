"""``mindspore.common.api``: jit, and the two executors whose methods programs call."""

from __future__ import annotations

from typing import Any

from msjax.common.run_state import STATE
from msjax.core.door import WORKER
from msjax.engine.autograd.modes import no_grad, set_grad_enabled
from msjax.engine.compile.jit import jit as jit, ms_function as ms_function
from msjax.engine.settings.compiler import jit_class as jit_class

_no_grad = no_grad

__all__ = ["flops_collection", "jit", "jit_class", "ms_function", "ms_memory_recycle"]


class _PyNativeExecutor:
    """Runs operators in PyNative mode, as MindSpore's programs see it."""

    def sync(self) -> None:
        """Wait until all that was computed so far is there; an operator's error on the device is raised here at the latest."""
        WORKER.synchronize()

    def enable_grad(self) -> bool:
        """Whether operators are recorded."""
        return STATE.recording

    grad_flag = requires_grad = enable_grad

    def set_enable_grad(self, flag: bool) -> None:
        """Set whether operators are recorded, in this thread."""
        set_grad_enabled(flag)

    def set_grad_flag(self, flag: bool) -> None:
        """Without effect: recording follows from `ms.grad`, `Tensor.requires_grad` and `ms.no_grad`."""

    def set_async_for_graph(self, flag: bool) -> None:
        """Without effect: jax's programs run asynchronously."""


class _CellGraphExecutor:
    """Compiles cells, as MindSpore's programs see it."""

    def compile(self, obj: Any, *args: Any, phase: str = "predict", **kwargs: Any) -> tuple[str, bool]:
        """Run a cell once in graph mode, so that its program is there; returns a name for it, and True."""
        jit(obj)(*args, **kwargs)
        return f"{phase}.{type(obj).__name__}", True

    def __call__(self, obj: Any, *args: Any, phase: str = "predict") -> Any:
        return jit(obj)(*args)


# {id of a cell: its programs} in MindSpore; here programs go with their cells.
cells_compile_cache: dict[int, Any] = {}
_pynative_executor = _PyNativeExecutor()
_cell_graph_executor = _executor = _CellGraphExecutor()


def ms_memory_recycle() -> None:
    """Without effect: jax frees memory by itself."""


def flops_collection(*args: Any, **kwargs: Any) -> None:
    """Not offered.

    Raises:
        NotImplementedError: always; ``jax.jit(f).lower(x).compile().cost_analysis()`` counts operations.
    """
    raise NotImplementedError("For 'flops_collection': jax.jit(f).lower(x).compile().cost_analysis() counts operations.")
