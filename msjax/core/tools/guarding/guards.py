"""guard: stops a step of training at the first NaN, tells where it came from, and leaves the state as it was."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from msjax.core.base.checks import check_bool, check_kind, check_path, check_value, is_int
from msjax.core.models.frameworks.framework import framework_of
from msjax.core.models.hooked import unhooked
from msjax.core.tools.checking import Check, On
from msjax.core.tools.checks.finding import kinds_of
from msjax.core.tools.fault import not_hooked
from msjax.core.tools.guarding.module_guards import ModuleGuard, guarded
from msjax.core.tools.model_tools import tools_of


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
