"""Tools on networks whose modules have hooks: owner x tool. What a tool tells of a model, it tells of one with observers, too; and when
it is done, the hooks are there as before.

By default each main owner meets three tools and each other one; `ENGINE_TABLE=whole pytest tests/engine` runs all of them.
"""

import functools
import os

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import hooks
from tests.engine import networks, table
from tests.engine.kinds import REGISTER, modifying, observer, observing
from tests.engine.networks import LOG
from tests.engine.owners import OWNERS, PATHS

MODELS = [name for name, owner in OWNERS.items() if owner.has_model]


def _arguments(owner):
    """What `hooks.capture` of the model is called with."""
    if owner.net is not None:
        _, params, buffers = ms.functionalize(owner.net)
        return params, buffers, networks.example()
    return (owner.params, networks.example()) if owner.params and owner.params is not owner.model else (networks.example(),)


def _called(owner):
    """What the model itself is called with."""
    return _arguments(owner)[-1:] if owner.net is not None else _arguments(owner)


def _captured(owner, jit=lambda f: f, **options):
    _, found = jit(lambda *args: hooks.capture(owner.model, **options)(*args))(*_arguments(owner))
    hooks.barrier()
    return {"activations": found.activations, "gradients": found.gradients}


def _summary(owner):
    rows = ms.tools.summary(owner.model, *_called(owner)).rows
    return [(row.path, row.cls_name, row.outputs, row.calls, row.trainable, row.other) for row in rows]


def _fault(owner, gradients, on):
    fault = ms.tools.find_nan(owner.model, *_called(owner), on=on, gradients=gradients, show=False)
    return fault and (fault.phase, fault.path, fault.operation)


TOOLS = {
    "summary": _summary,
    "tree": lambda owner: str(ms.tools.tree(owner.model)).split("\n")[0].partition("(")[0],
    "find_nan": lambda owner: _fault(owner, True, "nan"),
    "find_nan_in_the_body": lambda owner: _fault(owner, False, lambda v: v < -1.7),
    "capture": _captured,
    "capture_jit": functools.partial(_captured, jit=jax.jit),
    "capture_hooks_jit": functools.partial(_captured, jit=hooks.jit),
    "capture_gradients": functools.partial(_captured, gradients=True),
    "capture_statistic_jit": functools.partial(_captured, jit=jax.jit, statistic=lambda v: abs(v).max()),
}


def _same(a, b):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6), a, b)


def _pairs():
    """Owners and tools: all, or of each owner some, by turns."""
    names, turn = list(TOOLS), 0
    for owner in MODELS:
        count = len(names) if os.environ.get("ENGINE_TABLE") == "whole" else 3 if OWNERS[owner].main else 1
        # Neither three in a row, which are much alike, nor the same three each time.
        yield from ((owner, names[(turn + i * 2) % len(names)]) for i in range(count))
        turn += count * 2


@pytest.mark.parametrize(("name", "tool"), list(_pairs()))
def test_a_tool_tells_the_same_of_a_model_with_observers(name, tool):
    told = TOOLS[tool](OWNERS[name]())
    owner = OWNERS[name]()
    handles = observing(*REGISTER)(owner)
    found = TOOLS[tool](owner)
    hooks.barrier()
    if isinstance(told, dict):
        _same(found, told)
    else:
        assert found == told
    # No tracer was seen, and the hooks are as they were.
    assert all(isinstance(leaf, np.ndarray) for entry in LOG for leaf in jax.tree.leaves(entry[2:]))
    run = table.Run(table.WAYS["eager"].make(owner))
    comparison = table.Comparison(name, table.WAYS["eager"], table.KINDS["all_observe"])
    assert comparison("after the tool", table.reference(name, "all_observe").runs[0], run) == []
    for handle in handles:
        handle.remove()


# A capture of a linen, equinox or haiku model does not look into Cells that it holds.
LOOKED_INTO = [name for name in MODELS if name not in ("cell_in_hooked_linen", "cell_in_hooked_equinox", "cell_in_hooked_haiku")]


@pytest.mark.parametrize("name", LOOKED_INTO)
def test_what_is_captured_has_been_modified(name):
    owner = OWNERS[name]()
    handles = modifying("forward_pre", "forward")(owner)
    places = _captured(owner)["activations"]
    del LOG[:]
    handles += [owner.register("forward", path, observer(owner, path)) for path in PATHS]
    table.Run(table.WAYS["eager"].make(owner))
    seen = [entry[-1] for entry in LOG]
    assert len(seen) == len(PATHS)
    for value in seen:
        assert any(np.shape(place) == value.shape and np.allclose(place, value, rtol=1e-5) for place in places.values())
    for handle in handles:
        handle.remove()
