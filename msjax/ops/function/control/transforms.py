"""Function transformations: vmap, Jacobians, linearization and Taylor series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp

from msjax.common.bases import is_cell
from msjax.common.tensor import Tensor, is_tensor, wrap
from msjax.core.base.checks import check_in_range, check_kind, check_type, check_value, is_int
from msjax.core.base.errors import callable_name
from msjax.engine.autograd.recording import check_function_or_cell
from msjax.ops.dispatch.docs import titled
from msjax.ops.function.array_func.joining import stack
from msjax.ops.function.array_func.ordering import moveaxis
from msjax.ops.function.control.lifted import Lifted

__all__ = ["derivative", "jacfwd", "jacrev", "jet", "linearize", "vmap"]

# ---- vmap


def _spread(axes, value, who):
    """One axis for each leaf of `value`, from a tree of axes that may end before it does."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(jax.tree.leaves(value, is_leaf=is_tensor))
    check_kind(axes, isinstance(axes, (tuple, list)), "be made of ints and None", who, "vmap")
    if not isinstance(value, (tuple, list)) or len(value) != len(axes):
        raise ValueError(
            f"For 'vmap', '{who}' {axes} does not fit {len(value) if isinstance(value, (tuple, list)) else 1} value(s)."
        )
    return [leaf for axis, part in zip(axes, value) for leaf in _spread(axis, part, who)]


def vmap(
    fn: Callable[..., Any], in_axes: int | Sequence[int] | None = 0, out_axes: int | Sequence[int] | None = 0
) -> Callable[..., Any]:
    """A function mapped over axes of its arguments, in one vectorised computation.

    Args:
        fn (callable): a function or Cell of Tensors; or a CellList, whose cells are called on one element each.
        in_axes (int, None, tuple or list): the axis to map over, for all arguments or for each; None for an argument that
            is the same in each call. Default: 0.
        out_axes (int, None, tuple or list): the position of the mapped axis in the results. Default: 0.

    Returns:
        A function with one more axis in the arguments and results. Gradients flow through it to the arguments, and to
        Parameters and Tensors that `fn` reaches through closures, globals and cells.

    Raises:
        TypeError: `fn` is not callable.
        ValueError: `in_axes` or `out_axes` don't fit, or nothing is mapped over.

    Example:
        >>> dot = ops.vmap(lambda x, y: (x * y).sum(), in_axes=(0, None))
        >>> print(dot(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 10.0])))
        [21. 43.]
    """
    cells = list(fn) if is_cell(fn) and hasattr(fn, "append") else None
    if cells is None:
        check_function_or_cell(fn, "vmap")
        if in_axes is None:
            raise ValueError("For 'vmap', 'in_axes' can't be None for all arguments.")

    def mapped(*args):
        flat_axes = _spread(in_axes if isinstance(in_axes, int) or in_axes is None else tuple(in_axes), args, "in_axes")
        if cells is not None:
            return _one_each(cells, args, flat_axes, out_axes)
        call = Lifted(fn, args)
        axes = [flat_axes[i] for i in call.places]
        if all(axis is None for axis in axes):
            raise ValueError("For 'vmap', at least one argument should be mapped over.")
        outs = call.apply("vmap", lambda *values: jax.vmap(call.run, tuple(axes) + (None,) * len(call.reached))(*values))
        template = jax.tree.unflatten(call.tree, outs)
        axes = _spread(out_axes if isinstance(out_axes, int) or out_axes is None else tuple(out_axes), template, "out_axes")
        return jax.tree.unflatten(call.tree, [_placed(out, axis) for out, axis in zip(outs, axes)])

    mapped.__name__ = f"vmap_{callable_name(fn) if cells is None else 'CellList'}"
    mapped.__doc__ = getattr(fn, "__doc__", None)
    return mapped


def _placed(out, axis):
    return out[0] if axis is None else out if axis == 0 else moveaxis(out, 0, axis)


def _one_each(cells, args, axes, out_axes):
    """Each cell called on its own slice of the arguments, and the results put together."""
    leaves, structure = jax.tree.flatten(tuple(args), is_leaf=is_tensor)
    results = []
    for i, cell in enumerate(cells):
        own = [
            leaf if axis is None or not isinstance(leaf, Tensor) else leaf[(slice(None),) * (axis % leaf.ndim) + (i,)]
            for leaf, axis in zip(leaves, axes)
        ]
        results.append(cell(*jax.tree.unflatten(structure, own)))
    flat = [jax.tree.leaves(r, is_leaf=is_tensor) for r in results]
    tree = jax.tree.structure(results[0], is_leaf=is_tensor)
    axes = _spread(out_axes if isinstance(out_axes, int) else tuple(out_axes), results[0], "out_axes")
    return jax.tree.unflatten(tree, [stack(column, axis) for column, axis in zip(zip(*flat), axes)])


# ---- Jacobians


def _positions(grad_position, count, who):
    positions = (grad_position,) if is_int(grad_position) else grad_position
    fits = isinstance(positions, tuple) and all(isinstance(position, int) for position in positions)
    check_kind(grad_position, fits, "be an int or a tuple of ints", "grad_position", who)
    for position in positions:
        check_in_range(position, "grad_position", who, low=0)
        if position >= count:
            raise ValueError(f"For '{who}', 'grad_position' is {position}, but there are {count} arguments.")
    return positions


def _jacobian(transform, who, doc):
    def jacobian_of(fn, grad_position=0, has_aux=False):
        check_function_or_cell(fn, who)

        def jacobian(*args):
            positions = _positions(grad_position, len(args), who)
            for position in positions:
                check_type(args[position], Tensor, f"argument {position}", who)
            call = Lifted(fn, args)
            slots = tuple(call.places.index(len(jax.tree.leaves(args[:p], is_leaf=is_tensor))) for p in positions)
            main = 0

            def main_and_aux(*values):
                nonlocal main
                out = call.run(*values)
                main = len(jax.tree.leaves(jax.tree.unflatten(call.tree, list(out))[0])) if has_aux else len(out)
                return out[:main], out[main:]

            def kernel(*values):
                rows, aux = transform(main_and_aux, slots, has_aux=True)(*values)
                return (*(block for row in rows for block in row), *aux)

            outs = call.apply(who, kernel)
            blocks, aux = outs[: main * len(slots)], outs[main * len(slots) :]
            rows = [tuple(blocks[i : i + len(slots)]) for i in range(0, len(blocks), len(slots))]
            rows = [row[0] if len(row) == 1 else row for row in rows]
            result = rows[0] if len(rows) == 1 else tuple(rows)
            return (result, aux[0] if len(aux) == 1 else tuple(aux)) if has_aux else result

        return jacobian

    doc = f"""The Jacobian of a function, in {doc}.

    Args:
        fn (callable): a function or Cell of Tensors.
        grad_position (int or tuple of int): the arguments to differentiate with respect to. Default: 0.
        has_aux (bool): whether only the first output is differentiated, and the others are returned, too. Default: False.

    Returns:
        A function that returns, for one output and one position, a Tensor of shape ``output.shape + input.shape``; for
        several positions a tuple of one each; for several outputs a tuple of these. With `has_aux`, a pair of that and
        the other outputs.

    Raises:
        TypeError: `fn` is not callable, or a position is not an int.
        ValueError: there is no such argument.

    Example:
        >>> import msjax as ms
        >>> print(ms.{who}(lambda x: x * x)(ms.Tensor([1.0, 2.0])))
        [[2. 0.]
         [0. 4.]]
    """
    return titled(jacobian_of, who, doc)


jacrev: Final = _jacobian(jax.jacrev, "jacrev", "reverse mode: the better choice for fewer outputs than inputs")
jacfwd: Final = _jacobian(jax.jacfwd, "jacfwd", "forward mode: the better choice for more outputs than inputs")


# ---- linearization and Taylor series


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
