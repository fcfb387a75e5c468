"""Operators that stop, hook and insert gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from msjax.common.tensor import Tensor, wrap
from msjax.common.tensor_values import TENSORS, hook_gradients
from msjax.common.typing import TensorLike
from msjax.core.base.errors import check_hook, describe, where
from msjax.core.door import STATE, Frame, Hook, HookKind
from msjax.engine.autograd.views import without_gradient
from msjax.ops.dispatch.operator import map_tensors
from msjax.ops.primitive import Primitive


def stop_gradient(value: TensorLike) -> Tensor:
    """The same value, through which no gradient flows.

    Args:
        value: a Tensor, or nested tuples, lists and dicts of Tensors.

    Example:
        >>> from msjax import Tensor, grad, ops
        >>> print(grad(lambda x: x * ops.stop_gradient(x))(Tensor(3.0)))
        3.0
    """
    return map_tensors(_stopped, value)


def _stopped(tensor):
    stopped = without_gradient(tensor)
    stopped._stopped = True
    STATE.stops_gradients()
    return stopped


def _of_one(values, fn, text, result, grad, owners):
    return HookKind.check_gradients(values, fn, text, result, (grad,), owners)[0]


_HOOK_BACKWARD = HookKind("", "HookBackward hook", HookKind.check_gradients)
_INSERT_GRADIENT_OF = HookKind("", "InsertGradientOf function", _of_one)


class HookBackward(Primitive):
    """An operator that returns its inputs and calls a hook with the gradients that flow back through it.

    Args:
        hook_fn (callable): called as ``hook_fn(grads)`` with a tuple of one gradient for each input. None keeps the
            gradients; a Tensor (for one input) or a tuple of Tensors of the same shapes and dtypes replaces them.
        cell_id (str): accepted for compatibility with MindSpore, without effect.
        observe, traced (bool, optional): in compiled programs, True says that the hook only observes, or that it is part of
            the program; by default its code tells.

    Inputs:
        - **inputs** (Tensor) - one or more Tensors of any shape and dtype.

    Outputs:
        The input, or the tuple of several inputs.

    Raises:
        TypeError: `hook_fn` is not callable, an input is not a Tensor, or the hook returned something else.
        ValueError: the hook returned a gradient of another shape or dtype.

    Example:
        >>> from msjax import Tensor, grad, ops
        >>> hook = ops.HookBackward(lambda grads: print("hook:", grads[0]))
        >>> print(grad(lambda x, y: hook(x * y) * y)(Tensor(1.0), Tensor(2.0)))
        hook: 2.0
        4.0
    """

    def __init__(
        self, hook_fn: Callable[..., Any], cell_id: str = "", *, observe: bool | None = None, traced: bool | None = None
    ):
        super().__init__("HookBackward")
        check_hook(hook_fn, "HookBackward", observe, traced)
        self.hook_fn = hook_fn
        self.cell_id = cell_id
        self._hook = Hook(hook_fn, of_tensors=True, observe=observe, traced=traced)

    def __call__(self, *inputs: Any) -> Any:
        for value in inputs:
            if not isinstance(value, Tensor):
                raise TypeError(f"For 'HookBackward'{where()}, every input should be a Tensor, but got {describe(value)}.")
        avals = [(v._value.shape, v._value.dtype) for v in inputs]

        def run(grads):
            # An output that was not used has a gradient of zeros, as in MindSpore.
            grads = tuple(wrap(jnp.zeros(*aval)) if g is None else g for g, aval in zip(grads, avals))
            return list(Frame(TENSORS).run_backward(_HOOK_BACKWARD, self._hook, (grads,)))

        out = hook_gradients(inputs, run, "HookBackward")
        return out[0] if len(out) == 1 else tuple(out)


class InsertGradientOf(Primitive):
    """An operator that returns its input and applies a function to the gradient that flows back through it.

    Args:
        f (callable): from the gradient, a Tensor, to another one of the same shape and dtype.

    Inputs:
        - **x** (Tensor) - of any shape and dtype.

    Outputs:
        The input.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> halve = ops.InsertGradientOf(lambda grad: grad / 2)
        >>> print(ms.grad(lambda x: halve(x * x))(ms.Tensor(3.0)))
        3.0
    """

    def __init__(self, f: Callable[..., Any]):
        super().__init__("InsertGradientOf")
        if callable(f):  # what can't be called fails in the backward pass, as MindSpore's does
            check_hook(f, "InsertGradientOf")
        self.f = f

    def __call__(self, x: TensorLike) -> Tensor:
        if not isinstance(x, Tensor):
            raise TypeError(f"For 'InsertGradientOf'{where()}, the input should be a Tensor, but got {describe(x)}.")
        return hook_gradients([x], self._run, "InsertGradientOf")[0]

    def _run(self, grads):
        check_hook(self.f, "InsertGradientOf")
        return [Frame(TENSORS).run_backward(_INSERT_GRADIENT_OF, Hook(self.f), (grads[0],))]
