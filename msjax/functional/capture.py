"""capture: activations and gradients of chosen places as ordinary outputs, without any callback."""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.extend.core
import jax.numpy as jnp

from msjax.common.bases import is_cell
from msjax.common.tensor import Tensor, is_tensor, tensors_in, wrap
from msjax.errors import check_callable, describe
from msjax.typing import TensorLike


class Captured(NamedTuple):
    """What `capture` found: {name: activation}, and {name: gradient with respect to it} where asked for."""

    activations: dict
    gradients: dict


class _Collector(threading.local):
    """What is being captured in this thread; None if nothing is."""

    def __init__(self):
        self.now = None


_COLLECTOR = _Collector()


def site(name: str, value: TensorLike) -> TensorLike:
    """Name a value inside a function, so that `capture` finds it; otherwise it does nothing.

    Args:
        name (str): the name.
        value: an array, or a pytree of arrays.

    Returns:
        The value.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> def f(x):
        ...     return ms.hooks.site("square", x**2).sum()
        >>> out, found = ms.hooks.capture(f, gradients=True)(jnp.array([1.0, 2.0]))
        >>> print(out, found.activations["square"], found.gradients["square"])
        5.0 [1. 4.] [1. 1.]
    """
    collector = _COLLECTOR.now
    return value if collector is None else collector.meet(name, value)


def capture(
    fn: Any,
    select: str | list[str] | Callable[..., Any] = "*",
    *,
    gradients: bool = False,
    statistic: Callable[..., Any] | None = None,
    loss: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """A function that returns chosen activations, and gradients with respect to them, beside the result.

    Args:
        fn: a Cell, whose places are the outputs of its cells, by their paths ("" is the network itself); or a function of
            jax arrays, whose places are what it names with `site`.
        select (str, list of str, or callable): which places: a pattern such as ``"layers.*.relu"`` (fnmatch), several, or a
            function of the name.
        gradients (bool): True for the gradients of the result, summed, with respect to the activations. Default: False.
        statistic (callable, optional): from an array to a pytree of arrays; returned in the place of each activation and
            gradient.
        loss (callable, optional): from the result to a scalar, which is differentiated in the place of its sum.

    Returns:
        A function. Of a function `fn`: ``run(*args, **kwargs)`` returns (result, Captured). Of a Cell: ``run(params, buffers,
        *args, **kwargs)`` returns ((out, new_buffers), Captured), as a functionalized network. The second and later calls of
        a cell have names such as "relu#1". It may be used in jax.jit and other transformations.

    Raises:
        TypeError: `fn` is neither, or `select` is of another type.
        ValueError: no place has a selected name, or a place is inside of a loop or transformation of the function's own.

    Example:
        >>> import jax
        >>> import msjax as ms
        >>> from msjax import nn
        >>> net = nn.SequentialCell(nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), nn.ReLU())
        >>> _, params, buffers = ms.functionalize(net)
        >>> run = jax.jit(ms.hooks.capture(net, "1", gradients=True))
        >>> (out, _), found = run(params, buffers, jax.numpy.array([[1.0, 2.0]], "float32"))
        >>> print(found.activations["1"], found.gradients["1"])
        [[3.]] [[1.]]
    """
    check_callable(fn, "capture")
    chosen = _selector(select)
    if is_cell(fn):
        return _capture_cell(fn, chosen, gradients, statistic, loss)
    return _capturing(fn, chosen, gradients, statistic, loss or _summed)


def _capture_cell(net, chosen, gradients, statistic, loss):
    from msjax.functional.functionalize import functionalize

    apply, _, _ = functionalize(net)

    def inner(params, buffers, *args, **kwargs):
        handles = []
        for name, cell in net.cells_and_names():
            if chosen(name):
                handles.append(cell.register_forward_hook(_at(name), traced=True))
        try:
            return apply(params, buffers, *args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()

    def total(result):
        return (loss or _summed)(result[0])

    return _capturing(inner, chosen, gradients, statistic, total)


def _at(name):
    def hook(cell, args, output):
        value = output._value if isinstance(output, Tensor) else tuple(t._value for t in tensors_in(output))
        met = _COLLECTOR.now.meet(name, value)
        new = iter([met] if isinstance(output, Tensor) else met)
        return jax.tree.map(lambda t: wrap(next(new)) if isinstance(t, Tensor) else t, output, is_leaf=is_tensor)

    return hook


def _capturing(fn, chosen, gradients, statistic, total):
    def run(*args, **kwargs):
        if not gradients:
            with _Meeting(chosen) as meeting:
                result = fn(*args, **kwargs)
            meeting.check()
            return result, Captured(_statistics(meeting.found, statistic), {})
        # Which places there are, and of which shapes, is known when the function has been traced once.
        with _Meeting(chosen) as meeting:
            jax.eval_shape(lambda: (fn(*args, **kwargs), meeting.reset())[0])
        meeting.check()

        def perturbed(shifts):
            with _Meeting(chosen, shifts) as inner:
                result = fn(*args, **kwargs)
            return total(result), (result, inner.found)

        shifts = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), meeting.shapes)
        found, (result, activations) = jax.grad(perturbed, has_aux=True)(shifts)
        return result, Captured(_statistics(activations, statistic), _statistics(found, statistic))

    return run


class _Meeting:
    """The places that one run of a function came by.

    Args:
        chosen: a function that says of a name whether it counts.
        shifts: {name: what is added to the value there}.
    """

    def __init__(self, chosen, shifts=None):
        self.chosen = chosen
        self.shifts = shifts
        self.found = {}
        self.shapes = {}
        self.names = []

    def __enter__(self):
        self.outer, _COLLECTOR.now = _COLLECTOR.now, self
        self.world = None
        return self

    def __exit__(self, *_exception):
        _COLLECTOR.now = self.outer

    def meet(self, name, value):
        self.names.append(name)
        if not self.chosen(name):
            return value
        here = jax.extend.core.get_opaque_trace_state()
        if self.world is None:
            self.world = here
        if here != self.world:
            raise ValueError(
                f"For 'capture', the place {name!r} is inside of a loop or transformation of the function's own, from where its "
                "value can't be returned; return it yourself, or use an observer (register_forward_hook) or ms.hooks.probe."
            )
        count = sum(1 for n in self.found if n == name or n.startswith(name + "#"))
        key = f"{name}#{count}" if count else name
        if self.shifts is not None:
            value = jax.tree.map(lambda v, s: v + s, value, self.shifts[key])
        self.found[key] = value
        self.shapes[key] = jax.tree.map(lambda v: jax.ShapeDtypeStruct(jnp.shape(v), jnp.result_type(v)), value)
        return value

    def reset(self):
        """Let go of values that mean nothing outside."""
        self.found = {}

    def check(self):
        if not self.shapes:
            raise ValueError(
                f"For 'capture', no place was selected; there {'are ' + ', '.join(map(repr, self.names[:20])) if self.names else 'is none: name values with ms.hooks.site'}."
            )


def _statistics(found, statistic):
    return dict(found) if statistic is None else {name: jax.tree.map(statistic, value) for name, value in found.items()}


def _summed(result):
    return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(result) if jnp.issubdtype(jnp.result_type(leaf), jnp.inexact))


def _selector(select):
    if isinstance(select, str):
        return lambda name: fnmatch.fnmatchcase(name, select)
    if isinstance(select, (list, tuple, set)):
        return lambda name: any(fnmatch.fnmatchcase(name, pattern) for pattern in select)
    if callable(select):
        return select
    raise TypeError(f"For 'capture', 'select' should be a pattern, a list of patterns or a function, but got {describe(select)}.")
