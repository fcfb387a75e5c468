"""Functions of functions that jax offers: vmap, Jacobians, linearization, higher derivatives."""

import functools

import jax
import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.autograd.recording import check_function
from msjax.autograd.residuals import Residuals, ResidualSpec, TracedVJP
from msjax.common.bases import is_cell
from msjax.common.tensor import Tensor, is_tensor, wrap
from msjax.errors import callable_name, describe
from msjax.ops.function.array_func.joining import stack
from msjax.state import STATE

__all__ = ["derivative", "jacfwd", "jacrev", "jet", "linearize", "vmap"]

# ---- a function of Tensors as one operator


class _Uncompiled(ResidualSpec):
    """A way back that runs operator by operator: it is used once."""

    def backward(self, given, need):
        return self.backward_fn(given, need)


class Composite(Op):
    """An operator made for one call of a user's function, which therefore isn't compiled."""

    def compiled(self, static):
        return self.bind(static)

    def forward(self, static, slots):
        def run(*values):
            pull = TracedVJP(self.bind(static), values, slots, self.int_grad)
            leaves, treedef = jax.tree.flatten(pull.vjp)
            out = pull.out
            pull.vjp = pull.out = None
            return out, Residuals(_Uncompiled(pull, treedef, tuple(("kept", i) for i in range(len(leaves)))), leaves)

        return run


def captured(fn):
    """Tensors whose gradient is being recorded and that a function reaches by itself: through closures, globals and cells."""
    found, seen = {}, set()

    def visit(value, depth):
        if id(value) in seen or depth > 6:
            return
        seen.add(id(value))
        if isinstance(value, Tensor):
            if value._node is not None:
                found[id(value)] = value
        elif isinstance(value, (list, tuple)):
            for v in value:
                visit(v, depth + 1)
        elif isinstance(value, dict):
            for v in value.values():
                visit(v, depth + 1)
        elif isinstance(value, functools.partial):
            visit((value.func, value.args, value.keywords), depth + 1)
        elif is_cell(value):
            for _, parameter in value.parameters_and_names():
                visit(parameter, depth)
        elif hasattr(value, "__code__") and hasattr(value, "__globals__"):
            visit([c.cell_contents for c in value.__closure__ or () if _filled(c)], depth)
            visit(list(value.__defaults__ or ()), depth)
            names = value.__code__.co_names
            visit([value.__globals__[n] for n in names if n in value.__globals__ and _of_user(value.__globals__[n])], depth)
        elif hasattr(value, "__func__"):
            visit((value.__func__, value.__self__), depth + 1)

    visit(fn, 0)
    return list(found.values())


def _filled(cell):
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _of_user(value):
    module = getattr(value, "__module__", None) or ""
    return isinstance(value, Tensor) or not (
        isinstance(value, type) or module.startswith(("msjax.ops", "msjax.autograd", "numpy", "jax"))
    )


class _Lifted:
    """A call of a user's function, ready for a jax transformation.

    Attributes:
        tensors: the Tensors among the arguments.
        values: their jax arrays, and those of the Tensors that the function reaches by itself.
        tree: how the results fit together, once `run` was called.
    """

    def __init__(self, fn, args):
        self.fn = fn
        self.leaves, self.structure = jax.tree.flatten(tuple(args), is_leaf=is_tensor)
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)]
        self.tensors = [self.leaves[i] for i in self.places]
        own = {id(t) for t in self.tensors}
        self.reached = [t for t in captured(fn) if id(t) not in own]
        self.tree = None

    def run(self, *values):
        """The results' jax arrays, from the arrays of `tensors` and of what the function reaches."""
        leaves = list(self.leaves)
        for place, value in zip(self.places, values):
            leaves[place] = wrap(value)
        before = [(t, t._value) for t in self.reached]
        recording, STATE.recording = STATE.recording, False
        try:
            for tensor, value in zip(self.reached, values[len(self.places) :]):
                tensor._value = value
            out = self.fn(*jax.tree.unflatten(self.structure, leaves))
        finally:
            STATE.recording = recording
            for tensor, value in before:
                tensor._value = value
        found, self.tree = jax.tree.flatten(out, is_leaf=is_tensor)
        return tuple(leaf._value if isinstance(leaf, Tensor) else jnp.asarray(leaf) for leaf in found)

    def apply(self, name, kernel):
        """The results of `kernel`, a function of all values, as a flat list of Tensors."""
        out = apply(Composite(f"{name} of {callable_name(self.fn)}", kernel, int_grad=True), [*self.tensors, *self.reached])
        return list(out) if isinstance(out, tuple) else [out]


# ---- vmap


def _spread(axes, value, who):
    """One axis for each leaf of `value`, from a tree of axes that may end before it does."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(jax.tree.leaves(value, is_leaf=is_tensor))
    if not isinstance(axes, (tuple, list)):
        raise TypeError(f"For 'vmap', '{who}' should be made of ints and None, but got {describe(axes)}.")
    if not isinstance(value, (tuple, list)) or len(value) != len(axes):
        raise ValueError(
            f"For 'vmap', '{who}' {axes} does not fit {len(value) if isinstance(value, (tuple, list)) else 1} value(s)."
        )
    return [leaf for axis, part in zip(axes, value) for leaf in _spread(axis, part, who)]


def vmap(fn, in_axes=0, out_axes=0):
    """A function mapped over axes of its arguments, in one vectorised computation.

    Args:
        fn (callable): a function or Cell of Tensors; or a CellList, whose cells are called on one element each.
        in_axes (int, None, tuple or list): the axis to map over, for all arguments or for each; None for an argument that
            is the same in each call. Default: 0.
        out_axes (int, None, tuple or list): where the mapped axis stands in the results. Default: 0.

    Returns:
        A function with one more axis in the arguments and results. Gradients flow through it to the arguments, and to
        Parameters and Tensors that `fn` reaches through closures, globals and cells.

    Raises:
        TypeError: `fn` is not callable.
        ValueError: `in_axes` or `out_axes` don't fit, or nothing is mapped over.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> dot = ops.vmap(lambda x, y: (x * y).sum(), in_axes=(0, None))
        >>> print(dot(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), ms.Tensor([1.0, 10.0])))
        [21. 43.]
    """
    cells = list(fn) if is_cell(fn) and hasattr(fn, "append") else None
    if cells is None:
        check_function(fn, "vmap")
        if in_axes is None:
            raise ValueError("For 'vmap', 'in_axes' can't be None for all arguments.")

    def mapped(*args):
        flat_axes = _spread(in_axes if isinstance(in_axes, int) or in_axes is None else tuple(in_axes), args, "in_axes")
        if cells is not None:
            return _one_each(cells, args, flat_axes, out_axes)
        call = _Lifted(fn, args)
        axes = [flat_axes[i] for i in call.places]
        if all(axis is None for axis in axes):
            raise ValueError("For 'vmap', at least one argument should be mapped over.")
        outs = call.apply("vmap", lambda *values: jax.vmap(call.run, tuple(axes) + (None,) * len(call.reached))(*values))
        template = jax.tree.unflatten(call.tree, outs)
        axes = _spread(out_axes if isinstance(out_axes, int) or out_axes is None else tuple(out_axes), template, "out_axes")
        outs = [_placed(out, axis) for out, axis in zip(outs, axes)]
        return jax.tree.unflatten(call.tree, outs)

    mapped.__name__ = f"vmap_{callable_name(fn) if cells is None else 'CellList'}"
    mapped.__doc__ = getattr(fn, "__doc__", None)
    return mapped


def _placed(out, axis):
    if axis is None:
        return out[0]
    from msjax.ops.function.array_func.arrange import moveaxis

    return out if axis == 0 else moveaxis(out, 0, axis)


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
    if isinstance(grad_position, bool) or not isinstance(grad_position, (int, tuple)):
        raise TypeError(f"For '{who}', 'grad_position' should be an int or a tuple of ints, but got {describe(grad_position)}.")
    positions = (grad_position,) if isinstance(grad_position, int) else grad_position
    for position in positions:
        if not isinstance(position, int):
            raise TypeError(f"For '{who}', 'grad_position' should be an int or a tuple of ints, but got {grad_position}.")
        if position < 0:
            raise ValueError(f"For '{who}', 'grad_position' should not be negative, but got {position}.")
        if position >= count:
            raise ValueError(f"For '{who}', 'grad_position' is {position}, but there are {count} arguments.")
    return positions


def _jacobian(transform, who, doc):
    def jacobian_of(fn, grad_position=0, has_aux=False):
        check_function(fn, who)

        def jacobian(*args):
            positions = _positions(grad_position, len(args), who)
            for position in positions:
                if not isinstance(args[position], Tensor):
                    raise TypeError(f"For '{who}', argument {position} should be a Tensor, but got {describe(args[position])}.")
            call = _Lifted(fn, args)
            starts = [len(jax.tree.leaves(args[:p], is_leaf=is_tensor)) for p in positions]
            slots = tuple(call.places.index(s) for s in starts)
            counts = []

            def main_and_aux(*values):
                out = call.run(*values)
                main = len(out)
                if has_aux:
                    parts = jax.tree.unflatten(call.tree, list(out))
                    main = len(jax.tree.leaves(parts[0]))
                counts[:] = [main]
                return out[:main], out[main:]

            def kernel(*values):
                rows, aux = transform(main_and_aux, slots, has_aux=True)(*values)
                return (*(block for row in rows for block in row), *aux)

            outs = call.apply(who, kernel)
            blocks, aux = outs[: counts[0] * len(slots)], outs[counts[0] * len(slots) :]
            rows = [tuple(blocks[i : i + len(slots)]) for i in range(0, len(blocks), len(slots))]
            rows = [row[0] if len(row) == 1 else row for row in rows]
            result = rows[0] if len(rows) == 1 else tuple(rows)
            if not has_aux:
                return result
            return result, aux[0] if len(aux) == 1 else tuple(aux)

        return jacobian

    jacobian_of.__name__ = jacobian_of.__qualname__ = who
    jacobian_of.__doc__ = f"""The Jacobian of a function, in {doc}.

    Args:
        fn (callable): a function or Cell of Tensors.
        grad_position (int or tuple of int): the arguments to differentiate with respect to. Default: 0.
        has_aux (bool): whether only the first output is differentiated, and the others are returned, too. Default: False.

    Returns:
        A function that returns, for one output and one position, a Tensor of shape ``output.shape + input.shape``; for
        several positions a tuple of one each; for several outputs a tuple of these. With `has_aux`, a pair of that and
        the other outputs.

    Raises:
        TypeError: `fn` is not callable, or a position is no int.
        ValueError: there is no such argument.

    Example:
        >>> import msjax as ms
        >>> print(ms.{who}(lambda x: x * x)(ms.Tensor([1.0, 2.0])))
        [[2. 0.]
         [0. 4.]]
    """
    return jacobian_of


jacrev = _jacobian(jax.jacrev, "jacrev", "reverse mode: the better choice for fewer outputs than inputs")
jacfwd = _jacobian(jax.jacfwd, "jacfwd", "forward mode: the better choice for more outputs than inputs")


# ---- directions


def linearize(fn, inputs):
    """The value of a function, and its Jacobian-vector product at these inputs as a function of the direction.

    Args:
        fn (callable): a function or Cell of Tensors.
        inputs (Tensor or tuple): where to linearize.

    Returns:
        (outputs, function from a direction, of the inputs' shapes, to the product).

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> out, product = ops.linearize(lambda x: x * x, ms.Tensor([1.0, 2.0]))
        >>> print(out, product(ms.Tensor([1.0, 1.0])))
        [1. 4.] [2. 4.]
    """
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    call = _Lifted(check_function(fn, "linearize"), inputs)
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
    single = isinstance(primals, Tensor)
    primals = (primals,) if single else tuple(primals)
    series = (series,) if isinstance(series, Tensor) else tuple(series)
    for value in (*primals, *series):
        if not isinstance(value, Tensor):
            raise TypeError(f"For '{who}', primals and series should be Tensors or tuples of them, but got {describe(value)}.")
    return primals, series


def jet(fn, primals, series):
    """The value of a function on a curve, and the curve's derivatives.

    Args:
        fn (callable): a function or Cell of Tensors.
        primals (Tensor or tuple): where the curve starts.
        series (Tensor or tuple): for each of them a Tensor of shape (order, *shape): the derivatives of the curve.

    Returns:
        (outputs, their derivatives, of shape (order, *shape)).

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> out, derivatives = ops.jet(lambda x: x * x * x, ms.Tensor(2.0), ms.Tensor([1.0, 0.0]))
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
    call = _Lifted(check_function(fn, "jet"), primals)
    factors = _factorials(order)
    steps = [s._value / factors[1:].reshape((order,) + (1,) * (s.ndim - 1)).astype(s._value.dtype) for s in series]
    constants = [t._value for t in call.reached]

    def along(t):
        # The curve as a polynomial in t; nested derivatives at t = 0 are then those of the function on it.
        points = []
        for p, s in zip(call.tensors, steps):
            value = p._value
            for k in range(order):
                value = value + s[k] * t ** (k + 1)
            points.append(value)
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


def _factorials(order):
    return jnp.cumprod(jnp.maximum(jnp.arange(order + 1), 1).astype(jnp.float32))


def derivative(fn, primals, order):
    """The value of a function, and its derivative of an order in each input's own direction, elementwise.

    Args:
        fn (callable): a function or Cell of Tensors.
        primals (Tensor or tuple): where.
        order (int): which derivative.

    Returns:
        (outputs, their derivatives).

    Raises:
        ValueError: `order` is not positive.
    """
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"For 'derivative', 'order' should be a positive int, but got {describe(order)}.")
    primals, _ = _pairs(primals, (), "derivative")
    series = tuple(
        wrap(jnp.zeros((order, *p.shape), p._value.dtype).at[0].set(jnp.ones(p.shape, p._value.dtype))) for p in primals
    )
    out, found = jet(fn, primals, series)
    return out, jax.tree.map(lambda t: t[order - 1], found, is_leaf=is_tensor)
