"""The table as tests.

By default so many of its combinations run that every two of an owner, a way and a kind meet; `ENGINE_TABLE=whole pytest tests/engine`
runs all of them, and `-k "nnx_in_cell and jit_gradient"` selects.
"""

import os

import jax
import numpy as np
import pytest

from tests.engine import networks, table
from tests.engine.today import TODAY

WHOLE = os.environ.get("ENGINE_TABLE") == "whole"


def _fails_today(owner, way, kind):
    return kind in TODAY.get((owner, way), ())


def _parameter(*place):
    return pytest.param(*place, marks=[pytest.mark.xfail(strict=True)] if _fails_today(*place) else [], id="-".join(place))


@pytest.mark.parametrize(("owner", "way", "kind"), [_parameter(*c) for c in (table.combinations if WHOLE else table.some)()])
def test_equals_the_eager_run(owner, way, kind):
    if _fails_today(owner, way, kind):
        # Without the traceback, which takes longer to show than the run.
        if differs := table.outcome(owner, way, kind):
            pytest.fail(differs, pytrace=False)
    else:
        lines = table.differences(owner, way, kind)
        assert not lines, "\n".join(lines)


def test_some_combinations_have_all_owners_ways_and_kinds():
    every, some = table.combinations(), table.some()
    for one in range(3):
        assert {c[:one] + c[one + 1 :] for c in every} == {c[:one] + c[one + 1 :] for c in some}


def test_what_differs_today_is_in_the_table():
    listed = {(owner, way, kind) for (owner, way), kinds in TODAY.items() for kind in kinds}
    assert listed <= set(table.combinations())


# The places of the factors of each kind of modifier.
BY_HAND = {
    "forward_pre_modify": {"body_in": 3.0, "inner_in": 0.5},
    "forward_modify": {"inner_out": 0.5, "body_out": 3.0},
    "backward_pre_modify": {"inner_out": 0.5, "body_out": 3.0, "backward": True},
    "backward_modify": {"body_in": 3.0, "inner_in": 0.5, "backward": True},
}


@pytest.mark.parametrize("kind", [*BY_HAND, *networks.calls_by_hand()])
@pytest.mark.parametrize("owner", table.OWNERS)
def test_the_eager_run_is_right(owner, kind):
    value, gradient = jax.value_and_grad(networks.by_hand(**BY_HAND.get(kind, {})))(networks.X)
    calls = networks.calls_by_hand().get(kind, [])
    for found, gradients, log in table.reference(owner, kind).runs:
        np.testing.assert_allclose(found, value, rtol=1e-5)
        np.testing.assert_allclose(gradients["x"], gradient, rtol=1e-5)
        assert len(log) == len(calls)
        for (_, _, *got), want in zip(log, calls):
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), tuple(got), want)
