"""The columns of kinds: each puts hooks on a network, which write into a log or change values."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import msjax as ms
from msjax import nn
from tests.engine.networks import LOG, Failed, shown
from tests.engine.owners import PATHS, REGISTER


@dataclass(frozen=True)
class Kind:
    """What is put on a network.

    Attributes:
        on: from an owner to handles, or to a context manager, whose value is None or a function to call after each run.
        takes: from an owner's class and a way to the reason why it makes no sense there, or None.
        main: whether it is one of the columns that meet all owners and ways.
        inside: what the body has in it; see `networks.Variant`.
        dtype: of all floats.
        factors: what the modifiers do; see `by_hand.total`. None if that can't be said.
        fails: whether a run raises.
        stays: whether what it adds can't be taken off again.
        late: whether the function is made, and run, before there are hooks.
        same_program: whether the second run has the program of the first.
        everywhere: whether the hooks are those of all Cells there are, and no part of a model.
        reference: the way that is the reference for modules.
        compiles: whether ms.jit compiles it; else it says that the function runs in PyNative mode.
    """

    on: Callable = lambda owner: []
    takes: Callable = lambda owner, way: None
    main: bool = False
    inside: str | None = None
    dtype: str = "float32"
    factors: dict | None = field(default_factory=dict)
    fails: bool = False
    stays: bool = False
    late: bool = False
    same_program: bool = True
    everywhere: bool = False
    reference: str = "eager"
    compiles: bool = True

    @contextlib.contextmanager
    def __call__(self, owner):
        given = self.on(owner)
        if hasattr(given, "__enter__"):
            with given as after:
                yield after
            return
        try:
            yield None
        finally:
            for handle in given:
                handle.remove()


FACTORS = {"body": 3.0, "body.inner": 0.5}
# Where the factors of each kind of modifier are, for `by_hand.total`.
PLACES = {
    "forward_pre": {"body_in": 3.0, "inner_in": 0.5},
    "forward": {"inner_out": 0.5, "body_out": 3.0},
    "backward_pre": {"inner_out": 0.5, "body_out": 3.0, "backward": True},
    "backward": {"body_in": 3.0, "inner_in": 0.5, "backward": True},
}


def observer(owner, label):
    def hook(module, *values):
        LOG.append((label, owner.who(module), *map(shown, values)))

    return hook


def modifier(kind, factor):
    return {
        "forward_pre": lambda module, args: (args[0] * factor,),
        "forward": lambda module, args, output: output * factor,
        "backward_pre": lambda module, grad_output: (grad_output[0] * factor,),
        "backward": lambda module, grad_input, grad_output: (grad_input[0] * factor,),
    }[kind]


def observing(*kinds):
    return lambda owner: [owner.register(kind, path, observer(owner, kind)) for kind in kinds for path in PATHS]


def modifying(*kinds):
    return lambda owner: [owner.register(kind, path, modifier(kind, FACTORS[path])) for kind in kinds for path in PATHS]


def _mixed(owner):
    """An observer before each modifier and one behind it."""
    return [
        handle
        for kind in REGISTER
        for path, factor in FACTORS.items()
        for handle in (
            owner.register(kind, path, observer(owner, f"{kind} before")),
            owner.register(kind, path, modifier(kind, factor)),
            owner.register(kind, path, observer(owner, f"{kind} behind")),
        )
    ]


def _prepended(owner):
    return [
        owner.register(kind, "body", observer(owner, f"{kind} {name}"), prepend=True)
        for kind in REGISTER
        for name in ("third", "second", "first")
    ]


def _with_kwargs(owner):
    return [
        owner.register(kind, "body", observer(owner, kind), with_kwargs=True) for kind in ("forward_pre", "forward")
    ] + observing("backward")(owner)


def _kwargs_modified(owner):
    def triple(module, args, kwargs):
        return args, {"scale": kwargs["scale"] * 3.0}

    return [owner.register("forward_pre", "body", triple, with_kwargs=True), *_with_kwargs(owner)]


def _reading(owner):
    """Backward modifiers that read values: numpy computes what they return."""

    def changing(label):
        def hook(module, first, second=None):
            LOG.append((label, owner.who(module), shown(first), shown(second)))
            changed = shown(first)[0] * np.float32(3)
            return (ms.Tensor(changed) if isinstance(first[0], ms.Tensor) else changed,)

        return hook

    return [owner.register(kind, path, changing(kind)) for kind in ("backward_pre", "backward") for path in PATHS]


def _of_all_cells(owner):
    return [
        getattr(nn, f"register_cell_{kind}_hook")(observer(owner, kind))
        for kind in ("forward_pre", "forward", "backward_pre", "backward")
    ]


def _of_parameter(owner):
    parameter = owner.net.first.weight

    def note(grad):
        LOG.append(("parameter", "", shown(grad)))

    return [parameter.register_hook(note), parameter.register_hook(lambda grad: grad * 3.0), parameter.register_hook(note)]


def _failing(kind):
    """A hook of the inner module that fails, and one of the body that is called all the same."""

    def on(owner):
        def fail(module, *values):
            LOG.append((kind, owner.who(module)))
            raise Failed(kind)

        def always(module, args, output):
            LOG.append(("always", owner.who(module), output is None))

        return [
            owner.register(kind, "body.inner", fail),
            *([owner.register("forward", "body", always, always_call=True)] if kind.startswith("forward") else []),
        ]

    return on


def _always(owner):
    def always(module, args, output):
        LOG.append(("always", owner.who(module), output is None))

    return [owner.register("forward", "body", always, always_call=True)]


def _once(owner):
    """A hook that takes itself off."""
    handles = []

    def hook(module, args, output):
        LOG.append(("once", owner.who(module)))
        handles[0].remove()

    handles.append(owner.register("forward", "body", hook))
    return [*handles, *observing("backward")(owner)]


# ---- tools


def _guard(*others):
    @contextlib.contextmanager
    def on(owner):
        with contextlib.ExitStack() as stack:
            for handle in (handle for other in others for handle in other(owner)):
                stack.callback(handle.remove)
            stack.enter_context(ms.tools.guard(owner.model))
            yield None

    return on


@contextlib.contextmanager
def _guard_inside(owner):
    with ms.tools.guard(owner.inside):
        yield None


def _spoilt(kind):
    return lambda owner: [owner.register(kind, "body.inner", modifier(kind, float("nan")))]


@contextlib.contextmanager
def _watch(owner):
    handles = observing(*REGISTER)(owner)
    try:
        with ms.tools.watch(owner.model, every=1, what=["activation", "gradient"]) as watched:
            written = 0

            def after():
                nonlocal written
                watched.next_step()
                rows, written = watched.rows[written:], len(watched.rows)
                found = [("watch", f"{row.kind} {row.name.removeprefix('net.')}", row.mean, row.norm) for row in rows]
                LOG.extend(sorted(row for row in found if row[1].partition(" ")[2] in PATHS))

            yield after
    finally:
        for handle in handles:
            handle.remove()


# ---- where a kind makes no sense


_KEPT = "a function that jax compiled keeps the hooks that were there when it was traced"


def _no_functions(owner, way):
    return None if owner.live else "with_hooks takes one hook of each kind, as an argument, and no options"


def _no_model(owner, way):
    return None if owner.has_model else "tools take models"


def _not_watched(owner, way):
    if owner.behind_nnx:
        return "watch looks at the cells of a Cell, for which an nnx module in it is one operation"
    return _no_model(owner, way)


def _kept(owner, way):
    if not way.live:
        return _KEPT
    return _no_functions(owner, way)


def _no_inside(owner, way):
    return None if owner.has_inside else "there is no hooked module of its own inside of the model"


def _no_cells(owner, way):
    return None if owner.hooks_cells else "it stands in a Cell's construct"


def _no_cell_around(owner, way):
    return None if owner.hooks_cells or owner.is_cell else "there is no Cell"


def _values_unknown(owner, way):
    traced = way.by in ("jit", "hooks.jit") or (not owner.hooks_cells and (owner.is_cell or way.by == "msjax"))
    return "a backward modifier can't read values in a program that jax compiles" if traced else None


def _no_arrays(owner, way):
    return "it stands in a function of arrays" if owner.hooks_cells else None


def _no_parameter(owner, way):
    if not owner.is_cell:
        return "there is no Parameter before the hooks"
    return None if way.of_parameters else "no gradient of Parameters is asked for"


_ONE = {kind: Kind(observing(kind), main=True) for kind in REGISTER}
_CHANGED = {f"{kind}_modify": Kind(modifying(kind), main=True, factors=PLACES[kind]) for kind in REGISTER}
_TRIPLED = {"body_out": 3.0, "backward": True}
KINDS = {
    **_ONE,
    **_CHANGED,
    "guard": Kind(_guard(), _no_model, main=True),
    "all_observe": Kind(observing(*REGISTER)),
    "all_modify": Kind(modifying(*REGISTER), factors=None),
    "mixed": Kind(_mixed, _no_functions, factors=None),
    "prepend": Kind(_prepended, _no_functions),
    "with_kwargs": Kind(_with_kwargs, _no_functions),
    "kwargs_modify": Kind(_kwargs_modified, _no_functions, factors={"body_out": 3.0}),
    "reading_modify": Kind(_reading, _values_unknown, factors=None, compiles=False),
    "all_cells": Kind(_of_all_cells, _no_cell_around, everywhere=True),
    "parameter": Kind(_of_parameter, _no_parameter, factors=None),
    "tap": Kind(observing(*REGISTER), _no_cells, inside="tap", stays=True, factors=_TRIPLED),
    "insert": Kind(observing(*REGISTER), _no_cells, inside="insert", stays=True, factors=_TRIPLED),
    "tensor_hook": Kind(observing(*REGISTER), _no_cells, inside="tensor_hook", stays=True, factors=_TRIPLED),
    "bprop": Kind(observing(*REGISTER), _no_cells, inside="bprop", stays=True, factors=_TRIPLED),
    "hook_gradient": Kind(observing(*REGISTER), _no_arrays, inside="hook_gradient", stays=True, factors=_TRIPLED),
    "forward_fails": Kind(_failing("forward"), _no_functions, fails=True),
    "forward_pre_fails": Kind(_failing("forward_pre"), _no_functions, fails=True),
    "backward_fails": Kind(_failing("backward"), fails=True),
    "call_fails": Kind(_always, _no_functions, inside="call_fails", fails=True, stays=True),
    "once": Kind(_once, _kept, same_program=False, reference="jax"),
    "late": Kind(_mixed, _kept, late=True, factors=None),
    "float16": Kind(_mixed, _no_functions, dtype="float16", factors=None),
    "bfloat16": Kind(_mixed, _no_functions, dtype="bfloat16", factors=None),
    "guard_observe": Kind(_guard(observing(*REGISTER)), _no_model),
    "guard_modify": Kind(_guard(modifying(*REGISTER)), _no_model, factors=None),
    "guard_inside": Kind(_guard_inside, _no_inside),
    "guard_fault": Kind(_guard(_spoilt("forward")), _no_model, fails=True),
    "guard_backward_fault": Kind(_guard(_spoilt("backward")), _no_model, fails=True),
    "watch": Kind(_watch, _not_watched),
}
