"""A few random mixtures at every run; `python -m tests.mixtures --cases 3000` runs more of them, and `python -m tests.mixtures.soak` runs long."""

import dataclasses

import pytest

from tests.mixtures import mixture_cases as generate, mixture_compare as compare

# So many cases have everything in them; the small ones of the first hundred run here, each in one way.
CASES, RUN, BLOCK = 400, 100, 25


@pytest.mark.parametrize("block", range(RUN // BLOCK))
def test_values_gradients_and_hook_calls_are_those_of_plain_jax(block):
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        case = generate.case(0, number)
        if len(case.root.chain()) > 2 or case.root.around == "shard_map":
            continue  # they take seconds to compile
        case.fault = case.adds = None
        wrong = [each for each in compare.differences(case, 1) if not each[1].startswith("refused")]
        assert not wrong, f"Case {number}: {wrong}\n{case}"


@pytest.mark.parametrize("what", ["fault", "adds"])
def test_hooks_that_raise_and_that_register_others(what):
    inner = generate.Owner("cell", "m1", "sin", (2.0, 1.0), [generate.Hook("backward", 3.0)])
    for kind in ("nnx", "equinox"):
        root = generate.Owner(kind, "m0", "square", (1.0, 0.5), [generate.Hook("forward", None)], "direct", inner)
        case = generate.Case(root, **{"fault": None, "adds": None, what: "m0"}, pick=3)
        assert compare.differences(case, 1) == []


def test_the_cases_have_everything_in_them():
    roots = [generate.case(0, number).root for number in range(CASES)]
    owners = [owner for root in roots for owner in root.chain()]
    assert {owner.kind for owner in owners} == set(generate.OWNERS)
    assert {owner.around for owner in owners} == set(generate.AROUND)
    assert {(hook.kind, hook.goes) for owner in owners for hook in owner.hooks} == {
        (k, g) for k in generate.KINDS for g in (True, False)
    }
    assert {len(root.chain()) for root in roots} == {1, 2, 3, 4}
    pairs = {(outer.kind, outer.inner.kind) for outer in owners if outer.inner is not None}
    assert pairs == {(a, b) for a in generate.OWNERS for b in generate.OWNERS}


def test_a_difference_is_found(monkeypatch):
    root = generate.Owner("function", "m0", "double", (1.0, 1.0), [generate.Hook("backward", 2.0)])
    case = generate.Case(root, None, None, 0)
    monkeypatch.setattr(compare, "chosen", lambda case, number: [compare.ways.vjp])
    assert compare.differences(case) == []
    wrong = dataclasses.replace(root, hooks=[generate.Hook("backward", 3.0)])
    monkeypatch.setattr(compare, "Built", lambda _, log, built=compare.Built: built(wrong, log))
    assert [what for _, what, _ in compare.differences(case)] == ["gradient"]
