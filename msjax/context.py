"""Settings of a program under MindSpore's module name; `msjax.engine.settings.context` holds them."""

from msjax.engine.settings.context import *
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
