"""Hooks and captures on unedited nnx models of the usual kinds, under the transformations that such models meet."""

import functools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks
from tests.accelerators.devices import eight_devices

TOKENS = jnp.array([[1, 2, 3]])


class Layer(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.LayerNorm(4, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(num_heads=2, in_features=4, decode=False, rngs=rngs)
        self.mlp = nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = x + self.attention(self.norm(x))
        return x + nnx.gelu(self.mlp(x))


class LanguageModel(nnx.Module):
    """With a list of layers; or with stacked ones that nnx.scan runs, with or without nnx.remat."""

    def __init__(self, rngs, scan=False, remat=False):
        self.embed = nnx.Embed(5, 4, rngs=rngs)
        self.scan, self.remat = scan, remat
        self.layers = nnx.vmap(Layer)(rngs.split(2)) if scan else nnx.List([Layer(rngs) for _ in range(2)])

    def __call__(self, tokens):
        x = self.embed(tokens)
        if self.scan:
            call = nnx.remat(Layer.__call__) if self.remat else Layer.__call__
            x = nnx.scan(lambda x, layer: call(layer, x), in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)(x, self.layers)
        else:
            for layer in self.layers:
                x = layer(x)
        return self.embed.attend(x)


class ResNet(nnx.Module):
    def __init__(self, rngs):
        conv = functools.partial(nnx.Conv, kernel_size=(3,), rngs=rngs)
        self.stem = conv(1, 2)
        self.blocks = nnx.List([nnx.List([nnx.BatchNorm(2, rngs=rngs), conv(2, 2)]) for _ in range(2)])
        self.head = nnx.Linear(2, 3, rngs=rngs)

    def __call__(self, tokens):
        x = self.stem(tokens[..., None].astype("float32"))
        for norm, conv in self.blocks:
            x = x + conv(nnx.relu(norm(x)))
        return self.head(x.mean(1))


MODELS = {
    "a list of layers": LanguageModel,
    "nnx.scan": functools.partial(LanguageModel, scan=True),
    "nnx.scan, nnx.remat": functools.partial(LanguageModel, scan=True, remat=True),
    "a ResNet with BatchNorm": ResNet,
}


def loss(model, tokens):
    return (model(tokens) ** 2).mean()


def close(a, b):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5), a, b)


def watched(model):
    log = []

    def hook(module, args, output):
        log.append((hooks.path(module), np.asarray(output)))

    return log, hooks.register_forward_hook(model, hook, "*")


@pytest.mark.parametrize("name", MODELS)
def test_observers_and_captures_see_the_same_and_the_model_stays_what_it_is(name):
    plain, model = MODELS[name](nnx.Rngs(0)), MODELS[name](nnx.Rngs(0))
    out, found = nnx.jit(lambda model, tokens: hooks.capture(model, gradients=True)(tokens))(plain, TOKENS)
    assert found.gradients.keys() == found.activations.keys()
    log, handle = watched(model)
    close(hooks.jit(nnx.value_and_grad(loss))(model, TOKENS)[0], (out**2).mean())
    steps = 2 if "scan" in name else 1
    seen = {}
    for path, value in log:
        seen.setdefault(path, []).append(value)
    assert list(dict.fromkeys(path for path, _ in log)) == list(found.activations)
    for path, values in seen.items():
        stacked = path.startswith("layers") and steps == 2
        assert len(values) == (2 if stacked else 1)
        close(np.stack(values) if stacked else values[0], found.activations[path])
        assert found.gradients[path].shape == found.activations[path].shape
    # The statistics of BatchNorm, too.
    close(jax.tree.leaves(nnx.state(model, nnx.BatchStat)), jax.tree.leaves(nnx.state(plain, nnx.BatchStat)))
    handle.remove()
    assert str(nnx.graphdef(model)) == str(nnx.graphdef(plain))


@pytest.mark.long
def test_on_eight_devices():
    model = ResNet(nnx.Rngs(0))
    graphdef, state = nnx.split(model)
    x = jnp.arange(24).reshape(8, 3)
    plain = np.stack([nnx.merge(graphdef, state)(row[None])[0] for row in x])
    log, _ = watched(model)
    graphdef, state = nnx.split(model)

    def run(state, x):
        return nnx.merge(graphdef, state)(x)

    spec = jax.P("d")
    sharded = jax.shard_map(run, mesh=jax.sharding.Mesh(eight_devices(), "d"), in_specs=(jax.P(), spec), out_specs=spec)
    for jit in (hooks.jit, jax.jit):
        log.clear()
        close(jit(sharded)(state, x), plain)
        hooks.barrier()
        assert len(log) == 8 * 7
        head = [output[0] for path, output in log if path == "head"]
        close(np.stack(head) if jit is hooks.jit else np.sort(head, 0), plain if jit is hooks.jit else np.sort(plain, 0))


def test_each_example_under_vmap():
    model = LanguageModel(nnx.Rngs(0))
    log = []
    hooks.register_forward_hook(model, lambda module, args, output: log.append(np.asarray(output)), "layers.1")
    tokens = jnp.array([[[1, 2]], [[3, 4]]])
    out = hooks.jit(nnx.vmap(lambda model, tokens: model(tokens), in_axes=(None, 0)))(model, tokens)
    assert out.shape == (2, 1, 2, 5) and [value.shape for value in log] == [(1, 2, 4)] * 2
    close(np.stack([model.embed.attend(value) for value in log]), out)


@pytest.mark.long
def test_what_orbax_saves_has_no_hooks(tmp_path):
    checkpoint = pytest.importorskip("orbax.checkpoint")
    model, fresh = LanguageModel(nnx.Rngs(0)), LanguageModel(nnx.Rngs(1))
    log, _ = watched(model)
    with checkpoint.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "model", nnx.to_pure_dict(nnx.state(model)))
        checkpointer.wait_until_finished()
        restored = checkpointer.restore(tmp_path / "model", nnx.to_pure_dict(nnx.state(fresh)))
    nnx.update(fresh, nnx.State(restored))
    run = nnx.jit(lambda model, tokens: model(tokens))
    out = run(fresh, TOKENS)
    hooks.barrier()
    assert log == []
    close(out, run(model, TOKENS))
    hooks.barrier()
    assert len(log) == 18
    # What was saved fits a model with hooks, which keeps them.
    nnx.update(model, nnx.State(restored))
    assert hooks.path(model.layers[0]) == "layers.0"


class Bridged(nnx.Module):
    def __init__(self, rngs):
        linen = pytest.importorskip("flax.linen")
        model = linen.Sequential([linen.Dense(3), linen.Dense(2)])
        self.inner = hooks.hooked(model)
        self.linen = nnx.bridge.lazy_init(nnx.bridge.ToNNX(self.inner, rngs=rngs), jnp.ones((1, 4)))
        self.last = nnx.Linear(2, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(self.linen(x))


@pytest.mark.long
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "hooks_jit"])
def test_a_linen_model_in_flax_s_bridge(compiled):
    model, x, log = Bridged(nnx.Rngs(0)), jnp.ones((1, 4)), []
    plain = model(x)
    inner = hooks.register_forward_hook(model.inner, lambda module, args, output: log.append("layers_0"), "layers_0")
    hooks.register_forward_hook(model, lambda module, args, output: log.append(hooks.path(module)), "linen")
    hooks.register_backward_hook(model, lambda module, grad_input, grad_output: log.append("gradient"), "linen")
    gradient = nnx.value_and_grad(lambda model, x: model(x).sum())
    value, _ = (hooks.jit(gradient) if compiled else gradient)(model, x)
    close(value, plain.sum())
    assert log == ["layers_0", "linen", "gradient"]
    inner.remove()
    hooks.remove_all(model)
    assert {"linen", "last"} <= set(hooks.capture(model, "*")(x)[1].activations)


def test_path_waits_for_a_module_that_nnx_jit_has_emptied_for_a_moment():
    model, found, begun = nnx.Sequential(nnx.Linear(1, 1, rngs=nnx.Rngs(0))), [], threading.Event()

    def ask():
        begun.set()
        found.append(hooks.path(module))

    module = model.layers[0]
    with hooks.register_forward_hook(model, lambda *_: None, "layers.*"):
        attributes = dict(vars(module))
        vars(module).clear()
        other = threading.Thread(target=ask)
        other.start()
        begun.wait()
        vars(module).update(attributes)
        other.join()
    assert found == ["layers.0"]


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("used", ["state", "outputs"])
def test_backward_hooks_on_a_recurrent_module_of_which_some_results_are_not_used(used, padded):
    class Encoder(nnx.Module):
        def __init__(self):
            self.rnn = nnx.RNN(nnx.LSTMCell(3, 3, rngs=nnx.Rngs(0)), return_carry=True)

        def __call__(self, x):
            (state, _), outputs = self.rnn(x, seq_lengths=jnp.array([4, 2]) if padded else None)
            return state if used == "state" else outputs

    x, model, seen = jax.random.normal(jax.random.key(0), (2, 4, 3), "float32"), Encoder(), []
    gradient = nnx.jit(nnx.grad(lambda model, x: jnp.square(model(x)).sum()))
    before = gradient(model, x)

    def shapes(module, grad_input, grad_output):
        seen.append(jax.tree.map(jnp.shape, grad_output))

    with hooks.register_backward_hook(model, shapes, "rnn"):
        after = hooks.jit(nnx.grad(lambda model, x: jnp.square(model(x)).sum()))(model, x)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), before, after)
    assert seen == [((2, 3), None, None) if used == "state" else (None, None, (2, 4, 3))]
