"""How each form of control flow is evaluated with a visitor of its bodies: one Rule a primitive.

What jax changes from version to version, the names in an equation's parameters, is read here and nowhere else. Whoever evaluates a
jaxpr, to hand out places, to call hooks, to look for a NaN or to check, is an `Interpreter` that these rules call back for each body.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jax.experimental.layout import Format
from jax.sharding import AxisType, NamedSharding, PartitionSpec, Sharding

from msjax.core.base import jax_slots
from msjax.core.base.typing import JaxArray
from msjax.core.jaxprs import custom_rules
from msjax.core.jaxprs.plan import Found, close

if TYPE_CHECKING:
    from msjax.core.jaxprs.interpreter import Interpreter


class Body(NamedTuple):
    """A jaxpr inside of an equation.

    Attributes:
        label: what it is called in a place's path.
        barrier: why no value can leave it, or None.
        recomputed: True if it computes again what the program has computed before.
    """

    closed: jex.ClosedJaxpr
    label: str
    barrier: str | None = None
    recomputed: bool = False


def one_body(key: str, label: str | None = None) -> Callable[[jex.JaxprEqn], list[Body]]:
    """The `bodies` of a Rule whose equations have one jaxpr."""

    def bodies(eqn):
        return [Body(close(eqn.params[key]), label or eqn.primitive.name)]

    return bodies


@dataclass(frozen=True)
class Rule:
    """What is to be known of a primitive.

    Attributes:
        bodies: from an equation to its Bodies, in program order.
        run: ``run(interpreter, step, ins, index, probes)`` evaluates the equation and returns (outs, the values of its places).
        found: from an equation, the lists of Found of its bodies, and how many steps of a while_loop are kept, to that of the equation.
        has_own_derivative: True if the user's rule gives its derivative.
        groups: True if the equations of its only body can stand in its place, where nobody differentiates the program any more.
    """

    bodies: Callable[..., Any]
    run: Callable[..., Any]
    found: Callable[..., Any] = lambda eqn, found, max_steps: found[0]
    has_own_derivative: bool = False
    groups: bool = False


# ---- jit


def _jit(interpreter, step, ins, index, probes):
    block, params = step.blocks[0], step.eqn.params
    key = (id(block.steps), len(index))
    # The same function for the same program, so that jax traces and compiles it once.
    if key not in interpreter.jitted:
        n, once = len(ins), Once()

        def call(*args):
            outs, got = interpreter.run(block, args[:n], args[n], args[n + 1])
            return outs, once.packed(got)

        call.__name__ = call.__qualname__ = params["name"]
        into, out = (_formats(params[f"{side}_shardings"], params[f"{side}_layouts"]) for side in ("in", "out"))
        given = {}
        if any(s is not None for s in into):
            given["in_shardings"] = (*into, None, None)
        if any(s is not None for s in out):
            given["out_shardings"] = (out, None)
        jitted = jax.jit(
            call,
            donate_argnums=tuple(i for i, donated in enumerate(params["donated_invars"]) if donated),
            keep_unused=params["keep_unused"],
            inline=params["inline"],
            compiler_options=dict(params["compiler_options_kvs"]) or None,
            **given,
        )
        interpreter.jitted[key] = jitted, once
    jitted, once = interpreter.jitted[key]
    outs, got = jitted(*ins, index, probes)
    return outs, once.unpacked(got)


class Once:
    """Removes duplicates among the values that leave an equation: several places may share one."""

    def packed(self, got: Sequence[Sequence[Any]]) -> list[Any]:
        """The distinct values in a list of lists."""
        number = {}
        self.numbers = [[number.setdefault(id(v), len(number)) for v in values] for values in got]
        return list({id(v): v for values in got for v in values}.values())

    def unpacked(self, values: Sequence[Any]) -> list[list[Any]]:
        """The list of lists that `packed` was given, from its distinct values."""
        return [[values[n] for n in numbers] for numbers in self.numbers]


def _formats(shardings, layouts):
    known = [s if isinstance(s, Sharding) else None for s in shardings]
    return [s if layout is None else Format(layout, s) for s, layout in zip(known, layouts)]


# ---- loops


def scan_parts(eqn: jex.JaxprEqn, ins: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
    """The inputs of a scan, or what stands for them: (constants, the state at first, what each step takes a row of)."""
    params = eqn.params
    if "num_consts" in params:
        n, m = params["num_consts"], params["num_carry"]
    else:
        n, m = (len(part) for part in params["ft_in"].unpack()[:2])
    return ins[:n], ins[n : n + m], ins[n + m :]


def scan_steps(eqn: jex.JaxprEqn) -> range:
    """The numbers of a scan's steps, in the order in which they run."""
    steps = range(eqn.params["length"])
    return steps[::-1] if eqn.params["reverse"] else steps


def while_parts(eqn: jex.JaxprEqn, ins: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
    """The inputs of a while_loop: (constants of its condition, of its body, the state at first)."""
    n, m = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    return ins[:n], ins[n : n + m], ins[n + m :]


def _scan(interpreter, step, ins, index, probes):
    block, params = step.blocks[0], step.eqn.params
    consts, init, xs = scan_parts(step.eqn, ins)
    n_carry = len(init)
    once = Once()

    def body(carry, per_step):
        x, counter, probe = per_step
        outs, got = interpreter.run(block, [*consts, *carry, *x], (*index, *counter), probe)
        return outs[:n_carry], (outs[n_carry:], once.packed(got))

    n = params["length"]
    counter = (jnp.arange(n, dtype=jnp.int32),) if block.indexed else ()
    carry, (ys, got) = lax.scan(
        body,
        list(init),
        (list(xs), counter, probes),
        length=n,
        reverse=params["reverse"],
        unroll=params["unroll"],
        _split_transpose=params.get("_split_transpose", False),
    )
    return [*carry, *ys], once.unpacked(got)


def _while_bodies(eqn):
    condition = Body(close(eqn.params["cond_jaxpr"]), "while", "the condition of a while_loop")
    return [condition, Body(close(eqn.params["body_jaxpr"]), "while")]


def _while_found(eqn, found, max_steps):
    counted = [f.with_count() for f in found[1]]
    return counted if max_steps is None else [f.with_axis(max_steps) for f in counted]


def _while(interpreter, step, ins, index, _probes):
    (cond_consts, consts, init), (condition, block) = while_parts(step.eqn, ins), step.blocks

    def asked(carry, kept, counter):
        """(whether the loop goes on, for each example of vmaps; what is kept)."""
        outs, got = interpreter.run(condition, [*cond_consts, *carry], index, [])
        return outs[0], interpreter.kept_of_step(condition, kept, got, counter)

    def one(state):
        carry, counter, kept, go_on = state
        outs, got = interpreter.run(block, [*consts, *carry], (*index, counter) if block.indexed else index, [])
        kept = interpreter.kept_of_step(block, kept, got, counter)
        if go_on is not None:
            if jnp.ndim(go_on):
                # Examples that have ended keep their state while others go on.
                outs = [jnp.where(wide(go_on, a), a, b) for a, b in zip(outs, carry)]
            go_on, kept = asked(outs, kept, counter + 1)
        return outs, counter + 1, kept, go_on

    kept, counter, go_on = [zeros(f) for f in step.found], interpreter.first_step(block), None
    if condition.steps or condition.closed.out_avals[0].shape:
        go_on, kept = asked(list(init), kept, counter)

    def goes_on(state):
        return asked(state[0], state[2], state[1])[0] if go_on is None else jnp.any(state[3])

    carry, _, kept, _ = lax.while_loop(goes_on, one, (list(init), counter, kept, go_on))
    return carry, kept


def wide(mask: JaxArray, value: JaxArray) -> JaxArray:
    """A mask with as many axes as a value, behind its own."""
    return mask.reshape(mask.shape + (1,) * (value.ndim - mask.ndim))


def zeros(found: Found) -> list[Any]:
    """The values of a place that the program has not passed."""
    return [shape.zeros() for shape in found.out]


# ---- cond


def _cond_bodies(eqn):
    platforms = eqn.params.get("branches_platforms")
    barrier = None if platforms is None else "a branch for one platform (jax.lax.platform_dependent)"
    return [Body(close(branch), "cond", barrier) for branch in eqn.params["branches"]]


def _cond(interpreter, step, ins, index, probes):
    def branch(i):
        block = step.blocks[i]

        def run(operands, index, probes):
            at = sum(len(f.probes) for b in step.blocks[:i] for f in b.found)
            outs, own = interpreter.run(block, operands, index, probes[at : at + sum(len(f.probes) for f in block.found)])
            own = [v if f.counted else [*v, jnp.int32(1)] for f, v in zip(block.found, own)]
            before = sum(len(b.found) for b in step.blocks[:i])
            rest = step.found[:before], step.found[before + len(own) :]
            return outs, [*map(zeros, rest[0]), *own, *map(zeros, rest[1])]

        return run

    return lax.switch(ins[0], [branch(i) for i in range(len(step.blocks))], ins[1:], index, probes)


# ---- checkpoint, shard_map


def _checkpoint_bodies(eqn):
    # What the backward pass computes again is no second place.
    return [Body(close(eqn.params["jaxpr"]), "checkpoint", recomputed=eqn.params["differentiated"])]


def _checkpoint(interpreter, step, ins, index, probes):
    once, eqn = Once(), step.eqn

    def body(*ins):
        outs, got = interpreter.run(step.blocks[0], ins, index, probes)
        return [*outs, *once.packed(got)]

    # The primitive itself: jax.checkpoint has no word for one in a backward pass.
    closed = jax.make_jaxpr(body)(*ins)
    params = {**eqn.params, "jaxpr": jax_slots.with_constants_as_inputs(closed.jaxpr)}
    if isinstance(params["prevent_cse"], tuple):
        params["prevent_cse"] = (True,) * len(closed.consts) + params["prevent_cse"]
    outs = eqn.primitive.bind(*closed.consts, *ins, **params)
    n = len(eqn.outvars)
    return outs[:n], once.unpacked(outs[n:])


def devices(eqn: jex.JaxprEqn) -> tuple[tuple[str, ...], int]:
    """(the axes of a shard_map's mesh that it maps over, how many devices they have)."""
    params = eqn.params
    manual = params.get("newly_manual_axes", params.get("manual_axes"))
    axes = tuple(a for a in params["mesh"].axis_names if manual is None or a in manual)
    return axes, math.prod(params["mesh"].shape[axis] for axis in axes)


def _shard_map_found(eqn, found, max_steps):
    (axes, n), mesh = devices(eqn), eqn.params["mesh"]
    explicit = {axis for axis, kind in zip(mesh.axis_names, mesh.axis_types) if kind is AxisType.Explicit}
    sharding = NamedSharding(mesh, PartitionSpec(axes)) if explicit.intersection(axes) else None
    return [f.from_devices(axes, n, sharding) for f in found[0]]


def _shard_map(interpreter, step, ins, index, probes):
    params, (axes, _) = step.eqn.params, devices(step.eqn)
    each, once = PartitionSpec(axes), Once()

    def local(index, probes, *ins):
        outs, got = interpreter.run(step.blocks[0], ins, index, [p[0] for p in probes])
        return tuple(outs), [v[None] for v in once.packed(got)]

    outs, got = jax.shard_map(
        local,
        mesh=params["mesh"],
        in_specs=(PartitionSpec(), each, *params["in_specs"]),
        out_specs=(tuple(params["out_specs"]), each),
        axis_names=set(axes),
        check_vma=params["check_vma"],
    )(index, probes, *ins)
    return list(outs), once.unpacked(got)


def inline(interpreter: Interpreter, step: Any, ins: Sequence[JaxArray], index: tuple[Any, ...], probes: tuple[Any, ...]) -> Any:
    """The `run` of a Rule that evaluates the only body in the place of the equation."""
    return interpreter.run(step.blocks[0], ins, index, probes)


# {name of a primitive: Rule}
RULES: dict[str, Rule] = {
    "jit": Rule(lambda eqn: [Body(close(eqn.params["jaxpr"]), f"jit({eqn.params['name']})")], _jit, groups=True),
    "scan": Rule(one_body("jaxpr", "scan"), _scan, lambda eqn, found, _: [f.with_axis(eqn.params["length"]) for f in found[0]]),
    "while": Rule(_while_bodies, _while, _while_found),
    "cond": Rule(_cond_bodies, _cond, lambda eqn, found, _: [f.with_count() for branch in found for f in branch]),
    "remat2": Rule(_checkpoint_bodies, _checkpoint, groups=True),
    "shard_map": Rule(one_body("jaxpr", "shard_map"), _shard_map, _shard_map_found),
    "custom_jvp_call": Rule(one_body("call_jaxpr", "custom_jvp"), custom_rules.custom_jvp, has_own_derivative=True),
    "custom_vjp_call": Rule(one_body("call_jaxpr", "custom_vjp"), custom_rules.custom_vjp, has_own_derivative=True),
    **dict.fromkeys(("closed_call", "eval_jaxpr"), Rule(one_body("call_jaxpr"), inline, groups=True)),
}

# Those of a program that nobody differentiates any more.
FINAL_RULES: dict[str, Rule] = {
    **RULES,
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call"), Rule(one_body("call_jaxpr"), inline, groups=True)),
}


def bodies_of(eqn: jex.JaxprEqn) -> list[jex.ClosedJaxpr]:
    """The jaxprs of an equation that has a rule, in program order."""
    return [body.closed for body in FINAL_RULES[eqn.primitive.name].bodies(eqn)]


def body_in_place_of(eqn: jex.JaxprEqn) -> jex.ClosedJaxpr | None:
    """The jaxpr whose equations can stand in the place of an equation of such a program; None if there is none."""
    rule = FINAL_RULES.get(eqn.primitive.name)
    if rule is None or not rule.groups:
        return None
    closed = rule.bodies(eqn)[0].closed
    return closed if same_types(closed.jaxpr, eqn) else None


def same_types(jaxpr: jex.Jaxpr, eqn: jex.JaxprEqn) -> bool:
    """Whether a jaxpr takes and returns what an equation does."""

    def types(variables):
        return [(getattr(v.aval, "shape", None), getattr(v.aval, "dtype", None)) for v in variables]

    return types(jaxpr.invars) == types(eqn.invars) and types(jaxpr.outvars) == types(eqn.outvars)
