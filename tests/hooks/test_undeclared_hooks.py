"""Hooks whose code does not say that they return None: observers all the same, called once a run with concrete values."""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks
from msjax.core.base import code
from msjax.core.hooks.hook import Hook, computes

X = jnp.array([1.0, -2.0], "float32")


class Meter:
    def __init__(self):
        self.values = []
        self.count = 0

    def log(self, value=None):
        self.values.append(value)
        self.count += 1
        return self.count if self.count < 0 else None


def observers():
    """{what the hook does: a function that makes (the hook, what returns the values that it has got)}"""

    def of_list(make):
        log = []
        return make(log), lambda: log

    def of_dict(make):
        found = {}
        return make(found), lambda: [v for v in found.values() if not isinstance(v, list)] + found.get("list", [])

    def of_meter():
        meter = Meter()
        return (lambda module, args, output: meter.log(value=output)), lambda: meter.values

    def closed_over():
        latest = None

        def hook(module, args, output):
            nonlocal latest
            latest = output
            return latest if latest is None else None

        return hook, lambda: [latest]

    return {
        "a keyword of a method": of_meter,
        "update": lambda: of_dict(lambda found: lambda module, args, output: found.update(x=output)),
        "None at the end of a tuple": lambda: of_list(lambda log: lambda module, args, output: (log.append(output), None)[1]),
        "None in front": lambda: of_list(lambda log: lambda module, args, output: (None, log.append(output))[0]),
        "a comprehension": lambda: of_list(lambda log: lambda module, args, output: [log.append(o) for o in (output,)]),
        "tree.map": lambda: of_list(lambda log: lambda module, args, output: jax.tree.map(log.append, output)),
        "tree.map over a tuple": lambda: of_list(lambda log: lambda module, args, output: jax.tree.map(log.append, (output,))),
        "setdefault": lambda: of_dict(lambda found: lambda module, args, output: found.setdefault("x", output)),
        "setdefault of a list": lambda: of_dict(lambda f: lambda module, args, output: f.setdefault("list", []).append(output)),
        "nonlocal": closed_over,
        "it reads the value": lambda: of_list(lambda log: lambda module, args, output: log.append(output) if float(output[0]) else None),
    }  # fmt: skip


WAYS = {
    "eager": lambda model: lambda x: model(x),
    "hooks.jit": lambda model: functools.partial(hooks.jit(lambda model, x: model(x)), model),
    "nnx.jit": lambda model: functools.partial(nnx.jit(lambda model, x: model(x)), model),
    "jax.grad": lambda model: lambda x: jax.grad(lambda x: model(x).sum())(x),
}


def model_():
    return nnx.Sequential(nnx.Linear(2, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0)))


# Each hook with its code read and not, and each of these in another one of the ways.
RUNS = [
    pytest.param(what, list(WAYS)[(i + 2 * read) % len(WAYS)], read, id=f"{what}-{'read' if read else 'of another Python'}")
    for i, what in enumerate(observers())
    for read in (True, False)
]


@pytest.mark.parametrize(("what", "way", "read"), RUNS)
def test_an_observer_gets_the_values_of_each_run(what, way, read, monkeypatch):
    if not read:
        monkeypatch.setattr(code, "READ", ())
    model = model_()
    hook, found = observers()[what]()
    run = WAYS[way](model)
    with hooks.register_forward_hook(model, hook, "layers.0"):
        for _ in range(2):
            jax.block_until_ready(run(X))
        hooks.barrier()
    values = found()
    kept = 1 if what in ("update", "setdefault", "nonlocal") else 2
    assert len(values) == kept and all(isinstance(v, (jax.Array, np.ndarray)) for v in values)
    assert not any(isinstance(v, jax.core.Tracer) for v in values)
    np.testing.assert_allclose(values[-1], [-1.0])


def test_a_hook_of_an_unknown_python_that_returns_a_value_is_a_modifier(monkeypatch, capsys):
    monkeypatch.setattr(code, "READ", ())
    model, calls = model_(), []

    def hook(module, args, output):
        print("traced")
        calls.append(1)
        return output * 10

    run = hooks.jit(lambda model, x: model(x))
    with hooks.register_forward_hook(model, hook, "layers.0"):
        with pytest.warns(UserWarning, match="what it appends, counts or assigns happens once"):
            np.testing.assert_allclose(run(model, X), [-10.0])
        np.testing.assert_allclose(run(model, X), [-10.0])
    assert calls == [1] and capsys.readouterr().out == "traced\n"


def test_what_an_observer_prints_is_printed_once_a_run(monkeypatch, capsys):
    monkeypatch.setattr(code, "READ", ())
    run = hooks.jit(hooks.with_hooks(lambda x: x * 2, post=lambda args, output: print("value", output)))
    for _ in range(2):
        run(jnp.float32(1.0))
    assert capsys.readouterr().out == "value 2.0\n" * 2


def test_gradients_of_plain_functions():
    log = []
    halve = hooks.hook_gradient(lambda gradient: (None, log.append(gradient))[0])
    for _ in range(2):
        hooks.jit(jax.grad(lambda x: halve(x) * 3))(jnp.float32(1.0))
    assert [float(g) for g in log] == [3.0, 3.0]


@pytest.mark.skipif(sys.version_info[:2] not in code.READ, reason="its bytecode is not read")
def test_code_that_is_read():
    found, log = {}, []
    assert Hook(lambda m, a, o: found.update(x=o)).observes
    assert not Hook(lambda m, a, o: (log.append(o), None)[-1]).observes
    assert not Hook(lambda m, a, o: (None, o)[1]).observes
    assert not Hook(lambda m, a, o: found.setdefault("x", o)).observes
    assert computes(lambda m, a, o: o * 2) and not computes(lambda m, a, o: jax.tree.map(log.append, o))


def _clip(module, grad_input, grad_output):
    if grad_input[0] is not None:
        return (jnp.clip(grad_input[0], -1, 1),)


@pytest.mark.parametrize(
    "hook", [_clip, lambda module, gi, go: (None if gi[0] is None else jnp.clip(gi[0], -1, 1),)], ids=["if", "tuple"]
)
def test_a_modifier_that_has_nothing_to_modify_is_no_callback(hook):
    """The input of the first layer needs no gradient."""
    graph, state = nnx.split(nnx.Sequential(*(nnx.Linear(2, 2, rngs=nnx.Rngs(0)) for _ in range(2))))

    def loss(state):
        model = nnx.merge(graph, state)
        hooks.register_backward_hook(model, hook, "layers.*")
        return (model(X) * 100).sum()

    step = jax.jit(jax.grad(loss))
    assert "callback" not in step.lower(state).as_text()
    gradient = step(state)["layers"][0]["bias"][...]
    np.testing.assert_allclose(np.abs(gradient), [1, 1])


class Slotted:
    __slots__ = ("runs",)

    def __init__(self):
        self.runs = 0


class Tally:
    runs = 0
    steps = []  # of all

    @classmethod
    def take(cls):
        cls.runs += 1
        cls.steps.append(cls.runs)


class Recorder:
    def __call__(self):
        global RUNS_SO_FAR
        RUNS_SO_FAR += 1


RUNS_SO_FAR = 0


def counters():
    """{where a count is kept: (what counts one more, what reads the count)}"""
    slotted, array, data, recorder = Slotted(), np.zeros(2), bytearray(), Recorder()

    def in_slot():
        slotted.runs += 1

    def in_array():
        array[1] += 1

    Tally.runs, Tally.steps[:] = 0, []
    return {
        "a slot": (in_slot, lambda: slotted.runs),
        "a numpy array": (in_array, lambda: array[1]),
        "a bytearray": (lambda: data.append(1), lambda: len(data)),
        "a class": (Tally.take, lambda: (Tally.runs + len(Tally.steps)) / 2),
        "a global that a method names": (recorder, lambda: RUNS_SO_FAR),
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("where", counters())
def test_a_hook_that_is_tried_counts_each_run_once(where, way):
    global RUNS_SO_FAR
    RUNS_SO_FAR = 0
    model, (count, counted) = model_(), counters()[where]

    def hook(module, args, output):
        count()
        return output * 2 if model is None else None

    run = WAYS[way](model)
    with hooks.register_forward_hook(model, hook, "layers.0"):
        for _ in range(2):
            jax.block_until_ready(run(X))
        hooks.barrier()
    assert counted() == 2
