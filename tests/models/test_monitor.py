"""hooks.monitor: numbers about modules from within a training step. And the lists of hooks that a model has."""

import equinox
import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import msjax as ms
from msjax import hooks
from tests.study.test_verbs import CLEAN, MODELS, CellNet, EquinoxLayer, EquinoxNet, NnxLayer, NnxNet, W, by_hand


def rms_by_hand(x):
    sizes, rms = {}, lambda v: float(jnp.sqrt((v**2).mean()))
    by_hand(x, lambda n, v: sizes.setdefault(n, rms(v)) and v)
    gradient = jax.grad(lambda a: (jnp.tanh(a @ W[1]) ** 2).sum())(jnp.tanh(x @ W[0]))
    return {"a": sizes["a"], "b": sizes["b"]}, {"a": rms(gradient), "b": rms(2 * by_hand(x))}


def loss(model, x):
    return (model(x) ** 2).sum()


def nnx_step(traces):
    model = NnxNet()
    optimizer = nnx.Optimizer(model, optax.sgd(0.0), wrt=nnx.Param)

    def step(model, optimizer, x):
        traces.append(1)
        value, gradients = nnx.value_and_grad(loss)(model, x)
        optimizer.update(model, gradients)
        return value

    return step, (model, optimizer), {}


def pure_step(framework):
    def make(traces):
        model, (params,) = MODELS[framework]()
        model = hooks.hooked(model)
        optimizer = optax.sgd(0.0)

        def step(params, state, x):
            traces.append(1)
            gradients = jax.grad(lambda params: (model.apply(params, x) ** 2).sum())(params)
            updates, state = optimizer.update(gradients, state, params)
            return optax.apply_updates(params, updates), state

        model.apply(params, CLEAN)
        return step, (params, optimizer.init(params)), {}

    return make


def equinox_step(traces):
    model = hooks.hooked(EquinoxNet(*map(EquinoxLayer, W)))

    def step(model, x):
        traces.append(1)
        gradients = equinox.filter_grad(loss)(model, x)
        return equinox.apply_updates(model, jax.tree.map(lambda g: -0 * g, gradients))

    return step, (model,), {}


STEPS = {"nnx": nnx_step, "linen": pure_step("linen"), "haiku": pure_step("haiku"), "equinox": equinox_step}


@pytest.mark.parametrize("framework", STEPS)
def test_numbers_of_forward_and_backward(framework):
    traces, seen = [], []
    step, given, options = STEPS[framework](traces)
    run = hooks.monitor(step, ["a", "b"], backward=hooks.rms, every=3, report=seen.append, **options)
    for _ in range(7):
        run(*given, CLEAN)
    # With the numbers and without, both at the start.
    assert len(traces) == 2 and [found.step for found in run.history] == [0, 3, 6] and seen == run.history
    for found in run.history:
        for got, want in zip((found.forward, found.backward), rms_by_hand(CLEAN)):
            assert got == pytest.approx(want, rel=1e-4)


def test_a_scanned_module_has_a_number_for_each_step_and_errors():
    model = NnxNet()

    def step(model, x):
        return jax.lax.scan(lambda x, _: (model.a(x), None), x, length=2)[0].sum()

    run = hooks.monitor(step, "a")
    run(model, CLEAN)
    assert len(run.latest.forward["a"]) == 2
    with pytest.raises(TypeError, match="no model among the arguments"):
        hooks.monitor(lambda x: x)(CLEAN)
    with pytest.raises(ValueError, match="no module matches where='c'"):
        hooks.monitor(step, "c")(model, CLEAN)
    assert hooks.registered(model) == []


# ---- which hooks there are


def hookable(framework):
    model, given = MODELS[framework]()
    model = hooks.hooked(model)
    if framework in ("linen", "haiku"):
        model.apply(*given, CLEAN)
        return model, lambda: model.apply(*given, CLEAN)
    if framework == "cell":
        return model, lambda: model(ms.Tensor(CLEAN))._value
    return model, lambda: model(CLEAN)


@pytest.mark.parametrize("framework", [name for name in MODELS if name != "function"])
def test_registered_without_and_remove_all(framework):
    model, call = hookable(framework)
    log = []
    hooks.register_forward_hook(model, lambda module, args, output: log.append(1), ["a", "b"])
    double = hooks.register_forward_hook(model, lambda module, args, output: output * 2, "b")
    rows = [(row.path, row.kind, row.observes) for row in hooks.registered(model)]
    assert rows == [("a", "forward", True), ("b", "forward", True), ("b", "forward", False)]
    np.testing.assert_allclose(call(), 2 * by_hand(CLEAN), rtol=1e-5)
    with hooks.without(model):
        assert hooks.registered(model) == []
        np.testing.assert_allclose(call(), by_hand(CLEAN), rtol=1e-5)
        double.remove()
        hooks.register_forward_hook(model, lambda module, args, output: output * 3, "b")
    assert len(log) == 2
    np.testing.assert_allclose(call(), 3 * by_hand(CLEAN), rtol=1e-5)
    assert len(log) == 4 and len(hooks.registered(model)) == 3
    assert hooks.remove_all(model) == 2 and hooks.registered(model) == []
    np.testing.assert_allclose(call(), by_hand(CLEAN), rtol=1e-5)
    assert len(log) == 4


def test_without_finds_the_program_again():
    model, traces = NnxNet(), []
    run = hooks.jit(lambda model, x: (traces.append(1), model(x))[1])
    hooks.register_forward_hook(model, lambda module, args, output: None, "a")
    for _ in range(2):
        run(model, CLEAN)
        with hooks.without(model):
            run(model, CLEAN)
    assert len(traces) == 2


def test_check():
    class Part(equinox.Module):
        weight: jax.Array

    class Model(equinox.Module):
        layer: EquinoxLayer
        unused: EquinoxLayer
        function: equinox.Module
        part: Part

        def __call__(self, x):
            return self.layer(self.function(x))

    model = hooks.hooked(Model(EquinoxLayer(W[0]), EquinoxLayer(W[1]), equinox.filter_jit(jnp.sin), Part(W[0])))
    assert list(hooks.check(model)) == ["function", "part"]
    found = hooks.check(model, CLEAN)
    assert list(found) == ["function", "part", "unused"] and "doesn't call it" in found["unused"]
    assert hooks.check(NnxNet()) == {} == hooks.check(CellNet())
    with pytest.raises(TypeError, match=r"Give hooks\.hooked"):
        hooks.check(EquinoxNet(*map(EquinoxLayer, W)))


_GLOBAL_MODEL = hooks.hooked(linen.Dense(1))


def _loss_of_a_global(params):
    return (lambda: _GLOBAL_MODEL.apply(params, jnp.ones((1, 2))).sum())()


def test_a_model_that_only_an_inner_function_names():
    params = _GLOBAL_MODEL.init(jax.random.key(0), jnp.ones((1, 2)))
    step = hooks.monitor(jax.grad(_loss_of_a_global), "*", forward=None, backward=hooks.rms)
    step(params)
    assert step.latest.backward[""] == 1.0


def test_a_monitor_that_sees_nothing_warns():
    model, other = NnxNet(), NnxLayer(0)
    frozen = hooks.monitor(lambda model, x: loss(model, x), backward=hooks.rms)
    with pytest.warns(UserWarning, match="monitor: in step 0, no gradient arrived at a selected module"):
        frozen(model, CLEAN)
    assert frozen.latest.backward == {} and set(frozen.latest.forward) == {"", "a", "b"}
    beside = hooks.monitor(lambda x: loss(other, x), model=model)
    with pytest.warns(UserWarning, match="monitor: in step 0, no selected module was called"):
        beside(CLEAN)


@pytest.mark.parametrize(
    "values, size",
    [
        (np.array([3 + 4j, 0], "complex64"), np.sqrt(12.5)),
        (np.array([3, 4], "bfloat16"), np.sqrt(12.5)),
        (np.array([3, 4], "float8_e5m2"), np.sqrt(12.5)),
        (np.array([-8, 6], "int4"), np.sqrt(50)),
        (np.array([3e30, 4e30], "float64"), np.sqrt(12.5) * 1e30),
    ],
)
def test_the_root_of_the_mean_square_of_each_dtype(values, size):
    """Imaginary parts were left out, with a warning of numpy's at most, and large numbers of float64 were infinite."""
    if values.dtype == np.float64 and not jax.config.jax_enable_x64:
        return
    np.testing.assert_allclose(hooks.rms(jnp.asarray(values)), size, rtol=1e-6)
