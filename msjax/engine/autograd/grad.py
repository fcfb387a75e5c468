"""Gradient functions: grad, value_and_grad, GradOperation; get_grad, which looks one gradient up in what they return."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

import jax
import jax.numpy as jnp

from msjax.common.bases import CellBase, SparseBase, is_cell
from msjax.common.containers import MUTABLE
from msjax.common.node import Leaf
from msjax.common.parameter import Parameter
from msjax.common.run_state import COMPILER, STATE
from msjax.common.tensor import Tensor, filled_like, is_tensor, wrap
from msjax.core.base.checks import check_bool, check_kind, check_value, is_int
from msjax.core.base.typing import PyTree
from msjax.engine.autograd.recording import GradientScope, check_function_or_cell, flatten_tensors, main_and_aux
from msjax.engine.settings.current import GRAPH_MODE, SETTINGS

_P = ParamSpec("_P")
_R = TypeVar("_R")
_G = TypeVar("_G")

# So many more objects than before have Python look for circles of garbage while a gradient is computed; Python's own figure is 700 or 2,000.
_HELD = 70_000


@overload
def grad(
    fn: Callable[_P, Any],
    grad_position: int = 0,
    weights: None = None,
    has_aux: Literal[False] = False,
    return_ids: Literal[False] = False,
) -> Callable[_P, Tensor]: ...
@overload
def grad(
    fn: Callable[_P, Any],
    grad_position: tuple[int, ...],
    weights: None = None,
    has_aux: Literal[False] = False,
    return_ids: Literal[False] = False,
) -> Callable[_P, tuple[Tensor, ...]]: ...
@overload
def grad(
    fn: Callable[_P, Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Parameter | Sequence[Parameter] | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Callable[_P, Any]: ...
def grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Parameter | Sequence[Parameter] | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Any:
    """Return a function that computes the gradient of `fn`.

    An output that is not a scalar is differentiated as if it were summed.

    Args:
        fn (callable): a function or Cell.
        grad_position (int, tuple or None): the inputs to differentiate with respect to; keyword arguments are
            numbered after the positional ones. None only together with `weights`.
        weights (Parameter, list, tuple or ParameterTuple, optional): Parameters to differentiate with respect to. One that is
            frozen when the gradient is computed (`requires_grad` is False) has zeros, and its hooks aren't called.
        has_aux (bool): True differentiates only the first output and returns the others beside the gradient.
        return_ids (bool): True pairs each gradient with its position or its Parameter's name.

    Returns:
        A function of `fn`'s arguments. For one position it returns the gradient itself (of a list, tuple or dict, nested ones), for
        several a tuple; beside Tensors, numbers have none there, and lists, tuples and dicts only if `mutable` returned them; where
        only one of several has a gradient, it comes without a tuple. For a single
        Parameter the gradient itself, for a list of Parameters a tuple; with positions and weights, a pair of both. With
        `has_aux`, it returns a pair of that and the tuple of the other outputs.

    Raises:
        ValueError: both `grad_position` and `weights` are None, or a position is negative or given twice.
        TypeError: an argument has a wrong type.
        RuntimeError: `grad_position` is an empty tuple, or, at the call, a position exceeds the arguments.

    Example:
        >>> import msjax as ms
        >>> def f(x, y):
        ...     return x * x * y
        >>> print(ms.grad(f)(ms.Tensor(3.0), ms.Tensor(2.0)))
        12.0
        >>> print(ms.grad(f, (0, 1))(ms.Tensor(3.0), ms.Tensor(2.0)))
        (Tensor(shape=[], dtype=Float32, value= 12), Tensor(shape=[], dtype=Float32, value= 9))
    """
    request = _Request("grad", fn, grad_position, weights, has_aux, return_ids)

    def gradient_of(*args, **kwargs):
        _, grads, aux = _run(request, fn, args, kwargs)
        return (grads, aux) if has_aux else grads

    return _named(gradient_of, fn, "grad")


@overload
def value_and_grad(
    fn: Callable[_P, _R],
    grad_position: int = 0,
    weights: None = None,
    has_aux: Literal[False] = False,
    return_ids: Literal[False] = False,
) -> Callable[_P, tuple[_R, Tensor]]: ...
@overload
def value_and_grad(
    fn: Callable[_P, _R],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Parameter | Sequence[Parameter] | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Callable[_P, tuple[_R, Any]]: ...
def value_and_grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Parameter | Sequence[Parameter] | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Any:
    """Return a function that computes the value of `fn` and its gradient.

    The arguments are those of `grad`.

    Returns:
        A function of `fn`'s arguments that returns (value, gradient).

    Raises:
        ValueError, TypeError, RuntimeError: as in `grad`.

    Example:
        >>> import msjax as ms
        >>> value, gradient = ms.value_and_grad(lambda x: x * x)(ms.Tensor(3.0))
        >>> print(value, gradient)
        9.0 6.0
    """
    request = _Request("value_and_grad", fn, grad_position, weights, has_aux, return_ids)

    def value_and_gradient_of(*args, **kwargs):
        value, grads, _ = _run(request, fn, args, kwargs)
        return value, grads

    return _named(value_and_gradient_of, fn, "value_and_grad")


class GradOperation:
    """Makes gradient functions; the older form of `grad`, from MindSpore 1.

    Args:
        get_all (bool): True for the gradients of all inputs, as a tuple; False for that of the first.
        get_by_list (bool): True for the gradients of Parameters, which are passed with the function.
        sens_param (bool): True if the last argument is the gradient that arrives at the output (a tuple of them for
            several outputs); False for ones.

    Raises:
        TypeError: an argument is not a bool.

    Example:
        >>> from msjax import Tensor, int32, ops
        >>> gradient = ops.GradOperation(get_all=True)(lambda x, y: x * y)
        >>> print(gradient(Tensor(1, int32), Tensor(2, int32)))
        (Tensor(shape=[], dtype=Int32, value= 2), Tensor(shape=[], dtype=Int32, value= 1))
    """

    def __init__(self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False):
        for name, flag in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            check_bool(flag, name, "GradOperation")
        self.get_all = get_all
        self.get_by_list = get_by_list
        self.sens_param = sens_param

    def __call__(self, fn: Callable[..., Any], weights: Parameter | Sequence[Parameter] | None = None) -> Callable[..., Any]:
        """Return a function that computes the gradient of `fn`; `weights` is used only with `get_by_list`."""
        check_function_or_cell(fn, "GradOperation")
        if self.get_by_list and weights is None:
            if not is_cell(fn):
                raise ValueError("For 'GradOperation', get_by_list=True needs 'weights' unless the function is a Cell.")
            weights = fn.trainable_params()
        requested = Weights(weights, "GradOperation") if self.get_by_list and weights is not None else None
        position = "all" if self.get_all else None if self.get_by_list else 0
        request = _Gradient(self, requested, position)
        return _named(lambda *args, **kwargs: _run(request, fn, args, kwargs), fn, "gradient")


class _Gradient:
    """The request that a GradOperation makes: which gradients, and in which form."""

    def __init__(self, operation: GradOperation, weights: Weights | None, position: Literal["all", 0] | None):
        self.sens_param = operation.sens_param
        self.weights = weights
        self.position = position
        self.salt = ("GradOperation", position, operation.sens_param)

    def run(self, fn, args, kwargs):
        """The gradients of one call, in the requested form."""
        weights, position = self.weights, self.position
        sens = None
        if self.sens_param:
            if "sens" in kwargs:
                sens = kwargs.pop("sens")
            elif args:
                *args, sens = args
            else:
                raise TypeError("For 'GradOperation', sens_param=True needs the gradient of the output as the last argument.")
        n = len(args) + len(kwargs)
        positions = () if position is None else range(n) if position == "all" else (0,)
        _, by_position, by_weight, _ = _differentiate(fn, args, kwargs, positions, weights, "GradOperation", sens=sens)
        if position == "all":
            by_position = _of_tensors(by_position)
        elif position == 0:
            by_position = by_position[0]
        if not weights:
            return by_position
        by_weight = weights.shape_like(by_weight)
        return by_weight if position is None else (by_position, by_weight)


class Weights:
    """The Parameters whose gradients are requested, and whether one gradient or a tuple is returned."""

    def __init__(self, weights: Parameter | Sequence[Parameter], who: str):
        self.single: bool = isinstance(weights, Parameter)
        should = "be a Parameter, or a list, tuple or ParameterTuple of Parameters"
        check_kind(weights, self.single or isinstance(weights, (list, tuple)), should, "weights", who)
        self.parameters: list[Parameter] = [weights] if isinstance(weights, Parameter) else list(weights)
        for parameter in self.parameters:
            check_kind(parameter, isinstance(parameter, Parameter), "be a Parameter", "every one of 'weights'", who)
        # Hashable, and equal for the same Parameters in the same form.
        self.key: tuple[int, ...] = (self.single, *map(id, self.parameters))

    def leaves(self, recording: GradientScope) -> list[Leaf]:
        """A leaf for each Parameter. That of a frozen one (`requires_grad` is False) is not part of the run: zeros, and no hooks."""
        trained = iter(recording.weights(p for p in self.parameters if p.requires_grad))
        return [next(trained) if p.requires_grad else Leaf(p, recording.scope, False) for p in self.parameters]

    def shape_like(self, grads: Sequence[_G]) -> _G | tuple[_G, ...]:
        """The gradients, one for each Parameter, in the requested form."""
        return grads[0] if self.single else tuple(grads)


class _Request:
    """The arguments of `grad` and `value_and_grad`, checked."""

    def __init__(self, who, fn, position, weights, has_aux, return_ids):
        self.who = who
        check_function_or_cell(fn, who)
        for name, flag in (("has_aux", has_aux), ("return_ids", return_ids)):
            check_bool(flag, name, who)
        if position is None and weights is None:
            raise ValueError(f"For '{who}', 'grad_position' and 'weights' can't both be None.")
        self.positions = () if position is None else position if isinstance(position, tuple) else (position,)
        for p in self.positions:
            check_kind(position, isinstance(p, int), "be an int or a tuple of ints", "grad_position", who)
            check_value(p, p >= 0, "not be negative", "grad_position", who)
        check_value(position, len(set(self.positions)) >= len(self.positions), "name each position once", "grad_position", who)
        if position == ():
            raise RuntimeError(f"For '{who}', 'grad_position' should name a position; it is an empty tuple.")
        self.weights = None if weights is None else Weights(weights, who)
        self.has_aux = has_aux
        self.return_ids = return_ids
        self.salt = (who, self.positions, has_aux, return_ids)

    def run(self, fn, args, kwargs):
        """(value, gradients in the requested form, auxiliary outputs) of one call."""
        value, by_position, by_weight, aux = _differentiate(
            fn, args, kwargs, self.positions, self.weights, self.who, self.has_aux
        )
        if self.return_ids:
            by_position = [(int(p), g) for p, g in zip(self.positions, by_position)]
            by_weight = [(v.name, g) for v, g in zip(self.weights.parameters if self.weights else (), by_weight)]
        if len(self.positions) > 1:
            by_position = tuple(by_position) if self.return_ids else _of_tensors(by_position)
        grads = by_position[0] if len(by_position) == 1 else by_position
        if self.weights is not None:
            weights = self.weights.shape_like(by_weight)
            grads = (grads, weights) if self.positions else weights
        return value, grads, aux


def _run(request, fn, args, kwargs):
    """`request.run`, compiled into one program if `fn` is compiled or in graph mode, otherwise operator by operator."""
    # `jit` returns functions with the attribute; a Cell is not asked, since looking for what it lacks takes it long.
    if SETTINGS.mode == GRAPH_MODE or (not isinstance(fn, CellBase) and hasattr(fn, "compilations")):
        weights = request.weights
        key, parameters = (None, ()) if weights is None else (weights.key, weights.parameters)
        done, result = COMPILER.whole(fn, (*request.salt, key), request.run, args, kwargs, parameters)
        if done:
            return result
    return request.run(fn, args, kwargs)


def _differentiate(fn, args, kwargs, positions, weights, who, has_aux=False, sens=None):
    """(the result of one call, its gradients for the positions, those of the weights, the auxiliary outputs)."""
    # Python's collector would visit the tape again and again: it has 12 objects for an operator, and no circles of its own.
    thresholds = gc.get_threshold()
    held = 0 < thresholds[0] < _HELD
    if held:
        gc.set_threshold(_HELD, *thresholds[1:])
    try:
        with GradientScope() as recording:
            n = len(args) + len(kwargs)
            for p in positions:
                if p >= n:
                    raise RuntimeError(
                        f"For '{who}', 'grad_position' {p} is out of range: the function was called with {n} arguments."
                    )
            args, kwargs, places = recording.inputs(args, kwargs, positions)
            leaves = weights.leaves(recording) if weights else []
            out = fn(*args, **kwargs)
        main, aux = main_and_aux(out, who) if has_aux else (out, ())
        outputs = flatten_tensors(main, fn)
        start = [filled_like(t._value, 1) for t in outputs] if sens is None else _sens(sens, outputs)
        found = recording.backward(outputs, start, also=aux)
    finally:
        if held and gc.get_threshold()[0] == _HELD:
            gc.set_threshold(*thresholds)
    results = (main, *aux) if has_aux else out, [*map(found.gradient, places)], [*map(found.of, leaves)], aux
    if STATE.stops_jax():  # within it, the function was recorded
        return jax.tree.map(lambda t: wrap(jax.lax.stop_gradient(t._value)) if is_tensor(t) else t, results, is_leaf=is_tensor)
    return results


def _of_tensors(gradients):
    """The gradients of Tensors and of what `mutable` returned, as in MindSpore; of other lists, tuples and dicts, if there is neither.

    The gradient of a number is an empty tuple.
    """
    given = tuple(g for g in gradients if not (isinstance(g, tuple) and not g))
    return tuple(g for g in given if isinstance(g, (Tensor, SparseBase, *MUTABLE))) or given


def _sens(sens, outputs):
    given = list(sens) if isinstance(sens, (tuple, list)) else [sens]
    given = [ct.values if isinstance(ct, SparseBase) else ct for ct in given]
    if len(given) != len(outputs):
        raise RuntimeError(
            f"For 'GradOperation', sens_param=True needs one gradient for each of {len(outputs)} outputs, but got {len(given)}."
        )
    # One element belongs to one element, whatever the numbers of axes, as in MindSpore's graph mode.
    given = [
        s.reshape(o.shape) if isinstance(s, Tensor) and s.shape != o.shape and s.size == o.size == 1 else s
        for s, o in zip(given, outputs)
    ]
    for s, out in zip(given, outputs):
        if isinstance(s, Tensor) and s.shape != out.shape:
            raise ValueError(f"For 'GradOperation', the sens value has shape {s.shape}, but the output has shape {out.shape}.")
        if isinstance(s, Tensor) and s.dtype != out.dtype:
            raise TypeError(f"For 'GradOperation', the sens value has dtype {s.dtype}, but the output has dtype {out.dtype}.")
    return [s if isinstance(s, Tensor) else Tensor(jnp.full(out.shape, s, out._value.dtype)) for s, out in zip(given, outputs)]


def _named(made, fn, verb):
    name = getattr(fn, "__name__", type(fn).__name__)
    made.__name__ = made.__qualname__ = f"{verb}_{name}"
    made.__doc__ = f"{verb} of {name}."
    return made


def get_grad(gradients: PyTree, identifier: int | Parameter) -> Tensor:
    """Look up one gradient in the result of a gradient function with ``return_ids=True``.

    Args:
        gradients: the result of the gradient function.
        identifier (int or Parameter): the position or the Parameter.

    Raises:
        RuntimeError: there is no such gradient.
        TypeError: the identifier is neither an int nor a Parameter.

    Example:
        >>> import msjax as ms
        >>> gradients = ms.grad(lambda x, y: x * y, (0, 1), return_ids=True)(ms.Tensor(2.0), ms.Tensor(5.0))
        >>> print(ms.get_grad(gradients, 1))
        2.0
    """
    is_parameter = isinstance(identifier, Parameter)
    check_kind(identifier, is_parameter or is_int(identifier), "be a position (int) or a Parameter", "identifier", "get_grad")
    key = identifier.name if is_parameter else identifier
    pairs = [*_pairs(gradients)]
    for name, gradient in pairs:
        if type(name) is type(key) and name == key:
            return gradient
    raise RuntimeError(
        f"For 'get_grad', there is no gradient for {key!r}; there are {', '.join(repr(name) for name, _ in pairs)}."
    )


def _pairs(item):
    """The (position or name, gradient) pairs in nested tuples."""
    if isinstance(item, tuple):
        if len(item) == 2 and isinstance(item[0], (int, str)) and not isinstance(item[1], (int, str)):
            yield item
        else:
            for inner in item:
                yield from _pairs(inner)
