"""The same mixtures in plain jax, which imports nothing of msjax: values, gradients, and what hooks see, in order."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

ACTS = {"sin": jnp.sin, "square": lambda x: x * x, "double": lambda x: x * 2, "tanh": jnp.tanh, "same": lambda x: x}
AXIS = "d"


def within(around, inner, x):
    """Call a function of an array of two numbers within a construct of jax."""
    match around:
        case "direct":
            return inner(x)
        case "jit":
            return jax.jit(inner)(x)
        case "scan":
            return jax.lax.scan(lambda carry, _: (inner(carry), None), x, None, length=2)[0]
        case "fori":
            return jax.lax.fori_loop(0, 2, lambda _, carry: inner(carry), x)
        case "while":
            # No gradient goes through it: there is none of while loops.
            begin = jnp.zeros((), jnp.int32), jax.lax.stop_gradient(x)
            return x + jax.lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, inner(s[1])), begin)[1]
        case "cond":
            return jax.lax.cond(jnp.sum(x) > -100, inner, lambda v: v * 7, x)
        case "switch":
            return jax.lax.switch((jnp.sum(x) > -100).astype(jnp.int32), [lambda v: v * 7, inner, lambda v: v * 5], x)
        case "remat":
            return jax.checkpoint(inner)(x)
        case "vmap":
            return jnp.sum(jax.vmap(inner)(jnp.stack([x, x * 0.5])), 0)
        case "custom_vjp":
            # Its own rule is the gradient; that of `inner` is not asked for.
            return scaled(inner, 3.0)(x)
        case "custom_jvp":
            return scaled_forward(inner)(x)
        case "shard_map":
            mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), (AXIS,))
            spec = jax.sharding.PartitionSpec(AXIS)
            each = jax.shard_map(lambda v: inner(v[0])[None], mesh=mesh, in_specs=spec, out_specs=spec)
            return jnp.sum(each(jnp.stack([x, x * 0.5, x * 0.25, x * 2])), 0)
    raise ValueError(around)


def scaled(inner, factor):
    """A function whose gradient is a factor, by a rule of its own."""
    made = jax.custom_vjp(inner)
    made.defvjp(lambda v: (inner(v), None), lambda _, ct: (ct * factor,))
    return made


def scaled_forward(inner):
    made = jax.custom_jvp(inner)
    made.defjvp(lambda primals, tangents: (inner(*primals), tangents[0] * 2))
    return made


# ---- the reference

# Where what hooks see is what a run operator by operator would give, in its order.
IN_SEQUENCE = ("direct", "jit", "scan", "fori", "cond", "switch")


def unrolled(around, inner, x):
    """What `within` computes, with the constructs of jax written out: eager operators on two numbers are compiled once in a process."""
    match around:
        case "scan" | "fori":
            return inner(inner(x))
        case "while":
            return x + jax.lax.stop_gradient(inner(inner(jax.lax.stop_gradient(x))))
        case "vmap":
            return inner(x) + inner(x * 0.5)
        case "shard_map":
            return inner(x) + inner(x * 0.5) + inner(x * 0.25) + inner(x * 2)
        case "custom_vjp" | "custom_jvp":
            return within(around, inner, x)
    return inner(x)


def on_gradient(see, factor):
    """An identity whose gradient is seen, where `see` is a function, and multiplied."""

    @jax.custom_vjp
    def identity(x):
        return x

    def back(_, ct):
        if see is not None:
            see(ct)
        return (ct * factor,)

    identity.defvjp(lambda x: (x, None), back)
    return identity


def reference(owner, log=None, extra=(), constructs=unrolled):
    """The function of an array that a mixture computes.

    Args:
        log: a list that gets (name, kind, sum of what the hook saw) where that is known; None where nobody asks.
        extra: (name, factor) of further modifiers of outputs.
        constructs: `unrolled`, or `within`.
    """

    def note(kind, value):
        if log is not None:
            log.append((owner.name, kind, float(jnp.sum(jax.lax.stop_gradient(value)))))

    hooks = {hook.kind: hook for hook in owner.hooks}
    see = {
        kind: functools.partial(note, kind) if kind in hooks and log is not None else None
        for kind in ("backward", "backward_pre")
    }

    def factor(kind):
        return 1.0 if kind not in hooks or hooks[kind].factor is None else hooks[kind].factor

    inside = None if owner.inner is None else reference(owner.inner, log, extra, constructs)

    def call(x):
        if "forward_pre" in hooks:
            note("forward_pre", x)
            x = x * factor("forward_pre")
        x = on_gradient(see["backward"], factor("backward"))(x)
        x = ACTS[owner.act](x * jnp.asarray(owner.weight, x.dtype))
        if inside is not None:
            x = constructs(owner.around, inside, x)
        if "forward" in hooks:
            note("forward", x)
            x = x * factor("forward")
        for name, more in extra:
            x = x * more if name == owner.name else x
        return on_gradient(see["backward_pre"], factor("backward_pre"))(x)

    return call


def log_is_known(owner):
    """Whether what hooks see, and in which order, is known of a mixture: it is where nothing is batched, recomputed or has rules of its own."""
    return all(each.around in IN_SEQUENCE for each in owner.chain())
