"""The guard of a module that jax compiles, or of a function of jax arrays."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp
from flax import nnx

from msjax.core.base.errors import shorten
from msjax.core.jaxprs.interpreter import Program
from msjax.core.models.frameworks.framework import registry_of
from msjax.core.models.frameworks.nnx_outputs import objects_among, write_all
from msjax.core.models.static_leaves import join, split
from msjax.core.tools.checking import Check, unraised
from msjax.core.tools.checks.finding import find_in_call, not_again
from msjax.core.tools.checks.flow import Checks
from msjax.core.tools.fault import Fault
from msjax.core.tools.found import models_of
from msjax.core.tools.guarding.bundles import Bundle
from msjax.core.tools.guarding.guard_places import GuardedPlace, Looks
from msjax.core.tools.hook_set import ModuleHookSet, names_in, standing
from msjax.core.tools.search.names import argument_names
from msjax.core.tools.search.program import search, search_call


class ModuleGuard:
    """The guard of an nnx module, or of a model that `hooks.hooked` made; for the arguments, see `guard`."""

    def __init__(self, model: Any, check: Check, gradients: bool, kinds: Sequence[str] = ()):
        self.model, self.check, self.gradients, self.kinds = model, check, gradients, tuple(kinds)

    def looks(self) -> Looks:
        """What looks at the modules of such a model; it is kept for the next guard, and refers to no model."""
        return _ModuleLooks(self.check, self.gradients, ModuleHookSet())

    def __enter__(self) -> Self:
        key = "guard", self.check.key, self.gradients, self.kinds
        self._looks: Any = standing(self.model, key, self.looks, self)
        self._looks.name = names_in(self.model)
        self._looks.hooks.on(self.model)
        return self

    def __exit__(self, *exception: Any) -> None:
        self._looks.hooks.off()
        self._looks.user = None
        if isinstance(exception[1], Fault):
            shorten(exception[1], keep=1)


class _ModuleLooks(Looks):
    def found(self, place: GuardedPlace, values: Sequence[Any], args: tuple[Any, ...] | None) -> None:
        fault, model = None, self.user.model
        if registry_of(model) is not None:
            raise place.fault(self.check, "tools.find_nan(model, ...) finds the operation")
        if args is not None:
            module, given = args
            self.hooks.off()
            try:
                names = argument_names(given, {}, module, model=module)
                _, fault = search(lambda m, *a: m(*a), (module, *given), {}, self.check, [module], names)
            finally:
                self.hooks.on(model)
        if fault is not None and fault.path is not None:
            fault.path = ".".join(filter(None, (place.path, fault.path)))
        raise fault or place.fault(self.check)


def guarded(
    fn: Callable[..., Any],
    check: Check,
    policy: str = "raise",
    bundle: str | os.PathLike[str] | None = None,
    state: dict[int, int] | None = None,
    kinds: Sequence[str] = (),
) -> Callable[..., Any]:
    """The guard of a function of jax arrays; see `guard`."""

    @jax.jit
    def program(given):
        args, kwargs = join(given)
        out, modules, failed = _checked(fn, args, kwargs, kinds)
        flags = [check.traced(v) for v in jax.tree.leaves((out, modules)) if check.applies(v)]
        return split((out, modules)), functools.reduce(jnp.logical_or, flags, jnp.array(False)), failed

    @unraised(infinite=check.on != "nan")
    def run(*args, **kwargs):
        if policy == "skip" and not state and not objects_among((args, kwargs)):
            raise ValueError(
                "For 'guard', policy='skip' needs to know what a step that is left out returns: state={number of a result: number of the "
                "argument that it takes the place of}, such as state={0: 0}."
            )
        modules = objects_among((args, kwargs))
        result, wrong, failed = program(split((args, kwargs)))
        out, changed = join(result)
        bad = bool(wrong) or bool(kinds and failed)
        about = {"kind": "function", "on": check.on if isinstance(check.on, str) else None, "checks": [*kinds]}
        kept = Bundle(about, args, kwargs, {}) if bad and bundle is not None else None
        if kept is not None and bundle is not None:
            kept.write(bundle)
        if bad and policy == "skip":
            guard.skipped += 1
            return _with_arguments(out, args, state or {})
        if bad:
            models = [*models_of(fn, args, kwargs)]
            # What was read from a wrong place may be the NaN.
            fault = (find_in_call(fn, args, kwargs, kinds, models) or not_again(kinds)) if kinds and failed else None
            fault = fault or search_call(fn, args, kwargs, check, models)[1]
            fault = fault or Fault(check.what, "forward", None, note="when it was run again, the function had no such value")
            if kept is not None and bundle is not None:
                kept.write(bundle, fault)
            raise fault
        for module, new in zip(modules, changed):
            if isinstance(module, nnx.Variable):
                module[...] = new[...]
            else:
                write_all(module, new)
        return out

    guard: Any = functools.update_wrapper(run, fn, updated=())
    guard.skipped = 0
    return guard


def _checked(fn, args, kwargs, kinds):
    """(the result, the nnx objects among the arguments as they are then, whether a check has found something), where jax traces."""
    if not kinds:
        return fn(*args, **kwargs), objects_among((args, kwargs)), False

    def both(*args, **kwargs):
        return fn(*args, **kwargs), objects_among((args, kwargs))

    program = Program(both, args, kwargs, contextlib.nullcontext())
    outs, (record,) = Checks(program.closed, kinds).run(program.inputs)
    return *program.result(outs), record.any()


def _with_arguments(out, args, state):
    """The result of a step in which arguments stand in the place of their new values."""
    results = list(out) if isinstance(out, tuple) else [out]
    for number, argument in state.items():
        if not 0 <= number < len(results) or not 0 <= argument < len(args):
            raise ValueError(
                f"For 'guard', 'state' has {number}: {argument}, but there are {len(results)} results and {len(args)} arguments."
            )
        results[number] = args[argument]
    if not isinstance(out, tuple):
        return results[0]
    return type(out)(*results) if hasattr(out, "_fields") else tuple(results)
