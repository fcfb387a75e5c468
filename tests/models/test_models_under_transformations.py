"""Each row of the table of transformations in docs/models.md, for models of all frameworks.

The programs are traced, not compiled: what a traced program calls after a run is called with ones. That the values are those of the
run is tested in test_hooks_jit.py.
"""

import functools

import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks
from msjax.core.jaxprs.observers import with_observed
from tests.accelerators.devices import eight_devices
from tests.models.test_nnx_models import MODELS, TOKENS

equinox = pytest.importorskip("equinox")
haiku = pytest.importorskip("haiku")

X = jnp.ones((2, 4))


class LinenBlock(linen.Module):
    @linen.compact
    def __call__(self, x, _):
        return x + linen.Dense(4, name="mlp")(x), None


class LinenStack(linen.Module):
    @linen.compact
    def __call__(self, x):
        scan = linen.scan(linen.remat(LinenBlock), variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
        return scan(name="layers")(x, None)[0]


def nnx_model(made):
    model = made(nnx.Rngs(0))
    graphdef, weights, rest = nnx.split(model, nnx.Param, ...)
    model = nnx.merge(graphdef, weights, rest)

    def run(weights):
        # The graphdef of now holds the hooks; variables that change belong to the trace that they are made in.
        return nnx.merge(nnx.graphdef(model), weights, jax.tree.map(lambda v: v, rest))(TOKENS)

    return model, weights, run


def linen_scan():
    model = hooks.hooked(LinenStack())
    return model, model.init(jax.random.key(0), X), lambda weights: model.apply(weights, X)


def equinox_mlp():
    model = hooks.hooked(equinox.nn.MLP(4, 2, 8, 1, key=jax.random.key(0)))
    weights, rest = equinox.partition(model, equinox.is_array)
    return model, weights, lambda weights: jax.vmap(equinox.combine(weights, rest))(X)


def equinox_stack():
    """A scan over stacked layers."""
    layers = equinox.filter_vmap(lambda key: equinox.nn.Linear(4, 4, key=key))(jax.random.split(jax.random.key(0), 3))
    model = hooks.hooked(layers)
    weights, rest = equinox.partition(model, equinox.is_array)

    def run(weights):
        return jax.lax.scan(lambda x, w: (jnp.tanh(equinox.combine(w, rest)(x)), None), X[0], weights)[0]

    return model, weights, run


def haiku_stack():
    def forward(x):
        return haiku.experimental.layer_stack(3)(haiku.remat(lambda x: haiku.Linear(4, name="mlp")(x)))(x)

    model = hooks.hooked(haiku.without_apply_rng(haiku.transform(forward)))
    return model, model.init(jax.random.key(0), X), lambda weights: model.apply(weights, X)


KINDS = {
    **{f"nnx, {name}": functools.partial(nnx_model, made) for name, made in MODELS.items()},
    "linen, scan(remat)": linen_scan,
    "equinox, MLP": equinox_mlp,
    "equinox, scan over stacked layers": equinox_stack,
    "haiku, layer_stack(remat)": haiku_stack,
}

# {row: (what is around the model, how often its observers are called)}; a model is a function of a number, to a number.
ROWS = {
    "value_and_grad of jit": (lambda call: lambda c: sum(jax.value_and_grad(jax.jit(call))(c)), 1),
    "vmap": (lambda call: lambda c: jax.vmap(call)(jnp.stack([c, c])).sum(), 2),
    "scan": (lambda call: lambda c: jax.lax.scan(lambda s, _: (call(s), None), c, length=2)[0], 2),
    "remat": (lambda call: jax.grad(jax.checkpoint(call)), 1),
    "cond": (lambda call: lambda c: jax.lax.cond(c > 0, call, lambda c: c, c), 1),
    "shard_map": (
        lambda call: lambda c: jax.shard_map(
            lambda c: call(c[0])[None],
            mesh=jax.sharding.Mesh(eight_devices()[:2], "d"),
            in_specs=jax.P("d"),
            out_specs=jax.P("d"),
            check_vma=False,
        )(jnp.stack([c, c])).sum(),
        2,
    ),
}  # fmt: skip


def calls_of(fn, log):
    """The calls of hooks after a run of a function of one number."""
    log.clear()
    _, observed = jax.eval_shape(lambda c: with_observed(fn, (c,), {}), jnp.float32(1))
    observed.after([np.ones(v.shape, v.dtype) for v in observed.values])
    return list(log)


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_calls_every_hook_as_often_as_the_table_says(kind):
    model, weights, run = KINDS[kind]()

    def call(c):
        return run(jax.tree.map(lambda w: w * c.astype(w.dtype), weights)).mean().astype(c.dtype)

    if not hooks.paths(model):
        jax.eval_shape(call, jnp.float32(1))
    log = []
    hooks.register_forward_hook(
        model, lambda module, args, output: log.append(("forward", hooks.path(module))), "*", observe=True
    )
    hooks.register_backward_pre_hook(model, lambda module, grads: log.append(("backward", hooks.path(module))), "*", observe=True)
    once = calls_of(call, log)
    # The LanguageModel calls its stacked layer as Layer.__call__(layer, x), which passes the hooks of that one module by.
    assert once and set(hooks.paths(model)) - {path for _, path in once} <= {"", "layers"}
    # Hooks of the backward pass come in the opposite order of those of the forward pass, after all of them.
    back = calls_of(jax.grad(call), log)[len(once) :]
    assert sorted(path for _, path in back) == sorted(path for _, path in once)
    for row, (around, times) in ROWS.items():
        calls = calls_of(around(call), log)
        forward = [entry for entry in calls if entry[0] == "forward"]
        if row == "vmap":  # one module after the other, each for all examples
            expected = [entry for entry in once for _ in range(2)]
        else:
            expected = once * times
        assert forward == expected, row
        backward = [entry for entry in calls if entry[0] == "backward"]
        assert backward == (back if row in ("value_and_grad of jit", "remat") else []), row
        assert calls == forward + backward, row


@pytest.mark.parametrize(
    "kind", ["linen, scan(remat)", "equinox, MLP", "equinox, scan over stacked layers", "haiku, layer_stack(remat)"]
)
def test_every_row_gives_captures_the_shapes_that_the_table_says(kind):
    _, weights, run = KINDS[kind]()

    def call(c):
        return run(jax.tree.map(lambda w: w * c.astype(w.dtype), weights)).mean().astype(c.dtype)

    def shapes(fn, **options):
        found = jax.eval_shape(hooks.capture(fn, **options), jnp.float32(1))[1]
        return {name: [v.shape for v in jax.tree.leaves(value)] for name, value in found.activations.items()}

    once = shapes(call)
    assert once
    for row, (around, times) in ROWS.items():
        found = shapes(around(call), gradients=row not in ("value_and_grad of jit", "remat"))
        assert found.keys() == once.keys(), row
        for name, leaves in once.items():
            for shape, inner in zip(found[name], leaves, strict=True):
                # The axis of a loop in the model comes before that of a vmap around it.
                expected = {1: [inner], 2: [(2, *inner)] + [(*inner[:1], 2, *inner[1:])] * (row == "vmap")}
                assert shape in expected[times], row


def test_a_while_loop_calls_hooks_once_a_step():
    for kind in ("equinox, MLP", "linen, scan(remat)"):
        model, weights, run = KINDS[kind]()
        log = []
        hooks.register_forward_hook(model, lambda module, args, output, log=log: log.append(hooks.path(module)), "*")

        def steps(c, weights=weights, run=run):
            return jax.lax.while_loop(lambda c: c < 3, lambda c: c + 1 + 0 * run(weights).mean().astype(c.dtype), c)

        hooks.jit(steps)(jnp.float32(0))
        third = log[: len(log) // 3]
        assert third and log == third * 3
        found = jax.eval_shape(hooks.capture(steps), jnp.float32(0))[1]
        assert found.activations.keys() == found.counts.keys()


def test_what_jax_transposes_calls_no_observers():
    def kernel(*_):
        return jnp.array([[3.0, 1.0], [1.0, 2.0]], jnp.float32)

    model, log = nnx.Linear(2, 2, use_bias=False, kernel_init=kernel, rngs=nnx.Rngs(0)), []
    hooks.register_forward_hook(model, lambda module, args, output: log.append(hooks.path(module)))
    row = jnp.array([1.0, 2.0], jnp.float32)
    for compiled in (lambda fn: fn, jax.jit, hooks.jit):
        transposed = compiled(lambda row: jax.linear_transpose(lambda x: jax.vmap(model)(x[None])[0], row)(row)[0])
        assert transposed(row).tolist() == [5, 5]
        hooks.barrier()
        assert not log
    np.testing.assert_allclose(jax.scipy.sparse.linalg.gmres(model, row)[0], [0, 1], atol=1e-6)
    hooks.barrier()
    assert log
