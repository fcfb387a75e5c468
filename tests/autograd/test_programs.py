"""How operators are compiled, and how many of their programs are kept."""

import importlib.metadata
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax.common import programs
from msjax.common.programs import Programs, is_nested, quick_options, run


def doubled(key):
    return lambda x: x * 2 + key


@pytest.fixture
def small_cache():
    before = ms.get_context("program_cache_size")
    ms.set_context(program_cache_size=8)
    yield
    ms.set_context(program_cache_size=before)


def test_programs_that_were_not_used_for_longest_are_dropped(small_cache):
    made = []
    table = Programs(lambda key: made.append(key) or doubled(key))
    x = jnp.ones(2)
    for key in range(12):
        assert table[key](x)[0] == 2 + key
        assert table[0](x)[0] == 2  # 0 is used all the time
        assert len(table) + len(table._aside) <= 9
    assert made == list(range(12))
    assert table[11](x)[0] == 13 and made == list(range(12))
    assert table[1](x)[0] == 3 and made[-1] == 1


def test_what_fails_is_not_kept():
    table = Programs(lambda key: lambda x: x.reshape(key))
    with pytest.raises(TypeError, match="reshape"):
        table[5](jnp.ones(3))
    assert not table


def test_a_function_of_many_signatures_finds_its_programs_by_signature(monkeypatch):
    monkeypatch.setattr(programs, "_SIGNATURES", 2)
    traced = []
    table = Programs(lambda key: lambda x: traced.append(x.shape) or x + 1)
    for n in (1, 2, 3, 1, 2, 3):
        assert table[()](jnp.ones(n)).tolist() == [2.0] * n
    assert traced == [(1,), (2,), (3,)]
    assert table[()](2.5) == 3.5 and table[()](2) == 3


def test_one_warning_names_the_cell_that_is_compiled_for_many_shapes(monkeypatch):
    monkeypatch.setattr(programs, "_SIGNATURES", 2)

    class Net(ms.nn.Cell):
        def construct(self, x):
            return ms.ops.tanh(ms.ops.relu(x) + 1)

    net = Net()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(31, 35):
            net(ms.Tensor(np.ones(n, "float32")))
    (warning,) = caught
    assert "in cell Net" in str(warning.message) and "buckets" in str(warning.message)


def test_operators_run_inside_of_jax_transformations():
    a = ms.Tensor(np.ones((2, 3), "float32"))
    grad = ms.grad(lambda x: ms.ops.relu(x).sum())

    @jax.jit
    def f(x):
        # The operands of most operators here are constants to jax.
        return (a * a + grad(a) + a.max() + ms.Tensor(x))._value

    assert f(jnp.ones((2, 3))).tolist() == [[4.0] * 3] * 2


def test_compiler_options_are_asked_for_only_where_they_exist(monkeypatch):
    quick_options.cache_clear()
    try:
        monkeypatch.setattr(importlib.metadata, "version", lambda _: "0.12.0")
        assert quick_options() == {}
        quick_options.cache_clear()
        monkeypatch.setattr(importlib.metadata, "version", lambda _: "0.10.2")
        monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=true")
        assert quick_options()["xla_cpu_parallel_codegen_split_count"] == 1
        assert "xla_cpu_use_fusion_emitters" not in quick_options()
        quick_options.cache_clear()
        monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
        assert quick_options() == {}
    finally:
        quick_options.cache_clear()


@pytest.mark.parametrize(
    ("fn", "by_size"),
    [
        (lambda x: x + 1, False),
        (lambda x: x.T + 1, True),
        (lambda x: x.T @ x, False),
        (lambda x: x.reshape(-1), False),
        (lambda x: x.reshape(-1) + 1, True),
        (lambda x: x.reshape(2, 1, 3) + 1, False),
        (lambda x: jax.jit(lambda y: y.T)(x), True),
    ],
)
def test_programs_that_move_elements_have_options_by_size(fn, by_size):
    if not quick_options():
        pytest.skip("this jaxlib has one set of options")
    assert programs.compile_operator(fn, (jnp.ones((2, 3)),))[1] is by_size


def test_a_compiled_function_within_a_transformation_is_the_function():
    table = Programs(doubled)
    x = jnp.ones(2)
    assert run(table, 1, (x,)).tolist() == [3.0, 3.0]
    assert jax.jit(lambda y: y + run(table, 1, (x,)))(x).tolist() == [4.0, 4.0]
    assert not is_nested(ValueError("something else"))
