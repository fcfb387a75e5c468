"""The rows of ways: each makes of an owner a function from an array to (value, {name: gradient}).

The input's gradient is named ``x``. Not every way gives those of weights, and a comparison is of those that both have.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from flax import nnx

import msjax as ms
from msjax import hooks


@dataclass(frozen=True)
class Way:
    """A way to compute a network's value and gradients.

    Attributes:
        make: from an owner to the function.
        text: what it is, for readers.
        takes: from an owner's class to the reason why it makes no sense for it, or None.
        live: whether a function that was made before sees hooks that come and go.
        copies: whether hooks of Cells get a copy (docs/flax.md), since the way splits and merges the network.
        graph: whether it runs in graph mode.
    """

    make: Callable
    text: str
    takes: Callable = lambda owner: None
    live: bool = True
    copies: bool = False
    graph: bool = False


# ---- on Tensors


def _tensors(owner):
    """(function of the arguments, positions or None, Parameters or None, the arguments before x, the names of their gradients)"""
    if owner.net is not None:
        names = {id(p): name for name, p in owner.net.parameters_and_names()}
        weights = list(owner.net.trainable_params())
        return owner.net, 0, weights, (), [names[id(p)] for p in weights]
    leaves, structure = jax.tree.flatten(owner.params)

    @ms.from_jax
    def call(leaves, x):
        return owner.forward(jax.tree.unflatten(structure, leaves), x)

    names = list(owner.of_weights(owner.params)) if leaves else []
    at = tuple(range(len(leaves) + 1))
    return (lambda *args: call(list(args[:-1]), args[-1])), at, None, tuple(map(ms.Tensor, leaves)), names


def _split(out, grads, owner, names):
    if owner.net is not None:
        of_x, of_weights = grads
    else:
        *of_weights, of_x = grads if isinstance(grads, tuple) else (grads,)
    return out.asnumpy().sum(), {"x": of_x.asnumpy(), **{n: g.asnumpy() for n, g in zip(names, of_weights)}}


def _on_tensors(around_forward, around_gradient):
    def make(owner):
        fn, positions, weights, before, names = _tensors(owner)
        gradient = around_gradient(ms.value_and_grad(around_forward(fn), positions, weights))
        return lambda x: _split(*gradient(*before, ms.Tensor(x)), owner, names)

    return make


def _same(fn):
    return fn


def _jit(fn):
    return ms.jit(lambda *args: fn(*args))


# ---- functionalized


def _functional(jit):
    def make(owner):
        apply, params, buffers = ms.functionalize(owner.net)
        gradient = jit(jax.value_and_grad(lambda params, x: apply(params, buffers, x)[0].sum(), argnums=(0, 1)))

        def run(x):
            value, (of_weights, of_x) = gradient(params, jnp.asarray(x))
            return value, {"x": of_x, **of_weights}

        return run

    return make


def _no_cell(owner):
    return None if owner.is_cell else "functionalize takes a Cell; the owners in a Cell cover it"


# ---- the objects themselves under jax's transformations


def _objects(around_forward, around_gradient):
    def make(owner):
        gradient = around_gradient(jax.value_and_grad(around_forward(lambda *args: owner.scalar(*args)), argnums=(0, 1)))

        def run(x):
            value, (of_weights, of_x) = gradient(owner.params, jnp.asarray(x))
            return value, {"x": of_x, **(owner.of_weights(of_weights) if owner.params else {})}

        return run

    return make


def _merged(jit):
    """nnx.split outside, nnx.merge inside."""

    def make(owner):
        def scalar(state, graphdef, x):
            return owner.total(nnx.merge(graphdef, state), x)

        gradient = jit(jax.value_and_grad(scalar, argnums=(0, 2)), static_argnums=1)

        def run(x):
            graphdef, state = nnx.split(owner.net or owner.module)
            value, (of_weights, of_x) = gradient(state, graphdef, jnp.asarray(x))
            return value, {"x": of_x, **owner.of_weights(of_weights)}

        return run

    return make


def _nnx(jit):
    def make(owner):
        gradient = jit(nnx.value_and_grad(owner.total, argnums=(0, 1)))

        def run(x):
            value, (of_weights, of_x) = gradient(owner.net or owner.module, jnp.asarray(x))
            return value, {"x": of_x, **owner.of_weights(of_weights)}

        return run

    return make


def _no_nnx(owner):
    return None if owner.is_cell or owner.is_nnx else "nnx's transformations take nnx modules"


def _eager(owner):
    """The reference: `ms.value_and_grad` of a Cell, eager `nnx.value_and_grad` or `jax.value_and_grad` of the others."""
    if owner.net is not None:
        return _on_tensors(_same, _same)(owner)
    return (_objects(_same, _same) if owner.module is None else _nnx(_same))(owner)


REFERENCE = "eager"
WAYS = {
    "eager": Way(_eager, "PyNative ms.value_and_grad, or eager value_and_grad"),
    "jit_gradient": Way(_on_tensors(_same, _jit), "ms.jit of ms.value_and_grad"),
    "jit_forward": Way(_on_tensors(ms.jit, _same), "ms.value_and_grad of ms.jit"),
    "graph": Way(_on_tensors(_same, _same), "ms.value_and_grad in GRAPH_MODE", graph=True),
    "functional_jit": Way(_functional(jax.jit), "jax.jit(jax.value_and_grad(functionalize))", _no_cell, live=False),
    "jax": Way(_objects(_same, _same), "jax.value_and_grad of the objects"),
    "jax_jit": Way(_objects(_same, jax.jit), "jax.jit(jax.value_and_grad) of the objects", live=False),
    "jax_of_jit": Way(_objects(jax.jit, _same), "jax.value_and_grad(jax.jit) of the objects", live=False),
    "hooks_jit": Way(_objects(_same, hooks.jit), "hooks.jit(jax.value_and_grad) of the objects", live=False),
    "nnx": Way(_nnx(_same), "nnx.value_and_grad", _no_nnx, copies=True),
    "nnx_jit": Way(_nnx(nnx.jit), "nnx.jit(nnx.value_and_grad)", _no_nnx, copies=True),
    "nnx_hooks_jit": Way(_nnx(hooks.jit), "hooks.jit(nnx.value_and_grad)", _no_nnx, copies=True),
    "merged": Way(_merged(jax.jit), "jax.jit of value_and_grad of nnx.merge", _no_nnx, copies=True),
}
