"""vjp and jvp: vector-Jacobian and Jacobian-vector products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_not
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.node import place_on_tape
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, is_tensor, tensors_in, wrap
from msjax.core.base.checks import check_kind
from msjax.core.base.errors import describe
from msjax.core.door import STATE
from msjax.engine.autograd.grad import Weights
from msjax.engine.autograd.recording import GradientScope, check_function_or_cell, flatten_tensors, main_and_aux


def vjp(
    fn: Callable[..., Any],
    *inputs: Tensor,
    weights: Parameter | Sequence[Parameter] | None = None,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Compute the value of a function, and return a function that computes its vector-Jacobian product.

    Args:
        fn (callable): a function or Cell.
        inputs (Tensor): the arguments of `fn`.
        weights (Parameter, list, tuple or ParameterTuple, optional): Parameters that are differentiated as well.
        has_aux (bool): True differentiates only the first output.

    Returns:
        (outputs, vjp_fn), or with `has_aux` (outputs, vjp_fn, aux), where `aux` is the other output, or a tuple of several.
        ``vjp_fn(*gradients)`` takes a gradient for each output and returns a tuple of a gradient for each input; with
        weights, a pair of that tuple and the gradients of the weights, in the form that `grad` returns. It can be called
        repeatedly.

    Raises:
        TypeError: an input is not a Tensor, or a gradient given to vjp_fn is not.
        RuntimeError: the number of gradients given to vjp_fn is not the number of outputs.
        ValueError: a gradient given to vjp_fn does not have its output's shape.

    Example:
        >>> import msjax as ms
        >>> out, vjp_fn = ms.vjp(lambda x, y: x * y, ms.Tensor(2.0), ms.Tensor(3.0))
        >>> print(out, vjp_fn(ms.Tensor(1.0)))
        6.0 (Tensor(shape=[], dtype=Float32, value= 3), Tensor(shape=[], dtype=Float32, value= 2))
    """
    check_function_or_cell(fn, "vjp")
    _check_tensors(inputs, "vjp")
    requested = None if weights is None else Weights(weights, "vjp")
    with GradientScope() as recording:
        args, _, places = recording.inputs(inputs, {}, range(len(inputs)))
        leaves = [] if requested is None else requested.leaves(recording)
        out = fn(*args)
    out, aux = main_and_aux(out, "vjp") if has_aux else (out, ())
    outputs = flatten_tensors(out, fn)
    sources = [wrap(o._value, *recording.place(o)) for o in outputs]

    def vjp_fn(*gradients):
        if isinstance(out, Tensor) and any(isinstance(gradient, (tuple, list)) for gradient in gradients):
            raise TypeError(f"vjp_fn needs a Tensor for the only output, but got {describe(gradients[0])}.")
        flat = flatten_tensors(gradients, vjp) if gradients else []  # not vjp_fn, which would keep itself, and the tape
        if len(flat) != len(sources):
            raise RuntimeError(f"vjp_fn needs a gradient for each of {len(sources)} outputs, but got {len(flat)}.")
        for gradient, source in zip(flat, sources):
            if gradient.shape != source.shape:
                raise ValueError(f"vjp_fn got a gradient of shape {gradient.shape} for an output of shape {source.shape}.")
        found = recording.backward(sources, flat, keep=True)
        by_input = tuple(found.gradient(place) for place in places)
        return by_input if requested is None else (by_input, requested.shape_like([found.of(leaf) for leaf in leaves]))

    recording.forget([*outputs, *tensors_in(aux)])
    return (out, vjp_fn, _bare(aux)) if has_aux else (out, vjp_fn)


def jvp(
    fn: Callable[..., Any], inputs: Tensor | tuple[Tensor, ...], v: Tensor | tuple[Tensor, ...], has_aux: bool = False
) -> tuple[Any, ...]:
    """Compute the value of a function and its Jacobian-vector product, in forward mode.

    Forward hooks run; backward hooks don't.

    Args:
        fn (callable): a function or Cell.
        inputs (Tensor or tuple): the arguments of `fn`.
        v (Tensor or tuple): the direction, with the shapes of the inputs.
        has_aux (bool): True differentiates only the first output.

    Returns:
        (outputs, product), or with `has_aux` (outputs, product, aux), where `aux` is the other output, or a tuple of several.

    Raises:
        TypeError: an input is not a Tensor.
        ValueError: the shapes of the direction are not those of the inputs.
        NotImplementedError: an input is on the tape of a gradient that is being recorded.

    Example:
        >>> import msjax as ms
        >>> print(*ms.jvp(lambda x: x * x, ms.Tensor(3.0), ms.Tensor(1.0)))
        9.0 6.0
    """
    check_function_or_cell(fn, "jvp")
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    v = v if isinstance(v, (tuple, list)) else (v,)
    _check_tensors(inputs, "jvp")
    _check_tensors(v, "jvp")
    if [x.shape for x in inputs] != [d.shape for d in v]:
        raise ValueError(
            f"For 'jvp', inputs and direction should have equal shapes, but got {describe(inputs)} and {describe(v)}."
        )
    if place_on_tape([*inputs, *v])[1] is not None:
        raise NotImplementedError(
            "For 'jvp', inputs whose gradient is being recorded are not offered; use ms.vjp, or jax.jvp of a function "
            "lifted with ms.from_jax."
        )
    tree = []

    def pure(*values):
        with STATE.swap(recording=False):
            out = fn(*(wrap(value) for value in values))
        main, aux = main_and_aux(out, "jvp") if has_aux else (out, ())
        leaves, treedef = jax.tree.flatten(main, is_leaf=is_tensor)
        tree[:] = [treedef]
        return tuple(_value(leaf, fn) for leaf in leaves), jax.tree.map(lambda t: _value(t, fn), aux, is_leaf=is_tensor)

    # jax differentiates floats alone: integers take the way through them, and what they give has its own type again.
    given = tuple(x._value for x in inputs)
    primals = tuple(x.astype(float) if jnp.issubdtype(x.dtype, jnp.integer) else x for x in given)
    tangents = tuple(d._value.astype(x.dtype) for x, d in zip(primals, v))
    values, products, aux = jax.jvp(pure, primals, tangents, has_aux=True)
    if any(map(is_not, given, primals)):
        kinds = [value.dtype for value in jax.eval_shape(pure, *given)[0]]
        values, products = ([a.astype(kind) for a, kind in zip(several, kinds)] for several in (values, products))
    out = jax.tree.unflatten(tree[0], [wrap(o) for o in values])
    product = jax.tree.unflatten(tree[0], [wrap(p) for p in products])
    return (out, product, _bare(jax.tree.map(wrap, aux))) if has_aux else (out, product)


def _bare(aux):
    return aux[0] if len(aux) == 1 else aux


def _value(leaf, fn):
    name = getattr(fn, "__name__", fn)
    return check_kind(leaf, isinstance(leaf, Tensor), "be Tensors", f"the results of {name}", "jvp")._value


def _check_tensors(values, who):
    for i, value in enumerate(values):
        check_kind(value, isinstance(value, Tensor), "be a Tensor", f"argument {i}", who)
