"""Hooks on the modules of an unedited flax nnx model, by path."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import msjax as ms
from msjax import hooks

X = jnp.linspace(-1.0, 1.0, 12, dtype="float32").reshape(3, 4)


class Block(nnx.Module):
    def __init__(self, rngs):
        self.a, self.b = nnx.Linear(4, 4, rngs=rngs), nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x, *, scale=1.0):
        return x + self.b(nnx.relu(self.a(x))) * scale


class Model(nnx.Module):
    def __init__(self, rngs):
        self.blocks = nnx.List([Block(rngs) for _ in range(2)])
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.head = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


@pytest.fixture
def model():
    return Model(nnx.Rngs(0))


def loss(model, x):
    return (model(x) ** 2).sum()


def number(array):
    return round(float(np.asarray(array, "float64").sum()), 3)


def logged(model, log):
    """Observers of all kinds on all modules."""

    def forward(module, args, output):
        log.append(("forward", hooks.path(module), number(output)))

    def backward(module, grad_input, grad_output):
        log.append(
            ("backward", hooks.path(module), [None if g is None else number(g) for g in grad_input], number(grad_output[0]))
        )

    def pre(module, args):
        log.append(("pre", hooks.path(module), number(args[0])))

    return [
        hooks.register_forward_pre_hook(model, pre, "*"),
        hooks.register_forward_hook(model, forward, "*"),
        hooks.register_backward_hook(model, backward, "*"),
    ]


WAYS = {
    "nnx.grad": lambda model, x: nnx.grad(loss)(model, x),
    "nnx.jit": lambda model, x: nnx.jit(nnx.grad(loss))(model, x),
    "value_and_grad": lambda model, x: nnx.jit(nnx.value_and_grad(loss))(model, x)[1],
    "remat": lambda model, x: nnx.jit(nnx.grad(loss))(model, x),
}


def test_paths(model):
    names = ["", "head", "norm", "blocks.0", "blocks.1", "blocks.0.a", "blocks.0.b", "blocks.1.a", "blocks.1.b"]
    assert sorted(hooks.paths(model)) == sorted(names) and hooks.paths(model)["blocks.0.a"] is model.blocks[0].a
    assert hooks.paths(ms.nn.SequentialCell(ms.nn.ReLU()))["0"].cls_name == "ReLU"


@pytest.mark.parametrize("way", ["nnx.grad", "nnx.jit", "value_and_grad"])
def test_the_same_calls_and_gradients_under_transformations(model, way):
    plain, before = WAYS[way](model, X), jax.tree.structure(nnx.state(model))
    log, reference = [], []
    eager = Model(nnx.Rngs(0))
    logged(eager, reference)
    nnx.grad(loss)(eager, X)
    logged(model, log)
    assert isinstance(model, Model) and jax.tree.structure(nnx.state(model)) == before
    found = WAYS[way](model, X)
    jax.block_until_ready(jax.tree.leaves(found))
    hooks.barrier()
    assert log == reference and len(log) == 9 * 3
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), found, plain)


def test_the_module_is_the_users_own(model):
    seen = []
    hooks.register_forward_hook(model, lambda module, args, output: seen.append(module), ["head", "blocks.1"])
    nnx.jit(loss)(model, X).block_until_ready()
    hooks.barrier()
    assert [type(module).__name__ for module in seen] == ["Block", "Linear"]
    assert seen[0] is model.blocks[1] and seen[1] is model.head


def test_nnx_jit_compiles_once_more_and_finds_its_earlier_program(model):
    traced = []

    @nnx.jit
    def run(model, x):
        traced.append(1)
        return model(x)

    run(model, X), run(model, X)
    assert len(traced) == 1
    with hooks.register_forward_hook(model, lambda module, args, output: output * 2, "head"):
        doubled = run(model, X)
        run(model, X)
        assert len(traced) == 2
    np.testing.assert_allclose(doubled, run(model, X) * 2, rtol=1e-5)
    assert len(traced) == 2


def test_modifiers_of_every_kind(model):
    plain = nnx.grad(loss)(model, X)
    with hooks.register_backward_pre_hook(model, lambda module, grads: (grads[0] * 3,)):
        tripled = nnx.jit(nnx.grad(loss))(model, X)
    # What cancels to zero is rounded in another way by the program than one by one.
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b * 3, rtol=1e-4, atol=3e-5), tripled, plain)
    with hooks.register_forward_pre_hook(model, lambda module, args: (args[0] * 0,), "head"):
        np.testing.assert_allclose(model(X), jnp.broadcast_to(model.head.bias[...], (3, 2)))
    with hooks.register_backward_hook(model, lambda module, gi, go: (gi[0] * 0,), "blocks.0"):
        assert not np.any(jax.grad(lambda x: model.blocks[0](x).sum())(X))


def test_options(model):
    log = []
    hooks.register_forward_hook(model, lambda m, a, o: log.append("second"), "head")
    hooks.register_forward_hook(model, lambda m, a, o: log.append("first"), "head", prepend=True)
    hooks.register_forward_pre_hook(model, lambda m, a, k: (a, {**k, "scale": 0.0}), "blocks.0", with_kwargs=True)
    hooks.register_forward_hook(model, lambda m, a, k, o: log.append(k), "blocks.0", with_kwargs=True)
    np.testing.assert_array_equal(model.blocks[0](X), X)
    model.head(X)
    assert log == [{"scale": 0.0}, "first", "second"]


def test_always_call(model):
    log = []
    hooks.register_forward_hook(model, lambda m, a, o: log.append(o), "head", always_call=True)
    with pytest.raises(TypeError):
        model.head(jnp.ones((3, 5)))
    assert log == [None]


def test_where(model):
    def count(where):
        calls = []
        with hooks.register_forward_hook(model, lambda module, *_: calls.append(hooks.path(module)), where):
            model(X)
        return sorted(calls)

    assert count("blocks.*.a") == ["blocks.0.a", "blocks.1.a"]
    assert count(nnx.Linear) == ["blocks.0.a", "blocks.0.b", "blocks.1.a", "blocks.1.b", "head"]
    assert count(lambda path, module: path.endswith("b")) == ["blocks.0.b", "blocks.1.b"]
    assert count(["head", Block]) == ["blocks.0", "blocks.1", "head"]
    with pytest.raises(ValueError, match=r"no module matches where='nothing\.\*'; the paths are '', .*'blocks\.0\.a'"):
        count("nothing.*")
    with pytest.raises(ValueError, match=r"no module matches where='haed'; .* nearest to 'haed': 'head'"):
        count(["blocks.*.a", "haed"])
    assert count(["head", nnx.Conv]) == ["head"]
    with pytest.raises(TypeError, match=r"'where' should be a path, a type"):
        count([3])
    with pytest.raises(TypeError, match=r"a flax nnx module, a Cell, or what hooks\.hooked\(model\) returns .* but got"):
        hooks.register_forward_hook(print, print)


def test_wrong_returns_name_the_hook_and_the_path(model):
    with hooks.register_backward_hook(model, lambda module, gi, go: (gi[0][:1],), "blocks.1.a"):
        with pytest.raises(
            ValueError, match=r"backward hook .*lambda.* of module blocks\.1\.a \(Linear\) returned a gradient of shape"
        ):
            nnx.grad(loss)(model, X)


def test_after_removal_nothing_is_left(model):
    before = str(nnx.graphdef(model)), type(model), vars(model).keys() - set()
    handles = logged(model, [])
    for handle in handles:
        handle.remove()
        handle.remove()
    assert (str(nnx.graphdef(model)), type(model), vars(model).keys() - set()) == before
    with pytest.raises(ValueError, match="has no hooks"):
        hooks.path(model)


def test_copies_and_pickles_have_no_hooks(model):
    log = []
    logged(model, log)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other(X), Model(nnx.Rngs(0))(X))
        hooks.barrier()
        assert log == [] and type(other) is Model
    assert type(copy.copy(model)) is Model


def test_training_with_an_nnx_optimizer(model):
    def train(model):
        optimizer = nnx.Optimizer(model, optax.sgd(0.01), wrt=nnx.Param)

        @nnx.jit
        def step(model, optimizer, x):
            value, grads = nnx.value_and_grad(loss)(model, x)
            optimizer.update(model, grads)
            return value

        return [float(step(model, optimizer, X)) for _ in range(3)]

    seen = []
    hooks.register_forward_hook(model, lambda module, args, output: seen.append(number(output)), "head")
    losses = train(model)
    hooks.barrier()
    np.testing.assert_allclose(losses, train(Model(nnx.Rngs(0))), rtol=1e-5)
    assert len(seen) == 3 and losses[-1] < losses[0]


def test_within_scan_vmap_and_remat():
    @nnx.vmap(in_axes=0, out_axes=0)
    def layers(rngs):
        return Block(rngs)

    stack = layers(nnx.Rngs(0).split(3))
    log = []
    hooks.register_forward_hook(stack, lambda module, args, output: log.append(number(output)))

    @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
    def through(block, x):
        return nnx.remat(lambda block, x: block(x))(block, x)

    out = nnx.jit(through)(stack, X)
    hooks.barrier()
    assert len(log) == 3 and log[-1] == number(out)


def test_split_and_merge_under_jax_jit(model):
    log = []
    hooks.register_forward_hook(model, lambda module, args, output: log.append(hooks.path(module)), "blocks.*.b")
    graphdef, state = nnx.split(model)
    jax.jit(lambda state, x: nnx.merge(graphdef, state)(x))(state, X).block_until_ready()
    hooks.barrier()
    assert log == ["blocks.0.b", "blocks.1.b"]


def test_cells_take_the_same_functions():
    net = ms.nn.SequentialCell(ms.nn.ReLU(), ms.nn.Tanh())
    log = []
    with hooks.register_forward_hook(net, lambda cell, args, output: log.append(cell.cls_name), "*"):
        net(ms.Tensor([1.0]))
    net(ms.Tensor([1.0]))
    assert log == ["ReLU", "Tanh", "SequentialCell"]


class Tied(nnx.Module):
    """A model whose last step is another method of its first module."""

    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)

    def __call__(self, tokens):
        return self.logits(self.embed(tokens))

    def logits(self, x):
        return self.embed.attend(x)


def test_in_the_dialect_of_mindspore_1_backward_hooks_get_the_name_of_the_module(model):
    names = []
    hooks.register_backward_hook(model.head, lambda name, grad_output, grad_input: names.append(name.partition("(")[0]))
    ms.set_context(hook_dialect="mindspore-1")
    jax.grad(lambda x: model.head(x).sum())(X)
    hooks.barrier()
    assert names == ["Linear"]


def test_methods_by_name():
    model, log = Tied(nnx.Rngs(0)), []
    tokens = jnp.array([1, 2])
    plain = model(tokens)
    handles = [
        hooks.register_forward_hook(model, lambda module, args, output: log.append((hooks.path(module), output.shape)), where)
        for where in ("embed.attend", ["embed", "logits"])
    ]
    calls = [("embed", (2, 3)), ("embed", (2, 5)), ("", (2, 5))]
    np.testing.assert_allclose(nnx.jit(lambda model, tokens: model(tokens))(model, tokens), plain, rtol=1e-5)
    hooks.barrier()
    assert log == calls
    log.clear()
    handles.pop().remove()
    with hooks.register_backward_pre_hook(model, lambda module, grads: (grads[0] * 2,), "*.attend"):
        doubled = hooks.jit(nnx.grad(lambda model, tokens: model(tokens).sum()))(model, tokens)
    assert log == calls[1:2] and type(model) is Tied
    handles.pop().remove()
    assert type(model.embed) is nnx.Embed
    assert float(jnp.abs(doubled.embed.embedding[...]).sum()) > 0
    _, found = hooks.capture(model, ["embed.attend", "embed", "logits"], gradients=True)(tokens)
    assert list(found.activations) == ["embed", "embed.attend", "logits"]
    np.testing.assert_allclose(found.activations["embed.attend"], plain, rtol=1e-5)
    np.testing.assert_allclose(found.gradients["logits"], np.ones((2, 5)))
    with pytest.raises(ValueError, match=r"no module matches where='embed\.nothing'"):
        hooks.register_forward_hook(model, print, "embed.nothing")


TRANSFORMED = {
    "grad": nnx.grad(lambda m, x: m(x).sum()),
    "vmap": nnx.vmap(lambda m, x: m(x), in_axes=(None, 0)),
    "remat in grad": nnx.grad(lambda m, x: nnx.remat(lambda m, x: m(x))(m, x).sum()),
}


@pytest.mark.parametrize("way", TRANSFORMED)
@pytest.mark.parametrize("others", [True, False])
def test_hooks_that_change_hooks_while_flax_runs_a_copy(way, others):
    """flax writes the copy back to the user's module, whose class must not change before."""
    model = nnx.Sequential(*(nnx.Linear(2, 2, rngs=nnx.Rngs(i)) for i in range(2)))
    calls = []

    def once(module, args, output):
        calls.append("once")
        handle.remove()
        hooks.register_forward_hook(model, lambda *given: calls.append("new"), "layers.1")

    handle = hooks.register_forward_hook(model, once, "layers.0")
    if others:
        hooks.register_forward_hook(model, lambda *given: calls.append("other"), "layers.0")
    x = jnp.ones((1, 2))
    TRANSFORMED[way](model, x)
    assert "once" in calls and calls.count("once") == 1
    assert (type(model.layers[0]) is nnx.Linear) is not others and type(model.layers[1]) is not nnx.Linear
    calls.clear()
    model(x)
    assert calls == ["other"] * others + ["new"]
    hooks.remove_all(model)
    assert [type(layer) for layer in model.layers] == [nnx.Linear] * 2
    graph, _ = nnx.split(model)
    hash(graph)
