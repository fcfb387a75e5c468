"""The table: what is run, with what it is compared, and what differs."""

import contextlib
import functools
import random

import jax
import numpy as np

import msjax as ms
from msjax import hooks
from tests.engine.gradient_ways import REFERENCE, WAYS
from tests.engine.kinds import KINDS
from tests.engine.networks import X
from tests.engine.owners import OWNERS

RUNS = 2


def why_not(owner, way, kind):
    """The reason why a combination makes no sense, or None."""
    return WAYS[way].takes(OWNERS[owner]) or KINDS[kind].takes(OWNERS[owner])


def combinations():
    """(owner, way, kind) of all that make sense, but for the reference itself."""
    return [(o, w, k) for o in OWNERS for w in WAYS for k in KINDS if w != REFERENCE and why_not(o, w, k) is None]


def some():
    """So many of the combinations that every two of an owner, a way and a kind that occur together do so in one of them."""
    covered, chosen = set(), []
    # In an order in which neighbors have little in common.
    for owner, way, kind in random.Random(0).sample(combinations(), len(combinations())):
        pairs = {(owner, way, None), (owner, None, kind), (None, way, kind)}
        if not pairs <= covered:
            covered |= pairs
            chosen.append((owner, way, kind))
    return [c for c in combinations() if c in chosen]


class Found:
    """What the runs of one combination gave.

    Attributes:
        runs: (value, gradients, log) of each.
        after: the same of a run when the hooks are gone.
    """

    def __init__(self, owner, way, kind):
        made, log, way = OWNERS[owner](), [], WAYS[way]
        with _mode(way):
            run = None
            try:
                with KINDS[kind](made, log):
                    run = way.make(made)
                    self.runs = [_run(run, log) for _ in range(RUNS)]
                self.after = _run(run if way.live else way.make(made), log)
            except BaseException:
                with contextlib.suppress(Exception):
                    hooks.barrier()
                raise


def _run(run, log):
    del log[:]
    value, gradients = run(X)
    jax.block_until_ready((value, gradients))
    hooks.barrier()
    return np.asarray(value), {name: np.asarray(g) for name, g in gradients.items()}, list(log)


@contextlib.contextmanager
def _mode(way):
    ms.set_context(mode=ms.GRAPH_MODE if way.graph else ms.PYNATIVE_MODE)
    try:
        yield
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@functools.cache
def plain(owner):
    """(value, gradients) of a network that never had hooks."""
    return _run(WAYS[REFERENCE].make(OWNERS[owner]()), [])


@functools.cache
def reference(owner, kind):
    return Found(owner, REFERENCE, kind)


def differences(owner, way, kind):
    """What a combination gives else than the eager run: lines of text."""
    expected = reference(owner, kind)
    found = Found(owner, way, kind)
    lines, copies = [], WAYS[way].copies and OWNERS[owner].hooks_cells
    for number, got in enumerate(found.runs):
        lines += _differ(f"run {number + 1}", expected.runs[0], got, copies)
    return lines + _differ("after the hooks are gone", plain(owner), found.after, copies)


def _differ(when, expected, found, copies=False):
    value, gradients, log = found
    lines = []
    if not _close(expected[0], value):
        lines.append(f"{when}: the value is {value}, expected {expected[0]}")
    missing = {"x"} - set(gradients)
    for name in sorted(missing | (set(gradients) & set(expected[1]))):
        if name in missing or not _close(expected[1][name], gradients[name]):
            lines.append(f"{when}: the gradient of {name} is {gradients.get(name)}, expected {expected[1][name]}")
    calls, wanted = ([_entry(e, copies) for e in entries] for entries in (log, expected[2]))
    heads = [[e[:2] for e in entries] for entries in (calls, wanted)]
    if heads[0] != heads[1]:
        lines.append(f"{when}: the calls are {heads[0]}, expected {heads[1]}")
        return lines
    for call, want in zip(calls, wanted):
        if not _same(call[2:], want[2:]):
            lines.append(f"{when}: the call {call[:2]} got {call[2:]}, expected {want[2:]}")
    return lines


def _entry(entry, copies):
    kind, who, *values = entry
    return (kind, who.rpartition(" ")[2] if copies else who, *values)


def _same(a, b):
    leaves, structure = jax.tree.flatten(a)
    others, other = jax.tree.flatten(b)
    return structure == other and all(map(_close, leaves, others))


def _close(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)


def outcome(owner, way, kind):
    """ "" if a combination equals the eager run, otherwise the first difference or the exception."""
    try:
        lines = differences(owner, way, kind)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return lines[0].replace("\n", " ") if lines else ""
