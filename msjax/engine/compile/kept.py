"""Which Tensors outlive the trace that computed them: the code that ran keeps them, and there are no values for them."""

import functools
import gc
import sys
import types

import jax.core
from jax.extend.core import ClosedJaxpr, Jaxpr

from msjax.common.tensor import Tensor

# What is looked at of one program before the heap is searched instead.
_MOST = 200_000
# What doesn't lead to a rule; values least of all, since it is their references that have to be missing from the count.
_OPAQUE = (jax.core.Tracer, Jaxpr, ClosedJaxpr, type, types.ModuleType, str, bytes)


def tensors_kept(jax_trace, equations):
    """Returns the Tensors that hold values of a trace which is over.

    Every value of a trace refers to jax's own trace object. The rules of custom derivatives refer to it, too, and live as long
    as the program. Only if something else does are the Tensors looked for, since that takes a collection and two passes over
    the heap: half a second in a process of a usual size, where the count takes a millisecond.

    Args:
        jax_trace: a weak reference to jax's trace object.
        equations: the equations of the jaxpr that it gave.
    """
    if _held_by_rules_only(jax_trace, equations):
        return []
    gc.collect()
    trace = jax_trace()
    if trace is None:
        return []
    tracers = [o for o in gc.get_referrers(trace) if isinstance(o, jax.core.Tracer)]
    if not tracers:
        return []
    numbers = {id(tracer) for tracer in tracers}
    holders = gc.get_referrers(*tracers)
    # A Tensor refers to its value itself, or by its __dict__.
    dicts = [o for o in holders if type(o) is dict and id(o.get("_value")) in numbers]
    found = [*holders, *(gc.get_referrers(*dicts) if dicts else ())]
    return [o for o in found if isinstance(o, Tensor) and id(o._value) in numbers]


def _held_by_rules_only(jax_trace, equations):
    """True if the trace is gone, or all references to it come from functions among the parameters of the equations."""
    trace = jax_trace()
    if trace is None:
        return True
    # Two more refer to it: the name here, and the argument of getrefcount.
    others = sys.getrefcount(trace) - 2
    seen, found, left = set(), 0, [v for equation in equations for v in equation.params.values()]
    while left and found < others and len(seen) < _MOST:
        value = left.pop()
        if id(value) in seen or isinstance(value, _OPAQUE):
            continue
        seen.add(id(value))
        for referent in _referents(value):
            if referent is trace:
                found += 1
            else:
                left.append(referent)
    return found == others


def _referents(value):
    # A function's globals are a module's, which hold anything.
    if isinstance(value, types.FunctionType):
        return value.__closure__ or ()
    if isinstance(value, functools.partial):
        return (value.func, *value.args)
    return gc.get_referents(value)
