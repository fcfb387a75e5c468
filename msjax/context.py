"""Settings of a program under MindSpore's module name; `msjax.engine.settings.context` holds them."""

from msjax.engine.settings.context import (
    COMPATIBLE as COMPATIBLE,
    GRAPH_MODE as GRAPH_MODE,
    LAX as LAX,
    PYNATIVE_MODE as PYNATIVE_MODE,
    STRICT as STRICT,
    ParallelMode as ParallelMode,
    get_auto_parallel_context as get_auto_parallel_context,
    get_context as get_context,
    get_current_device as get_current_device,
    reset_auto_parallel_context as reset_auto_parallel_context,
    set_auto_parallel_context as set_auto_parallel_context,
    set_context as set_context,
    set_deterministic as set_deterministic,
    set_device as set_device,
)
from msjax.parallel.kept_settings import (
    get_ps_context as get_ps_context,
    reset_ps_context as reset_ps_context,
    set_ps_context as set_ps_context,
)


def get_jit_config() -> dict[str, str]:
    """The settings of compilation that ``set_context(jit_config=...)`` was given."""
    return dict(get_context("jit_config"))


def _get_mode():
    return get_context("mode")
