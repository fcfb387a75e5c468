"""Runs a case in some ways, and compares it with plain jax."""

from __future__ import annotations

import dataclasses
import functools
import random

import jax
import jax.numpy as jnp
import numpy as np

from tests.mixtures import mixture_ways as ways, plain_mixtures as plain
from tests.mixtures.mixture_models import Built

X = jnp.array([0.3, -0.7], jnp.float32)

# Errors that say what is not offered, by a part of their text: each is in the documentation.
REFUSED = (
    "CustomCall to a Python callback",
    "serialization",
    "symbolic_zeros support with shard_map",
    "was exported for 4 devices",
)


class Broken(Exception):
    """What a hook of these tests raises."""


def chosen(case, number):
    """The ways in which a case runs."""
    draw = random.Random(case.pick)
    # Operator by operator, jax compiles many programs: fewer cases run so.
    known = [*ways.COMPILED * 4, *ways.EAGER]
    if case.root.kind == "cell":
        known += ways.OF_CELLS * 10
    found = []
    while len(found) < number:
        way = draw.choice(known)
        if way not in found:
            found.append(way)
    return found


def expected(root, extra=(), dtype=np.float32):
    """(value, gradient, {name: gradient of the weight of a Cell}, log or None)."""
    log = [] if plain.log_is_known(root) else None
    names = [owner.name for owner in root.weighted()]
    given = {owner.name: jnp.asarray(np.array(owner.weight, dtype)) for owner in root.chain() if owner.name in names}

    def run(x, weights):
        # The weights of Cells are arguments here.
        return plain.reference(_with_weights(root, weights), log, extra)(x)

    value, slope, slopes = _slopes(run, jnp.asarray(np.asarray(X), dtype), given)
    return value, slope, {f"{name}.w": grad for name, grad in slopes.items()}, log


def _slopes(run, x, given):
    value, pull = jax.vjp(run, x, given)
    return value, *pull(jnp.ones_like(x))


class _InPlainJax:
    """A mixture as the ways run it, of plain jax alone."""

    def __init__(self, root, extra=()):
        self.call = plain.reference(root, None, extra, plain.within)


def _way_of_jax(way):
    return ways.jax_jit if way in ways.OF_CELLS else way


def _jax_refuses(way, root, extra):
    """Whether plain jax can't run a mixture so, or not differentiate it for the weights of all Cells, which msjax does where they are trained."""
    given = {owner.name: jnp.asarray(np.array(owner.weight, np.float32)) for owner in root.chain() if owner.kind == "cell"}
    try:
        _way_of_jax(way)(_InPlainJax(root, extra), X)
        jax.vjp(lambda weights: _InPlainJax(_with_weights(root, weights), extra).call(X), given)
    except Exception:
        return True
    return False


def _bounds(way, root, extra):
    """(lowest, highest) of (value, gradient, weights' gradients) that plain jax computes: operator by operator, in the same way, compiled, in double
    precision.

    Where a tanh is at its end, or a sine's argument is large, single precision knows only the order of magnitude.
    """
    value, slope, slopes, _ = expected(root, extra)
    names = sorted(slopes)
    found = [(value, slope, *[slopes[name] for name in names])]
    value, slope, _ = _way_of_jax(way)(_InPlainJax(root, extra), X)
    found.append((value, found[0][1] if slope is None else slope, *found[0][2:]))
    given = {each.name: jnp.array(each.weight, jnp.float32) for each in root.chain() if f"{each.name}.w" in names}
    whole = jax.jit(functools.partial(_slopes, lambda x, weights: _InPlainJax(_with_weights(root, weights), extra).call(x)))
    value, slope, slopes = whole(X, given)
    found.append((value, slope, *[slopes[name.removesuffix(".w")] for name in names]))
    with jax.enable_x64(True):
        value, slope, slopes, _ = expected(root, extra, jnp.float64)
        found.append(jax.tree.map(np.asarray, (value, slope, *[slopes[name] for name in names])))
    lowest, highest = [[edge(each, 0) for each in zip(*found)] for edge in (np.min, np.max)]
    return [dict(zip(("value", "gradient", *names), edges)) for edges in (lowest, highest)]


def _with_weights(owner, weights):
    inner = None if owner.inner is None else _with_weights(owner.inner, weights)
    return dataclasses.replace(owner, weight=weights.get(owner.name, owner.weight), inner=inner)


def _observed(log, root):
    """The part of a log that observers see: modifiers write none."""
    seen = {(owner.name, hook.kind) for owner in root.chain() for hook in owner.hooks if hook.factor is None}
    return [entry for entry in log if entry[:2] in seen]


def _same(got, want):
    return np.allclose(np.asarray(got), np.asarray(want), rtol=2e-4, atol=1e-5)


def differences(case, number=2):
    """[(way, what differs, details)] of a case; a refusal's begins with "refused: "."""
    steps = [("first run", case.root)]
    if any(hook.goes for owner in case.root.chain() for hook in owner.hooks):
        steps.append(("after some hooks went", _without(case.root)))
    # Before there are hooks: with those of some frameworks, jax compiles each operator anew.
    runs = [(root, ()) for _, root in steps] + [(steps[-1][1], ((case.adds, 1.5),))] * (case.adds is not None)
    found, known = [], {repr(run): expected(*run) for run in runs}
    for way in chosen(case, number):
        log = []
        built = Built(case.root, log)
        for title, root in steps:
            if title != "first run":
                for each in built.chain():
                    for hook in each.owner.hooks:
                        if hook.goes:
                            each.remove(hook.kind)
            found += _compared(way, title, built, root, (), log, known)
        if case.fault is not None and way is not ways.exported:
            found += _fault(case, way, built, log, steps[-1][1], known)
        if case.adds is not None and way is not ways.exported:
            found += _adds(case, way, built, log, steps[-1][1], known)
        for each in built.chain():
            for kind in [*each.handles]:
                each.remove(kind)
    return [(way.__name__, what, detail) for way, what, detail in found]


def _without(owner):
    inner = None if owner.inner is None else _without(owner.inner)
    return dataclasses.replace(owner, hooks=[h for h in owner.hooks if not h.goes], inner=inner)


def _compared(way, title, built, root, extra, log, known):
    log.clear()
    try:
        value, gradient, weights = way(built, X)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        what = "refused: " if any(part in text for part in REFUSED) or _jax_refuses(way, root, extra) else "error: "
        return [(way, what + type(error).__name__, f"{title}: {text}")]
    want, slope, slopes, wanted = known[repr((root, extra))]
    pairs = {"value": (value, want)} | ({} if gradient is None else {"gradient": (gradient, slope)})
    pairs |= {
        name: (jnp.zeros(2, jnp.float32) if grad is None else grad, slopes[name])
        for name, grad in weights.items()
        if name in slopes
    }
    differ = {name: pair for name, pair in pairs.items() if not _same(*pair)}
    wanted = _observed(wanted, root) if wanted is not None and way in ways.IN_ORDER else None
    seen = wanted is None or (
        [entry[:2] for entry in log] == [entry[:2] for entry in wanted]
        and all(got is None or _same(got, want) for (_, _, got), (_, _, want) in zip(log, wanted))
    )
    if not differ and seen:
        return []
    lowest, highest = _bounds(way, root, extra)
    found = [
        (way, name if name in ("value", "gradient") else "gradient of a weight", f"{title}: {name}: {got} instead of {want}")
        for name, (got, want) in differ.items()
        if not _between(got, lowest[name], highest[name])
    ]
    if not seen and (
        [entry[:2] for entry in log] != [entry[:2] for entry in wanted] or all(map(_same, lowest.values(), highest.values()))
    ):
        found.append((way, "what hooks see", f"{title}: {log} instead of {wanted}"))
    return found


def _between(got, lowest, highest):
    got = np.asarray(got)
    margin = 1e-5 + 2e-4 * np.maximum(abs(lowest), abs(highest)) + 2 * (highest - lowest)
    known = np.isfinite(margin)
    return bool(np.all((lowest - margin <= got)[known]) and np.all((got <= highest + margin)[known]))


def _fault(case, way, built, log, root, known):
    """A hook raises: its error comes out, and the next run is as if nothing had been."""
    owner = next(each for each in built.chain() if each.owner.name == case.fault)
    if owner.model is None or any(each.around == "custom_jvp" for each in case.root.chain()):
        return []

    def hook(*args):
        raise Broken("mine")

    owner.register("forward", hook, "fault")
    try:
        way(built, X)
    except Broken:
        pass
    except Exception as error:
        if "mine" not in str(error) and not _jax_refuses(way, root, ()):
            return [(way, "another error than the hook's", f"{type(error).__name__}: {error}")]
    else:
        return [(way, "a hook's error is lost", case.fault)]
    finally:
        owner.remove("fault")
    return _compared(way, "after a hook's error", built, root, (), log, known)


def _adds(case, way, built, log, root, known):
    """A hook registers another one at its first call: the next run has it."""
    owner = next(each for each in built.chain() if each.owner.name == case.adds)
    if owner.model is None or any(each.around not in ("direct", "jit") for each in case.root.chain()):
        return []

    def adds(*args):
        if "added" not in owner.handles:
            owner.register("forward", owner.hook("forward", 1.5), "added")

    owner.register("forward", adds, "adds")
    try:
        way(built, X)
    except Exception as error:
        return [(way, f"error: {type(error).__name__}", f"a hook that registers another: {error}")]
    owner.remove("adds")
    if "added" not in owner.handles:
        return [(way, "calls of hooks", "the hook that registers another was not called")]
    return _compared(way, "after a hook registered another", built, root, ((case.adds, 1.5),), log, known)
