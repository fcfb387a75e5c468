"""check: a condition of the user's, which may be traced; `tools.guard(..., checks="user")` looks at it in compiled steps."""

from __future__ import annotations

from typing import Any

import jax
import jax.core
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from msjax.core.base import jax_slots
from msjax.core.base.arrays import known_value
from msjax.core.base.checks import check_kind, is_numeric
from msjax.core.base.errors import describe
from msjax.core.base.libraries import user_lines
from msjax.core.base.state import STATE
from msjax.core.tools.fault import Fault, path_from
from msjax.core.tools.model_tools import added, as_arrays
from msjax.core.tools.search.lines import innermost

# So many values a message has at most: they leave a loop as one row of numbers.
MOST = 8
FAILED = "failed check"


def check(condition: Any, message: str, **values: Any) -> None:
    """State what has to hold at this place of a model or step, also of values that are traced.

    Where the values are known, a condition that doesn't hold raises. In a compiled step, ``tools.guard(..., checks="user")`` looks at it, in
    loops, branches, vmap and shard_map, too: a `Fault` with the module, the line and the step of the loop, from a step that
    has changed nothing. Without a guard, a compiled step has no trace of it, as Python's ``-O`` leaves no `assert`.

    Args:
        condition (bool, array or Tensor): what has to be true, in all elements.
        message (str): what is said if it isn't; ``{name}`` stands for one of the values.
        values: numbers for the message, at most 8: arrays with one element.

    Raises:
        Fault: it is known not to hold.
        TypeError, ValueError: a value is no single number, or `message` asks for one that isn't there.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> def step(weights, x):
        ...     ms.tools.check(x.max() < 10, "the batch has a {largest}", largest=x.max())
        ...     return weights - 0.1 * x
        >>> step = ms.tools.guard(step, checks="user")
        >>> _ = step(jnp.ones(2), jnp.ones(2))
        >>> try:
        ...     step(jnp.ones(2), jnp.array([1.0, 50.0]))
        ... except ms.tools.Fault as fault:
        ...     print(fault.message)
        the batch has a 50.0
    """
    check_kind(message, isinstance(message, str), "be a str", "message", "check")
    condition = as_arrays(condition)
    fits = isinstance(condition, bool) or is_numeric(condition)
    holds = jnp.all(jnp.asarray(check_kind(condition, fits, "be a bool or an array", "condition", "check")))
    numbers = [_number(name, value) for name, value in values.items()]
    if len(numbers) > MOST:
        raise ValueError(f"For 'check', a message has {MOST} values at most, but got {len(numbers)}.")
    try:
        message.format(**dict.fromkeys(values, 0.0))
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(
            f"For 'check', the message {message!r} can't be filled with {', '.join(values) or 'nothing'}: {error}"
        ) from error
    known = [known_value(value) for value in (holds, *numbers)]
    if any(value is None for value in known):
        check_p.bind(*map(jax.lax.stop_gradient, (holds, *numbers)), message=message, names=tuple(values))
    elif not known[0]:
        raise _failed(message.format(**{name: v.item() for name, v in zip(values, known[1:])}))


def _failed(message):
    """The fault of a condition that is known not to hold, called from the user's line."""
    place = next(filter(None, (tools.place(STATE.owners) for tools in added())), None) if STATE.owners else (None, "")
    path, cls = path_from(STATE.owners) if place is None else place
    line, called_from = innermost(user_lines())
    fault = Fault(FAILED, "forward", path, cls=cls, operation="check", line=line, called_from=called_from, message=message)
    for tools in added():
        tools.check_failed(fault)
    return fault


def _number(name, value):
    array = as_arrays(value)
    fits = isinstance(array, bool) or (is_numeric(array) and np.size(array) == 1)
    dtype: Any = jnp.result_type(array) if fits else None
    if not fits or not (jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_)):
        raise TypeError(f"For 'check', the value {name!r} of the message should be one number, but got {describe(value)}.")
    return jnp.asarray(array).reshape(())


check_p = jax.extend.core.Primitive("msjax_check")
check_p.multiple_results = True


def _batched(values, axes, **params):
    size = next(v.shape[a] for v, a in zip(values, axes) if a is not None)
    values = [jnp.broadcast_to(v, (size, *v.shape)) if a is None else jnp.moveaxis(v, a, 0) for v, a in zip(values, axes)]
    return check_p.bind(*values, **params), []


check_p.def_impl(lambda *values, **params: [])
# An effect: no result depends on it.
check_p.def_effectful_abstract_eval(lambda *avals, **params: ([], jax_slots.debug_effects()))
batching.primitive_batchers[check_p] = _batched
ad.primitive_jvps[check_p] = lambda primals, tangents, **params: (check_p.bind(*primals, **params), [])
mlir.register_lowering(check_p, lambda ctx, *operands, **params: [])
