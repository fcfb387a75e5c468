"""Tools that find faults, under the settings with which jax itself looks for faults."""

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from msjax.tools import Fault, check, find_nan, guard, replay


def log(x):
    return jnp.log(x).sum()


class Log(nnx.Module):
    def __call__(self, x):
        return jnp.log(x)


@pytest.mark.parametrize("setting", [jax.debug_nans, jax.debug_infs])
def test_find_nan_and_guard_say_where_a_nan_came_from_though_jax_would_raise(setting, tmp_path):
    model = nnx.Sequential(nnx.tanh, Log())
    with setting(True):
        fault = find_nan(model, jnp.array([-1.0, 1.0]), show=False)
        assert (fault.path, fault.operation) == ("layers.1", "log")
        with pytest.raises(Fault) as raised:
            guard(jax.jit(log), bundle=tmp_path / "crash.npz")(jnp.array([1.0, -1.0]))
        assert raised.value.operation == "log"
        assert replay(tmp_path / "crash.npz", log, show=False).operation == "log"


def test_a_guard_against_nan_leaves_infinite_numbers_to_jax():
    assert guard(log)(jnp.array([0.0])) == -jnp.inf
    with jax.debug_infs(True), pytest.raises(FloatingPointError, match="inf"):
        guard(log)(jnp.array([0.0]))


def below_three(x):
    check(x.sum() < 3, "sum {s}", s=x.sum())
    return x


@pytest.mark.parametrize(
    "step, wrong, operation",
    [
        (below_three, jnp.array([4.0, 0.0]), "check"),
        (lambda i: jnp.eye(4)[i], jnp.array([1, 7]), "gather"),
        (lambda i: jnp.zeros((4, 2)).at[i].set(1.0), jnp.array([1, 7]), "scatter"),
        (lambda i: jax.lax.dynamic_slice(jnp.zeros((4, 2)), (i, i), (2, 2)), jnp.array(1), "dynamic_slice"),
        (jax.vmap(lambda i: jnp.eye(4)[i]), jnp.array([[1], [7]]), "gather"),
        (lambda n: 6 // n, jnp.array([[1, 0]]), "div"),
    ],
    ids=["check", "gather", "scatter", "slice", "vmap", "division"],
)
@pytest.mark.parametrize("setting", [jax.debug_nans, jax.numpy_rank_promotion, jax.numpy_dtype_promotion, jax.checking_leaks])
def test_checks_of_steps(step, wrong, operation, setting):
    value = {jax.numpy_rank_promotion: ("raise",), jax.numpy_dtype_promotion: ("strict",), jax.debug_nans: (True,)}.get(
        setting, ()
    )
    with setting(*value), pytest.raises(Fault) as raised:
        guard(step, checks="all")(wrong)
    assert raised.value.operation == operation
