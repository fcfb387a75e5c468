"""Rules of derivation that close over traced values, made functions of these values while they can be computed with.

jax calls the rule of a custom_jvp or custom_vjp when it differentiates. A rule may use values of the function around it. If the program of
that function is differentiated later, as that of a capture is, these values are gone. So while the function is traced, its program is written
once more, where each such equation takes what its rule uses as further inputs.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.core
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from msjax.core.base import jax_slots
from msjax.core.base.typing import JaxArray
from msjax.core.jaxprs.custom_rules import Numbers, inexact, instantiated, put
from msjax.core.jaxprs.evaluate import bind
from msjax.core.jaxprs.plan import Shape

if TYPE_CHECKING:
    from msjax.core.jaxprs.interpreter import Interpreter

# How many objects are looked at in search of a traced value that a rule refers to.
_MOST = 20_000
_LEAVES = (
    str,
    bytes,
    int,
    float,
    complex,
    type(None),
    type,
    types.ModuleType,
    types.CodeType,
    np.ndarray,
    jex.Jaxpr,
    jex.ClosedJaxpr,
)


def refers_to_trace() -> Callable[[jex.JaxprEqn], bool]:
    """A function that tells if the rule of an equation refers to values of the innermost trace, as far as its closures show.

    One that also refers to values of a trace that has ended, as that of a loop's body has, can't be computed any more.
    """
    here, *around = jax_slots.traces_under_way()
    # From a trace, all its values can be reached.
    leaves = (*_LEAVES, jax.Array, *map(type, [here, *around]))

    def refers(eqn):
        found, seen, todo = False, set(), list(eqn.params.values())
        while todo and len(seen) < _MOST:
            value = todo.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, jax.core.Tracer):
                trace = jax_slots.trace_of(value)
                found = found or trace is here
                if trace is not here and not any(trace is other for other in around):
                    return False
            elif isinstance(value, types.FunctionType):
                # Not its globals, from which everything can be reached.
                todo += [value.__closure__, value.__defaults__, value.__kwdefaults__, value.__dict__]
            elif not isinstance(value, leaves):
                todo += gc.get_referents(value)
        return found

    return refers


class _Traced:
    """A function as a jaxpr, of which the values that it closes over are inputs.

    Args:
        again: {variable of the program that is being traced: its new value}.

    Attributes:
        consts: the values that it closes over, the new ones.
    """

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], again: dict[jex.Var, Any]):
        closed = jax.make_jaxpr(fn)(*args)
        self.consts, self.jaxpr = [again.get(jax_slots.variable_of(c), c) for c in closed.consts], closed.jaxpr

    def __call__(self, consts: Sequence[Any], *args: Any) -> list[Any]:
        return list(jex.jaxpr_as_fun(jex.ClosedJaxpr(self.jaxpr, consts))(*args))


def custom_jvp(
    interpreter: Interpreter, step: Any, ins: Sequence[JaxArray], index: tuple[Any, ...], _probes: tuple[Any, ...]
) -> Any:
    """Evaluate a custom_jvp_call whose rule refers to traced values."""
    eqn, n = step.eqn, len(ins)
    outside, at = _inputs(eqn, ins)

    def own(*values):
        tangents = put([_zeros(jax.typeof(x)) for x in ins], at, values[n:])
        outs, pushed = jax.jvp(lambda *ins: bind(eqn, ins), values[:n], tuple(tangents))
        return [*outs, *(t for t in pushed if inexact(t))]

    body = _Traced(lambda *ins: interpreter.run(step.blocks[0], ins, index)[0], ins, interpreter.again)
    rule = _Traced(own, [*ins, *(ins[i] for i in at)], interpreter.again)

    @jax.custom_jvp
    def call(ins, consts):
        return body(consts[0], *ins)

    def derived(primals, tangents):
        (ins, consts), (t_ins, _) = primals, tangents
        got = rule(consts[1], *ins, *(instantiated(t_ins[i]) for i in at))
        outs, pushed = got[: len(eqn.outvars)], iter(got[len(eqn.outvars) :])
        t_outs = [next(pushed) if inexact(x) else _zeros(jax.typeof(x)) for x in outs]
        some = [i for i in outside if not isinstance(t_ins[i], SymbolicZero)]
        if some:
            more = jax.jvp(
                lambda *values: body(consts[0], *put(ins, some, values)), [ins[i] for i in some], [t_ins[i] for i in some]
            )[1]
            t_outs = [a + b if inexact(a) else a for a, b in zip(t_outs, more)]
        return outs, t_outs

    call.defjvp(derived, symbolic_zeros=True)
    return call(list(ins), [body.consts, rule.consts]), []


def custom_vjp(
    interpreter: Interpreter, step: Any, ins: Sequence[JaxArray], index: tuple[Any, ...], _probes: tuple[Any, ...]
) -> Any:
    """Evaluate a custom_vjp_call whose rule refers to traced values."""
    eqn, n_outs = step.eqn, len(step.eqn.outvars)
    outside, at = _inputs(eqn, ins)
    trees = []

    def own(*ins):
        outs, back = jax.vjp(lambda *some: bind(eqn, put(ins, at, some)), *(ins[i] for i in at))
        residuals, tree = jax.tree.flatten(back)
        trees.append(tree)
        return [*outs, *residuals]

    def own_back(*values):
        cts = iter(values[: len(inside)])
        every = [next(cts) if i in inside else _zeros(v.aval) for i, v in enumerate(eqn.outvars)]
        return list(jax.tree.unflatten(trees[-1], values[len(inside) :])(every))

    inside = [i for i, v in enumerate(eqn.outvars) if _floating(v.aval)]
    body = _Traced(lambda *ins: interpreter.run(step.blocks[0], ins, index)[0], ins, interpreter.again)
    forth = _Traced(own, ins, interpreter.again)
    made = []

    def residuals(*ins):
        cts = [_zeros(eqn.outvars[i].aval) for i in inside]
        made.append(_Traced(own_back, [*cts, *forth(forth.consts, *ins)[n_outs:]], interpreter.again))

    jax.eval_shape(residuals, *ins)
    (back,) = made

    @jax.custom_vjp
    def call(ins, consts):
        return body(consts[0], *ins)

    def forward(ins, consts):
        some = [i for i in outside if ins[i].perturbed]
        ins, consts = jax.tree.map(lambda p: p.value, (ins, consts), is_leaf=lambda p: hasattr(p, "perturbed"))
        got = forth(consts[1], *ins)
        through = None
        if some:
            _, through = jax.vjp(lambda *values: body(consts[0], *put(ins, some, values)), *(ins[i] for i in some))
        return got[:n_outs], (got[n_outs:], consts[2], through, Numbers(some, tuple(range(len(ins)))))

    def backward(kept, cts):
        residuals, consts, through, numbers = kept
        cts = [instantiated(ct) for ct in cts]
        every: list[Any] = [None] * len(numbers.shapes)
        for i, ct in zip(at, back(consts, *(cts[i] for i in inside), *residuals)):
            every[i] = ct
        if through is not None:
            for i, ct in zip(numbers.at, through(cts)):
                every[i] = ct
        return every, None

    call.defvjp(forward, backward, symbolic_zeros=True)
    return call(list(ins), [body.consts, forth.consts, back.consts]), []


def _inputs(eqn, ins):
    """(the numbers of the inputs that the function closes over, of the others that are differentiated)"""
    n = eqn.params["num_consts"]
    numbers = [i for i, x in enumerate(ins) if inexact(x)]
    # The rule gives no derivative with respect to what the function closes over: its body does.
    return [i for i in numbers if i < n], [i for i in numbers if i >= n]


def _floating(aval):
    return jnp.issubdtype(aval.dtype, jnp.inexact)


def _zeros(aval):
    """The tangent zero of a value."""
    return Shape.of(aval if _floating(aval) else aval.update(dtype=jax.dtypes.float0)).zeros()


def without_unused(closed: jex.ClosedJaxpr, replaced: set[int]) -> jex.ClosedJaxpr:
    """A program less those of some equations that it doesn't need.

    Args:
        replaced: the `id` of the parameters of each of these equations.
    """
    jaxpr, kept = closed.jaxpr, []
    needed = set(_variables(jaxpr.outvars))
    for eqn in reversed(jaxpr.eqns):
        if id(eqn.params) not in replaced or not needed.isdisjoint(eqn.outvars):
            needed.update(_variables(eqn.invars))
            kept.append(eqn)
    return jex.ClosedJaxpr(jaxpr.replace(eqns=kept[::-1]), closed.consts)


def _variables(of):
    return [v for v in of if not isinstance(v, jex.Literal)]
