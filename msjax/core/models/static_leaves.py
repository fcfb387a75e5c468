"""Equinox models as arguments and results of jitted functions: their leaves that are no arrays are static, as for eqx.filter_jit."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import jax

from msjax.core.base.split import Split, opened
from msjax.core.base.typing import PyTree


def is_equinox(value: object) -> bool:
    """Whether a value is a module of equinox, which isn't imported for that."""
    equinox = sys.modules.get("equinox")
    return equinox is not None and isinstance(value, equinox.Module)


def split(tree: PyTree) -> PyTree:
    """A pytree in which equinox models have become `Split`, and nnx modules with pytree=False nodes."""
    return opened(jax.tree.map(lambda v: Split.of(v) if is_equinox(v) else v, tree, is_leaf=is_equinox))


def join(tree: PyTree) -> PyTree:
    """The inverse of `split`."""
    return jax.tree.map(lambda v: v.joined() if isinstance(v, Split) else v, tree, is_leaf=lambda v: isinstance(v, Split))


def on_split(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function on arguments that are `split`; so is its result."""

    @functools.wraps(fn)
    def call(*args, **kwargs):
        args, kwargs = join((args, kwargs))
        return split(fn(*args, **kwargs))

    return call
