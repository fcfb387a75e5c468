"""Which values a guard needs no flag for, and that the operations it knows make no wrong values themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from msjax.core.tools.guarding import guard_places as module
from msjax.core.tools.guarding.guard_places import implied

# Every number that is no NaN may be among the operands of these.
ALL = np.array([0.0, -0.0, 1.0, -2.5, 3e38, -3e38, 1e-45, np.inf, -np.inf], "float32")
OPERATIONS = {
    "abs": jnp.abs, "broadcast_in_dim": lambda x: jnp.broadcast_to(x, (2, 9)), "clamp": lambda x: lax.clamp(x[3], x, x[2]),
    "concatenate": lambda x: jnp.concatenate([x, x]), "cummax": lax.cummax, "cummin": lax.cummin, "max": lambda x: jnp.maximum(x, x[::-1]),
    "min": lambda x: jnp.minimum(x, 0), "neg": jnp.negative, "pad": lambda x: jnp.pad(x, 1), "reduce_max": jnp.max, "reduce_min": jnp.min,
    "reduce_window_max": lambda x: lax.reduce_window(x, -np.inf, lax.max, (2,), (1,), "SAME"), "reshape": lambda x: x.reshape(3, 3),
    "rev": lambda x: x[::-1], "slice": lambda x: x[2:5], "squeeze": lambda x: x[:1].squeeze(), "transpose": lambda x: x.reshape(3, 3).T,
    "select_n": lambda x: jnp.where(x > 1, x, 0), "dynamic_slice": lambda x: lax.dynamic_slice(x, (2,), (3,)),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, x[:2], (3,)), "ceil": jnp.ceil, "erf": lax.erf, "exp": jnp.exp,
    "exp2": jnp.exp2, "expm1": jnp.expm1, "floor": jnp.floor, "logistic": jax.nn.sigmoid, "round": jnp.round, "sign": jnp.sign,
    "tanh": jnp.tanh, "convert_element_type": lambda x: x.astype(jnp.float64 if jax.config.jax_enable_x64 else jnp.float32),
    "custom_jvp_call": jax.nn.relu,
}  # fmt: skip


def known(fn, on, *args):
    """Whether each of the values that a function returns needs no flag, the first argument being looked at first."""
    told = []

    def run(x, *more):
        told.append(implied([x, *jax.tree.leaves(fn(x, *more))], on)[1:])
        return x

    jax.make_jaxpr(run)(*args)
    return told[0]


@pytest.mark.parametrize("on", ["nan", "inf"])
def test_operations_that_are_known_make_nothing_wrong(on):
    x = ALL if on == "nan" else ALL[np.isfinite(ALL)].repeat(2)[:9]
    makes = {"exp", "exp2", "expm1"} if on == "inf" else set()
    for name, fn in OPERATIONS.items():
        assert known(fn, on, x) == [name not in makes], name
        result = np.asarray(jax.jit(fn)(x))
        assert not (np.isnan(result) if on == "nan" else ~np.isfinite(result)).any() or name in makes, name
    named = {str(eqn.primitive) for fn in OPERATIONS.values() for eqn in jax.make_jaxpr(fn)(ALL).eqns}
    assert len((module._PICKS | module._NO_NAN | set(module._OPERANDS)) & named) >= 26


def test_what_needs_a_flag():
    def fn(x, y):
        hidden, scaled = jax.nn.relu(x), x * 2
        return hidden, scaled, jnp.tanh(scaled), hidden + scaled, jnp.maximum(hidden, y), x.sum(), x / 2, jax.nn.relu(hidden)

    assert known(fn, "nan", ALL, ALL) == [True, False, True, False, False, False, False, True]
    # Where it is looked at after what it is made of only.
    assert known(lambda x: (jnp.tanh(x * 2), x * 2)[::-1], "nan", ALL) == [False, False]
    assert known(lambda x: jnp.where(x > 0, x, jnp.nan), "nan", ALL) == [False]
    assert known(lambda x: jnp.maximum(x, jnp.inf), "inf", ALL) == [False] and known(jnp.tanh, lambda x: x > 1, ALL) == [False]
    assert known(lambda x: x.astype(jnp.float16), "inf", ALL) == [False] and known(lambda x: abs(x + 0j), "nan", ALL) == [False]
