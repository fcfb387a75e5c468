"""The table as tests.

By default so many of its combinations run that each owner meets each way, and each kind all that runs ways; `ENGINE_TABLE=whole pytest tests/engine`
runs all of them, and `-k "nnx_in_cell and jit_gradient"` selects.
"""

import os

import jax
import numpy as np
import pytest

from tests.engine import by_hand, networks, table
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
    assert set().union(*(table.meets(*c) for c in every)) == set().union(*(table.meets(*c) for c in some))
    assert {place for c in table.combinations(whole=True) for place in enumerate(c)} == {
        place for c in some for place in enumerate(c)
    }


def test_what_differs_today_is_in_the_table():
    listed = {(owner, way, kind) for (owner, way), kinds in TODAY.items() for kind in kinds}
    assert listed <= set(table.combinations(whole=True))


# Owners whose eager run is a reference, with the kinds of which can be said by hand what they do.
BY_HAND = [
    (owner, kind)
    for owner in table.OWNERS
    for kind in table.KINDS
    if table.OWNERS[owner].like is None and (kind in by_hand.KINDS or table.KINDS[kind].factors)
    if table.KINDS[kind].takes(table.OWNERS[owner], table.WAYS["jax"]) is None
]


@pytest.mark.parametrize(("owner", "kind"), BY_HAND)
def test_the_eager_run_is_right(owner, kind):
    factors = table.KINDS[kind].factors
    value, gradient = jax.value_and_grad(by_hand.total(**factors))(networks.example(), networks.weight("inner"))
    for run in table.reference(owner, kind).runs:
        np.testing.assert_allclose(run.value, value, rtol=1e-5)
        np.testing.assert_allclose(run.gradients["x"], gradient, rtol=1e-5)
        if not factors:
            calls = by_hand.calls()[kind]
            assert len(run.log) == len(calls)
            for (_, _, *got), want in zip(run.log, calls):
                jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), tuple(got), want)
