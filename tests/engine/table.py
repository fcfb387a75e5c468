"""The table: what is run, with what it is compared, and what differs."""

import contextlib
import functools
import gc
import random
import warnings

import jax
import numpy as np

import msjax as ms
from msjax import hooks
from tests.engine import by_hand, networks
from tests.engine.gradient_ways import REFERENCE, WAYS
from tests.engine.kinds import KINDS
from tests.engine.networks import LOG, Failed
from tests.engine.owners import OWNERS

RUNS = 2


def why_not(owner, way, kind):
    """The reason why a combination makes no sense, or None."""
    given = OWNERS[owner]
    if way == REFERENCE and given.like is None:
        return "it is the reference"
    return WAYS[way].takes(given) or KINDS[kind].takes(given, WAYS[way])


def combinations(whole=False):
    """(owner, way, kind) of those that make sense.

    Args:
        whole: True for all of them; False leaves out those with two or three of an owner, a way and a kind that aren't main ones.
    """
    return [
        (o, w, k)
        for o in OWNERS
        for w in WAYS
        for k in KINDS
        if (whole or OWNERS[o].main + WAYS[w].main + KINDS[k].main > 1) and why_not(o, w, k) is None
    ]


def meets(owner, way, kind):
    """What meets in a combination: the owner and what runs the way; the kind and that, of which there are two for other than main kinds."""
    by = WAYS[way].by
    return {("owner", owner, by), ("way", way), ("kind", kind, by if KINDS[kind].main else by == "msjax")}


@functools.cache
def some():
    """So many of the combinations that owners and main kinds meet all that runs ways, other kinds msjax and jax, and each way is there."""
    # Neighbors have little in common.
    every = random.Random(0).sample(combinations(), len(combinations()))
    left, chosen = set().union(*(meets(*c) for c in every)), set()
    for least in (3, 2, 1):  # those with the most in them first
        for combination in every:
            new = meets(*combination) & left
            if len(new) >= least:
                left -= new
                chosen.add(combination)
    return [c for c in combinations() if c in chosen]


class Run:
    """What one run gave.

    Attributes:
        value, gradients: arrays.
        log: the calls of hooks.
        error: a text, or None.
    """

    def __init__(self, run, fails=False, after=None):
        self.value, self.gradients, self.error = None, {}, None
        del LOG[:]
        try:
            value, gradients = run(networks.example())
            jax.block_until_ready((value, gradients))
            hooks.barrier()
            self.value, self.gradients = np.asarray(value), {name: np.asarray(g) for name, g in gradients.items()}
            if after is not None:
                after()
        except (Failed, ms.tools.Fault) as error:
            with contextlib.suppress(Exception):
                hooks.barrier()
            if not fails:
                raise
            self.error = _text(error)
        self.log = list(LOG)


def _text(error):
    if isinstance(error, ms.tools.Fault):
        return f"Fault: {error.phase} at {str(error.path).removeprefix('net.')!r}"
    return f"{type(error).__name__}: {error}"


class Found:
    """What the runs of one combination gave: a list `runs`, and `after`, one when the hooks are gone, or None.

    Attributes:
        again: texts about programs that were made in the second run.
    """

    def __init__(self, owner, way, kind):
        way, kind = WAYS[way], KINDS[kind]
        self.again, self.after = [], None
        with networks.variant(kind.inside, kind.dtype), _mode(way), warnings.catch_warnings():
            # Code that isn't compiled is not what is to be looked at.
            warnings.simplefilter("error", UserWarning)
            if not kind.compiles:
                warnings.filterwarnings("ignore", "(?s).* can't be compiled, and runs in PyNative mode")
            made = OWNERS[owner]()
            run = None
            if kind.late:
                run = way.make(made)
                Run(run)
            try:
                with kind(made) as after:
                    run = run or way.make(made)
                    self.runs = []
                    for _ in range(RUNS):
                        self.runs.append(Run(run, kind.fails, after))
                        self._look_at_programs(run, kind)
                if not kind.stays:
                    self.after = Run(run if self._lives(way, kind, made) else way.make(made))
            except BaseException:
                with contextlib.suppress(Exception):
                    hooks.barrier()
                raise

    def _lives(self, way, kind, owner):
        return way.live and owner.live and not (kind.everywhere and way.by in ("jit", "hooks.jit"))

    def _look_at_programs(self, run, kind):
        if not hasattr(run, "programs") or kind.fails or not kind.same_program or not kind.compiles:
            return
        if len(self.runs) == 1:
            self._programs = run.programs()
            if not self._programs:
                self.again.append("run 1: nothing was compiled")
        elif run.programs() != self._programs:
            self.again.append(f"run {len(self.runs)}: {run.programs() - self._programs} programs more than in run 1")


@contextlib.contextmanager
def _mode(way):
    ms.set_context(mode=ms.GRAPH_MODE if way.graph else ms.PYNATIVE_MODE)
    try:
        yield
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@functools.cache
def plain(owner, dtype):
    """A run of a network that never had hooks."""
    with networks.variant(None, dtype):
        return Run(WAYS[REFERENCE].make(OWNERS[owner]()))


@functools.cache
def reference(owner, kind):
    owner = OWNERS[owner].like or owner
    return Found(owner, REFERENCE if OWNERS[owner].is_cell else KINDS[kind].reference, kind)


def differences(owner, way, kind):
    """What a combination gives else than the eager run: lines of text."""
    comparison = Comparison(owner, WAYS[way], KINDS[kind])
    expected, found = reference(owner, kind), Found(owner, way, kind)
    lines = []
    for number, (want, got) in enumerate(zip(expected.runs, found.runs)):
        lines += comparison(f"run {number + 1}", want, got)
    lines += found.again
    if found.after is not None:
        lines += comparison("after the hooks are gone", plain(OWNERS[owner].like or owner, KINDS[kind].dtype), found.after, {})
    return lines


class Comparison:
    """What differs between runs of a combination."""

    def __init__(self, owner, way, kind):
        self.copies = way.copies and (OWNERS[owner].hooks_cells or OWNERS[owner].calls_cell or kind.everywhere)
        # Whether jax runs the modules with the hooks, in a function of `ms.from_jax`.
        self.by_jax = OWNERS[owner].by_jax or (way.by == "msjax" and not OWNERS[owner].is_cell)
        # The modules have other paths than those of the owner that is the reference.
        self.elsewhere = OWNERS[owner].like is not None
        self.way, self.kind = way, kind
        self.rtol, self.atol = (1e-4, 1e-6) if kind.dtype == "float32" else (3e-2, 3e-2)

    def __call__(self, when, expected, found, factors=None):
        errors = [run.error for run in (found, expected)]
        if self.way.by != "msjax" or self.elsewhere:
            # A fault names a module there, not the operation, whose place may be another.
            errors = [error and error.partition(" at ")[0] for error in errors]
        if errors[0] != errors[1]:
            return [f"{when}: {found.error or 'no error'}, expected {expected.error or 'none'}"]
        lines = []
        if expected.error is None:
            if not self.close(expected.value, found.value):
                lines.append(f"{when}: the value is {found.value}, expected {expected.value}")
            lines += self.gradients(when, expected, found, self.kind.factors if factors is None else factors)
        return lines + self.calls(when, expected.log, found.log)

    def gradients(self, when, expected, found, factors):
        wanted = dict(expected.gradients)
        # Eager gradients are not with respect to the weights of an nnx module in a Cell.
        if factors is not None and "body.inner.kernel" in found.gradients and "body.inner.kernel" not in wanted:
            with networks.variant(None, self.kind.dtype):
                of_inner = jax.grad(by_hand.total(**factors), 1)(networks.example(), networks.weight("inner"))
            wanted["body.inner.kernel"] = np.asarray(of_inner)
        common = sorted(set(wanted) & set(found.gradients))
        if not common:
            return [f"{when}: there are gradients of {sorted(found.gradients)}, expected {sorted(wanted)}"]
        return [
            f"{when}: the gradient of {name} is {found.gradients[name]}, expected {wanted[name]}"
            for name in common
            if not self.close(wanted[name], found.gradients[name])
        ]

    def calls(self, when, expected, found):
        found, expected = ([self.entry(e) for e in entries] for entries in (found, expected))
        if self.way.again:
            found, expected = map(_first_of_each, (found, expected))
        if self.kind.inside == "call_fails" and (self.by_jax or self.way.by in ("jit", "hooks.jit")):
            # What fails while jax traces calls no hooks: docs/limits.md.
            return []
        if self.kind.inside != "call_fails" and (self.way.by == "hooks.jit" or self.way.graph or "ms.jit" in self.way.text):
            # After the run of a program, a hook that fails brings no calls by always_call: docs/limits.md.
            found, expected = ([entry for entry in entries if entry[0] != "always"] for entries in (found, expected))
        heads = [[e[:2] for e in entries] for entries in (found, expected)]
        if heads[0] != heads[1]:
            return [f"{when}: the calls are {heads[0]}, expected {heads[1]}"]
        if self.kind.fails and (self.way.by == "jit" or self.by_jax):
            # A program of jax's runs to its end when a hook has failed.
            return []
        return [
            f"{when}: the call {call[:2]} got {call[2:]}, expected {want[2:]}"
            for call, want in zip(found, expected)
            if not self.same(call[2:], want[2:])
        ]

    def entry(self, entry):
        label, who, *values = entry
        return (label, who.rpartition(" ")[2] if self.copies else who, *values)

    def same(self, a, b):
        leaves, structure = jax.tree.flatten(a)
        others, other = jax.tree.flatten(b)
        return structure == other and all(map(self.close, leaves, others))

    def close(self, a, b):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.name == "bfloat16" == b.dtype.name:
            a, b = a.astype("float32"), b.astype("float32")
        return a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, self.rtol, self.atol, equal_nan=True)


def _first_of_each(entries):
    return list(
        {entry[:2] + (i if entry[0] == "inside" else 0,): entry for i, entry in reversed([*enumerate(entries)])}.values()
    )[::-1]


def outcome(owner, way, kind):
    """An empty text if a combination equals the eager run, otherwise the first difference or the exception."""
    try:
        lines = differences(owner, way, kind)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return lines[0].replace("\n", " ") if lines else ""


def forget():
    """Drop the programs of the combinations so far, which would fill the memory in the end."""
    jax.clear_caches()
    gc.collect()
