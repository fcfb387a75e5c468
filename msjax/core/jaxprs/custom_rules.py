"""Places inside of jax.custom_jvp and jax.custom_vjp.

The function is built anew, with the values of its places as further results. Of its own results, the user's rule gives the
derivative; of the values of the places, and of the results with respect to a place, the function's body does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from msjax.core.base.typing import JaxArray
from msjax.core.jaxprs.evaluate import bind
from msjax.core.jaxprs.plan import Shape

if TYPE_CHECKING:
    from msjax.core.jaxprs.interpreter import Interpreter


def custom_jvp(
    interpreter: Interpreter, step: Any, ins: Sequence[JaxArray], index: tuple[Any, ...], probes: tuple[Any, ...]
) -> Any:
    """Evaluate a custom_jvp_call."""
    block = step.blocks[0]

    @jax.custom_jvp
    def call(ins: Sequence[JaxArray], index: tuple[Any, ...], probes: tuple[Any, ...]):
        return interpreter.run(block, ins, index, probes)

    @call.defjvp
    def rule(primals, tangents):
        (ins, index, probes), (t_ins, _, t_probes) = primals, tangents
        at = [i for i, x in enumerate(ins) if inexact(x)]

        def own(ins: Sequence[JaxArray], tangents):
            every = [np.zeros(jnp.shape(x), jax.dtypes.float0) for x in ins]
            for i, tangent in zip(at, tangents):
                every[i] = tangent
            return jax.jvp(lambda *ins: bind(step.eqn, ins), tuple(ins), tuple(every))

        outs, t_outs = interpreter.traced_again(own, (ins, [t_ins[i] for i in at]), index)

        def body(some, probes: tuple[Any, ...]):
            return interpreter.run(block, put(ins, at, some), index, probes)

        some = [ins[i] for i in at]
        (_, got), push = jax.linearize(body, some, probes)
        t_got = push([t_ins[i] for i in at], t_probes)[1]
        if probes:
            by_probes = push([jnp.zeros_like(x) for x in some], t_probes)[0]
            t_outs = [a + b if inexact(a) else a for a, b in zip(t_outs, by_probes)]
        return (outs, got), (list(t_outs), t_got)

    return call(list(ins), index, probes)


def custom_vjp(
    interpreter: Interpreter, step: Any, ins: Sequence[JaxArray], index: tuple[Any, ...], probes: tuple[Any, ...]
) -> Any:
    """Evaluate a custom_vjp_call."""
    block = step.blocks[0]

    @jax.custom_vjp
    def call(ins: Sequence[JaxArray], index: tuple[Any, ...], probes: tuple[Any, ...]):
        return interpreter.run(block, ins, index, probes)

    def forward(ins: Sequence[Any], index: tuple[Any, ...], probes: tuple[Any, ...]):
        # The user's rule gives no derivative with respect to what the function closes over, so only what is differentiated counts.
        at = [i for i, p in enumerate(ins) if p.perturbed and inexact(p.value)]
        ins, index, probes = jax.tree.map(lambda p: p.value, (ins, index, probes), is_leaf=lambda p: hasattr(p, "perturbed"))
        some = [ins[i] for i in at]
        outs, back = interpreter.traced_again(
            lambda ins, some: jax.vjp(lambda *some: bind(step.eqn, put(ins, at, some)), *some), (ins, some), index
        )
        (_, got), through = jax.vjp(lambda some, probes: interpreter.run(block, put(ins, at, some), index, probes), some, probes)
        if probes:
            # Whoever differentiates all this once more meets the user's rule again, not the code of its forward part.
            outs, got = call(list(ins), index, probes)
        return (outs, got), (back, through, index, Numbers(tuple(at), tuple(map(Shape.of, map(jax.typeof, ins)))))

    def backward(residuals, cts):
        back, through, index, numbers = residuals
        seen = any(not isinstance(ct, SymbolicZero) for ct in jax.tree.leaves(cts[1]))
        outs, got = jax.tree.map(lambda ct: zero(ct) if isinstance(ct, SymbolicZero) else ct, cts)
        own = interpreter.traced_again(lambda back, outs: list(back(outs)), (back, outs), index)
        probed = list(through((outs, jax.tree.map(zero, got)))[1]) if probes else []
        if seen:
            some, more = through((jax.tree.map(zero, outs), got))
            own = [a + b for a, b in zip(own, some)]
            probed = [a + b for a, b in zip(probed, more)]
        every = [None] * len(numbers.shapes)
        for i, ct in zip(numbers.at, own):
            every[i] = ct
        return every, None, probed

    call.defvjp(forward, backward, symbolic_zeros=True)
    return call(list(ins), index, probes)


@jax.tree_util.register_static
class Numbers(NamedTuple):
    """Which inputs are differentiated, and the shapes of all."""

    at: tuple[int, ...]
    shapes: tuple[Any, ...]


def zero(ct: Any) -> Any:
    """Zeros like a tangent or cotangent."""
    return Shape.of(ct.aval if isinstance(ct, SymbolicZero) else jax.typeof(ct)).zeros()


def put(values: Sequence[Any], at: Sequence[int], some: Sequence[Any]) -> list[Any]:
    """The values, with others at some places."""
    values = list(values)
    for i, value in zip(at, some):
        values[i] = value
    return values


def inexact(x: Any) -> bool:
    """True if a value is of a type that is differentiated."""
    return jnp.issubdtype(jnp.result_type(x), jnp.inexact)
