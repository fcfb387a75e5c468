"""The modules of a model by their paths."""

from __future__ import annotations

from typing import Any

from msjax.core.models.hooked import framework_with_hooks


def paths(model: object) -> dict[str, Any]:
    """The modules of a model that can be called, by their paths; "" is the model itself.

    Args:
        model: a flax nnx module, a Cell, or what `hooked` made of another model. The modules of linen and haiku models are those
            that have run so far; of a linen module, without its variables.

    Raises:
        TypeError: it is none of these.

    Example:
        >>> import msjax as ms
        >>> from flax import nnx
        >>> list(ms.hooks.paths(nnx.Sequential(nnx.relu, nnx.Dropout(0.5))))
        ['', 'layers.1']
    """
    return framework_with_hooks(model, "paths").paths(model)
