"""Attention found in a program: a softmax whose result is multiplied with values; and values split into heads or neurons."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from msjax.core.study.parts import Parts
from msjax.core.study.tape import LIGHT, Node, Tape


def attention(tape: Tape) -> dict[str, tuple[Node, Node]]:
    """{module: (the softmax, its product with the values)}, in program order; of several in one module, the later ones as "module#1"."""
    found: dict[str, tuple[Node, Node]] = {}
    for node in tape.nodes:
        if node.made == "dot_general":
            for each in node.ins:
                softmax = _softmax(each)
                if softmax is not None and jnp.ndim(softmax.value) >= 2:
                    count = sum(name.partition("#")[0] == node.module for name in found)
                    found[f"{node.module}#{count}" if count else node.module] = softmax, node
    return found


def _softmax(node):
    """The softmax that a value is, past what only changes its form; None if it is none."""
    while True:
        if node.made == "div" and _is_softmax(node):
            return node
        if node.made not in LIGHT and node.made != "place":
            return None
        inputs = [each for each in node.ins if each.made != "input"]
        if not inputs:
            return None
        node = inputs[-1] if node.made == "select_n" else inputs[0]


def _is_softmax(node):
    above, below = _past_form(node.ins[0]), _past_form(node.ins[1])
    return above.made == "exp" and below.made == "reduce_sum" and _past_form(below.ins[0]) is above


def _past_form(node):
    while (
        node.made in ("broadcast_in_dim", "reshape", "convert_element_type", "stop_gradient", "squeeze", "expand_dims")
        and node.ins
    ):
        node = node.ins[0]
    return node


def head_parts(tape: Tape, entrance: Node, *, required: bool = True) -> dict[int, Parts]:
    """{number of a node: its Parts}, one for each head, of the products of attention and values.

    Raises:
        ValueError: the axis of the heads isn't found, or no attention where it is `required`.
    """
    given = {}
    for module, (_, product) in attention(tape).items():
        batch, own = len(product.eqn.params["dimension_numbers"][1][0]), jnp.ndim(entrance.value) - 2
        if batch - own not in (0, 1):
            raise ValueError(
                f"For 'stream', the heads of {module!r} have {batch - own} axes in their product with the values. Say where they are: "
                "split={'PATH OF THE OUTPUT PROJECTION:in': axis}."
            )
        given[product.number] = split_parts(module, product, batch - 1 if batch > own else None, "head")
    if required and not given:
        raise ValueError(
            "For 'stream', no attention was found: there is no softmax whose result is multiplied with values. Give split=..."
        )
    return given


def split_parts(name: str, node: Node, how: Any, what: str = "") -> Parts:
    """The Parts of a value along an axis.

    Args:
        how: the axis, or (axis, number of equal pieces); None for the value as a whole.
        what: a word that stands before the number in their names.
    """
    value = node.value
    if how is None:
        return Parts.of({f"{name} {what} 0": value})
    axis, count = how if isinstance(how, tuple) else (how, None)
    if not -value.ndim <= axis < value.ndim or (count is not None and (count < 1 or value.shape[axis] % count)):
        raise ValueError(
            f"For 'stream', split={how} should be an axis of {name!r}, of shape {value.shape}, and a number that divides it."
        )
    axis %= value.ndim
    size = value.shape[axis]
    numbers = jnp.arange(size) // (1 if count is None else size // count)
    shape = [-1 if i == axis else 1 for i in range(value.ndim)]
    masks = [(numbers == i).reshape(shape) for i in range(size if count is None else count)]
    label = f"{name} {what}".rstrip()
    return Parts.of({f"{label} {i}": jnp.where(mask, value, 0) for i, mask in enumerate(masks)})
