"""hooks.jit: observers get outputs of the compiled program, after each run, in the order and with the values of the same code without jit."""

import functools
import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax.sharding import NamedSharding, PartitionSpec

import msjax as ms
from msjax import hooks
from tests.accelerators.devices import eight_devices

X = jnp.linspace(-1.0, 1.0, 6, dtype="float32").reshape(2, 3)


class Block(nnx.Module):
    def __init__(self, rngs):
        self.a, self.b = nnx.Linear(3, 3, rngs=rngs), nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return x + self.b(nnx.tanh(self.a(x)))


class Listed(nnx.Module):
    def __init__(self, rngs, n=2):
        self.blocks = nnx.List([Block(rngs) for _ in range(n)])

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Stacked(nnx.Module):
    """The same over stacked weights: by a loop in Python, or by nnx.scan."""

    def __init__(self, rngs, how, n=3):
        self.layers = nnx.vmap(Block, in_axes=0, out_axes=0)(rngs.split(n))
        self.how, self.n = how, n

    def __call__(self, x):
        if self.how == "loop":
            graphdef, state = nnx.split(self.layers)
            for i in range(self.n):
                x = nnx.merge(graphdef, jax.tree.map(lambda a, i=i: a[i], state))(x)
            return x

        def body(x, layer):
            return layer(x)

        body = nnx.remat(body) if self.how == "remat" else body
        return nnx.scan(body, in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)(x, self.layers)


class Norm(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.linear = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.linear(self.norm(x))


def close(a, b):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), a, b)


def loss(model, x):
    return (model(x) ** 2).sum()


def watched(model, backward=True):
    """A list that gets (kind, path, values) of each call of a hook on the model's modules."""
    log = []

    def noted(kind, module, values):
        log.append((kind, hooks.path(module), [None if v is None else np.asarray(v) for v in values]))

    hooks.register_forward_pre_hook(model, lambda module, args: noted("pre", module, args), "*", observe=True)
    hooks.register_forward_hook(model, lambda module, args, output: noted("forward", module, [output]), "*", observe=True)
    if backward:
        hooks.register_backward_pre_hook(model, lambda module, grads: noted("backward pre", module, grads), "*", observe=True)
        hooks.register_backward_hook(model, lambda module, gi, go: noted("backward", module, gi), "*", observe=True)
    return log


def assert_same(log, reference):
    assert [call[:2] for call in log] == [call[:2] for call in reference] and reference
    close([call[2] for call in log], [call[2] for call in reference])


@pytest.mark.parametrize(
    "made, reference",
    [
        (Listed, Listed),
        (functools.partial(Stacked, how="scan"), functools.partial(Stacked, how="loop")),
        (functools.partial(Stacked, how="remat"), functools.partial(Stacked, how="loop")),
        (Norm, Norm),
    ],
    ids=["blocks in a list", "nnx.scan", "nnx.scan over nnx.remat", "BatchNorm"],
)
def test_calls_as_without_jit(made, reference):
    plain, model = reference(nnx.Rngs(0)), made(nnx.Rngs(0))
    expected, log = watched(plain), watched(model)
    # In a scan, the gradient of all that is carried is computed, that of X as well.
    differentiated = nnx.value_and_grad(loss, argnums=(0, 1))
    want, step = differentiated(plain, X), hooks.jit(differentiated)
    for _ in range(2):
        log.clear()
        got = step(model, X)
        assert_same(log, expected)
        close(jax.tree.leaves(got), jax.tree.leaves(want))


def test_a_training_step_with_an_optimizer():
    def trained(step, model):
        optimizer = nnx.Optimizer(model, optax.adam(0.01), wrt=nnx.Param)
        return [float(step(model, optimizer, X)) for _ in range(3)], jax.tree.leaves(nnx.state(model))

    def step(model, optimizer, x):
        value, grads = nnx.value_and_grad(loss)(model, x)
        optimizer.update(model, grads)
        return value

    plain, model = Norm(nnx.Rngs(0)), Norm(nnx.Rngs(0))
    log = watched(model)
    close(trained(hooks.jit(step, donate_argnums=(0, 1)), model), trained(nnx.jit(step), plain))
    assert [call[:2] for call in log[:4]] == [("pre", ""), ("pre", "norm"), ("forward", "norm"), ("pre", "linear")]
    assert len(log) == 3 * 12


def test_compiles_once_more_with_hooks_and_finds_the_earlier_program():
    model, traced = Listed(nnx.Rngs(0)), []

    @hooks.jit
    def run(model, x):
        traced.append(1)
        return model(x)

    plain = run(model, X)
    handles, log = [], []
    for _ in range(2):
        run(model, X)
    handles.append(hooks.register_forward_hook(model, lambda module, args, output: log.append(module), ["blocks.0.a", ""]))
    for _ in range(2):
        run(model, X)
    assert len(traced) == 2 and log == [model.blocks[0].a, model] * 2
    handles.append(hooks.register_forward_hook(model, lambda module, args, output: output * 2))
    close(run(model, X), plain * 2)
    for handle in handles:
        handle.remove()
    close(run(model, X), plain)
    assert len(traced) == 3 and len(log) == 6


def test_without_hooks_it_is_the_plain_program():
    def run(model, x):
        return nnx.grad(loss)(model, x)

    def operations(jitted):
        text = jitted.lower(Stacked(nnx.Rngs(0), "remat"), X).as_text()
        return [line.split("=")[-1].split()[0] for line in text.splitlines() if "stablehlo." in line or "func.call" in line]

    assert operations(hooks.jit(run)) == operations(nnx.jit(run))


def test_what_several_hooks_look_at_leaves_the_program_once():
    net = ms.nn.SequentialCell(ms.nn.Tanh(), ms.nn.Sigmoid())
    seen = []
    for cell in net:
        cell.register_forward_hook(lambda cell, inputs, output: seen.append((inputs[0].asnumpy(), output.asnumpy())))
    apply, params, buffers = ms.functionalize(net)
    step = hooks.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))
    # The gradient; x, which is an input, and what the two cells return. The second one's input is the first one's output.
    assert len(jax.tree.leaves(step.lower(X).out_info)) == 4
    step(X)
    (x, tanh), (again, sigmoid) = seen
    np.testing.assert_array_equal(tanh, again)
    np.testing.assert_allclose([x, tanh, sigmoid], [X, np.tanh(X), jax.nn.sigmoid(np.tanh(X))], rtol=1e-6)


def test_the_options_of_jit():
    @hooks.jit(static_argnums=0, donate_argnames="y")
    def scaled(n, x, *, y):
        assert isinstance(n, int)
        return x * n, y + 1

    x, y = jnp.ones(2), jnp.zeros(2)
    close(scaled(3, x, y=y), ([3, 3], [1, 1]))
    assert y.is_deleted() and not x.is_deleted()
    sharding = jax.sharding.NamedSharding(jax.sharding.Mesh(jax.devices(), "d"), jax.sharding.PartitionSpec("d"))
    model, seen = Listed(nnx.Rngs(0)), []
    hooks.register_forward_hook(model, lambda module, args, output: seen.append(output.shape))
    out = hooks.jit(lambda model, x: model(x), out_shardings=sharding)(model, jnp.ones((8, 3)))
    assert out.sharding == sharding and seen == [(8, 3)]

    class Owner:
        @hooks.jit
        def double(self, x):
            return x * 2

    assert "double" in Owner.double.__qualname__
    with pytest.raises(TypeError, match="callable"):
        hooks.jit(3)


def counted(log, name):
    """An identity with an observer of its value, and one of its gradient."""

    def forward(args, output):
        log.append((name, float(output)))

    def backward(gradient):
        log.append((f"gradient of {name}", float(gradient)))

    return lambda x: hooks.hook_gradient(backward)(hooks.with_hooks(lambda x: x, post=forward)(x))


FORMS = {
    "cond": (
        lambda a, b: lambda x: jax.lax.cond(x > 0, a, b, x) + jax.lax.cond(x < 0, a, b, x * 2),
        [("a", 1.0), ("b", 2.0), ("gradient of b", 1.0), ("gradient of a", 1.0)],
    ),
    "scan over cond": (
        lambda a, b: lambda x: jax.lax.scan(lambda c, i: (jax.lax.cond(i == 1, a, b, c) + 1, None), x, jnp.arange(3))[0],
        [("b", 1.0), ("a", 2.0), ("b", 3.0), ("gradient of b", 1.0), ("gradient of a", 1.0), ("gradient of b", 1.0)],
    ),
    "cond over scan": (
        lambda a, b: lambda x: jax.lax.cond(x > 0, lambda x: jax.lax.scan(lambda c, _: (a(c) + 1, None), x, length=2)[0], b, x),
        [("a", 1.0), ("a", 2.0), ("gradient of a", 1.0), ("gradient of a", 1.0)],
    ),
    "nested scans": (
        lambda a, b: lambda x: jax.lax.scan(
            lambda c, _: (jax.lax.scan(lambda c, _: (a(c) + 1, None), c, length=2)[0], None), x, length=2, reverse=True
        )[0],
        [*(("a", float(n)) for n in (1, 2, 3, 4)), *[("gradient of a", 1.0)] * 4],
    ),
    "vmap": (
        lambda a, b: lambda x: jax.vmap(a)(jnp.stack([x, x * 2])).sum(),
        [("a", 1.0), ("a", 2.0), ("gradient of a", 1.0), ("gradient of a", 1.0)],
    ),
    "checkpoint": (
        lambda a, b: lambda x: jnp.sin(jax.checkpoint(lambda x: a(x) * b(x * 2))(x)),
        [("a", 1.0), ("b", 2.0), ("gradient of b", float(np.cos(2))), ("gradient of a", float(2 * np.cos(2)))],
    ),
    "jit, twice": (
        lambda a, b: lambda x: (lambda f: f(f(x)))(jax.jit(lambda x: a(x) * 2)),
        [("a", 1.0), ("a", 2.0), ("gradient of a", 2.0), ("gradient of a", 4.0)],
    ),
    "shard_map": (
        lambda a, b: lambda x: jax.shard_map(
            lambda x: a(x[0])[None], mesh=jax.sharding.Mesh(eight_devices()[:2], "d"), in_specs=jax.P("d"), out_specs=jax.P("d")
        )(jnp.stack([x, x * 2])).sum(),
        [("a", 1.0), ("a", 2.0), ("gradient of a", 1.0), ("gradient of a", 1.0)],
    ),
    "a value that nothing depends on": (lambda a, b: lambda x: (a(x), x)[1], [("a", 1.0)]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_control_flow(form):
    log = []
    made, expected = FORMS[form]
    run = hooks.jit(jax.grad(made(counted(log, "a"), counted(log, "b"))))
    for _ in range(2):
        log.clear()
        run(1.0)
        assert [name for name, _ in log] == [name for name, _ in expected]
        np.testing.assert_allclose([value for _, value in log], [value for _, value in expected], rtol=1e-5)


def test_a_while_loop_keeps_the_order():
    log = []
    a, b = counted(log, "a"), counted(log, "b")

    def run(x):
        def outer(c, _):
            return b(jax.lax.while_loop(lambda c: c % 3 > 0, lambda c: a(c) + 1, c)) + 1, None

        x = jax.lax.while_loop(lambda c: c < 2, lambda c: a(c) + 1, b(x))
        return jax.lax.scan(outer, b(x), length=2)[0]

    jitted = hooks.jit(run)
    for _ in range(2):
        log.clear()
        jitted(0.0)
        assert log == [("b", 0), ("a", 0), ("a", 1), ("b", 2), ("a", 2), ("b", 3), ("a", 4), ("a", 5), ("b", 6)]


def test_a_program_with_hooks_does_not_keep_the_model():
    model, seen = Listed(nnx.Rngs(0), n=1), []
    hooks.register_forward_hook(model, lambda module, args, output: seen.append(isinstance(module, Block)), "blocks.0")
    run = hooks.jit(lambda model, x: model(x))
    run(model, X)
    kept = weakref.ref(model.blocks[0])
    del model
    gc.collect()
    assert kept() is None and seen == [True]


def test_what_a_hook_raises_leaves_with_its_type():
    model, seen = Listed(nnx.Rngs(0)), []

    def hook(module, args, output):
        seen.append(1)
        if len(seen) == 2:
            raise KeyError("of the hook")

    hooks.register_forward_hook(model, hook, "blocks.0")
    run = hooks.jit(lambda model, x: model(x))
    run(model, X)
    with pytest.raises(KeyError, match="of the hook"):
        run(model, X)
    run(model, X)
    assert len(seen) == 3


@pytest.mark.parametrize("jit", [nnx.jit, hooks.jit])
def test_hooks_of_a_traced_block_get_a_module_of_the_class_and_path(jit):
    model, seen = Listed(nnx.Rngs(0)), []

    def hook(module, args, output):
        seen.append((hooks.path(module), isinstance(module, nnx.Linear), repr(module)[:6]))

    @jit
    def run(model, x):
        with hooks.register_forward_hook(model, hook, "blocks.*.a"):
            return model(x)

    for _ in range(2):
        jax.block_until_ready(run(model, X))
    hooks.barrier()
    assert seen == [(f"blocks.{i}.a", True, "Linear") for i in (0, 1)] * 2
    assert type(model.blocks[0].a) is nnx.Linear


def test_within_other_transformations():
    model, seen = Listed(nnx.Rngs(0)), []
    hooks.register_forward_hook(model, lambda module, args, output: seen.append(number(output)))
    inner = hooks.jit(lambda model, x: model(x))
    out = hooks.jit(lambda model, x: inner(model, inner(model, x)))(model, X)
    assert len(seen) == 2 and seen[1] == number(out)
    jax.block_until_ready(nnx.jit(lambda model, x: inner(model, x))(model, X))
    jax.block_until_ready(jax.tree.leaves(nnx.grad(lambda model: inner(model, X).sum())(model)))
    hooks.barrier()
    assert len(seen) == 4 and len(set(seen)) == 2


def number(array):
    return float(np.asarray(array).sum().round(4))


@pytest.mark.parametrize("kind", ["nnx", "equinox"])
def test_a_program_compiled_ahead_of_time_calls_the_observers(kind):
    if kind == "nnx":
        model, where, x = Block(nnx.Rngs(0)), "a", X
    else:
        eqx = pytest.importorskip("equinox")
        model, where, x = hooks.hooked(eqx.nn.MLP(3, 2, 4, 1, key=jax.random.key(0))), "layers.0", X[0]
    seen = []
    step = hooks.jit(lambda model, x: model(x))
    with hooks.register_forward_hook(model, lambda module, args, output: seen.append(output), where):
        lowered = step.lower(model, x)
        program = lowered.compile()
        assert not seen
        outputs = [program(model, x), program(model, x * 2)]
        expected, ahead = [step(model, x), step(model, x * 2)], seen[:2]
    np.testing.assert_array_equal(outputs[0], expected[0])
    np.testing.assert_array_equal(outputs[1], expected[1])
    np.testing.assert_array_equal(ahead, seen[2:])
    assert "stablehlo" in lowered.as_text() and program.cost_analysis()


class Doubled(nnx.Module):
    def __call__(self, x):
        return x * 2


@pytest.mark.parametrize("size, times", [(1 << 15, 3), (8, 0)])
def test_kernels_read_large_values_that_observers_get_from_memory(size, times):
    model, x, seen = nnx.Sequential(Doubled(), jnp.tanh, Doubled()), jnp.linspace(-1.0, 1.0, size), []
    step = hooks.jit(nnx.value_and_grad(lambda x, model: jnp.square(model(x) + x).sum()))
    expected = step(x, model)
    assert "inlineable" not in step.lower(x, model).as_text()
    with hooks.register_forward_hook(model, lambda module, args, output: seen.append((*args, output)), "layers.*"):
        assert step.lower(x, model).as_text().count('inlineable = "false"') == times
        for got, each in zip(step(x, model), expected):
            np.testing.assert_allclose(got, each, rtol=1e-5)
    np.testing.assert_allclose(seen[1], [np.tanh(2 * x), 2 * np.tanh(2 * x)], rtol=1e-5)


def test_an_argument_that_a_loop_writes_to_stays_one():
    """A `jax.Ref`, which is neither an array nor a shape, beside a hook in a loop, for which the program is evaluated anew."""
    model, seen = nnx.Linear(3, 3, rngs=nnx.Rngs(0)), []

    @hooks.jit
    def steps(model, count, x):
        def body(x, _):
            count[...] += 1
            return model(x), None

        return jax.lax.scan(body, x, None, length=2)[0]

    count = jax.new_ref(jnp.zeros(()))
    with hooks.register_forward_hook(model, lambda module, args, output: seen.append(output)):
        out = steps(model, count, X)
    np.testing.assert_allclose(out, model(model(X)), rtol=1e-5)
    np.testing.assert_allclose(seen, [model(X), out], rtol=1e-5)
    assert count[...] == 2


@pytest.mark.parametrize("around", ["a scan in shard_map", "vmap"])
def test_an_explicit_mesh_of_one_device(around):
    mesh = jax.make_mesh((1,), ("d",), devices=jax.devices()[:1])
    model, seen = nnx.Linear(3, 3, rngs=nnx.Rngs(0)), []
    rows = jnp.linspace(-1.0, 1.0, 6).reshape(2, 3)

    def steps(x):
        return jax.lax.scan(lambda carry, row: (carry, model(row)), 0, x)[1]

    whole = PartitionSpec()
    mapped = jax.vmap(model) if around == "vmap" else jax.shard_map(steps, mesh=mesh, in_specs=whole, out_specs=whole)
    x = jax.device_put(rows, NamedSharding(mesh, PartitionSpec("d"))) if around == "vmap" else rows
    with hooks.register_forward_hook(model, lambda module, args, output: seen.append(output)):
        hooks.jit(mapped)(x)
    np.testing.assert_allclose(seen, model(rows), rtol=1e-6)
