"""nnx modules and variables among the arguments of a model: what a call writes to them, and what a study leaves alone."""

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks, tools

X = jnp.array([[1.0, 2.0]])


class Cache(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros(()))
        self.row = nnx.Variable(jnp.zeros(2))
        self.plain = 0


class Model(nnx.Module):
    """Its first call of a cache returns [3, 3], its second one [6, 6]."""

    def __init__(self):
        self.sum = nnx.Linear(2, 2, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))
        self.calls, self.plain = nnx.Variable(jnp.zeros(())), 0

    def __call__(self, x, cache):
        for written in (self, cache):
            written.calls[...] += 1
            written.plain += 1
        cache.row[...] = x[0]
        return self.sum(x) * cache.calls[...]


@pytest.fixture(scope="module")
def model():
    return Model()


WRITE = {
    "capture": lambda m, c: hooks.capture(m)(X, c)[0],
    "capture with gradients": lambda m, c: hooks.capture(m, gradients=True)(X, cache=c)[0],
    "capture of a function": lambda m, c: hooks.capture(lambda m, given: hooks.site("out", m(X, given["cache"][0])))(
        m, {"cache": [c]}
    )[0],
    "run_with_cache": lambda m, c: hooks.run_with_cache(m, X, c)[0],
    "compile": lambda m, c: hooks.compile(m, gradients=True)(X, c)[0],
    "capture under nnx.jit": lambda m, c: nnx.jit(lambda m, c: hooks.capture(m)(X, c)[0])(m, c),
    "hooks.jit": lambda m, c: hooks.jit(lambda m, c: hooks.capture(m)(X, c)[0])(m, c),
    "steer": lambda m, c: hooks.steer(m, {"sum": jnp.zeros(2)})(X, c),
    "splice": lambda m, c: hooks.splice(m, {"sum": (lambda v: v, lambda v: v)})(X, c),
}


@pytest.mark.parametrize("way", WRITE)
def test_a_call_writes_to_the_arguments(way):
    model, cache = Model(), Cache()
    assert WRITE[way](model, cache).tolist() == [[3.0, 3.0]]
    assert WRITE[way](model, cache).tolist() == [[6.0, 6.0]]
    assert (cache.calls[...], cache.row[...].tolist(), cache.plain) == (2.0, [1.0, 2.0], 2)
    # Models with edits are functions, of use under jax.jit and jax.vmap, and leave the model as it was.
    assert (model.calls[...], model.plain) == ((0.0, 0) if way in ("steer", "splice") else (2.0, 2))


def test_gradients_of_a_capture_keep_what_it_writes(model):
    cache = Cache()
    grads = nnx.grad(lambda m, c: hooks.capture(m)(X, c)[0].sum())(model, cache)
    assert grads.sum.kernel[...].tolist() == [[1.0, 1.0], [2.0, 2.0]]
    assert cache.calls[...] == 1.0


def _total(out):
    return out.sum()


def _each(out):
    return out.sum(-1)


def test_studies_leave_the_arguments_as_they_were(model):
    cache = Cache()
    given, other = hooks.Inputs(X, cache), hooks.Inputs(X + 1, cache)
    np.testing.assert_allclose(hooks.patch_sweep(model, given, other, ["sum"], metric=_total, over=("layer",)).values, [6.0])
    # Without a first column, [2, 2] is left; without a second one, [1, 1]: in a second run of the same cache they would be doubled.
    assert hooks.occlusion(model, given, metric=_each, wrt=0, window=(1,)).tolist() == [[2.0, 4.0]]
    np.testing.assert_allclose(
        hooks.integrated_gradients(model, given, metric=_each, wrt=0, steps=3).values, [[2.0, 4.0]], rtol=1e-6
    )
    hooks.run_with_cache(model, given, stop_after="sum")
    assert hooks.check(model, X, cache) == {}
    source = Cache()
    hooks.transplant(model, hooks.Inputs(X, source), {"sum": "sum"})(X, cache)
    assert (source.calls[...], cache.calls[...], source.plain, cache.plain) == (0.0, 1.0, 0, 1)


class Keeps(nnx.Module):
    kept: nnx.Variable


def _add(x, count):
    count[...] += 1
    return hooks.site("x", x)


def test_variables_states_and_new_attributes():
    count, state, new = nnx.Variable(jnp.zeros(())), nnx.state(Cache()), Keeps()
    hooks.run_with_cache(_add, X, count)
    hooks.compile(_add)(X, count)
    hooks.capture(lambda x, state: _add(x, state["calls"]))(X, state)

    def attach(x, module):
        module.kept = nnx.Variable(x * 2)
        return hooks.site("x", x)

    hooks.capture(attach)(X, new)
    assert (count[...], state["calls"][...], new.kept[...].tolist()) == (2.0, 1.0, [[2.0, 4.0]])


@pytest.mark.parametrize("verb", [hooks.capture, hooks.compile])
def test_a_shared_variable_that_is_written_is_an_error(verb):
    count = nnx.Variable(jnp.zeros(()))
    call = verb(lambda x, a, b: _add(x, a))
    with pytest.raises(
        ValueError, match="writes to an nnx Variable that is there more than once among the model and its arguments"
    ):
        call(X, count, count)
    call(X, count, nnx.Variable(jnp.zeros(())))
    assert count[...] == 1.0


def test_find_nan_of_a_model_that_gets_a_cache(model):
    # jnp.log of [3 - 4, 3 - 4].
    found = tools.find_nan(lambda m, x, cache: jnp.log(m(x, cache) - 4), model, X, Cache())
    assert found is not None and found.operation == "log"
    assert tools.find_nan(model, X, Cache()) is None


ROW = jnp.array([[1.0, 2.0]], "float32")


class Opaque(nnx.Module, pytree=False):
    def __init__(self):
        self.norm = nnx.BatchNorm(2, momentum=0.0, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return hooks.site("out", jnp.log(self.norm(x) * 0 - 1))


def loss(model, x):
    return model(x).sum()


OPAQUE = {
    "capture": lambda m: hooks.capture(loss)(m, ROW)[1],
    "capture of a jitted function": lambda m: hooks.capture(nnx.jit(loss))(m, ROW)[1],
    "run_with_cache": lambda m: hooks.run_with_cache(nnx.jit(loss), m, ROW)[1],
    "compile": lambda m: hooks.compile(loss, gradients=True)(m, ROW)[1],
}


@pytest.mark.parametrize("way", OPAQUE)
def test_a_module_that_is_no_pytree_and_writes_to_itself(way):
    model = Opaque()
    assert np.isnan(OPAQUE[way](model)["out"]).all()
    np.testing.assert_allclose(model.norm.mean[...], ROW[0])


@pytest.mark.parametrize("jit", [lambda fn: fn, nnx.jit])
def test_find_nan_in_a_function_of_a_module_that_is_no_pytree(jit):
    fault = tools.find_nan(jit(loss), Opaque(), ROW, show=False)
    assert (fault.path, fault.cls, fault.operation) == ("", "Opaque", "log")


def test_two_arguments_that_share_what_is_written():
    first, second = Opaque(), Opaque()
    second.norm = first.norm
    with pytest.raises(ValueError, match="BatchStat that is there more than once"):
        hooks.capture(lambda a, b, x: a(x) + b(x))(first, second, ROW)


@pytest.mark.parametrize("run", [tools.find_nan, lambda fn, x: hooks.capture(fn)(x), lambda fn, x: hooks.jit(fn)(x)])
def test_a_module_that_writes_to_itself_and_is_no_argument(run):
    model = Opaque()
    with pytest.raises(Exception, match="different trace level") as raised:
        run(lambda x: loss(model, x), ROW)
    assert ["give it the model as an argument" in note for note in raised.value.__notes__ if note.startswith("msjax")] == [True]


class Counting(nnx.Module, pytree=False):
    def __init__(self):
        self.layer, self.calls, self.seen, self.last = nnx.Linear(2, 2, rngs=nnx.Rngs(0)), 0, [], None

    def __call__(self, x):
        self.calls, self.last, self.scale = self.calls + 1, "here", 0.5
        self.seen.append(x.shape)
        return self.layer(x)


COUNTING = {
    "capture": lambda m: hooks.capture(m, "layer")(ROW),
    "gradients": lambda m: hooks.capture(m, "layer", gradients=True)(ROW),
    "run_with_cache": lambda m: hooks.run_with_cache(m, ROW),
    "compile": lambda m: hooks.compile(lambda m, x: hooks.site("out", m(x)), "out")(m, ROW),
}


@pytest.mark.parametrize("way", COUNTING)
def test_attributes_and_lists_that_a_module_that_is_no_pytree_changes(way):
    model = Counting()
    for _ in range(2):
        COUNTING[way](model)
    assert (model.calls, model.seen, model.last, model.scale) == (2, [(1, 2), (1, 2)], "here", 0.5)


class Noisy(nnx.Module):
    def __init__(self):
        self.norm, self.drop = nnx.BatchNorm(2, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(1))

    def __call__(self, x):
        return self.drop(self.norm(x))


@pytest.mark.long
def test_a_record_of_a_model_in_training():
    """All of it comes from one run: of the same random key and the same statistics."""
    model, plain, third = Noisy(), Noisy(), Noisy()
    x = jnp.arange(24, dtype="float32").reshape(12, 2)
    found = tools.record(model, x, loss=lambda out: (out**2).sum())
    np.testing.assert_allclose(found.arrays["activation/"], plain(x), rtol=1e-5)
    gradient = nnx.grad(lambda model: (model(x) ** 2).sum())(third)
    np.testing.assert_allclose(found.arrays["parameter_gradient/norm.scale"], gradient["norm"]["scale"][...], rtol=1e-4)
    np.testing.assert_allclose(model.norm.mean[...], plain.norm.mean[...], rtol=1e-5)
    assert model.drop.rngs.count[...] == plain.drop.rngs.count[...] == 1
