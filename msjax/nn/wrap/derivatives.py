"""Cells of derivatives: the older forms of ms.jvp and ms.vjp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_kind
from msjax.nn.cell.base import Cell
from msjax.ops.function.control import vjp as products

__all__ = ["Jvp", "Vjp"]


class _Product(Cell):
    def __init__(self, fn: Callable[..., Any]):
        super().__init__()
        self.fn = fn

    def _split(self, args):
        if len(args) < 2:
            raise ValueError(
                f"For '{type(self).__name__}', the inputs and one more argument are needed, but got {len(args)} in all."
            )
        return args[:-1], args[-1]


class Jvp(_Product):
    """The value of a function and its Jacobian-vector product; as `ms.jvp`, with the direction as last argument.

    Args:
        fn (callable): a function or Cell of Tensors.

    Inputs:
        - **inputs** (Tensor) - what `fn` takes.
        - **v** (Tensor or tuple) - a direction; of several inputs, a tuple with one for each.

    Outputs:
        A pair of the outputs and the product, both in the form in which `fn` returns.

    Raises:
        TypeError: the direction has another form than the inputs.

    Example:
        >>> print(*nn.Jvp(nn.ReLU())(Tensor([3.0, -1.0]), Tensor([5.0, 5.0])))
        [ 3. 0.] [ 5. 0.]
    """

    def construct(self, *args: Any) -> tuple[Tensor, Tensor]:
        inputs, v = self._split(args)
        fits = isinstance(v, (tuple, list)) == (len(inputs) > 1)
        check_kind(v, fits, "be a Tensor for one input, a tuple for several", "the direction", "Jvp")
        return products.jvp(self.fn, inputs, v)


class Vjp(_Product):
    """The value of a function and its vector-Jacobian product; as `ms.vjp`, with the outputs' gradients as last argument.

    Args:
        fn (callable): a function or Cell of Tensors.

    Inputs:
        - **inputs** (Tensor) - what `fn` takes.
        - **v** (Tensor or tuple) - the gradient of the output; of several outputs, a tuple with one for each.

    Outputs:
        A pair of the outputs and the gradient of the input; of several inputs, a tuple of gradients.

    Raises:
        TypeError: the gradient has another form than the outputs.

    Example:
        >>> print(*nn.Vjp(nn.ReLU())(Tensor([3.0, -1.0]), Tensor([5.0, 5.0])))
        [ 3. 0.] [ 5. 0.]
    """

    def construct(self, *args: Any) -> tuple[Tensor, Tensor]:
        inputs, v = self._split(args)
        out, pull = products.vjp(self.fn, *inputs)
        fits = isinstance(v, (tuple, list)) == isinstance(out, (tuple, list))
        check_kind(v, fits, "be a Tensor for one output, a tuple for several", "the gradient", "Vjp")
        found = pull(*v) if isinstance(v, (tuple, list)) else pull(v)
        return out, found[0] if len(inputs) == 1 else found
