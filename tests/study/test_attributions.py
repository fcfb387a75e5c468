"""Attributions, against the same by hand, on a small network in two frameworks and as a function."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks
from msjax.core.base.compiler_options import options_of_few_runs

RNG = np.random.default_rng(1)
W, V = RNG.normal(size=(3, 4)).astype("float32"), RNG.normal(size=(4, 2)).astype("float32")
X, BASE = RNG.normal(size=(2, 3)).astype("float32"), np.array([0.5, -0.5, 1.0], "float32")


class Net(nnx.Module):
    def __init__(self):
        self.first = nnx.Linear(3, 4, use_bias=False, rngs=nnx.Rngs(0))
        self.second = nnx.Linear(4, 2, use_bias=False, rngs=nnx.Rngs(0))
        self.first.kernel[...], self.second.kernel[...] = W, V

    def __call__(self, x):
        return self.second(jnp.tanh(self.first(x)))


NET = Net()


def metric(out):
    return out[:, 1]


def number(x):
    return np.tanh(x @ W) @ V[:, 1]


def slope(x):
    return (1 - np.tanh(x @ W) ** 2) * V[:, 1] @ W.T


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_integrated_gradients_converge():
    found = hooks.integrated_gradients(NET, X, metric=metric, baseline=BASE)
    parts = (np.arange(2000) + 0.5) / 2000
    close(found.values, np.mean([slope(BASE + p * (X - BASE)) for p in parts], 0) * (X - BASE))
    close(found.values.sum(-1), number(X) - number(BASE))
    assert np.all(abs(found.delta) < 1e-5)
    rough = hooks.integrated_gradients(NET, X, metric=metric, baseline=BASE, steps=1)
    close(rough.delta, (slope((X + BASE) / 2) * (X - BASE)).sum(-1) - (number(X) - number(BASE)))


def test_noise_tunnel():
    key = jax.random.key(3)
    drawn = jax.vmap(lambda k: jax.random.normal(k, X.shape, X.dtype))(jax.random.split(key, 8))
    slopes = np.stack([slope(X + 0.3 * each) for each in np.asarray(drawn)])
    for kind, value in (("smoothgrad", slopes.mean(0)), ("smoothgrad_sq", (slopes**2).mean(0)), ("vargrad", slopes.var(0))):
        close(hooks.noise_tunnel(NET, X, metric=metric, key=key, noise=0.3, samples=8, kind=kind), value)
    with pytest.raises(ValueError, match="'kind' should be 'smoothgrad', 'smoothgrad_sq' or 'vargrad'"):
        hooks.noise_tunnel(NET, X, metric=metric, key=key, kind="mean")


def test_gradient_shap_of_a_linear_function_is_exact():
    """For a linear function, the expectation is the slope by the distance from the mean baseline."""
    baselines = RNG.normal(size=(1, 3)).astype("float32")
    found = hooks.gradient_shap(lambda x: x @ W, X, metric=metric, key=jax.random.key(0), baselines=baselines, samples=4)
    close(found.values, (X - baselines) * W[:, 1])
    close(found.delta, 0)
    several = np.stack([BASE, -BASE])
    found = hooks.gradient_shap(NET, X, metric=metric, key=jax.random.key(0), baselines=several, samples=1000)
    np.testing.assert_allclose(found.values.sum(-1), number(X) - number(several).mean(), atol=0.1)


def test_occlusion():
    found = hooks.occlusion(NET, X, metric=metric, window=(2,), strides=(1,), baseline=BASE, chunk=1)
    falls = []
    for start in range(2):
        covered = X.copy()
        covered[:, start : start + 2] = BASE[start : start + 2]
        falls.append(number(X) - number(covered))
    close(found, np.stack([falls[0], (falls[0] + falls[1]) / 2, falls[1]], -1))
    with pytest.raises(ValueError, match=r"window=\(4,\) and strides=\(4,\) should have a number for each axis of \(3,\)"):
        hooks.occlusion(NET, X, metric=metric, window=(4,))


def test_conductance():
    found = hooks.conductance(NET, X, at="first", metric=metric, baseline=BASE)["first"]
    parts = (np.arange(2000) + 0.5) / 2000
    hidden = [(BASE + p * (X - BASE)) @ W for p in parts]
    close(found, np.mean([(1 - np.tanh(h) ** 2) * V[:, 1] for h in hidden], 0) * ((X - BASE) @ W))
    close(found.sum(-1), number(X) - number(BASE))


def test_conductance_of_layers_that_return_several_values_in_a_scan():
    """A loop's body returns (carry, output)."""

    def model(x):
        def layer(h, w):
            return hooks.site("layer", (jnp.tanh(h * w), h.sum(-1)))

        return jax.lax.scan(layer, x, jnp.array([0.5, 2.0], X.dtype))[0]

    found, _ = hooks.conductance(model, X, at="layer", metric=metric)["layer"]
    before = np.tanh(X[:, 1] * 0.5)
    np.testing.assert_allclose(found[0].sum(-1), np.tanh(2 * before), rtol=1e-4)
    np.testing.assert_allclose(found[1].sum(-1), np.tanh(2 * before), rtol=1e-4)


@pytest.mark.skipif(not jax.config.jax_enable_x64, reason="float64 needs it")
def test_attributions_of_float64_are_integrated_in_float64():
    def model(x):
        return (hooks.site("cubes", x**3) ** 2).sum()

    found = hooks.attribute(model, jnp.array([1.1, 2.0]), at="cubes", method="integrated gradients", steps=3)["cubes"]
    np.testing.assert_allclose(found, np.array([1.1, 2.0]) ** 6, rtol=1e-13)


def test_errors_of_attributions():
    with pytest.raises(
        ValueError, match=r"wrt=-1 should be the number, or the keyword, of an argument that is an array of floats. For tokens"
    ):
        hooks.integrated_gradients(NET, jnp.arange(3), metric=metric)
    with pytest.raises(ValueError, match="the metric should return a number for each of 2 examples, but returned"):
        hooks.integrated_gradients(NET, X, metric=jnp.sum)
    with pytest.raises(
        ValueError, match=r"'baseline' should broadcast to the input, of shape \(2, 3\), but its shape is \(2, 2\)"
    ):
        hooks.occlusion(NET, X, metric=metric, window=(1,), baseline=X[:, :2])
    with pytest.raises(ValueError, match="'samples' should be at least 1, but got 0"):
        hooks.noise_tunnel(NET, X, metric=metric, key=jax.random.key(0), samples=0)
    with pytest.raises(ValueError, match=r"the baselines should be of shape \('baselines', 3\), but got"):
        hooks.gradient_shap(NET, X, metric=metric, key=jax.random.key(0), baselines=BASE)
    with pytest.raises(ValueError, match="For 'conductance', wrt=-1 should be the number, or the keyword, of an argument"):
        hooks.conductance(NET, jnp.arange(3), at="first", metric=metric)


def test_programs_that_go_on_running_are_compiled_anew(monkeypatch):
    monkeypatch.setattr("msjax.core.models.kept_programs._FEW", 2)
    compiled, found = [], []

    def listen(event, seconds, **_):
        compiled.append(event.endswith("backend_compile_duration"))

    def compilations(metric=lambda out: out[:, 0]):
        before = sum(compiled)
        found.append(np.asarray(hooks.occlusion(NET, X, metric=metric, window=(2,))))
        return sum(compiled) - before

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        assert compilations() >= 1
        assert [compilations() for _ in range(3)] == [0, 1 if options_of_few_runs([X]) else 0, 0]
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert all(np.allclose(each, found[0], rtol=1e-5) for each in found)
