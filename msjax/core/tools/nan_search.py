"""find_nan: the operation that first computes a NaN, in the forward or the backward pass."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from msjax.core.base.arrays import check_at_hand, is_float
from msjax.core.base.checks import check_type
from msjax.core.base.split import Split, opened
from msjax.core.hooks.places import is_array
from msjax.core.models.frameworks.framework import framework_of, registry_of
from msjax.core.models.hooked import hooked, unhooked
from msjax.core.tools.checking import Check, On, unraised
from msjax.core.tools.fault import Fault, not_hooked
from msjax.core.tools.model_tools import models_of, tools_with
from msjax.core.tools.search.names import argument_names, gradient_of
from msjax.core.tools.search.program import search, search_call


def find_nan(
    fn: Callable[..., Any], *args: Any, on: On = "nan", gradients: bool | None = None, show: bool = True, **kwargs: Any
) -> Fault | None:
    """Find the operation that first computes a NaN, in the forward or in the backward pass.

    Cells and functions of Tensors run in PyNative mode, also where ``ms.jit`` or graph mode would compile them, and every operator is
    looked at. Functions of jax arrays and flax nnx modules become one program, which tells of each operation, those inside of scan,
    cond and while_loop included, whether it computed a NaN from other values. The model is left as it was.

    Args:
        fn: a Cell, a flax nnx module, a function, or a model that `hooks.hooked` takes or made: an equinox model, or a linen module or
            haiku transform, which is called as its `apply`. Paths are told of modules that are `fn`, among the arguments, or
            variables that the function reads.
        args, kwargs: what it is called with. The inputs of a Cell may be jax or numpy arrays.
        on (str or callable): what is looked for: "nan"; "inf" for infinite values, too; or a function from a jax array to an array
            of bools. Default: "nan".
        gradients (bool, optional): whether the gradient of the result, summed, is looked at, with respect to Parameters and arguments.
            By default of Cells and modules, except cells that make a step of training, and of functions that return one number.
        show (bool): True prints the report. Default: True.

    Returns:
        A `Fault`, an exception with the cell's path, operation, source line, step of a scan and statistics of the inputs as
        attributes; None if neither the result nor a gradient has a NaN.

    Raises:
        TypeError, ValueError: `fn` can't be called, or `on` is something else.

    Example:
        >>> import jax.numpy as jnp
        >>> from msjax import Tensor, nn, ops, tools
        >>> class Log(nn.Cell):
        ...     def construct(self, x):
        ...         return ops.log(x)
        >>> net = nn.SequentialCell(nn.ReLU(), Log())
        >>> fault = tools.find_nan(net, Tensor([1.0, 0.0]), on="inf", show=False)
        >>> print(fault.phase, fault.path, fault.operation, fault.inputs[0].min)
        forward 1 log 0.0
        >>> fault = tools.find_nan(lambda x: jnp.sqrt(x * x).sum(), jnp.zeros(2), show=False)
        >>> print(fault.phase, fault.operation)
        backward mul
    """
    check = Check(on, "find_nan")
    check_type(gradients, (bool, type(None)), "gradients", "find_nan")
    if unhooked(fn) is not None:
        fn = hooked(fn)
    elif not callable(fn):
        raise not_hooked(fn, "find_nan")
    check_at_hand((fn, args, kwargs), "find_nan")
    tools = tools_with(fn, (args, kwargs))
    with unraised():
        fault = (_in_program if tools is None else tools.find_nan)(fn, args, kwargs, check, gradients)
    if show:
        print(fault if fault is not None else f"No {check.what} was found.")
    return fault


def _in_program(fn, args, kwargs, check, gradients):
    models, is_model = [*models_of(fn, args, kwargs)], framework_of(fn) is not None
    given, call = _as_function(fn, args, kwargs)
    of_params = registry_of(fn) is not None and len(given) == 2
    model = None if len(given) == 2 else fn
    names = argument_names(args, kwargs, *((fn.apply, fn) if of_params else (fn,)), model=model)

    if not is_model or (not gradients and gradients is not None):
        (out, _), fault = search_call(call, given, {}, check, models, names)
        scalar = [jnp.shape(v) for v in jax.tree.leaves(out)] == [()]
        if fault is not None or not (scalar if gradients is None else gradients):
            return fault

    def both(*given):
        split = Split.of(given, is_float)

        def of_floats(floats):
            out = call(*Split(floats, split.rest).joined())
            return [v for v in jax.tree.leaves(out) if is_float(v)]

        out, back = jax.vjp(of_floats, split.arrays)
        return out, back([jnp.ones_like(v) for v in out])

    floats = [name for name, leaf in zip(names, filter(is_array, jax.tree.leaves(opened(given)))) if is_float(leaf)]
    return search(both, given, {}, check, models, names, functools.partial(gradient_of, floats))[1]


def _as_function(fn, args, kwargs):
    """(arguments, function of them), in which the arrays of a model are arguments."""
    if isinstance(fn, nnx.Module):
        return (fn, args, kwargs), lambda module, args, kwargs: module(*args, **kwargs)
    registry = registry_of(fn)
    function = fn if registry is None else registry.function(fn)
    if registry is None or function is not fn:
        return (args, kwargs), lambda args, kwargs: function(*args, **kwargs)
    return (Split.of(fn, is_array), args, kwargs), lambda model, args, kwargs: model.joined()(*args, **kwargs)
