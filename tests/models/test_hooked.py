"""Hooks on models of flax linen, equinox and haiku: hooks.hooked, and what takes a hooked model."""

import copy
import pickle
import threading
from functools import cache, partial

import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import msjax as ms
from msjax import hooks
from msjax.tools import hooks_of

equinox = pytest.importorskip("equinox")
haiku = pytest.importorskip("haiku")

X = jnp.linspace(-1.0, 1.0, 8).reshape(2, 4)


class Block(linen.Module):
    @linen.compact
    def __call__(self, x, _=None):
        return x + linen.Dense(4, name="b")(linen.relu(linen.Dense(4, name="a")(x))), None


class Stack(linen.Module):
    """Layers in a scan, each rematerialized."""

    @linen.compact
    def __call__(self, x):
        blocks = linen.scan(linen.remat(Block), variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
        return linen.Dense(2, name="head")(blocks(name="layers")(x, None)[0])


class Tied(linen.Module):
    """A module that is called twice, and methods besides __call__."""

    def setup(self):
        self.inner = linen.Dense(4)
        self.many = [linen.Dense(4), linen.Dense(2)]

    def encode(self, x):
        return self.inner(self.inner(x))

    def __call__(self, x):
        for layer in self.many:
            x = layer(x)
        return x

    def all(self, x):
        return self(self.encode(x))


class Layers(equinox.Module):
    """Stacked layers in a scan."""

    layers: equinox.nn.MLP

    def __init__(self, key):
        self.layers = equinox.filter_vmap(lambda key: equinox.nn.MLP(4, 4, 4, 1, key=key))(jax.random.split(key, 3))

    def __call__(self, x):
        arrays, static = equinox.partition(self.layers, equinox.is_array)
        return jax.lax.scan(lambda x, layer: (equinox.combine(layer, static)(x), None), x, arrays)[0]


def linen_model(module):
    return module, jax.jit(module.init)(jax.random.key(0), X), lambda model, params, x: model.apply(params, x)


def equinox_model(model):
    def call(model, params, x):
        return jax.vmap(equinox.combine(params, equinox.filter(model, equinox.is_inexact_array, inverse=True)))(x)

    return model, equinox.filter(model, equinox.is_inexact_array), call


def haiku_model():
    model = haiku.transform(lambda x: haiku.nets.MLP([4, 2])(x))
    return model, jax.jit(model.init)(jax.random.key(0), X), lambda model, params, x: model.apply(params, None, x)


KEY = jax.random.key(1)
LAYER = ["layers.a", "layers.b", "layers"]
STEP = ["layers.layers.0", "layers.layers.1", "layers"]
# {model: (how it is made, the paths of its calls in one forward pass, of one example for equinox)}
MODELS = {
    "linen scan(remat)": (cache(lambda: linen_model(Stack())), [*LAYER * 3, "head", ""]),
    "equinox MLP": (cache(lambda: equinox_model(equinox.nn.MLP(4, 2, 4, 1, key=KEY))), ["layers.0", "layers.1", ""]),
    "equinox scan": (cache(lambda: equinox_model(Layers(KEY))), [*STEP * 3, ""]),
    "haiku MLP": (cache(haiku_model), ["mlp.~.linear_0", "mlp.~.linear_1", "mlp"]),
}


@pytest.fixture(params=MODELS)
def case(request):
    """(the model, a hooked one, its parameters, the hooked one's, call(model, params, x), the paths of its calls)"""
    make, calls = MODELS[request.param]
    model, params, call = make()
    hooked = hooks.hooked(model)
    if isinstance(model, equinox.Module):
        return model, hooked, params, equinox.filter(hooked, equinox.is_inexact_array), call, calls * len(X)
    jax.eval_shape(hooked.init, jax.random.key(0), X)
    return model, hooked, params, params, call, calls


def same(a, b):
    a, b = jax.tree.leaves(a), jax.tree.leaves(b)
    assert len(a) == len(b)
    for one, other in zip(a, b):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.long
def test_the_same_results_leaves_and_hooks_under_jit_and_grad(case):
    model, hooked, params, own, call, calls = case
    assert isinstance(hooked, type(model)) and len(jax.tree.leaves(hooked)) == len(jax.tree.leaves(model))
    assert set(hooks.paths(hooked)) == set(calls)
    programs = [str(jax.make_jaxpr(partial(call, m))(p, X)) for m, p in ((model, params), (hooked, own))]
    assert programs[0] == programs[1]
    traced = []

    def run(model, params):
        traced.append(1)
        return jax.value_and_grad(lambda params: (call(model, params, X) ** 2).sum())(params)

    jitted, in_order = jax.jit(partial(run, hooked)), hooks.jit(partial(run, hooked))
    plain = jitted(own)
    same(plain, jax.jit(partial(run, model))(params))
    del traced[:]
    forward, backward = [], []
    with (
        hooks.register_forward_hook(hooked, lambda module, args, output: forward.append(hooks.path(module)), "*"),
        hooks.register_backward_hook(hooked, lambda module, gi, go: backward.append(hooks.path(module)), "*"),
    ):
        same(jitted(own), plain)
        hooks.barrier()
        again = LAYER * 3 if "layers.a" in calls else []  # rematerialized in the backward pass
        assert sorted(backward) == sorted(calls) and sorted(forward) == sorted([*calls, *again])
        if not isinstance(model, equinox.Module):
            assert forward[: len(calls)] == calls
        jitted(own)
        assert len(traced) == 1
        hooks.barrier()
        del forward[:], backward[:]
        same(in_order(own), plain)
        # Equinox runs each module for all examples.
        assert forward == calls or (isinstance(model, equinox.Module) and sorted(forward) == sorted(calls))
        assert sorted(backward) == sorted(calls)
        del traced[:]
    del forward[:], backward[:]
    jitted(own)
    hooks.barrier()
    assert not traced and not forward and not backward


def test_values_gradients_and_edits_by_capture(case):
    model, hooked, params, own, call, calls = case
    last = calls[-2]
    run = partial(call, hooked)
    out, found = jax.jit(hooks.capture(run, last, gradients=True))(own, X)
    same(out, jax.jit(partial(call, model))(params, X))
    assert list(found.activations) == list(found.gradients) == [last]
    assert jax.tree.map(jnp.shape, found.activations) == jax.tree.map(jnp.shape, found.gradients)
    # Nothing comes from the place any more: what is left is the same for all examples.
    zeroed = hooks.capture(run, [], edit={last: lambda value, index: jax.tree.map(jnp.zeros_like, value)})
    out = jax.jit(zeroed)(own, X)[0]
    same(out[0], out[1])
    with pytest.raises(ValueError, match="no place was selected by 'nothing'"):
        hooks.capture(run, "nothing")(own, X)


def test_modifiers_of_every_kind(case):
    model, hooked, params, own, call, calls = case

    def grads(run):
        return jax.jit(jax.grad(lambda params, x: (run(params, x) ** 2).sum(), (0, 1)))

    outer = ("" if isinstance(model, linen.Module) else calls[-1],)
    with (
        hooks.register_forward_pre_hook(hooked, lambda module, args: (args[0] * 2,), outer),
        hooks.register_forward_hook(hooked, lambda module, args, output: output * 5, outer),
        hooks.register_backward_pre_hook(hooked, lambda module, grads: (grads[0] * 3,), outer),
        hooks.register_backward_hook(hooked, lambda module, grad_input, grad_output: (grad_input[0] * 7,), outer),
    ):
        of_params, of_x = grads(partial(call, hooked))(own, X)
    params_before, x_before = grads(lambda params, x: call(model, params, x * 2) * 5)(params, X)
    same(of_params, jax.tree.map(lambda g: g * 3, params_before))
    same(of_x, x_before * 21)


def test_unmatched_paths_are_told(case):
    _, hooked, *_ = case
    with pytest.raises(ValueError, match=r"no module matches where='nothing\.\*'; the paths are '"):
        hooks.register_forward_hook(hooked, print, "nothing.*")
    with pytest.raises(ValueError, match=r"no module matches where='nothing'; the paths are '"):
        hooks.register_forward_hook(hooked, print, [next(iter(hooks.paths(hooked))), "nothing"])
    fresh = hooks.hooked(Tied())
    with hooks.register_forward_hook(fresh, print, ["many_0", "mani_*"]):
        with pytest.raises(
            ValueError, match=r"no module matches where='mani_\*'; the paths are '', 'many_0', 'many_1'; nearest to 'mani_\*': "
        ):
            jax.eval_shape(fresh.init, jax.random.key(0), X)


def test_paths_are_matched_again_only_where_hooks_or_modules_are_new(monkeypatch):
    matched = []
    monkeypatch.setattr("msjax.core.models.frameworks.registry.check_texts", lambda *given: matched.append(given[1]))
    model = hooks.hooked(linen.Sequential([linen.Dense(2), linen.Dense(2)]))
    params = model.init(jax.random.key(0), jnp.ones(2))
    for where in (["layers_0"], ["layers_1"]):
        hooks.register_forward_hook(model, lambda *given: None, where)
        model.apply(params, jnp.ones(2))
        model.apply(params, jnp.ones(2))
    assert matched == [["layers_0"], ["layers_0"], ["layers_1"]]


def test_copies_have_no_hooks():
    for model in (Tied(), equinox.nn.Linear(2, 2, key=KEY)):
        hooked = hooks.hooked(model)
        for other in (copy.deepcopy(hooked), pickle.loads(pickle.dumps(hooked))):
            assert type(other) is type(model) and jax.tree.structure(other) == jax.tree.structure(model)


def test_where_and_what_hooks_get():
    model = hooks.hooked(Tied())
    params = jax.jit(partial(model.init, method=Tied.all))(jax.random.key(0), X)
    seen = []

    def note(module, args, output):
        seen.append((hooks.path(module), module.features, output.shape))

    with hooks.register_forward_hook(model, note, [linen.Dense, lambda path, module: path == "nothing"]):
        jax.jit(lambda params: model.apply(params, X, method="all"))(params)
        hooks.barrier()
    assert seen == [("inner", 4, (2, 4)), ("inner", 4, (2, 4)), ("many_0", 4, (2, 4)), ("many_1", 2, (2, 2))]
    bound = model.bind(params)
    with hooks.register_forward_hook(
        model, lambda module, args, output: output * 0 + module.variables["params"]["bias"], "inner"
    ):
        same(bound.encode(X), jnp.broadcast_to(params["params"]["inner"]["bias"], (2, 4)))
    assert hooks.paths(model)["many_1"].features == 2


def test_methods_by_name():
    class Encoder(equinox.Module):
        inner: equinox.nn.Linear

        def encode(self, x):
            return self.inner(x)

    def encoder(x):
        return Named().encode(x)

    class Named(haiku.Module):
        def encode(self, x):
            return haiku.Linear(4)(x)

    tied, encodes = hooks.hooked(Tied()), hooks.hooked(Encoder(equinox.nn.Linear(4, 4, key=KEY)))
    variables = jax.jit(partial(tied.init, method="encode"))(jax.random.key(0), X)
    transform = hooks.hooked(haiku.without_apply_rng(haiku.transform(encoder)))
    params = jax.jit(transform.init)(jax.random.key(0), X)
    cases = [
        (tied, "encode", partial(tied.apply, variables, method="encode")),
        (encodes, "encode", jax.vmap(encodes.encode)),
        (transform, "named.encode", partial(transform.apply, params)),
    ]
    for model, where, run in cases:
        with hooks.register_forward_hook(model, lambda module, args, output: output * 0, where):
            assert hooks_of(next(iter(hooks.paths(model).values()))) == {"forward of encode": ["<lambda>"]}
            assert not np.any(jax.jit(run)(X))
        assert np.any(jax.jit(run)(X))
        with pytest.raises(ValueError, match="no module matches where='decode'"):
            hooks.register_forward_hook(model, print, "decode")


@pytest.mark.parametrize(
    "run",
    [
        lambda model, params, call: call(model.bind(params)),
        lambda model, params, call: hooks.jit(lambda params: call(model.bind(params)))(params),
        lambda model, params, call: model.apply(params, method=call),
        lambda model, params, call: linen.apply(call, model)(params),
    ],
    ids=["bind", "bind, hooks.jit", "apply", "linen.apply"],
)
def test_parts_of_a_bound_linen_module_run_with_its_hooks(run):
    class Net(linen.Module):
        body: linen.Module

        def setup(self):
            self.inner = Tied()
            self.named = {"head": linen.Dense(2)}

        def __call__(self, x):
            return self.named["head"](self.inner.all(self.body(x)))

    model, x, log = hooks.hooked(Net(linen.Dense(4))), jnp.ones((1, 4)), []
    params = model.init(jax.random.key(0), x)
    hooks.register_forward_hook(model, lambda module, args, output: log.append(hooks.path(module)), "*")
    hooks.register_forward_hook(model, lambda module, args, output: output * 2, "named_head")

    def parts(bound):
        return bound.named["head"](bound.inner.many[1](bound.inner.inner(bound.body(x))))

    plain = Net(linen.Dense(4))
    assert run(model, params, parts).tolist() == (2 * parts(plain.bind(params))).tolist()
    assert log == ["body", "inner.inner", "inner.many_1", "named_head"]
    part, variables = model.bind(params).inner.unbind()
    assert type(part) is Tied and part.apply(variables, x).shape == (1, 2) and len(log) == 4
    assert type(model.body) is linen.Dense


def test_a_hooked_linen_module_within_another():
    class Outer(linen.Module):
        body: linen.Module

        @linen.compact
        def __call__(self, x):
            return linen.Dense(3)(self.body(x))

    body = hooks.hooked(Tied())
    outer, plain = Outer(body), Outer(Tied())
    params = jax.jit(outer.init)(jax.random.key(0), X)
    assert jax.tree.structure(params) == jax.tree.structure(jax.eval_shape(plain.init, jax.random.key(0), X))
    log = []
    with hooks.register_forward_hook(body, lambda module, args, output: log.append(hooks.path(module)), "*"):
        same(jax.jit(outer.apply)(params, X), jax.jit(plain.apply)(params, X))
        hooks.barrier()
    assert log == ["many_0", "many_1", ""]


def test_jit_inside_of_linen_modules_and_threads():
    class Jitted(linen.Module):
        @linen.compact
        def __call__(self, x):
            return linen.jit(Block)(name="block")(x)[0]

    model, plain = hooks.hooked(Jitted()), Jitted()
    params = jax.jit(plain.init)(jax.random.key(0), X)
    before = model.apply(params, X)
    with hooks.register_forward_hook(model, lambda module, args, output: output * 0, "block.b"):
        same(model.apply(params, X), X)
        same(plain.apply(params, X), before)
        other = []
        thread = threading.Thread(target=lambda: other.append(jax.jit(model.apply)(params, X)))
        thread.start()
        thread.join()
        same(other[0], X)
    same(model.apply(params, X), before)


def test_an_optimizer_and_a_training_step_of_equinox():
    model = hooks.hooked(equinox.nn.MLP(4, 2, 4, 1, key=KEY))
    optimizer = optax.adam(0.01)
    state = optimizer.init(equinox.filter(model, equinox.is_array))

    @equinox.filter_jit
    def step(model, state):
        grads = equinox.filter_grad(lambda model: (jax.vmap(model)(X) ** 2).sum())(model)
        updates, state = optimizer.update(grads, state)
        return equinox.apply_updates(model, updates), state

    log = []
    first, state = step(model, state)
    handle = hooks.register_forward_hook(model, lambda module, args, output: log.append(module.weight), "layers.0")
    second, state = step(first, state)
    hooks.barrier()
    # The weights are those of a run that is over; hooks get their shapes.
    assert log == [jax.ShapeDtypeStruct((4, 4), X.dtype)] * 2
    log.clear()
    second(X[0])
    assert log[0] is second.layers[0].weight
    log.clear()
    handle.remove()
    step(second, state)
    second(X[0])
    hooks.barrier()
    assert not log
    with hooks.register_forward_hook(model.layers[1], lambda module, args, output: log.append(hooks.path(module))):
        second(X[0])
    assert log == ["layers.1"] and list(hooks.paths(model)) == ["", "layers.0", "layers.1"]


def test_dropout_and_state_of_equinox():
    class Normed(equinox.Module):
        norm: equinox.nn.BatchNorm
        drop: equinox.nn.Dropout

        def __call__(self, x, state, key):
            x, state = self.norm(x, state)
            return self.drop(x, key=key), state

    plain = Normed(equinox.nn.BatchNorm(4, "batch", mode="batch"), equinox.nn.Dropout(0.5))
    model, state = hooks.hooked(plain), equinox.nn.State(plain)
    log = []
    with hooks.register_forward_hook(model, lambda module, args, output: log.append(hooks.path(module)), ["norm", "drop"]):
        run = jax.vmap(lambda x, state: model(x, state, KEY), in_axes=(0, None), out_axes=(0, None), axis_name="batch")
        out, state = jax.jit(run)(X, state)
        hooks.barrier()
    assert out.shape == X.shape and sorted(set(log)) == ["drop", "norm"]


def test_models_themselves_and_run_with_cache():
    module = Stack()
    params = jax.eval_shape(module.init, jax.random.key(0), X)
    assert any(op.name.startswith("dot_general@") for op in hooks.ops(module)(params, X))
    _, cache = jax.eval_shape(lambda params: hooks.run_with_cache(module, params, X, where="layers.a"), params)
    assert {name: value.shape for name, value in cache.items()} == {"layers.a": (3, 2, 4)}
    mlp, *_ = MODELS["equinox MLP"][0]()
    none, cache = hooks.run_with_cache(mlp, X[0], where="*", stop_after="layers.0")
    same(cache["layers.0"], mlp.layers[0](X[0]))
    assert none is None and list(cache) == ["layers.0"]
    transform = haiku.without_apply_rng(haiku.transform_with_state(lambda x: haiku.Linear(2)(x)))
    params, state = jax.jit(transform.init)(jax.random.key(0), X)
    (out, _), cache = hooks.run_with_cache(transform, params, state, X)
    same(cache["linear"], out)


@pytest.mark.long
def test_errors_say_what_was_expected():
    with pytest.raises(
        TypeError, match=r"linen module, an equinox model, a haiku transform or an nnx module, but got builtin_function"
    ):
        hooks.hooked(print)
    with pytest.raises(TypeError, match=r"should take hooks, but got Tied.*Give hooks\.hooked\(model\)"):
        hooks.register_forward_hook(Tied(), print)
    for call in (hooks.hooked, hooks.paths, hooks.registered, hooks.check, lambda fn: hooks.register_forward_hook(fn, print)):
        with pytest.raises(TypeError, match=r"but got the function .*lambda.*hooks\.with_hooks puts hooks around it"):
            call(lambda x: x)
    with pytest.raises(ValueError, match="bound to its variables"):
        hooks.hooked(Tied().bind({}))
    relu = ms.nn.ReLU()
    linear = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    assert hooks.hooked(relu) is relu and hooks.hooked(linear) is linear
    model = hooks.hooked(Tied())
    assert hooks.hooked(model) is model
    nested = equinox.nn.Sequential([hooks.hooked(equinox.nn.Linear(2, 2, key=KEY))])
    with pytest.raises(ValueError, match=r"'layers\.0' \(Linear\) is a hooked model already"):
        hooks.hooked(nested)
    for model in (linear, Tied(), equinox.nn.Linear(2, 2, key=KEY)):
        with pytest.raises(TypeError, match=rf"'with_hooks'.*{type(model).__name__}.*register_forward_hook"):
            hooks.with_hooks(model, post=print)


@pytest.mark.long
def test_hooks_jit_takes_and_returns_equinox_models():
    class Net(equinox.Module):
        norm: equinox.nn.BatchNorm
        drop: equinox.nn.Dropout
        mlp: equinox.nn.MLP

        def __init__(self, key):
            self.norm, self.drop = equinox.nn.BatchNorm(4, "batch", mode="ema"), equinox.nn.Dropout(0.0)
            self.mlp = equinox.nn.MLP(4, 2, 3, 1, key=key)

        def __call__(self, x, state):
            x, state = self.norm(x, state)
            return self.mlp(self.drop(x)), state

    def step(model, state, x):
        def loss(model):
            out, new = jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)
            return (out**2).sum(), new

        gradients, new = equinox.filter_grad(loss, has_aux=True)(model)
        return equinox.apply_updates(model, gradients), new

    plain, state = equinox.nn.make_with_state(Net)(jax.random.key(0))
    model, seen = hooks.hooked(plain), []
    jitted = hooks.jit(step)
    with hooks.register_forward_hook(
        model, lambda module, args, output: seen.append(hooks.path(module)), ["mlp.layers.*", "norm"]
    ):
        new = jitted(model, state, X)
        assert seen == ["norm"] * 2 + ["mlp.layers.0"] * 2 + ["mlp.layers.1"] * 2
        jitted(*new, X)
    assert isinstance(new[0], Net) and len(seen) == 12
    jax.tree.map(
        partial(np.testing.assert_allclose, rtol=1e-5),
        jax.tree.leaves(equinox.filter(new, equinox.is_array)),
        jax.tree.leaves(equinox.filter(step(plain, state, X), equinox.is_array)),
    )
