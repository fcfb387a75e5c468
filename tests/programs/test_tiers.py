"""Large programs in two tiers: which one runs at which call, and where there is only one."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax.engine.programs import compiler_options, tiers
from msjax.engine.programs.compiler_options import compile_program
from msjax.engine.programs.tiers import TieredProgram

X = np.arange(6, dtype=np.float32).reshape(2, 3)
EXPECTED = [[5.0, 14.0], [14.0, 50.0]]


@pytest.fixture
def compiled(monkeypatch):
    """The options with which programs are compiled after they were lowered."""
    found, original = [], jax.stages.Lowered.compile

    def compile(self, compiler_options=None, **rest):
        found.append(compiler_options)
        return original(self, compiler_options, **rest)

    monkeypatch.setattr(jax.stages.Lowered, "compile", compile)
    monkeypatch.setattr(tiers, "has_core_for_threads", lambda: True)
    monkeypatch.setattr(TieredProgram, "allowed", True)
    return found


def product():
    return TieredProgram(jax.jit(lambda x: x @ x.T), {"xla_backend_optimization_level": 0})


@pytest.fixture
def tasks(monkeypatch):
    """What a thread would do, for the test to do."""
    found = []

    class Thread:
        def __init__(self, target, name):
            self.start = lambda: found.append(target)

    monkeypatch.setattr(tiers, "threading", types.SimpleNamespace(Thread=Thread))
    return found


def test_the_optimized_program_is_compiled_from_the_second_call_on_and_takes_over(compiled, tasks):
    program = product()
    assert program(X).tolist() == EXPECTED
    assert compiled == [{"xla_backend_optimization_level": 0}] and not tasks
    assert program(X).tolist() == EXPECTED
    tasks.pop()()
    assert compiled == [{"xla_backend_optimization_level": 0}, None]
    assert program(X).tolist() == EXPECTED and len(compiled) == 2


def test_results_that_are_to_be_the_same_in_each_run_come_from_the_optimized_program(compiled):
    begun = product()
    begun(X)
    compiled.clear()
    try:
        ms.set_context(deterministic="ON")
        assert ms.get_context("deterministic") == "ON"
        assert product()(X).tolist() == EXPECTED and begun(X).tolist() == EXPECTED
        ms.set_deterministic(False)
        assert ms.get_context("deterministic") == "OFF" and TieredProgram.allowed
    finally:
        ms.set_context(deterministic="OFF")
    assert compiled == []


def test_nothing_competes_for_a_single_core(compiled, monkeypatch):
    monkeypatch.setattr(tiers, "has_core_for_threads", lambda: False)
    program = product()
    assert [program(X).tolist() for _ in range(3)] == [EXPECTED] * 3 and compiled == []


def test_other_operands_settings_and_traces_go_to_the_jitted_function(compiled, tasks):
    program = product()
    program(X)
    assert program(X[:1]).tolist() == [[5.0]]
    with jax.default_matmul_precision("highest"):
        assert program(X).tolist() == EXPECTED
    assert jax.jit(program)(X).tolist() == EXPECTED
    traced_first = product()
    assert jax.jit(traced_first)(X).tolist() == EXPECTED and traced_first(X).tolist() == EXPECTED


def test_a_program_that_cannot_be_optimized_ahead_fails_where_it_is_called(compiled, tasks):
    calls = []

    class Jitted:
        def lower(self, *values):
            return self

        def compile(self, compiler_options=None):
            if compiler_options is None:
                raise RuntimeError("no memory")
            return lambda *values: "first"

        def __call__(self, *values):
            calls.append(values)
            raise RuntimeError("no memory")

    program = TieredProgram(Jitted(), {"xla_backend_optimization_level": 0})
    assert [program(1), program(1)] == ["first", "first"]
    tasks.pop()()
    with pytest.raises(RuntimeError, match="no memory"):
        program(1)
    assert calls == [(1,)]


def test_programs_with_many_small_equations_have_two_tiers(compiled, monkeypatch):
    monkeypatch.setattr(compiler_options, "_LARGE", 6)
    monkeypatch.setattr(compiler_options, "large_options", lambda: {"xla_backend_optimization_level": 1})

    def fn(x):
        for _ in range(6):
            x = jnp.tanh(x)
        return x @ x.T

    for few, tiered in ((7, True), (5, False)):  # arrays of 6 elements, and the product's of 4
        monkeypatch.setattr(compiler_options, "_FEW", few)
        compiled.clear()
        np.testing.assert_allclose(compile_program(fn, jax.make_jaxpr(fn)(X).jaxpr)(X), fn(X), rtol=1e-6)
        assert compiled == ([{"xla_backend_optimization_level": 0}] if tiered else [])


def test_programs_with_many_different_equations_have_two_tiers(compiled, monkeypatch):
    monkeypatch.setattr(compiler_options, "_LARGE", 3)
    monkeypatch.setattr(compiler_options, "_FEW", 0)
    monkeypatch.setattr(compiler_options, "large_options", lambda: {"xla_backend_optimization_level": 1})

    def fn(x):
        return jnp.tanh(x @ x.T) + 1

    for function, tiered in ((fn, True), (lambda x: x @ x.T, False), (lambda x: jnp.tanh(x) + x * x - 1, False)):
        compiled.clear()
        program = compile_program(function, jax.make_jaxpr(function)(X).jaxpr)
        np.testing.assert_allclose(program(X), function(X), rtol=1e-6)
        assert compiled == ([{"xla_backend_optimization_level": 0}] if tiered else [])
