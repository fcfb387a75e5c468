"""How often compiled code is compiled anew, when it gives up, and which programs are kept."""

import collections
import functools

import haiku
import jax
import numpy as np
import pytest

import msjax as ms
from msjax import hooks, nn
from tests.compile.calls import Calls, f32, in_graph_mode, warned


@pytest.mark.parametrize("new_log", [list, collections.deque, lambda: collections.deque(maxlen=3)])
def test_logs_compile_nothing_anew(new_log):
    log, traced = new_log(), []
    net = nn.ReLU()

    @ms.jit
    def f(x):
        traced.append(1)
        y = net(x)
        y.register_hook(lambda grad: log.append(grad))
        return (y * y).sum()

    net.register_forward_hook(lambda cell, args, out: log.append(out))
    g = ms.jit(lambda x: ms.grad(f)(x))
    for _ in range(5):
        g(f32(3))
    assert len(log) == (getattr(log, "maxlen", None) or 10) and len(traced) == 1 and g.compilations() == 1


def test_modules_found_by_a_run_of_a_hooked_model_compile_nothing_anew():
    body = hooks.hooked(haiku.without_apply_rng(haiku.transform(lambda x: haiku.Linear(3, name="inner")(x))))
    params, seen = body.init(jax.random.key(0), np.ones(2, "float32")), []
    hooks.register_forward_hook(body, lambda module, inputs, output: seen.append(output.shape), "inner")
    net = Calls(lambda self, x: self.apply(x).sum(), apply=ms.from_jax(functools.partial(body.apply, params)))
    step = ms.jit(ms.value_and_grad(net))
    for _ in range(3):
        step(f32(1, 3))
    assert seen == [(3,)] * 3 and step.compilations() == 1


def test_side_effects_happen_once_where_it_falls_back():
    seen = {"n": 0}

    def construct(self, x):
        self.calls += 1
        self.list.append(self.calls)
        self.options["n"] = self.calls
        seen["n"] += 1
        global GLOBAL_COUNT
        GLOBAL_COUNT += 1
        return x * 2 if float(x[0]) > 0 else x

    global GLOBAL_COUNT
    for compiled in (ms.jit, in_graph_mode):
        GLOBAL_COUNT, seen["n"] = 0, 0
        net = Calls(construct, calls=0, list=[], options={})
        fast = compiled(net)
        for n in range(1, 6):
            warned(fast, f32(1))
            assert net.calls == n and net.list == [*range(1, n + 1)] and net.options == {"n": n} and seen["n"] == n
            assert GLOBAL_COUNT == n


def test_state_that_changes_at_each_run_ends_in_pynative_mode():
    net = Calls(lambda self, x: x * self.count(), calls=0)
    net.count = lambda: setattr(net, "calls", net.calls + 1) or net.calls
    jitted = ms.jit(net)
    messages = []
    for n in range(1, 10):
        out, caught = warned(jitted, f32(1))
        messages += caught
        assert out.tolist() == [n]
    assert len(messages) == 1 and "changes" in messages[0] and jitted.compilations() < 6


def test_an_error_of_msjax_itself_is_raised(monkeypatch):
    from msjax.engine.compile import attempt, trace

    def broken(*_args):
        raise ZeroDivisionError("a fault of msjax")

    f = ms.jit(lambda x: x * 2)
    for owner, name in ((attempt, "Observing"), (trace.Trace, "see")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, broken)
            with pytest.raises(ZeroDivisionError, match="a fault of msjax"):
                f(f32(1))
    assert f(f32(1)).tolist() == [2]


def test_a_function_with_too_many_programs_begins_anew(monkeypatch):
    from msjax.engine.compile import compiled as compileds

    monkeypatch.setattr(compileds, "KEPT", 4)
    net = Calls(lambda self, x, n: x * n * self.k, k=1)
    f = ms.jit(net)
    for n in (0, 1, 2, 3, 0, 1):
        assert f(f32(1), n).tolist() == [n]
    assert f.compilations() == 4
    net.k = 2
    assert [f(f32(1), n).tolist() for n in (4, 4)] == [[8], [8]] and f.compilations() == 5
    net.k = 1
    assert f(f32(1), 3).tolist() == [3] and f.compilations() == 6
