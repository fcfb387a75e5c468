"""How each form of control flow is built anew when there are places inside: one Rule a primitive.

What jax changes from version to version, the names in an equation's parameters, is read here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jax.experimental.layout import Format
from jax.sharding import AxisType, NamedSharding, PartitionSpec, Sharding

from msjax.core.base.typing import JaxArray
from msjax.core.jaxprs import closed_rules, custom_rules
from msjax.core.jaxprs.plan import close

if TYPE_CHECKING:
    from msjax.core.jaxprs.interpreter import Interpreter


class Body(NamedTuple):
    """A jaxpr inside of an equation.

    Attributes:
        closed: the ClosedJaxpr.
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


def _as_it_is(eqn, found):
    return found[0]


@dataclass(frozen=True)
class Rule:
    """What is to be known of a primitive.

    Attributes:
        bodies: from an equation to its Bodies, in program order.
        run: ``run(interpreter, step, ins, index, probes)`` evaluates the equation and returns (outs, the values of its places).
        found: from an equation and the lists of Found of its bodies to that of the equation.
        has_own_derivative: True if the user's rule gives its derivative.
        closed: evaluates, as `run` does, an equation whose rule closes over traced values, so that the new equation's does not.
        always: tells if an equation is evaluated by `run` even where it has no places.
    """

    bodies: Callable[..., Any]
    run: Callable[..., Any]
    found: Callable[..., Any] = _as_it_is
    has_own_derivative: bool = False
    closed: Callable[..., Any] | None = None
    always: Callable[[jex.JaxprEqn], bool] | None = None


# ---- jit


def _jit_bodies(eqn):
    return [Body(close(eqn.params["jaxpr"]), f"jit({eqn.params['name']})")]


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
        shardings = (
            _formats(params["in_shardings"], params["in_layouts"]),
            _formats(params["out_shardings"], params["out_layouts"]),
        )
        given = {}
        if any(s is not None for s in shardings[0]):
            given["in_shardings"] = (*shardings[0], None, None)
        if any(s is not None for s in shardings[1]):
            given["out_shardings"] = (list(shardings[1]), None)
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
    """The values of places that leave an equation, each only once: several places may have the same one."""

    def packed(self, got: Sequence[Sequence[Any]]) -> list[Any]:
        """The values of a list of lists of them, each once."""
        number = {}
        self.numbers = [[number.setdefault(id(v), len(number)) for v in values] for values in got]
        return list({id(v): v for values in got for v in values}.values())

    def unpacked(self, values: Sequence[Any]) -> list[list[Any]]:
        """The list of lists that was packed, of these values."""
        return [[values[n] for n in numbers] for numbers in self.numbers]


def _formats(shardings, layouts):
    known = [s if isinstance(s, Sharding) else None for s in shardings]
    return tuple(s if layout is None else Format(layout, s) for s, layout in zip(known, layouts))


# ---- loops


def _scan_found(eqn, found):
    return [f.with_axis(eqn.params["length"]) for f in found[0]]


def _scan(interpreter, step, ins, index, probes):
    block, params = step.blocks[0], step.eqn.params
    if "num_consts" in params:
        n_consts, n_carry = params["num_consts"], params["num_carry"]
    else:
        consts, carry, _ = params["ft_in"].unpack()
        n_consts, n_carry = len(consts), len(carry)
    consts, init, xs = ins[:n_consts], ins[n_consts : n_consts + n_carry], ins[n_consts + n_carry :]
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


def _while_found(max_steps):
    def found(eqn, found):
        counted = [f.with_count() for f in found[1]]
        return counted if max_steps is None else [f.with_axis(max_steps) for f in counted]

    return found


def _while(interpreter, step, ins, index, _probes):
    params, (_, block) = step.eqn.params, step.blocks
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts, init = ins[:n_cond], ins[n_cond : n_cond + n_body], ins[n_cond + n_body :]
    condition = jex.jaxpr_as_fun(close(params["cond_jaxpr"]))
    stacked = interpreter.max_steps is not None

    def body(state):
        carry, counter, kept = state
        outs, got = interpreter.run(block, [*body_consts, *carry], (*index, counter) if block.indexed else index, [])
        new = []
        for found, old, values in zip(block.found, kept, got):
            if not found.counted:
                values = [*values, jnp.int32(1)]
            if stacked:
                new.append([a.at[counter].set(v, mode="drop") for a, v in zip(old, values)])
            else:
                there = values[-1] > 0
                last = [jnp.where(_wide(there, v), v, a) if found.counted else v for a, v in zip(old, values[:-1])]
                new.append([*last, old[-1] + values[-1]])
        return outs, counter + 1, new

    start = (list(init), jnp.int32(0), [_zeros(f) for f in step.found])
    carry, _, got = lax.while_loop(lambda state: condition(*cond_consts, *state[0])[0], body, start)
    return carry, got


def _wide(mask, value):
    return mask.reshape(mask.shape + (1,) * (value.ndim - mask.ndim))


def _zeros(found):
    return [shape.zeros() for shape in found.out]


# ---- cond


def _cond_bodies(eqn):
    platforms = eqn.params.get("branches_platforms")
    barrier = None if platforms is None else "a branch for one platform (jax.lax.platform_dependent)"
    return [Body(close(branch), "cond", barrier) for branch in eqn.params["branches"]]


def _cond_found(eqn, found):
    return [f.with_count() for branch in found for f in branch]


def _cond(interpreter, step, ins, index, probes):
    def branch(i):
        block = step.blocks[i]

        def run(operands, index, probes):
            at = sum(len(f.probes) for b in step.blocks[:i] for f in b.found)
            outs, own = interpreter.run(block, operands, index, probes[at : at + sum(len(f.probes) for f in block.found)])
            own = [v if f.counted else [*v, jnp.int32(1)] for f, v in zip(block.found, own)]
            before = sum(len(b.found) for b in step.blocks[:i])
            rest = step.found[:before], step.found[before + len(own) :]
            return outs, [*(_zeros(f) for f in rest[0]), *own, *(_zeros(f) for f in rest[1])]

        return run

    return lax.switch(ins[0], [branch(i) for i in range(len(step.blocks))], ins[1:], index, probes)


# ---- checkpoint, shard_map


def _checkpoint_bodies(eqn):
    # What the backward pass computes again is no second place.
    return [Body(close(eqn.params["jaxpr"]), "checkpoint", recomputed=eqn.params["differentiated"])]


def _checkpoint(interpreter, step, ins, index, probes):
    params = step.eqn.params
    cse = params["prevent_cse"]
    run = jax.checkpoint(
        lambda ins, index, probes: interpreter.run(step.blocks[0], ins, index, probes),
        prevent_cse=any(cse) if isinstance(cse, tuple) else cse,
        policy=params["policy"],
    )
    return run(ins, index, probes)


def devices(eqn: jex.JaxprEqn) -> tuple[tuple[str, ...], int]:
    """(the axes of a shard_map's mesh that it maps over, how many devices they have)."""
    params = eqn.params
    manual = params.get("newly_manual_axes", params.get("manual_axes"))
    axes = tuple(a for a in params["mesh"].axis_names if manual is None or a in manual)
    n = 1
    for axis in axes:
        n *= params["mesh"].shape[axis]
    return axes, n


def _shard_map_found(eqn, found):
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


def _custom(name):
    bodies = one_body("call_jaxpr", name)
    return Rule(bodies, getattr(custom_rules, name), has_own_derivative=True, closed=getattr(closed_rules, name))


def inline(interpreter: Interpreter, step: Any, ins: Sequence[JaxArray], index: tuple[Any, ...], probes: tuple[Any, ...]) -> Any:
    """The `run` of a Rule that evaluates the only body in the place of the equation."""
    return interpreter.run(step.blocks[0], ins, index, probes)


def rules(max_steps: int | None = None) -> dict[str, Rule]:
    """{name of a primitive: Rule}.

    Args:
        max_steps (int, optional): how many steps of a while_loop are kept; None for the last one alone.
    """
    jit = Rule(_jit_bodies, _jit)
    checkpoint = Rule(_checkpoint_bodies, _checkpoint)
    return {
        "jit": jit,
        "pjit": jit,
        "scan": Rule(one_body("jaxpr", "scan"), _scan, _scan_found),
        "while": Rule(_while_bodies, _while, _while_found(max_steps)),
        "cond": Rule(_cond_bodies, _cond, _cond_found),
        "remat2": checkpoint,
        "checkpoint": checkpoint,
        "shard_map": Rule(one_body("jaxpr", "shard_map"), _shard_map, _shard_map_found),
        "custom_jvp_call": _custom("custom_jvp"),
        "custom_vjp_call": _custom("custom_vjp"),
        "closed_call": Rule(one_body("call_jaxpr"), inline),
        "core_call": Rule(one_body("call_jaxpr"), inline),
        "eval_jaxpr": Rule(one_body("call_jaxpr"), inline),
    }
