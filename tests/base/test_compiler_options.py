"""Options of XLA: where barriers of `jax.lax.optimization_barrier` may last, and what that changes."""

import jax
import jax.numpy as jnp
import pytest

from msjax.core.base.compiler_options import lasting_barriers

X = jnp.linspace(0.5, 2.0, 8)
held = jax.lax.optimization_barrier


def in_a_loop(x):
    return jax.lax.scan(lambda c, _: (held(c * 2) + 1, c), x, None, length=3)


def in_a_loop_of_a_function(x):
    return jax.lax.scan(lambda c, _: (jax.jit(held)(c * 2) + 1, c), x, None, length=3)


def in_a_branch(x):
    return jax.lax.cond(x[0] > 0, lambda x: held(x * 2) + 1, lambda x: x, x)


def computed_again_in_a_loop(x):
    again = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    return jax.grad(lambda x: jax.lax.scan(lambda c, _: (again(c), c), x, None, length=3)[0].sum())(x)


def beside_a_loop(x):
    return held(jax.lax.fori_loop(0, 3, lambda i, x: x * 2, held(x + 1)))


def of_a_function(x):
    twice = jax.jit(lambda x: held(x * 2) + 1)
    return twice(twice(x))


def computed_again(x):
    return jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x).sum())(x)


def of_several_values(x):
    a, b, n = held((x * 2, x > 1, jnp.arange(3)))
    return a + 1, a, b, n


@pytest.mark.parametrize("fn", [in_a_loop, in_a_loop_of_a_function, in_a_branch, computed_again_in_a_loop])
def test_barriers_inside_of_loops_and_branches_do_not_last(fn):
    assert lasting_barriers(jax.make_jaxpr(fn)(X).jaxpr) == {}


@pytest.mark.parametrize("fn", [beside_a_loop, of_a_function, computed_again, of_several_values])
@pytest.mark.parametrize("shape", [(), (4,), (1 << 21,)])
def test_with_barriers_that_last_results_are_the_same(fn, shape):
    x = jnp.linspace(0.5, 2.0, max(1, sum(shape))).reshape(shape)
    options = lasting_barriers(jax.make_jaxpr(fn)(x).jaxpr)
    assert bool(options) == jax.__version__.startswith(("0.10.", "0.12."))
    expected, found = jax.jit(fn)(x), jax.jit(fn, compiler_options=options)(x)
    jax.tree.map(lambda a, b: (a == b).all() or pytest.fail(f"{a} {b}"), expected, found)


def test_what_lies_behind_a_barrier_that_lasts_is_computed_once():
    def fn(x):
        seen = held(jnp.sin(x))
        return seen, held(jnp.cos(seen)), jnp.cos(seen) + seen

    text = jax.jit(fn, compiler_options=lasting_barriers(jax.make_jaxpr(fn)(X).jaxpr)).lower(X).compile().as_text()
    assert text.count(" sine(") == 1


def test_options_for_xla_of_the_environment_stay(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_disable_hlo_passes=all-reduce-combiner")
    assert lasting_barriers(jax.make_jaxpr(of_several_values)(X).jaxpr) == {}
