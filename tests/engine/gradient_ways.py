"""The rows of ways: each makes of an owner a function from an array to (value, {name: gradient}).

The input's gradient is named ``x``. Not every way gives those of weights, and a comparison is of those that both have.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from flax import nnx

import msjax as ms
from msjax import hooks, nn


@dataclass(frozen=True)
class Way:
    """A way to compute a network's value and gradients.

    Attributes:
        make: from an owner to the function. Its attribute ``programs``, if it has one, tells how many programs there are.
        text: what it is, for readers.
        takes: from an owner's class to the reason why it makes no sense for it, or None.
        main: whether it is one of the rows that meet all owners and kinds.
        live: whether a function that was made before sees hooks that come and go.
        copies: whether hooks of Cells get a copy (docs/flax.md), since the way splits and merges the network.
        graph: whether it runs in graph mode.
        by: what runs it: "msjax", "jax" without a program, "jit" for a program of jax's, or "hooks.jit".
        again: whether forward hooks may be called again, where values are computed again.
        of_parameters: whether it asks for the gradients of a Cell's Parameters.
    """

    make: Callable
    text: str
    takes: Callable = lambda owner: None
    main: bool = False
    live: bool = True
    copies: bool = False
    graph: bool = False
    by: str = "msjax"
    again: bool = False
    of_parameters: bool = True


class _Counted:
    """A function that counts how often it is run by Python, which is once for each program."""

    def __init__(self, fn):
        self.fn, self.count = fn, 0

    def __call__(self, *args):
        self.count += 1
        return self.fn(*args)


def _counting(run, counted):
    run.programs = lambda: counted.count
    return run


# ---- on Tensors


def _tensors(owner):
    """(function of the arguments, positions, Parameters or None, the arguments before x, the names of their gradients)"""
    if owner.net is not None:
        names = {id(p): name for name, p in owner.net.parameters_and_names()}
        weights = list(owner.net.trainable_params())
        return owner.net, 0, weights, (), [names[id(p)] for p in weights]
    leaves, structure = jax.tree.flatten(owner.params)

    @ms.from_jax
    def call(leaves, x):
        return owner.forward(jax.tree.unflatten(structure, leaves), x)

    def fn(*args):
        return call(list(args[:-1]), args[-1])

    names = list(owner.of_weights(owner.params)) if leaves else []
    return fn, tuple(range(len(leaves) + 1)), None, tuple(map(ms.Tensor, leaves)), names


def _on_tensors(around_forward=None, around_gradient=None):
    def make(owner):
        fn, positions, weights, before, names = _tensors(owner)
        forward = fn if around_forward is None else around_forward(fn)
        gradient = ms.value_and_grad(forward, positions, weights)
        compiled = gradient if around_gradient is None else around_gradient(gradient)

        def run(x):
            out, grads = compiled(*before, ms.Tensor(x))
            if owner.net is not None:
                of_x, of_weights = grads
            else:
                *of_weights, of_x = grads if isinstance(grads, tuple) else (grads,)
            return out.asnumpy().sum(), {"x": of_x.asnumpy(), **{n: g.asnumpy() for n, g in zip(names, of_weights)}}

        if hasattr(compiled, "compilations"):
            run.programs = compiled.compilations
        return run

    return make


def _jit(fn):
    return ms.jit(lambda *args: fn(*args))


def _backward(owner):
    """`.backward()` of the sum."""
    fn, _, weights, before, names = _tensors(owner)

    def run(x):
        given = [*map(ms.Tensor, before), ms.Tensor(x)]
        for tensor in given:
            tensor.requires_grad_()
        for parameter in weights or ():
            parameter.grad = None
        out = fn(*given)
        out.sum().backward()
        grads = {n: t.grad.asnumpy() for n, t in zip(names, weights or given)}
        return out.asnumpy().sum(), {"x": given[-1].grad.asnumpy(), **grads}

    return run


def _recomputed(jit):
    def make(owner):
        owner.net.recompute()
        return _on_tensors(None, jit)(owner)

    return make


class _Sum(nn.Cell):
    """A network's loss."""

    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net = net

    def construct(self, x):
        return self.net(x).sum()


def _train_step(owner):
    """`nn.TrainOneStepCell` compiled: gradients are what a step of size 1 has taken off the weights."""
    names = [name for name, p in owner.net.parameters_and_names() if p.requires_grad]
    weights = list(owner.net.trainable_params())
    step = ms.jit(nn.TrainOneStepCell(_Sum(owner.net), nn.SGD(weights, 1.0)))

    def run(x):
        before = [p._value for p in weights]
        value = step(ms.Tensor(x)).asnumpy()
        gradients = {name: b - p._value for name, b, p in zip(names, before, weights)}
        for parameter, b in zip(weights, before):
            parameter.set_data(ms.Tensor(b))
        return value, gradients

    run.programs = step.compilations
    return run


def _no_tensors(owner):
    return None if not owner.is_cell else "it is the reference"


def _only_cells(owner):
    return None if owner.is_cell else "it is a method or a wrapper of Cells"


# ---- functionalized


def _functional(jit, around=lambda f: f):
    def make(owner):
        apply, params, buffers = ms.functionalize(owner.net)
        counted = _Counted(lambda params, x: apply(params, buffers, x)[0].sum())
        gradient = jit(jax.value_and_grad(around(lambda params, x: counted(params, x)), argnums=(0, 1)))

        def run(x):
            value, (of_weights, of_x) = gradient(params, jnp.asarray(x))
            return value, {"x": of_x, **of_weights}

        return run if jit is _same else _counting(run, counted)

    return make


def _no_cell(owner):
    return None if owner.is_cell else "functionalize takes a Cell; the owners in a Cell cover it"


# ---- the objects themselves under jax's transformations


def _same(fn):
    return fn


def _value_and_grad(fn):
    return jax.value_and_grad(fn, argnums=(0, 1))


def _objects(around_forward=_same, around_gradient=_same, gradient_of=_value_and_grad):
    def make(owner):
        counted = _Counted(owner.scalar)
        gradient = around_gradient(gradient_of(around_forward(lambda params, x: counted(params, x))))

        def run(x):
            value, (of_weights, of_x) = gradient(owner.params, jnp.asarray(x))
            return value, {"x": of_x, **(owner.of_weights(of_weights) if owner.params else {})}

        return run if around_forward is _same and around_gradient is _same else _counting(run, counted)

    return make


def _vjp(fn):
    """jax.vjp, and the backward pass when the forward pass is over."""

    def gradient(params, x):
        value, back = jax.vjp(fn, params, x)
        return value, back(jnp.ones_like(value))

    return gradient


def _vmapped(fn):
    """The gradient of one example in a batch of one."""

    def gradient(params, x):
        result = jax.vmap(_value_and_grad(fn), (None, 0))(params, x[None])
        return jax.tree.map(lambda v: v[0], result)

    return gradient


def _scanned(fn):
    def total(params, x):
        return jax.lax.scan(lambda carry, row: (carry + fn(params, row), None), jnp.zeros((), x.dtype), x[None])[0]

    return total


def _conditional(fn):
    return lambda params, x: jax.lax.cond(x[0, 0] < 100, fn, lambda params, x: jnp.zeros((), x.dtype), params, x)


def _merged(jit):
    """nnx.split outside, nnx.merge inside."""

    def make(owner):
        def scalar(state, graphdef, x):
            return owner.total(nnx.merge(graphdef, state), x)

        counted = _Counted(scalar)
        gradient = jit(jax.value_and_grad(lambda *args: counted(*args), argnums=(0, 2)), static_argnums=1)

        def run(x):
            graphdef, state = nnx.split(owner.net or owner.module)
            value, (of_weights, of_x) = gradient(state, graphdef, jnp.asarray(x))
            return value, {"x": of_x, **owner.of_weights(of_weights)}

        return _counting(run, counted)

    return make


def _nnx(jit):
    def make(owner):
        counted = _Counted(owner.total)
        gradient = jit(nnx.value_and_grad(lambda model, x: counted(model, x), argnums=(0, 1)))

        def run(x):
            value, (of_weights, of_x) = gradient(owner.net or owner.module, jnp.asarray(x))
            return value, {"x": of_x, **owner.of_weights(of_weights)}

        return run if jit is _same else _counting(run, counted)

    return make


def _no_nnx(owner):
    return None if owner.is_cell or owner.is_nnx else "nnx's transformations take nnx modules"


def _eager(owner):
    """The reference: `ms.value_and_grad` of a Cell, `jax.value_and_grad` of others."""
    if owner.net is not None:
        return _on_tensors()(owner)
    return (_objects() if owner.module is None else _nnx(_same))(owner)


REFERENCE = "eager"
_CELLS = {"takes": _only_cells}
_JAX = {"by": "jax", "of_parameters": False}
_JIT = {"by": "jit", "live": False, "of_parameters": False}
_HOOKS_JIT = {**_JIT, "by": "hooks.jit"}
_NNX = {"takes": _no_nnx, "copies": True}
_FUNCTIONAL = {"takes": _no_cell, "live": False}
WAYS = {
    "eager": Way(_eager, "PyNative ms.value_and_grad, or eager value_and_grad", main=True),
    "jit_gradient": Way(_on_tensors(None, _jit), "ms.jit of ms.value_and_grad", main=True),
    "jit_forward": Way(_on_tensors(ms.jit), "ms.value_and_grad of ms.jit", main=True),
    "graph": Way(_on_tensors(), "ms.value_and_grad in GRAPH_MODE", main=True, graph=True),
    "functional_jit": Way(
        _functional(jax.jit), "jax.jit(jax.value_and_grad) of functionalize", main=True, by="jit", **_FUNCTIONAL
    ),
    "jax": Way(_objects(), "jax.value_and_grad of the objects", main=True, **_JAX),
    "jax_jit": Way(_objects(_same, jax.jit), "jax.jit(jax.value_and_grad) of the objects", main=True, **_JIT),
    "jax_of_jit": Way(_objects(jax.jit), "jax.value_and_grad(jax.jit) of the objects", main=True, **_JIT),
    "hooks_jit": Way(_objects(_same, hooks.jit), "hooks.jit(jax.value_and_grad) of the objects", main=True, **_HOOKS_JIT),
    "nnx": Way(_nnx(_same), "nnx.value_and_grad", main=True, by="jax", **_NNX),
    "nnx_jit": Way(_nnx(nnx.jit), "nnx.jit(nnx.value_and_grad)", main=True, by="jit", **_NNX),
    "nnx_hooks_jit": Way(_nnx(hooks.jit), "hooks.jit(nnx.value_and_grad)", main=True, by="hooks.jit", **_NNX),
    "merged": Way(_merged(jax.jit), "jax.jit(jax.value_and_grad) of nnx.merge", main=True, by="jit", **_NNX),
    "from_jax": Way(_on_tensors(), "PyNative ms.value_and_grad of ms.from_jax", _no_tensors),
    "backward": Way(_backward, ".backward() of the sum"),
    "recompute": Way(_recomputed(None), "Cell.recompute, PyNative", again=True, **_CELLS),
    "recompute_jit": Way(_recomputed(_jit), "Cell.recompute in ms.jit", again=True, **_CELLS),
    "train_step": Way(_train_step, "ms.jit(nn.TrainOneStepCell)", **_CELLS),
    "functional": Way(_functional(_same), "jax.value_and_grad of functionalize", by="jax", **_FUNCTIONAL),
    "functional_hooks_jit": Way(_functional(hooks.jit), "hooks.jit of the same", by="hooks.jit", **_FUNCTIONAL),
    "functional_checkpoint": Way(
        _functional(jax.jit, jax.checkpoint), "jax.checkpoint of functionalize in jax.jit", again=True, by="jit", **_FUNCTIONAL
    ),
    "vjp": Way(_objects(gradient_of=_vjp), "jax.vjp of the objects", **_JAX),
    "vjp_jit": Way(_objects(_same, jax.jit, _vjp), "jax.jit of jax.vjp of the objects", **_JIT),
    "vmap": Way(_objects(gradient_of=_vmapped), "jax.vmap of jax.value_and_grad of the objects", **_JAX),
    "vmap_hooks_jit": Way(_objects(_same, hooks.jit, _vmapped), "hooks.jit of the same", **_HOOKS_JIT),
    "scan_jit": Way(_objects(_scanned, jax.jit), "jax.lax.scan around the objects in jax.jit", **_JIT),
    "scan_hooks_jit": Way(_objects(_scanned, hooks.jit), "the same in hooks.jit", **_HOOKS_JIT),
    "cond_hooks_jit": Way(_objects(_conditional, hooks.jit), "jax.lax.cond around the objects in hooks.jit", **_HOOKS_JIT),
    "checkpoint_jit": Way(_objects(jax.checkpoint, jax.jit), "jax.checkpoint of the objects in jax.jit", again=True, **_JIT),
    "checkpoint_hooks_jit": Way(_objects(jax.checkpoint, hooks.jit), "the same in hooks.jit", **_HOOKS_JIT),
}
