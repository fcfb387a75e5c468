"""replay: runs the step of a crash bundle again, and finds its fault."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from msjax.core.tools.checking import Check, On, unraised
from msjax.core.tools.checks.finding import find_in_call
from msjax.core.tools.fault import Fault
from msjax.core.tools.found import models_of
from msjax.core.tools.guarding.bundles import ReadBundle
from msjax.core.tools.model_tools import added
from msjax.core.tools.search.program import search_call


def replay(
    file: str | os.PathLike[str], step: Callable[..., Any], *like: Any, on: On | None = None, show: bool = True
) -> Fault | None:
    """Run the step of a crash bundle again, with the batch, Parameters, optimizer and random state of then, and find its fault.

    jax's settings of 64-bit types, random numbers and the precision of products are those of then meanwhile.

    `tools.guard(..., bundle=file)` writes the file. A new process, also on another machine, makes network, optimizer and step as the
    first one did; their values come from the file. When the step has run, what they had before is put back.

    Args:
        file: the path of the bundle.
        step: the step that was guarded or called in the guard's block: a Cell, a function of ``ms.jit``, or, if a function was
            guarded, that function. In PyNative mode, the guarded network.
        like: in order, the arguments of a guarded function that a file can't hold, such as nnx or equinox modules; an nnx module gets
            the values of then, and keeps them.
        on (str or callable, optional): what is looked for; by default, as the guard did.
        show (bool): True prints the report. Default: True.

    Returns:
        The `Fault`; None if nothing was wrong this time.

    Raises:
        FileNotFoundError, ValueError: there is no such file, it is no bundle, or another step's.

    Example:
        >>> import os, tempfile
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> file = os.path.join(tempfile.mkdtemp(), "crash.npz")
        >>> def step(x):
        ...     return jnp.log(x).sum()
        >>> try:
        ...     ms.tools.guard(step, bundle=file)(jnp.array([1.0, -1.0]))
        ... except ms.tools.Fault as fault:
        ...     print(fault.operation)
        log
        >>> ms.tools.replay(file, step, show=False).operation
        'log'
    """
    bundle = ReadBundle(file)
    stored = bundle.about["on"]
    if on is None and stored is None:
        raise ValueError(f"For 'replay', give on=..., the function that the guard was given: {bundle.path!r} can't hold it.")
    check = Check(stored if on is None else on, "replay")
    with bundle.settings(), unraised():
        args, kwargs = bundle.arguments(like)
        fault = _run(bundle, step, args, kwargs, check)
    if show:
        none = f"No {check.what} was found: the step is not what it was, or not all of its state is in the file."
        print(none if fault is None else fault)
    return fault


def _run(bundle, step, args, kwargs, check):
    kind = bundle.about["kind"]
    if kind != "function":
        tools = next((tools for tools in added() if tools.kind == kind), None)
        if tools is None:
            raise ValueError(f"For 'replay', the step in {bundle.path!r} is one of {kind}: import msjax, and make the step anew.")
        return tools.replay(bundle, step, args, kwargs, check)
    fn = getattr(step, "__wrapped__", step)
    models, kinds = [*models_of(fn, args, kwargs)], bundle.about.get("checks", ())
    found = find_in_call(fn, args, kwargs, kinds, models) if kinds else None
    return found or search_call(fn, args, kwargs, check, models)[1]
