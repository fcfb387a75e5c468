"""Programs of compiled functions on disk: what their key tells apart, and what is traced in each process. Attacks: `tests.programs.attacks`."""

import builtins
import collections
import dataclasses
import functools
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn, ops
from msjax.common.random import default_generator
from msjax.core.base import context
from msjax.core.base.weak import LiveSet
from msjax.engine.compile import description, stored
from msjax.engine.compile.description import StateDescription
from msjax.engine.programs import cache, own_state
from msjax.engine.programs.reach import Undescribable
from tests.programs.stores import store_in

_ALONE = "MSJAX_TEST_ALONE"
FACTOR, TABLE, ARRAY = 2.0, {"by": [1.0, 2.0]}, np.arange(3.0)


@dataclasses.dataclass
class Config:
    scale: float = 2.0


CONFIG = Config()


def helper(x, by=1.0):
    return x * by * FACTOR * TABLE["by"][1]


class Net(nn.Cell):
    shift = 0.5

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, 3, weight_init="ones", bias_init="zeros")
        self.factor = 1.0

    def twice(self, x):
        return x * 2

    def construct(self, x):
        return helper(self.twice(self.dense(x))) * self.factor + self.shift * CONFIG.scale + Tensor(ARRAY)


@pytest.fixture(autouse=True)
def no_other_hooked_models(monkeypatch):
    """Models with hooks that other tests of the process have left, and jax's caches keep: with one, nothing is described."""
    monkeypatch.setattr(description, "WITH_HOOKS", LiveSet())


def text(net):
    return StateDescription([net], [Tensor(np.ones((2, 3), np.float32))], None).text


CHANGES = {
    "an attribute": lambda net, patch: patch.setattr(net, "factor", 3.0),
    "an attribute of the class": lambda net, patch: patch.setattr(Net, "shift", 1.5),
    "a method": lambda net, patch: patch.setattr(Net, "twice", lambda self, x: x * 3),
    "a global": lambda net, patch: patch.setitem(helper.__globals__, "FACTOR", 3.0),
    "an item within a global": lambda net, patch: patch.setitem(TABLE, "by", [1.0, 3.0]),
    "an array": lambda net, patch: patch.setitem(Net.construct.__globals__, "ARRAY", ARRAY + 1),
    "a field": lambda net, patch: patch.setattr(CONFIG, "scale", 3.0),
    "a default": lambda net, patch: patch.setattr(helper, "__defaults__", (3.0,)),
    "a helper": lambda net, patch: patch.setitem(helper.__globals__, "helper", lambda x: x),
    "a cell within": lambda net, patch: patch.setattr(net, "dense", nn.Dense(3, 3, has_bias=False)),
    "a type": lambda net, patch: patch.setattr(net, "dense", nn.Dense(3, 3, dtype=ms.float16)),
    "a weight that is not trained": lambda net, patch: patch.setattr(net.dense.weight, "requires_grad", False),
    "training": lambda net, patch: net.set_train(True),
    "a setting": lambda net, patch: patch.setattr(context.SETTINGS, "hook_dialect", "mindspore-1"),
    "a shared weight": lambda net, patch: setattr(net, "other", net.dense),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_descriptions_differ_where_traces_may(change, monkeypatch):
    net = Net()
    before = text(net)
    assert text(Net()) == before
    change(net, monkeypatch)
    assert text(net) != before


def of_time(x):
    return x * time.monotonic()


def of_file(x):
    return x * float(open(str(FACTOR)).read())


def of_generator(x):
    return x * np.random.rand()


def of_import(x):
    import math

    return x * math.pi


def of_global(x):
    global FACTOR
    FACTOR = FACTOR + 0
    return x


def of_inner(x):
    return (lambda: x * time.time())()


@pytest.mark.parametrize("function", [of_time, of_file, of_generator, of_import, of_global, of_inner], ids=lambda f: f.__name__)
def test_code_that_reads_more_than_it_reaches_has_no_description(function):
    with pytest.raises(Undescribable):
        StateDescription([function], [], None)


class Number(float):
    pass


@functools.singledispatch
def dispatched(x):
    return x


def of_dispatch(x):
    return dispatched(x)


def of_builtins(x):
    return x * made_by_a_program  # noqa: F821


def of_module(x):
    return x * collections.made_by_a_program


@ms.jit
def jitted(x):
    return x * FACTOR


def of_jitted(x):
    return jitted(x)


def holding(value):
    return lambda x: x * value


HIDDEN = {
    "a number with a class of its own": lambda: holding(Number(2.0)),
    "an array with a class of its own": lambda: holding(np.ones(2).view(type("Own", (np.ndarray,), {}))),
    "a queue with a class of its own": lambda: holding(type("Own", (collections.deque,), {})([1.0])),
    "a class that a library made": lambda: holding(type("Own", (), {"__module__": "types", "a": 1.0})),
    "a function that numpy made": lambda: holding(np.frompyfunc(abs, 1, 1)),
    "a function that functools made of the user's": lambda: of_dispatch,
    "a function that is compiled": lambda: of_jitted,
}


@pytest.mark.parametrize("made", HIDDEN.values(), ids=HIDDEN.keys())
def test_what_libraries_hold_of_the_user_s_has_no_description(made):
    with pytest.raises(Undescribable):
        StateDescription([made()], [], None)


@pytest.mark.parametrize("module, function", [(builtins, of_builtins), (collections, of_module)])
def test_names_that_a_program_gives_to_python_s_modules(module, function, monkeypatch):
    monkeypatch.setattr(module, "made_by_a_program", 2.0, raising=False)
    before = StateDescription([function], [], None).text
    monkeypatch.setattr(module, "made_by_a_program", 3.0)
    assert StateDescription([function], [], None).text != before


def test_cells_with_hooks_have_no_description():
    net = Net()
    handle = net.dense.register_forward_hook(lambda cell, inputs, output: output)
    with pytest.raises(Undescribable, match="hooks"):
        text(net)
    handle.remove()
    text(net)


@pytest.fixture
def store(tmp_path, monkeypatch):
    with store_in(tmp_path / "msjax", tmp_path / "jax", monkeypatch) as made:
        monkeypatch.setattr(stored, "STORE", cache.STORE)
        monkeypatch.setattr(stored.OWN_STATE, "now", dict)
        # What other tests have left: models with hooks, and a generator that has served another device.
        monkeypatch.setattr(description, "WITH_HOOKS", ())
        monkeypatch.setattr(default_generator, "_state", None)
        yield made


def test_a_step_is_found_without_tracing():
    # In a process of its own: a program is traced wherever the process has become another one, as other tests make it.
    case = f"{__file__}::test_a_step_is_found_in_this_process"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", case]
    done = subprocess.run(command, env={**os.environ, _ALONE: "1"}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.split()[0] == ".", done.stdout + done.stderr


@pytest.mark.skipif(_ALONE not in os.environ, reason="test_a_step_is_found_without_tracing runs it in a process of its own")
def test_a_step_is_found_in_this_process(store, monkeypatch):
    def step():
        net = Net()
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        return nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)

    def losses(step):
        x = Tensor(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))
        y = Tensor(np.ones((2, 3), np.float32))
        return [step(x, y).asnumpy().tobytes() for _ in range(3)], step.network._backbone.dense.weight.asnumpy().tobytes()

    monkeypatch.setattr(context.SETTINGS, "mode", ms.GRAPH_MODE)
    first = losses(step())
    store.flush()
    traced = []
    construct = Net.construct
    with monkeypatch.context() as patch:
        # The code is the same, and says when it runs.
        patch.setattr(ms.nn.Cell, "call_uncompiled", lambda self, *_: traced.append(self) or pytest.fail("it was traced"))
        assert losses(step()) == first and Net.construct is construct and not traced
    other = step()
    other.network._backbone.factor = 2.0
    assert losses(other) != first


def test_what_tracing_changes_is_not_left_out(store, monkeypatch):
    seen = []

    def counting(x):
        seen.append(x.shape)
        return ops.tanh(x)

    for _ in range(2):
        ms.jit(counting)(Tensor([1.0, 2.0]))
        store.flush()
    assert len(seen) >= 2


def test_what_was_replaced_in_msjax_is_noticed(monkeypatch):
    state = own_state.OwnState()
    before = state.now()
    if before is None:
        pytest.skip("another test has replaced something")
    assert state.agrees(before)
    with monkeypatch.context() as patch:
        patch.setattr(ops, "tanh", ops.sin)
        assert not state.agrees(before)
        replaced = state.now()
    assert state.agrees(before) and not state.agrees(replaced)
    monkeypatch.setattr(nn.BatchNorm1d, "construct", lambda self, x: x)
    assert not state.agrees(before)


def test_the_log_says_why_a_function_is_traced(store, monkeypatch, caplog):
    monkeypatch.setenv("GLOG_v", "1")
    found = {
        "uses time": lambda: ms.jit(of_inner)(Tensor([1.0])),
        "passed twice": lambda: (lambda x: ms.jit(lambda a, b: a + b)(x, x))(Tensor([1.0])),
    }
    for why, run in found.items():
        caplog.clear()
        run()
        assert [why in r.getMessage() and "traced in each process" in r.getMessage() for r in caplog.records] == [True]
    caplog.clear()
    monkeypatch.setenv("GLOG_v", "2")
    ms.jit(of_inner)(Tensor([1.0, 2.0]))
    assert not caplog.records
