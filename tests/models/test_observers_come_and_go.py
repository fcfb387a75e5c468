"""Observers come and go without a new program, and copies of a model have the hooks that the model has."""

import copy
import gc
import pickle
import weakref

import equinox
import flax.linen as linen
import haiku
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks, tools
from msjax.core.base.state import ACTIVITY
from msjax.core.hooks.batching import COLLECTED
from msjax.core.hooks.events import Event
from msjax.core.hooks.places import HOOKED_WITH
from msjax.core.models.frameworks.nnx import _REGISTRIES as REGISTRIES

X = jnp.linspace(-1.0, 1.0, 6, dtype="float32").reshape(2, 3)


class Net(nnx.Module):
    def __init__(self, rngs):
        self.a, self.b = nnx.Linear(3, 3, rngs=rngs), nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.b(nnx.tanh(self.a(x)))


class LinenNet(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(3, name="b")(jnp.tanh(linen.Dense(3, name="a")(x)))


class EquinoxDense(equinox.Module):
    weight: jax.Array

    def __call__(self, x):
        return x @ self.weight


class EquinoxNet(equinox.Module):
    a: EquinoxDense
    b: EquinoxDense

    def __call__(self, x):
        return self.b(jnp.tanh(self.a(x)))


def of_nnx():
    model = Net(nnx.Rngs(0))
    return model, "", (model,), lambda model, x: model(x)


def of_linen():
    model = hooks.hooked(LinenNet())
    return model, "", (model.init(jax.random.key(0), X),), lambda params, x: model.apply(params, x)


def of_equinox():
    keys = jax.random.split(jax.random.key(0))
    model = hooks.hooked(EquinoxNet(*[EquinoxDense(jax.random.normal(key, (3, 3))) for key in keys]))
    return model, "", (model,), lambda model, x: model(x)


def of_haiku():
    class Net(haiku.Module):
        def __call__(self, x):
            return haiku.Linear(3, name="b")(jnp.tanh(haiku.Linear(3, name="a")(x)))

    model = hooks.hooked(haiku.without_apply_rng(haiku.transform(lambda x: Net(name="net")(x))))
    return model, "net.~.", (model.init(jax.random.key(0), X),), model.apply


MODELS = {"nnx": of_nnx, "linen": of_linen, "equinox": of_equinox, "haiku": of_haiku}


def traced_step(call):
    """(a step with gradients, the list that grows when it is traced)"""
    traces = []

    def step(model, x):
        traces.append(1)
        return jax.grad(lambda x: (call(model, x) ** 2).sum())(x)

    return step, traces


@pytest.mark.parametrize("jit", [hooks.jit, "jax"], ids=["hooks.jit", "jax.jit"])
@pytest.mark.parametrize("framework", MODELS)
def test_another_observer_finds_the_program(framework, jit):
    model, prefix, given, call = MODELS[framework]()
    prefix = "net." if framework == "haiku" else prefix
    step, traces = traced_step(call)
    if jit == "jax":
        jit = nnx.jit if framework == "nnx" else equinox.filter_jit if framework == "equinox" else jax.jit
    run = jit(step)
    logs = []
    for number in range(4):
        log = []
        with (
            hooks.register_forward_hook(model, lambda m, a, o, log=log: log.append(("forward", np.asarray(o))), f"{prefix}a"),
            hooks.register_backward_hook(
                model, lambda m, gi, go, log=log: log.append(("backward", np.asarray(go[0]))), f"{prefix}b"
            ),
        ):
            gradient = run(*given, X * number)
        if number % 2:
            jax.block_until_ready(run(*given, X))
        jax.block_until_ready(gradient)
        logs.append(log)
    # The program with observers, and the one without.
    assert len(traces) == 2
    assert [[kind for kind, _ in log] for log in logs] == [["forward", "backward"]] * 4
    assert not np.allclose(logs[1][0][1], logs[2][0][1])


def test_modifiers_are_found_by_function_and_options():
    model, traces = Net(nnx.Rngs(0)), []

    @hooks.jit
    def run(model, x):
        traces.append(1)
        return model(x)

    def double(module, args, output):
        return output * 2

    plain = run(model, X)
    for _ in range(3):
        with hooks.register_forward_hook(model, double, "b"):
            np.testing.assert_allclose(run(model, X), plain * 2, rtol=1e-5)
    assert len(traces) == 2
    with hooks.register_forward_hook(model, lambda module, args, output: output * 3, "b"):
        np.testing.assert_allclose(run(model, X), plain * 3, rtol=1e-5)
    with hooks.register_forward_hook(model, double, "b", with_kwargs=False, traced=True):
        run(model, X)
    assert len(traces) == 4


def test_observers_around_a_modifier_keep_their_order():
    model, log = Net(nnx.Rngs(0)), []

    def double(module, args, output):
        return output * 2

    run = hooks.jit(lambda model, x: model(x))
    for name in "pq":
        handles = [
            hooks.register_forward_hook(model, lambda m, a, o, n=name: log.append((n, "first", float(o[0, 0]))), "b"),
            hooks.register_forward_hook(model, double, "b"),
            hooks.register_forward_hook(model, lambda m, a, o, n=name: log.append((n, "last", float(o[0, 0]))), "b"),
        ]
        run(model, X)
        for handle in handles:
            handle.remove()
    first = log[0][2]
    assert log == [(n, k, v) for n in "pq" for k, v in (("first", first), ("last", 2 * first))]


def test_a_hook_that_removes_itself_and_one_behind_it():
    model, log = Net(nnx.Rngs(0)), []

    def once(module, args, output):
        log.append("once")
        handle.remove()

    run = hooks.jit(lambda model, x: model(x))
    handle = hooks.register_forward_hook(model, once, "a")
    hooks.register_forward_hook(model, lambda module, args, output: log.append("always"), "a")
    for _ in range(2):
        run(model, X)
    assert log == ["once", "always", "always"]


def test_errors_name_the_hook_that_is_there_now():
    model = Net(nnx.Rngs(0))
    run = hooks.jit(lambda model, x: model(x))
    with hooks.register_forward_hook(model, lambda module, args, output: None, "a"):
        run(model, X)

    def later(module, args, output):
        return output

    with (
        hooks.register_forward_hook(model, later, "a", observe=True),
        pytest.raises(TypeError, match=r"later .*of module a \(Linear\)"),
    ):
        run(model, X)


def test_in_a_loop_and_from_callbacks():
    model, logs = Net(nnx.Rngs(0)), []

    def looped(model, x):
        x = jax.lax.scan(lambda x, _: (model(x), None), x, length=2)[0]
        return jax.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, model(c[1])), (0, x))[1]

    run = hooks.jit(looped)
    for _ in range(2):
        log = []
        with hooks.register_forward_hook(model, lambda module, args, output, log=log: log.append(np.asarray(output)), "b"):
            run(model, X)
        logs.append(log)
    assert [len(log) for log in logs] == [4, 4]
    np.testing.assert_allclose(logs[0], logs[1])


def test_memory_stays():
    model, traces = Net(nnx.Rngs(0)), []

    @hooks.jit
    def run(model, x):
        traces.append(1)
        return model(x)

    def cycle():
        held = bytearray(1 << 20)
        with hooks.register_forward_hook(model, lambda module, args, output: held.append(0) and None, "*", observe=True):
            run(model, X)

    for _ in range(5):
        cycle()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(100):
        cycle()
    gc.collect()
    assert len(gc.get_objects()) - before < 200 and len(traces) == 1


# ---- copies


COPIES = {
    "clone": nnx.clone,
    "merge": lambda model: nnx.merge(*nnx.split(model)),
    "jax.tree.map": lambda model: jax.tree.map(lambda leaf: leaf, model),
}


@pytest.mark.parametrize("made", COPIES)
def test_the_handle_takes_the_hook_off_copies(made):
    model, log = Net(nnx.Rngs(0)), []
    observer = hooks.register_forward_hook(model, lambda module, args, output: log.append(1), "a")
    modifier = hooks.register_forward_hook(model, lambda module, args, output: output * 2, "b")
    copied, run = COPIES[made](model), hooks.jit(lambda model, x: model(x))
    np.testing.assert_allclose(copied(X), model(X))
    np.testing.assert_allclose(run(copied, X), model(X), rtol=1e-5)
    observer.remove()
    modifier.remove()
    log.clear()
    for call in (model, copied, lambda x: run(copied, x)):
        np.testing.assert_allclose(call(X), Net(nnx.Rngs(0))(X), rtol=1e-5)
    assert log == [] and type(copied) is Net and type(copied.a) is nnx.Linear and "msjax_hooks" not in vars(copied.a)


def test_a_copy_can_have_hooks_of_its_own():
    model, log = Net(nnx.Rngs(0)), []
    handle = hooks.register_forward_hook(model, lambda module, args, output: log.append("model"), "a")
    copied = nnx.clone(model)
    own = hooks.register_forward_hook(copied, lambda module, args, output: log.append("copy"), "a")
    copied(X), model(X)
    assert log == ["model", "copy", "model"]
    handle.remove()
    copied(X), model(X)
    assert log[3:] == ["copy"]
    own.remove()
    copied(X)
    assert log[4:] == [] and type(copied.a) is nnx.Linear


@pytest.mark.parametrize("made", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["deepcopy", "pickle"])
def test_a_deep_copy_has_the_classes_of_the_model(made):
    model, log = Net(nnx.Rngs(0)), []
    hooks.register_forward_hook(model, lambda module, args, output: log.append(1), "a")
    copied = made(model)
    np.testing.assert_allclose(copied(X), Net(nnx.Rngs(0))(X))
    assert type(copied.a) is nnx.Linear and log == []
    assert nnx.split(copied)[0] == nnx.split(Net(nnx.Rngs(0)))[0]


@pytest.mark.parametrize("framework", MODELS)
def test_a_hooked_model_that_dies_leaves_nothing(framework):
    """Hooks and `where` may refer to the model, and handles may be kept."""
    key, registries, alive = HOOKED_WITH.value, dict(REGISTRIES), []

    def run():
        model, prefix, given, call = MODELS[framework]()
        where = f"{'net.' if framework == 'haiku' else prefix}a"
        kept = [
            hooks.register_forward_hook(model, lambda module, args, output: None if model else output, where),
            hooks.register_forward_hook(model, lambda module, args, output: print(model), where, observe=True),
            hooks.register_backward_hook(
                model, lambda *gradients: None, lambda path, module: path == where and model is not None
            ),
        ]
        assert framework == "nnx" or HOOKED_WITH.value != key
        call(*given, X)
        hooked = model if framework == "nnx" else model.msjax_registry
        alive.append(weakref.ref(hooked))
        return kept

    handles = run()
    gc.collect()
    assert alive[0]() is None and HOOKED_WITH.value == key and registries == dict(REGISTRIES)
    for handle in handles:
        handle.remove()


@pytest.mark.parametrize("framework", ["linen", "equinox", "haiku"])
def test_models_that_are_made_and_dropped_find_the_programs_of_those_before(framework):
    """Without the garbage collector: a hooked model is no part of a cycle."""
    gc.collect()  # other models that go change what jax looks for
    gc.disable()
    compiled, seen = [], []
    jax.monitoring.register_event_duration_secs_listener(listener := lambda event, seconds, **_: compiled.append(event))
    try:
        for _ in range(4):
            compiled.clear()
            model, _, given, call = MODELS[framework]()
            hooks.register_forward_hook(model, lambda module, args, output: seen.append(output), "*a")
            hooks.register_forward_hook(model, lambda module, args, output: output * 2, "*b")
            call(*given, X)
            del model, given, call
        assert len(seen) == 4 and not [event for event in compiled if event.endswith("backend_compile_duration")]
    finally:
        gc.enable()
        jax.monitoring.unregister_event_duration_listener(listener)


def programs_after(use, framework, number=3):
    """How many programs live after each of some models was made, hooked, used and dropped."""
    found = []
    for _ in range(number):
        model = MODELS[framework]()[0]
        hooks.register_forward_hook(model, lambda module, args, output: None, "a")
        hooks.register_forward_hook(model, lambda module, args, output: output * 2, "b")
        use(model)
        del model
        gc.collect()
        found.append(len(jax.devices()[0].client.live_executables()))
    return found


@pytest.mark.parametrize("framework", ["nnx", "equinox"])
def test_programs_of_models_that_are_arguments_go_with_the_models(framework):
    """One long-lived hooks.jit: jax would keep a program for each."""
    key, run = HOOKED_WITH.value, hooks.jit(lambda model, x: model(x))
    plain = run(MODELS[framework]()[0], X)

    def use(model):
        np.testing.assert_allclose(run(model, X), 2 * plain, rtol=1e-5)

    _, second, third = programs_after(use, framework)
    assert second == third and HOOKED_WITH.value == key


@pytest.mark.parametrize("framework", ["nnx", "equinox"])
def test_programs_of_captures_go_with_hooked_models(framework):
    _, second, third = programs_after(lambda model: hooks.compile(model, "a")(X), framework)
    assert second == third


@pytest.mark.long
def test_programs_of_watched_models_go_with_them():
    run = hooks.jit(lambda model, x: jax.grad(lambda x: model(x).sum())(x))

    def use(model):
        with tools.watch(model, every=1) as watched:
            run(model, X)
            watched.next_step()

    _, second, third = programs_after(use, "nnx")
    assert second == third


def test_copies_of_a_hooked_model_find_its_program():
    model, traces = Net(nnx.Rngs(0)), []
    run = hooks.jit(lambda model, x: [traces.append(1), model(x)][1])
    hooks.register_forward_hook(model, lambda module, args, output: None, "a")
    for made in COPIES.values():
        run(made(model), X)
    graphdef, state = nnx.split(model)
    del model
    for _ in range(2):
        run(nnx.merge(graphdef, state), X)
    assert len(traces) == 2


def test_an_equinox_model_that_a_program_of_jax_outlives_changes_no_other_program():
    key, run = HOOKED_WITH.value, equinox.filter_jit(lambda model, x: model(x))
    model, log = of_equinox()[0], []
    hooks.register_forward_hook(model, lambda module, args, output: log.append(output.shape), "a")
    run(model, X)
    leaves, structure = jax.tree.flatten(model)
    assert HOOKED_WITH.value != key
    del model
    gc.collect()
    assert HOOKED_WITH.value == key
    # Made again of a structure that was kept, it has its hooks again.
    model = jax.tree.unflatten(structure, leaves)
    assert HOOKED_WITH.value != key
    model(X)
    hooks.barrier()
    assert log == [(2, 3)] * 2


def test_hooks_jit_keeps_the_programs_of_the_hooked_models_used_last(monkeypatch):
    monkeypatch.setattr("msjax.core.models.jit._MOST", 2)
    models, traces = [Net(nnx.Rngs(0)) for _ in range(3)], []
    for model in models:
        hooks.register_forward_hook(model, lambda module, args, output: None, "a")
    run = hooks.jit(lambda model, x: [traces.append(1), model(x)][1])
    for number in (0, 1, 0, 2, 0, 1):
        run(models[number], X)
    assert len(traces) == 4


def test_nobody_waits_for_callbacks_that_are_not_there():
    assert isinstance(ACTIVITY.late_slots, bool)
    model = Net(nnx.Rngs(0))

    @jax.jit
    def traced(x):
        # Registered and removed while jax traces.
        with hooks.register_forward_hook(model, lambda module, args, output: output * 0, "b"):
            return model(x)

    assert not np.any(traced(X)) and np.any(model(X))


def test_what_a_run_that_was_given_up_has_left_is_dropped():
    model, log = Net(nnx.Rngs(0)), []
    run = hooks.jit(lambda model, x: jax.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, model(c[1])), (0, x))[1])
    COLLECTED.append((Event.own(print, (), "text")[0], []))
    with hooks.register_forward_hook(model, lambda module, args, output: log.append(output), "b"):
        run(model, X)
    assert len(log) == 2 and not COLLECTED
