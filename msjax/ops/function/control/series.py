"""Forward-mode derivatives: linearization and Taylor series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor, is_tensor, wrap
from msjax.core.base.checks import check_kind, check_value
from msjax.engine.autograd.recording import check_function_or_cell
from msjax.ops.function.control.lifted import Lifted

__all__ = ["derivative", "jet", "linearize"]


def linearize(fn: Callable[..., Any], inputs: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, Callable[..., Any]]:
    """The value of a function, and its Jacobian-vector product at these inputs as a function of the direction.

    Args:
        fn (callable): a function or Cell of Tensors.
        inputs (Tensor or tuple): where to linearize.

    Returns:
        (outputs, function from a direction, of the inputs' shapes, to the product).

    Example:
        >>> out, product = ops.linearize(lambda x: x * x, Tensor([1.0, 2.0]))
        >>> print(out, product(Tensor([1.0, 1.0])))
        [1. 4.] [2. 4.]
    """
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    call = Lifted(check_function_or_cell(fn, "linearize"), inputs)
    out, product = jax.linearize(call.run, *(t._value for t in [*call.tensors, *call.reached]))

    def along(*v):
        v = v[0] if len(v) == 1 and isinstance(v[0], (tuple, list)) else v
        if [d.shape for d in v] != [t.shape for t in call.tensors]:
            raise ValueError(
                f"The direction should have the inputs' shapes, {[t.shape for t in call.tensors]}, but has {[d.shape for d in v]}."
            )
        still = [jnp.zeros_like(t._value) for t in call.reached]
        found = product(*(d._value.astype(t._value.dtype) for d, t in zip(v, call.tensors)), *still)
        return jax.tree.unflatten(call.tree, [wrap(p) for p in found])

    return jax.tree.unflatten(call.tree, [wrap(o) for o in out]), along


def _pairs(primals, series, who):
    primals = (primals,) if isinstance(primals, Tensor) else tuple(primals)
    series = (series,) if isinstance(series, Tensor) else tuple(series)
    for value in (*primals, *series):
        check_kind(value, isinstance(value, Tensor), "be Tensors or tuples of them", "primals and series", who)
    return primals, series


def jet(
    fn: Callable[..., Any], primals: Tensor | tuple[Tensor, ...], series: Tensor | tuple[Tensor, ...]
) -> tuple[Tensor, Tensor]:
    """The value of a function on a curve, and the curve's derivatives.

    Args:
        fn (callable): a function or Cell of Tensors.
        primals (Tensor or tuple): where the curve starts.
        series (Tensor or tuple): for each of them a Tensor of shape (order, *shape): the derivatives of the curve.

    Returns:
        (outputs, their derivatives, of shape (order, *shape)).

    Example:
        >>> out, derivatives = ops.jet(lambda x: x * x * x, Tensor(2.0), Tensor([1.0, 0.0]))
        >>> print(out, derivatives)
        8.0 [12. 12.]
    """
    primals, series = _pairs(primals, series, "jet")
    order = series[0].shape[0] if series[0].ndim else 0
    if order == 0 or any(s.shape != (order, *p.shape) for p, s in zip(primals, series)):
        raise ValueError(
            f"For 'jet', each series should have shape (order, *shape), but got {[s.shape for s in series]} "
            f"for primals of shape {[p.shape for p in primals]}."
        )
    call = Lifted(check_function_or_cell(fn, "jet"), primals)
    factorials = jnp.cumprod(jnp.arange(1, order + 1).astype(jnp.float32))
    steps = [s._value / factorials.reshape((order,) + (1,) * (s.ndim - 1)).astype(s._value.dtype) for s in series]
    constants = [t._value for t in call.reached]

    def along(t):
        # The curve as a polynomial in t; nested derivatives at t = 0 are then those of the function on it.
        points = [sum((s[k] * t ** (k + 1) for k in range(order)), p._value) for p, s in zip(call.tensors, steps)]
        return call.run(*points, *constants)

    derivatives, current = [], along
    for _ in range(order):
        current = jax.jacfwd(current)
        derivatives.append(current)
    zero = jnp.zeros((), primals[0]._value.dtype)
    out = along(zero)
    rows = [d(zero) for d in derivatives]
    columns = [jnp.stack([row[i] for row in rows]) for i in range(len(out))]
    return jax.tree.unflatten(call.tree, [wrap(o) for o in out]), jax.tree.unflatten(call.tree, [wrap(c) for c in columns])


def derivative(fn: Callable[..., Any], primals: Tensor | tuple[Tensor, ...], order: int) -> tuple[Tensor, Tensor]:
    """The value of a function, and its derivative of an order in each input's own direction, elementwise.

    Args:
        fn (callable): a function or Cell of Tensors.
        primals (Tensor or tuple): the point.
        order (int): which derivative.

    Returns:
        (outputs, their derivatives).

    Raises:
        ValueError: `order` is not positive.
    """
    check_value(order, isinstance(order, int) and order >= 1, "be a positive int", "order", "derivative")
    primals, _ = _pairs(primals, (), "derivative")
    series = tuple(wrap(jnp.zeros((order, *p.shape), p._value.dtype).at[0].set(1)) for p in primals)
    out, found = jet(fn, primals, series)
    return out, jax.tree.map(lambda t: t[order - 1], found, is_leaf=is_tensor)
