"""Attention found in a program: a softmax whose result is multiplied with values; and values split into heads or neurons."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp

from msjax.core.study.parts import Parts
from msjax.core.study.tape import LIGHT, Node

_HEAD = " head"  # in the name of a head's part, between those of its module and of the head


class Attention(NamedTuple):
    """Attention within a module.

    Attributes:
        weights: the attention pattern, as it is multiplied with the values.
        product: that product, by head.
        of_weights, of_product: the axes of heads in both: those of key-value heads first, then those of the queries that share one.
        queries, keys: the axes of positions in the weights.
    """

    weights: Node
    product: Node
    of_weights: tuple[int, ...]
    of_product: tuple[int, ...]
    queries: int
    keys: int

    @property
    def pattern(self) -> Any:
        """The weights, (..., heads, queries, keys)."""
        value, last = self.weights.value, (*self.of_weights, self.queries, self.keys)
        batch = [axis for axis in range(value.ndim) if axis not in last]
        moved = value.transpose(*batch, *last)
        return moved.reshape(*moved.shape[: len(batch)], -1, *moved.shape[-2:])


def attention(nodes: Sequence[Node], entrance: Node, *, required: bool = True) -> dict[str, Attention]:
    """{module: its Attention}, in program order; of several in one module, the later ones as "module#1".

    Args:
        entrance: where the residual stream begins: its axes are those of the batch, positions and features.

    Raises:
        ValueError: batch and heads share an axis, or heads can't be told from positions, since there are as many; there is none where it is
            `required`.
    """
    found: dict[str, Attention] = {}
    for node in nodes:
        if node.made == "dot_general":
            for i, each in enumerate(node.ins):
                one = _attention(node, i, entrance.value.shape) if _from_softmax(each) else None
                if one is not None:
                    count = sum(name.partition("#")[0] == node.module for name in found)
                    found[f"{node.module}#{count}" if count else node.module] = one
    if required and not found:
        raise ValueError(
            "For 'stream', no attention was found: there is no softmax whose result is multiplied with values. For heads of another form, "
            "give split=... to decompose."
        )
    return found


def _attention(product, i, stream):
    """The Attention of a product whose i-th factor is the weights, in a stream of that shape; None if they aren't those of positions."""
    contracted, shared = (each[i] for each in product.eqn.params["dimension_numbers"])
    weights, batch = product.ins[i], []
    shape = weights.value.shape
    free = [axis for axis in range(len(shape)) if axis not in (*shared, *contracted)]
    queries = [axis for axis in free if shape[axis] == stream[-2]]
    if not queries or len(contracted) != 1:
        return None
    for size in stream[:-2]:
        batch += [axis for axis in shared if shape[axis] == size and axis not in batch][:1]
    if len(batch) < len(stream) - 2 or len(queries) > 1:
        what = "have no axis of their own" if len(queries) == 1 else f"can't be told from the {stream[-2]} positions"
        raise ValueError(
            f"For 'stream', the heads of {product.module!r} {what}: its weights are of shape {shape}, the residual stream of {stream}. Say "
            "where they are, split={'PATH OF THE OUTPUT PROJECTION:in': axis}, or take another number of positions."
        )
    heads = [axis for axis in (*shared, *free) if axis not in (*batch, queries[0])]
    # The axes of a product are those that both factors have, then the others of the first factor, then those of the second one.
    first = len(shared) if i == 0 else product.value.ndim - len(free)
    of_product = [shared.index(axis) if axis in shared else first + free.index(axis) for axis in heads]
    return Attention(weights, product, tuple(heads), tuple(of_product), queries[0], contracted[0])


def _from_softmax(node):
    """Whether a value is a softmax, past what only changes its form."""
    while True:
        if node.made == "div" and _is_softmax(node):
            return True
        if node.made not in LIGHT and node.made != "place":
            return False
        inputs = [each for each in node.ins if each.made != "input"]
        if not inputs:
            return False
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


def head_parts(nodes: Sequence[Node], entrance: Node, *, required: bool = True, known: Container[int] = ()) -> dict[int, Parts]:
    """{number of a node: its Parts}, one for each head, of the products of attention and values, but for those that are known. ValueError if the
    axes of the heads aren't found, or no attention where it is `required`."""
    given = {}
    for module, (_, product, _, axes, _, _) in attention(nodes, entrance, required=required).items():
        if product.number in known:
            continue
        value, numbers, count = product.value, jnp.zeros((), jnp.int32), 1
        for axis in reversed(axes):
            numbers = numbers + count * _along(value.ndim, axis, jnp.arange(value.shape[axis]))
            count *= value.shape[axis]
        given[product.number] = _by_number(value, numbers, count, f"{module}{_HEAD}")
    return given


def is_head(name: str) -> bool:
    """Whether the part of a head, as `head_parts` makes them, has this name."""
    return _HEAD in name


def split_parts(name: str, node: Node, how: tuple[int, ...]) -> Parts:
    """The Parts of a value along an axis: `how` is (axis,), or (axis, number of equal pieces)."""
    value = node.value
    axis, count = (*how, None)[:2]
    if not -value.ndim <= axis < value.ndim or (count is not None and value.shape[axis] % count):
        raise ValueError(
            f"For 'stream', split={how} should be an axis of {name!r}, of shape {value.shape}, and a number that divides it."
        )
    size = value.shape[axis]
    count = size if count is None else count
    return _by_number(value, _along(value.ndim, axis % value.ndim, jnp.arange(size) // (size // count)), count, name)


def _along(ndim, axis, numbers):
    return numbers.reshape([-1 if i == axis else 1 for i in range(ndim)])


def _by_number(value, numbers, count, label):
    """The Parts of a value, each of which has the values of one number."""
    return Parts.of({f"{label} {i}": jnp.where(numbers == i, value, 0) for i in range(count)})
