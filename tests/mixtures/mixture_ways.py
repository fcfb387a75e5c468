"""The ways to run a mixture. Each returns (value, gradient of the input or None, {name: gradient of a Cell's weight})."""

from __future__ import annotations

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

import msjax as ms
from msjax import hooks

LANES = jnp.array([1.0, 0.5], jnp.float32)


def _both(f):
    def both(x):
        value, pull = jax.vjp(f, x)
        # Ones that are no constant: hooks whose gradient is one have no order among those in loops (docs/limits.md).
        return value, pull(jnp.ones_like(value) + 0 * value)[0]

    return both


def _done(result):
    result = jax.block_until_ready(result)
    hooks.barrier()
    return result


def call(built, x):
    return _done(built.call(x)), None, {}


def vjp(built, x):
    return *_done(_both(built.call)(x)), {}


def jax_jit(built, x):
    return *_done(jax.jit(_both(lambda v: built.call(v)))(x)), {}


def hooks_jit(built, x):
    return *_done(hooks.jit(_both(built.call))(x)), {}


def donated(built, x):
    return *_done(jax.jit(_both(lambda v: built.call(v)), donate_argnums=0)(jax.device_put(np.array(x)))), {}


def ahead_of_time(built, x):
    return *_done(jax.jit(_both(lambda v: built.call(v))).lower(x).compile()(x)), {}


def exported(built, x):
    made = jax.export.export(jax.jit(_both(lambda v: built.call(v))))(x)
    return *_done(jax.export.deserialize(made.serialize()).call(x)), {}


def recomputed(built, x):
    return *_done(jax.jit(_both(jax.checkpoint(lambda v: built.call(v))))(x)), {}


def batched(built, x):
    values, grads = _done(jax.jit(jax.vmap(_both(lambda v: built.call(v))))(LANES[:, None] * x))
    return values[0], grads[0], {}


def batched_eagerly(built, x):
    values, grads = _done(jax.vmap(_both(built.call))(LANES[:, None] * x))
    return values[0], grads[0], {}


def _weights(built):
    """The weights of Cells whose gradients are asked for; the others have none here."""
    names = [owner.name for owner in built.owner.weighted()]
    cells = [each.module for each in built.chain() if each.module is not None]
    for cell in cells:
        cell.w.requires_grad = cell.owner.name in names
    return [cell.w for cell in cells if cell.w.requires_grad]


def _tensors(built, result):
    dx, dws = result
    return dx._value, {w.name: dw._value for w, dw in zip(_weights(built), dws)}


def ms_grad(built, x):
    value = []

    def run(t):
        out = built.module(t)
        value.append(out)
        return out

    found = _tensors(built, ms.grad(run, 0, _weights(built))(ms.Tensor(x)))
    hooks.barrier()
    return value[0]._value, *found


def ms_jit(built, x):
    step = ms.jit(lambda t: ms.value_and_grad(built.module, 0, _weights(built))(t))
    out, found = step(ms.Tensor(x))
    return out._value, *_tensors(built, found)


def backward(built, x):
    t = ms.Tensor(x)
    t.requires_grad = True
    for w in _weights(built):
        w.grad = None
    out = built.module(t)
    out.sum().backward()
    hooks.barrier()
    return out._value, t.grad._value, {w.name: None if w.grad is None else w.grad._value for w in _weights(built)}


def functionalized(built, x):
    _weights(built)  # the others are not trained: jax may know no gradient of those within a while loop
    apply, params, buffers = ms.functionalize(built.module)
    value, pull = jax.vjp(lambda params, x: apply(params, buffers, x)[0], params, x)
    dws, dx = pull(jnp.ones_like(value))
    _done(dx)
    return value, dx, dws


EAGER = (call, vjp, batched_eagerly)
COMPILED = (jax_jit, hooks_jit, donated, ahead_of_time, exported, recomputed, batched)
OF_CELLS = (ms_grad, ms_jit, backward, functionalized)
# Ways whose hooks are called as eagerly, in the same order.
IN_ORDER = (vjp, jax_jit, hooks_jit, donated, ahead_of_time, ms_grad, ms_jit, backward, functionalized)
