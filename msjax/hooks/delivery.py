"""Runs hooks while jax traces.

`run_traced_hook` takes a hook whose Tensors may have no values yet. An observer is called with concrete values at each run: after
a program that msjax compiled, or by a host callback under a jax transformation. A modifier is called once, with traced
Tensors, and its operations become part of the program.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from msjax.base.arrays import TracedValueError, is_tracer, known_value
from msjax.base.state import ACTIVITY, STATE
from msjax.base.typing import PyTree
from msjax.common.tensor import Tensor, is_leaf, tensors_in, wrap
from msjax.hooks.batching import calls_are_outputs, observe_traced
from msjax.hooks.classify import only_observes
from msjax.hooks.host import call_on_host
from msjax.hooks.returns import HookLabel, check_observer_result
from msjax.hooks.worker import barrier

if TYPE_CHECKING:
    from msjax.common.bases import CellBase


# What jax raises when code asks a traced array for its value.
_NEEDS_VALUE = (TracedValueError, jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)


class HookNeedsValue(TypeError):
    """A hook that is part of a compiled program needs values that the program has yet to compute."""


class HostNeeded(Exception):
    """A backward hook that returns a value needs concrete values to compute it.

    Attributes:
        why: a sentence.
    """

    def __init__(self, what: str, error: Exception):
        self.why: str = f"{what} returns a value, for which it needs concrete values ({str(error).splitlines()[0]})"
        super().__init__(self.why)


def observes(fn: Callable[..., Any], observe: bool | None = None, traced: bool | None = None) -> bool:
    """True if a hook is to be called after each run; what the user said of it counts first."""
    if observe is not None:
        return bool(observe)
    if traced is not None:
        return not traced
    return only_observes(fn)


def run_traced_hook(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kind: str,
    *,
    observe: bool | None = None,
    traced: bool | None = None,
    cells: Sequence[CellBase] | None = None,
    carries: int = -1,
    carried: PyTree = None,
    check: Callable[..., Any] | None = None,
) -> tuple[Any, Any]:
    """Run one hook of a program that is being traced.

    Args:
        fn: the hook.
        args: what it is called with.
        kind: "forward hook" and the like, for messages.
        observe, traced: what the user said of the hook.
        cells: the cells around it; those under way by default.
        carries: the number of the argument whose Tensors go on through the network.
        carried: what goes on through the network, where that is no single argument.
        check: of a backward hook, a function of what it returned and that argument, to the argument's replacement.

    Returns:
        (what the hook returned, what goes on; the latter to be used in the place of what was given).
    """
    several = carried is not None
    carried = carried if several else args[carries]
    what = HookLabel(kind, fn, cells)
    trace = STATE.trace
    if observes(fn, observe, traced):
        if trace is not None and trace.silent:
            return None, carried
        values = [t for t in tensors_in(args) if is_tracer(t._value)]
        known = [known_value(t._value) for t in values]
        if all(k is not None for k in known) and (values or not _staged()):
            # An eager jax.grad: the values are there.
            if trace is None or trace.calls_now(fn):
                if ACTIVITY.callbacks:
                    barrier()  # hooks of a loop before this one
                args = _replace(args, dict(zip(map(id, values), map(wrap, known))))
                check_observer_result(fn(*args), what)
            return None, carried
        if trace is not None and trace.here():
            trace.call(fn, args, what)
            return None, carried
        if trace is None:
            ACTIVITY.callbacks = ACTIVITY.callbacks or not calls_are_outputs()
        else:
            fn = trace.deposit(fn, what)
        if several:
            return None, observe_traced(lambda *given: fn(*given[:-1]), (*args, carried), what, -1)
        return None, observe_traced(fn, args, what, carries)
    try:
        result = fn(*args)
    except _NEEDS_VALUE as error:
        if kind.startswith("forward"):
            raise HookNeedsValue(_SPLIT.format(what=_sentence(what), error=str(error).split("\n", 1)[0])) from error
        if trace is not None and trace.falls_back and trace.here():
            raise HostNeeded(what, error) from error
        return None, call_on_host(fn, args, what, carries, check)
    if trace is not None and kind.startswith("forward"):
        trace.forward_hooks += [
            (fn, weakref.ref(t), _sentence(what)) for t in tensors_in(args) if is_tracer(t._value) and type(t) is Tensor
        ]
    return result, carried


def _staged() -> bool:
    """True where jax records what is computed, to run it later."""
    return known_value(jnp.zeros(())) is None


def _sentence(what):
    """Its text at the beginning of a sentence."""
    text = str(what)
    return text[0].upper() + text[1:]


def _replace(args, new):
    return jax.tree.map(lambda v: new.get(id(v), v), args, is_leaf=is_leaf)


_SPLIT = """{what} returns a value, and so is part of the compiled program; but it needs values that are known only when
the program has run ({error}). Split it into two hooks:
  1. one that computes with Tensors and returns the new value;
  2. one that reads values (asnumpy, float, if, print) and returns None: it is called after each run, with concrete values.
If it never returns anything else than None, register it with observe=True. Or run the network in PyNative mode."""
