"""run_with_cache: a network's result, and what its modules put out, in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax

from msjax.core.base.arrays import is_tracer
from msjax.core.base.errors import on_behalf_of
from msjax.core.hooks.hook import HookSite
from msjax.core.models.capture import capture_options
from msjax.core.models.frameworks.framework import framework_of, framework_of_function
from msjax.core.models.hooked import unhooked
from msjax.core.models.inputs import call_of
from msjax.core.models.kept_programs import compile, pure_of
from msjax.core.models.where import names_of


@on_behalf_of("run_with_cache")
def run_with_cache(
    model: Callable[..., Any],
    *args: Any,
    where: str | Iterable[str] | Callable[[str], bool] = "*",
    edit: dict[str, Callable[[Any, Any], Any]] | None = None,
    stop_after: str | None = None,
    **kwargs: Any,
) -> tuple[Any, dict[str, Any]]:
    """Call a model, and keep the values of its places.

    Args:
        model: an nnx module, a Cell, a function of jax arrays, or another model, as for `capture`.
        args, kwargs: what it is called with; jax arrays, also of a Cell.
        where (str, list of str, or callable): which places, as `capture` selects them. Default: all but single operations.
        edit (dict, optional): {pattern: ``fn(value, index)``}, as for `capture`.
        stop_after (str, optional): the name of the last place that is computed.

    Returns:
        (out, cache): what the model returns, as jax arrays (None with `stop_after`), and {name: value} in program order. The
        state of the model (statistics of BatchNorm, random keys), and of nnx modules among the arguments, changes as by a plain call; with `stop_after` it stays. The program of a model is
        compiled, and kept, unless it has hooks, or `where` or `edit` are functions; what is no array among its arguments is static then.

    Raises:
        TypeError, ValueError: as `capture`.

    Example:
        >>> import jax.numpy as jnp
        >>> from msjax import hooks, nn
        >>> net = nn.SequentialCell(nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), nn.ReLU())
        >>> out, cache = hooks.run_with_cache(net, jnp.array([[1.0, -3.0]], "float32"))
        >>> print({name: value.tolist() for name, value in cache.items()})
        {'0': [[-2.0]], '1': [[0.0]], '': [[0.0]]}
        >>> out, cache = hooks.run_with_cache(net, jnp.array([[1.0, -3.0]], "float32"), stop_after="0")
        >>> print(out, list(cache))
        None ['0']
    """
    args, kwargs = call_of(args, kwargs)
    where = where if callable(where) else names_of(where, "where", "run_with_cache")
    # A plain function, which may close over other values each time, is traced.
    is_model = framework_of_function(model) is not None or unhooked(model) is not None
    if is_model and (stop_after is not None or _is_found_again(model, where, edit, (args, kwargs))):
        out, found = compile(model, where, edit=edit, stop_after=stop_after)(*args, **kwargs)
    else:
        out, found = pure_of(model).once(capture_options(where, edit=edit, stop_after=stop_after), args, kwargs)
    return out, found.activations


def _is_found_again(model, where, edit, given):
    """Whether a compiled program would be found again by later calls like this one, and does what the model does when it runs by itself."""
    if callable(where) or edit is not None or any(map(is_tracer, jax.tree.leaves((model, given)))):
        return False
    # Observers are called when their module runs, not after the program.
    owner = getattr(model, "__self__", model)
    framework = framework_of(owner)
    return not any(HookSite.models_with_hooks) and (framework is None or not framework.tables(owner))
