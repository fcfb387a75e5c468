"""The table as tests.

By default so many of its combinations run that owners and main kinds meet all that runs ways, other kinds msjax and jax, and each way is there;
`python -m tests.engine` and `ENGINE_TABLE=whole pytest tests/engine` run all of them, and `-k "nnx_in_cell and jit_gradient"` selects.
"""

import os

import jax
import numpy as np
import pytest

from tests.engine import by_hand, networks, table

WHOLE = os.environ.get("ENGINE_TABLE") == "whole"


# Of ways and kinds that aren't main ones, which meet in no other test: what was wrong once.
FOUND = [("nnx", "scan_hooks_jit", "watch")]


@pytest.mark.parametrize(
    ("owner", "way", "kind"),
    [pytest.param(*c, id="-".join(c)) for c in [*(table.combinations if WHOLE else table.some)(), *FOUND]],
)
def test_equals_the_eager_run(owner, way, kind):
    lines = table.differences(owner, way, kind)
    assert not lines, "\n".join(lines)


def test_some_combinations_have_all_owners_ways_and_kinds():
    every, some = table.combinations(), table.some()
    assert set().union(*(table.meets(*c) for c in every)) == set().union(*(table.meets(*c) for c in some))
    assert {place for c in table.combinations(whole=True) for place in enumerate(c)} == {
        place for c in some for place in enumerate(c)
    }


# The eager runs with which those above are compared, of owners with kinds of which can be said by hand what they do.
COMPARED = {(table.OWNERS[owner].like or owner, kind) for owner, _, kind in table.some()}
BY_HAND = [
    (owner, kind)
    for owner in table.OWNERS
    for kind in table.KINDS
    if WHOLE or (owner, kind) in COMPARED
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
