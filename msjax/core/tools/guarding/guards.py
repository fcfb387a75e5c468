"""guard: stops a step of training at the first NaN, tells where it came from, and leaves the state as it was; that of modules which jax compiles,
and of functions."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Collection, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp
from flax import nnx

from msjax.core.base.arrays import check_at_hand, known_value
from msjax.core.base.checks import check_bool, check_kind, check_path, check_value, is_int
from msjax.core.base.errors import shorten
from msjax.core.jaxprs.interpreter import Program
from msjax.core.models.frameworks.framework import framework_of, registry_of
from msjax.core.models.frameworks.nnx_outputs import objects_among, write_all
from msjax.core.models.hooked import unhooked
from msjax.core.models.jit import join, split
from msjax.core.tools.checking import Check, On, unraised
from msjax.core.tools.checks.finding import find_in_call, kinds_of, not_again
from msjax.core.tools.checks.flow import Checks
from msjax.core.tools.fault import Fault, not_hooked
from msjax.core.tools.guarding.bundles import Bundle
from msjax.core.tools.guarding.guard_places import GuardedPlace, Looks
from msjax.core.tools.hook_set import ModuleHookSet, names_in, standing
from msjax.core.tools.model_tools import models_of, tools_of
from msjax.core.tools.search.names import argument_names
from msjax.core.tools.search.program import search, search_call


def guard(
    model: Any,
    on: On = "nan",
    gradients: bool = True,
    *,
    policy: str = "raise",
    bundle: str | os.PathLike[str] | None = None,
    state: dict[int, int] | None = None,
    eager: bool = False,
    checks: str | Collection[str] = (),
) -> Any:
    """Raise a `Fault` at the first NaN of a network, with the cell, operation and line that it came from.

    Of a Cell, an nnx module, or what `hooks.hooked` made of a model of linen, equinox or haiku, it is a context manager, in which the
    outputs of all cells are looked at, and the gradients with respect to them and to a Cell's Parameters.

    What msjax compiles (``ms.jit``, graph mode) has one flag more for each of these and calls nothing back. A step with a raised flag
    leaves Parameters, buffers and optimizer state as they were (their old and new values are both in memory while it runs), and is run
    again in PyNative mode to find the operation. In PyNative mode, buffers get the values from before the call. So training can go on,
    with the next batch, say, if the exception is caught. Each step is waited for, so that the exception comes from the call of the
    step that is wrong.

    What jax compiles (``jax.jit``, ``nnx.jit``) calls the guard back with the flags: such a program belongs to the user, and has no
    other way out for them. The fault names the module, not the operation, and is raised at the next ``ms.hooks.barrier()``. In
    ``ms.hooks.jit``, the flags are outputs of the program, and the fault is raised when it has run.

    Of a function of jax arrays, such as a step of training that would be compiled by jax.jit or nnx.jit, it is a function to call in its
    place: it is compiled, its results and the state of nnx modules, optimizers and other objects among its arguments are looked at, and,
    if one is wrong, the operation is found as by `find_nan`, and the objects keep the state that they had.

    Args:
        model: a Cell, an nnx module, a model that `hooks.hooked` made, or a function of jax arrays.
        on (str or callable): what is looked for: "nan"; "inf" for infinite values, too; or a function from a jax array to an array
            of bools. Default: "nan".
        gradients (bool): whether gradients are looked at. Default: True.
        policy (str): "raise"; or "skip": a wrong step that msjax compiles, or that is a guarded function, returns what it has computed,
            but changes no Parameter and no state, and is counted in the attribute `skipped`. Default: "raise".
        bundle (str, optional): the path of a file that a wrong step is written to: its arguments, and Parameters, optimizer and random
            state as they were before it. `tools.replay` runs it again. The state of an optimizer is in it if msjax compiles the step,
            or if it is among the arguments of a guarded function.
        state (dict, optional): for a function with ``policy="skip"``: {number of a result: number of the argument that it takes the
            place of}, such as ``{0: 0, 1: 1}`` for ``params, opt_state, loss = step(params, opt_state, batch)``. A wrong step returns
            those arguments. nnx modules among the arguments need none.
        eager (bool): True runs compiled functions in PyNative mode, where each operator is looked at as it runs. Default: False.
        checks (str or tuple of str): what is looked at in compiled steps beside NaN: "index", indices out of range, which jax clamps or
            drops; "division", integer divisions by zero; "user", the conditions of `tools.check`; "all" of them. What a mask keeps out
            of all results, and an index with ``mode="clip"`` or ``"drop"``, is no fault. Default: none.

    Returns:
        A context manager, or a function. Both have the number of wrong steps that were left out as `skipped`.

    Raises:
        Fault: in the ``with`` block or by the function: a `FloatingPointError` with the place as attributes.
        TypeError, ValueError: an argument is something else.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> class Log(nn.Cell):
        ...     def construct(self, x):
        ...         return ops.log(x)
        >>> net = nn.SequentialCell(nn.Tanh(), Log())
        >>> step = ms.jit(ms.value_and_grad(net))
        >>> with ms.tools.guard(net):
        ...     for x in (ms.Tensor(1.0), ms.Tensor(-1.0)):
        ...         try:
        ...             _ = step(x)
        ...         except ms.tools.Fault as fault:
        ...             print(fault.phase, fault.path, fault.operation)
        forward 1 log
    """
    check = Check(on, "guard")
    check_value(policy, policy in ("raise", "skip"), "be 'raise' or 'skip'", "policy", "guard")
    kinds = kinds_of(checks, "guard")
    for value, name in ((gradients, "gradients"), (eager, "eager")):
        check_bool(value, name, "guard")
    if bundle is not None:
        check_path(bundle, "bundle", "guard")
    fits = state is None or (isinstance(state, dict) and all(map(is_int, (*state, *state.values()))))
    check_kind(state, fits, "be a dict {number of a result: number of an argument}", "state", "guard")
    tools = tools_of(model)
    used = policy == "skip" and tools is None and framework_of(model) is None
    check_value(state, not state or used, "come with policy='skip', and with a function of jax arrays", "state", "guard")
    if tools is not None:
        return tools.guard(model, check, gradients, policy, bundle, eager, kinds)
    if framework_of(model) is not None:
        if policy == "skip" or bundle is not None or kinds:
            raise ValueError(
                "For 'guard', 'policy', 'bundle' and 'checks' need the step as a function here: step = guard(step, ...)."
            )
        return ModuleGuard(model, check, gradients)
    if not callable(model) or unhooked(model) is not None:
        raise not_hooked(model, "guard")
    return guarded(model, check, policy, bundle, state, kinds)


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
        if known_value(wrong) is None:
            check_at_hand(wrong, "guard")
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
