"""The Fault of what a check has found: the program runs once more, with a full record."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import Any

import jax
import jax.extend.core as jex
import numpy as np

from msjax.core.base import jax_slots
from msjax.core.base.checks import check_kind
from msjax.core.base.compiler_options import options_for
from msjax.core.hooks.batching import COLLECTED
from msjax.core.hooks.places import Edits, Tracing
from msjax.core.jaxprs.interpreter import Program
from msjax.core.jaxprs.plan import close
from msjax.core.tools.checks import sources
from msjax.core.tools.checks.asserting import FAILED
from msjax.core.tools.checks.flow import DEVICE, NUMBER, PLACE, SOURCE, STEPS, WRONG, Checks
from msjax.core.tools.fault import Fault
from msjax.core.tools.scopes import Scopes
from msjax.core.tools.search.frames import Mapped
from msjax.core.tools.search.lines import Derivatives, lines_of, lines_of_backward_rules

WHAT = {"index": "index out of range", "division": "integer division by zero", "user": FAILED}
_JAX = os.path.dirname(jax.__file__) + os.sep
# Of jax's functions, those that count no negative index from the end.
_RAW = {"gather", "scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max", "scatter_apply"}


def kinds_of(checks: str | Collection[str], who: str) -> tuple[str, ...]:
    """The kinds of checks that an argument names; TypeError or ValueError if it names others."""
    given = (checks,) if isinstance(checks, str) else checks
    check_kind(checks, isinstance(given, (tuple, list, set, frozenset)), "be a str or a tuple of them", "checks", who)
    for kind in given:
        if kind not in (*sources.KINDS, "all"):
            raise ValueError(f"For '{who}', 'checks' has {', '.join(map(repr, sources.KINDS))} and 'all', but got {kind!r}.")
    return sources.KINDS if "all" in given else tuple(kind for kind in sources.KINDS if kind in given)


def find_in(closed: jex.ClosedJaxpr, inputs: Sequence[Any], kinds: Collection[str], scopes: Any) -> Fault | None:
    """The fault in one run of a program that was traced in some `Scopes`; None if nothing is wrong."""
    checks = Checks(closed, kinds, full=True)
    if not checks.sources:
        return None

    row, said = jax.jit(lambda inputs: checks.run(inputs)[1], compiler_options=options_for(inputs) or None)(list(inputs))
    row, said = np.asarray(row), np.asarray(said)
    # Those events of the program that lie in loops have come by callbacks once more: nobody waits for them.
    jax.effects_barrier()
    COLLECTED.clear()
    if not row[WRONG]:
        return None
    source = checks.sources[row[SOURCE]]
    return _fault(source, row, said, Derivatives(closed), scopes, _mapped_over(closed))


def find_in_call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], kinds: Collection[str], models: Sequence[Any]) -> Fault | None:  # fmt: skip
    """The first fault in one call of a function of jax arrays; None if there is none."""
    with Scopes(models) as scopes, lines_of_backward_rules():
        program = Program(fn, args, kwargs, Tracing(Edits()))
    return find_in(program.closed, program.inputs, kinds, scopes)


def not_again(kinds: Sequence[str]) -> Fault:
    """The fault of a step that was wrong, but not when it ran again."""
    return Fault(" or ".join(WHAT[kind] for kind in kinds), "forward", None, note="when it was run again, nothing was wrong")


def _fault(source, row, said, derivatives, scopes, names):
    path, cls, call = scopes.of(source.stack)
    phase, derivative = derivatives.of(source.eqn, source.stack)
    line, user_line = lines_of(source.traceback)
    if source.kind == "user":
        phase = "forward"
    device = int(row[DEVICE])
    told = {
        "cls": cls, "operation": sources.name_of(source.eqn) if source.kind != "user" else "check", "line": line, "call": call,
        "step": [int(n) for n in row[STEPS:] if n >= 0], "called_from": user_line, "derivative": derivative if derivative == "" else None,
        "device": None if device < 0 else names[device] if device < len(names) else str(device),
    }  # fmt: skip
    fault = Fault(WHAT[source.kind], phase, path, **told)
    place, shape = int(row[PLACE]), _place_shape(source)
    if source.kind == "index":
        _tell_index(fault, source, int(row[NUMBER]), place, shape)
        return fault
    fault.element = tuple(map(int, np.unravel_index(place, shape))) if shape else ()
    if source.kind == "user":
        params, types = source.eqn.params, [v.aval.dtype for v in source.eqn.invars[1:]]
        fault.message = params["message"].format(**dict(zip(params["names"], map(_plain, said, types))))
        fault.details = [("example", f"{', '.join(map(str, fault.element))} of the vmap around it")] if shape else []
    elif shape:
        fault.details = [("divisor", f"0 at {list(fault.element)} of {list(shape)}")]
    return fault


def _plain(number, dtype):
    """A value of a message: of its own type, with the digits of a Float32 at most."""
    if np.issubdtype(dtype, np.bool_):
        return bool(number)
    return int(number) if np.issubdtype(dtype, np.integer) else float(f"{number:.7g}")


def _place_shape(source):
    eqn = source.eqn
    if source.kind == "user":
        return eqn.invars[0].aval.shape
    if source.kind == "division":
        return eqn.outvars[0].aval.shape
    return eqn.invars[1].aval.shape if eqn.primitive.name not in ("dynamic_slice", "dynamic_update_slice") else (0,)


def _tell_index(fault, source, number, place, shape):
    eqn, component = source.eqn, place
    if eqn.primitive.name not in ("dynamic_slice", "dynamic_update_slice"):
        component = place % shape[-1]
        fault.element = tuple(map(int, np.unravel_index(place // shape[-1], shape[:-1]))) if shape[:-1] else ()
    axis, size, most = sources.axis_of(eqn, component)
    counts = _called(source) in _RAW
    if number < 0 and not counts:
        # It was counted from the end.
        number -= size
    fault.index, fault.axis, fault.bound = number, axis, size
    least = 0 if counts or most < size - 1 else -size
    text = f"{number} on axis {axis} of an array of shape {list(eqn.invars[0].aval.shape)}: {least} to {most} are in range"
    at = f"; it is at {list(fault.element)} of the indices" if fault.element else ""
    fault.details = [("index", text + at)]


def _called(source):
    """The name of jax's function that a line of other code called."""
    last = ""
    for frame in () if source.traceback is None else source.traceback.frames:
        if not frame.file_name.startswith(_JAX):
            break
        last = frame.function_name
    return last


def _mapped_over(closed):
    """The names of the devices of the first shard_map in a program."""
    for eqn in close(closed).jaxpr.eqns:
        if eqn.primitive.name == "shard_map":
            return Mapped(eqn).names
        for inner in jax_slots.inner_jaxprs(eqn):
            if names := _mapped_over(inner):
                return names
    return []
