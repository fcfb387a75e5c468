"""Faults planted in small models of all kinds, and where each comes from: a table for `test_planted` and for a look at all of them.

    python -m tests.tools.planted [WORD ...]

prints what find_nan and guard name, and what they should; only the rows that have one of the words. The exit status is 1 if one is missed.
Each fault is a function of (values, scale): it is wrong where `scale` is 0 or -1, as BAD says, and right where it is 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen, nnx

from msjax import hooks
from msjax.tools import Fault, find_nan, guard

F32 = jnp.float32


def log(x, scale):
    return x + jnp.log(scale)


def root(x, scale):
    return x * jnp.sqrt(scale)


def quotient(x, scale):
    return x + (scale - 1) / (scale - 1)


def overflow(x, scale):
    return x + (jnp.exp(1000 * scale) - jnp.exp(1000 * scale))


def behind_mask(x, scale):
    """A masked, harmless NaN comes first."""
    return jnp.where(x > 1e9, jnp.log(-x * x), x) * jnp.arccos(scale)


def length(x, scale):
    """Right forward; its derivative at 0 is not."""
    return x + jnp.sqrt(scale * x * x)


def selected(x, scale):
    return jnp.where(scale * jnp.ones_like(x) > 0.5, jnp.sqrt(jnp.maximum(x * x * scale, 0)), x)


# {name: (fault, scale where it is wrong, pass, operations)}
FAULTS = {
    "log": (log, -1.0, "forward", {"log"}),
    "root": (root, -1.0, "forward", {"sqrt"}),
    "quotient": (quotient, 1.0, "forward", {"div"}),
    "overflow": (overflow, 1.0, "forward", {"sub"}),
    "behind a mask": (behind_mask, 2.0, "forward", {"acos"}),
    "length": (length, 0.0, "backward", {"mul", "integer_pow"}),
    "selected": (selected, 0.0, "backward", {"mul", "integer_pow", "select_n"}),
}
RIGHT = {"quotient": 2.0, "overflow": 0.01, "behind a mask": 0.5}


class Row(NamedTuple):
    """One planted fault: `run` gives the Fault that is found; `expected` are (pass, operations, function of the line)."""

    name: str
    run: Callable[[], Any]
    phase: str
    operations: set[str]
    function: str


def dense(key, n, m):
    return {"w": jax.random.normal(key, (n, m), F32) / 4, "b": jnp.full(m, 0.1, F32)}


def apply(p, x):
    return x @ p["w"] + p["b"]


# ---- models of plain jax: (parameters, batch, loss(parameters, batch, fault, scale))


def keys(n):
    return jax.random.split(jax.random.key(0), n)


def unet(fault):
    k = keys(4)
    params = [jax.random.normal(k[i], (3, 1 if i == 0 else 2, 2), F32) / 4 for i in range(4)]

    def conv(x, w):
        w = jnp.broadcast_to(w, (3, x.shape[-1], 2))
        return jax.lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))

    def loss(p, x, scale):
        first = jnp.tanh(conv(x, p[0]))
        down = jnp.tanh(conv(jax.lax.reduce_window(first, -jnp.inf, jax.lax.max, (1, 2, 1), (1, 2, 1), "SAME"), p[1]))
        up = jnp.repeat(fault(down, scale), 2, axis=1)
        return jnp.mean((conv(up, p[2]) + first) ** 2)

    return params, jnp.linspace(-1, 1, 8, dtype=F32).reshape(1, 8, 1), loss


def vae(fault):
    k = keys(3)
    params = {"encode": dense(k[0], 4, 4), "decode": dense(k[1], 2, 4)}

    def loss(p, x, scale):
        mean, variance = jnp.split(apply(p["encode"], x), 2, -1)
        z = mean + jnp.exp(variance / 2) * jax.random.normal(k[2], mean.shape, F32)
        return jnp.mean((apply(p["decode"], fault(z, scale)) - x) ** 2) + jnp.mean(mean**2 + jnp.exp(variance) - variance)

    return params, jnp.ones((2, 4), F32) / 3, loss


def experts(fault):
    k = keys(4)
    params = {"gate": dense(k[0], 4, 3), "experts": jax.vmap(lambda key: dense(key, 4, 4))(k[1:])}

    def loss(p, x, scale):
        weight, which = jax.lax.top_k(jax.nn.softmax(apply(p["gate"], x)), 2)
        outs = jax.vmap(apply, (0, None))(p["experts"], x)
        chosen = jnp.take_along_axis(outs.swapaxes(0, 1), which[..., None], 1)
        return jnp.mean(fault((weight[..., None] * chosen).sum(1), scale) ** 2)

    return params, jnp.linspace(-1, 1, 8, dtype=F32).reshape(2, 4), loss


def gru(fault):
    k = keys(3)
    params = {name: dense(key, 5, 3) for name, key in zip("zrh", k)}

    def loss(p, x, scale):
        def step(h, row):
            v, i = row
            both = jnp.concatenate([v, h])
            z, r = jax.nn.sigmoid(apply(p["z"], both)), jax.nn.sigmoid(apply(p["r"], both))
            new = jnp.tanh(apply(p["h"], jnp.concatenate([v, r * h])))
            # At the fourth step alone.
            h = (1 - z) * h + z * jax.lax.cond(i == 3, lambda n: fault(n, scale), lambda n: n, new)
            return h, h

        return jax.lax.scan(step, jnp.ones(3, F32) / 2, (x, jnp.arange(6)))[1].sum()

    return params, jnp.linspace(-1, 1, 12, dtype=F32).reshape(6, 2), loss


def remat(fault):
    params, x, loss = gru(fault)
    return params, x, jax.checkpoint(loss)


def half(fault):
    """Float16 with a scaled loss, and two batches whose gradients are added up."""
    params, x, loss = experts(fault)

    def scaled(p, x, scale):
        small = jax.tree.map(lambda v: v.astype(jnp.float16), p)
        return sum(loss(small, part.astype(jnp.float16), scale.astype(jnp.float16)).astype(F32) * 8 for part in jnp.split(x, 2))

    return params, x, scaled


def vmapped(fault):
    params = dense(keys(1)[0], 3, 3)

    def loss(p, x, scale):
        def row(v, s):
            return jnp.sum(fault(jnp.tanh(apply(p, v)), s))

        good = jnp.full(x.shape[0], RIGHT.get(_name_of(fault), 1.0), F32)
        return jax.vmap(row)(x, good.at[2].set(scale)).sum()

    return params, jnp.linspace(-1, 1, 12, dtype=F32).reshape(4, 3), loss


def mapped(fault):
    """A shard_map over four devices, one of which has the fault."""
    mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:4])
    params = dense(keys(1)[0], 3, 3)

    def loss(p, x, scale):
        scales = jnp.full(x.shape[0], RIGHT.get(_name_of(fault), 1.0), F32).at[2].set(scale)

        def local(p, x, s):
            return jax.lax.psum(fault(jnp.tanh(apply(p, x)), s[:, None]).sum(), "data")

        P = jax.sharding.PartitionSpec
        return jax.shard_map(local, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P())(p, x, scales)

    return params, jnp.linspace(-1, 1, 12, dtype=F32).reshape(4, 3), loss


MODELS = {
    "U-Net": unet, "VAE": vae, "experts": experts, "GRU": gru, "GRU, remat": remat, "Float16": half, "vmapped row": vmapped,
}  # fmt: skip
if len(jax.devices()) >= 4:
    MODELS["shard_map"] = mapped


def _name_of(fault):
    return next((name for name, (fn, *_) in FAULTS.items() if fn is fault), "")


def plain_rows():
    for model, make in MODELS.items():
        for name, (fault, bad, phase, operations) in FAULTS.items():
            if model == "Float16" and name in ("overflow",):
                continue
            params, x, loss = make(fault)
            scale = jnp.asarray(bad, F32)
            step = train_step(loss)
            state = optax.adam(0.1).init(params)

            def found(loss=loss, params=params, x=x, scale=scale):
                return find_nan(jax.value_and_grad(lambda p, x: loss(p, x, scale)), params, x, show=False)

            good = jnp.asarray(RIGHT.get(name, 1.0), F32)

            def guarded(step=step, params=params, state=state, x=x, scale=scale, good=good):
                return of_guard(guard(step), (params, state, x, scale), (params, state, x, good))

            yield Row(f"{model}, {name}, find_nan", found, phase, operations, fault.__name__)
            if name in ("log", "length", "behind a mask"):
                yield Row(f"{model}, {name}, guard at step 7", guarded, phase, operations, fault.__name__)


def train_step(loss):
    optimizer = optax.adam(0.1)

    def step(params, state, x, scale):
        value, gradient = jax.value_and_grad(loss)(params, x, scale)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    return step


def of_guard(step, bad, good):
    """The fault of the seventh step; the others have to be right, those behind it, too."""
    for number in range(1, 10):
        try:
            step(*(bad if number == 7 else good))
        except Fault as fault:
            if number != 7:
                return fault
            found = fault
    return found


# ---- models of flax, equinox and haiku


class NnxBlock(nnx.Module):
    def __init__(self, fault, scale, layers=None):
        shape = () if layers is None else (layers,)
        self.kernel = nnx.Param(jnp.full((*shape, 3, 3), 0.3, F32))
        self.scale = nnx.Param(jnp.asarray(scale, F32))
        self.fault = fault

    def __call__(self, x):
        return self.fault(jnp.tanh(x @ self.kernel[...]), self.scale[...])


class NnxStack(nnx.Module):
    def __init__(self, fault, scales, remat):
        self.blocks, self.remat = NnxBlock(fault, scales, len(scales)), remat

    def __call__(self, x):
        def one(x, block):
            return block(x)

        return nnx.scan(nnx.remat(one) if self.remat else one, in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)(x, self.blocks)


class LinenBlock(linen.Module):
    fault: Any
    value: float

    @linen.compact
    def __call__(self, x):
        return self.fault(linen.Dense(3)(x), jnp.asarray(self.value, F32))


class EqxBlock(eqx.Module):
    linear: eqx.nn.Linear
    scale: jax.Array
    fault: Any = eqx.field(static=True)

    def __call__(self, x):
        return self.fault(jnp.tanh(self.linear(x)), self.scale)


def framework_rows():
    x = jnp.linspace(-1, 1, 6, dtype=F32).reshape(2, 3)
    for name, (fault, bad, phase, operations) in FAULTS.items():
        right = RIGHT.get(name, 1.0)
        expected = phase, operations, fault.__name__
        scales = [right, right, bad, right]
        block = nnx.List([NnxBlock(fault, right), NnxBlock(fault, bad)])
        sequential = nnx.Sequential(*block)
        yield Row(f"nnx, {name}", lambda m=sequential: find_nan(m, x, show=False), *expected)
        for remat in (False, True):
            model = NnxStack(fault, scales, remat)
            yield Row(f"nnx scan{' of remat' * remat}, {name}", lambda m=model: find_nan(m, x, show=False), *expected)
        net = linen.Sequential([LinenBlock(fault, right), LinenBlock(fault, bad)])
        params = net.init(jax.random.key(0), x)
        yield Row(f"linen, {name}", lambda m=net, p=params: find_nan(m, p, x, gradients=True, show=False), *expected)
        linear = eqx.nn.Linear(3, 3, key=jax.random.key(0))
        equinox_model = hooks.hooked(EqxBlock(linear, jnp.asarray(bad, F32), fault))
        yield Row(f"equinox, {name}", lambda m=equinox_model: find_nan(m, x[0], show=False), *expected)
        transformed = hk.without_apply_rng(hk.transform(lambda x, f=fault, s=bad: f(hk.Linear(3)(x), jnp.asarray(s, F32))))
        weights = transformed.init(jax.random.key(0), x)
        yield Row(f"haiku, {name}", lambda m=transformed, w=weights: find_nan(m, w, x, gradients=True, show=False), *expected)


# ---- faults of other kinds


def other_rows():
    def norm_of_one(x):
        return (x - x.mean(0)) / jnp.sqrt(((x - x.mean(0)) ** 2).mean(0))

    yield Row(
        "BatchNorm of one sample",
        lambda: find_nan(norm_of_one, jnp.ones((1, 3), F32), show=False),
        "forward",
        {"div"},
        "norm_of_one",
    )
    params, x, loss = vae(log)
    step, scale = train_step(loss), jnp.ones((), F32)
    state = optax.adam(0.1).init(params)

    def nan_in(tree, at):
        leaves, treedef = jax.tree.flatten(tree)
        leaves[at] = leaves[at] * np.nan
        return jax.tree.unflatten(treedef, leaves)

    yield Row(
        "NaN in the input",
        lambda: find_nan(step, params, state, x.at[1, 2].set(np.nan), scale, show=False),
        "argument x",
        set(),
        "",
    )
    yield Row(
        "NaN in an optimizer's state",
        lambda: find_nan(step, params, nan_in(state, 2), x, scale, show=False),
        "argument state",
        set(),
        "",
    )
    yield Row(
        "NaN in a weight", lambda: find_nan(step, nan_in(params, 1), state, x, scale, show=False), "argument params", set(), ""
    )
    generator, critic = dense(keys(2)[0], 2, 3), dense(keys(2)[1], 3, 1)
    optimizers = optax.sgd(0.1), optax.adam(0.1, eps=0.0)

    def critic_loss(c, fake, real):
        return jnp.log(apply(c, real)).mean() + apply(c, fake).mean()

    def gan(g, c, states, z, real):
        gradient = jax.grad(critic_loss)(c, apply(g, z), real)
        updates, critic_state = optimizers[1].update(gradient, states[1])
        c = optax.apply_updates(c, updates)
        gradient = jax.grad(lambda g: -apply(c, apply(g, z)).mean())(g)
        updates, generator_state = optimizers[0].update(gradient, states[0])
        return optax.apply_updates(g, updates), c, (generator_state, critic_state)

    states = optimizers[0].init(generator), optimizers[1].init(critic)
    z = jnp.ones((2, 2), F32)
    silent = jax.tree.map(jnp.zeros_like, critic)
    # The derivative of the log is infinite there, and optax divides what it makes of that.
    yield Row(
        "GAN, a critic that is 0",
        lambda: find_nan(gan, generator, silent, states, z, jnp.ones((2, 3), F32), show=False),
        "forward", {"div"}, "<lambda>",
    )  # fmt: skip


def rows():
    from tests.tools.planted_checks import cell_rows, checked_rows, framework_checks

    yield from plain_rows()
    yield from framework_rows()
    yield from other_rows()
    yield from checked_rows()
    yield from framework_checks()
    yield from cell_rows()


def verdict(row, found):
    """What is wrong with a fault that was found; "" if it is right."""
    if found is None:
        return "nothing found"
    if row.phase.startswith("argument"):
        return "" if f"{row.phase}" in found.note else f"says {found.note!r}"
    line = found.line.function.rpartition(".")[2] if found.line is not None else None
    here = found.phase, found.operation in row.operations, line
    return "" if here == (row.phase, True, row.function) else f"{found.phase} {found.operation} in {line}"


def main(words):
    count = missed = 0
    for row in rows():
        if words and not any(word in row.name for word in words):
            continue
        found = verdict(row, row.run())
        count, missed = count + 1, missed + bool(found)
        print(f"{row.name:45.45} {row.phase} {row.function}{'   <-- MISSED: ' + found if found else ''}", flush=True)
    print(f"{count} planted faults, {count - missed} named at their place")
    return bool(missed)


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", 4)
    sys.exit(main(sys.argv[1:]))
