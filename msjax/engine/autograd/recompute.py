"""What operators keep for the backward pass, kept otherwise: recompute, which computes it again, and saved_tensors_hooks, which lets user
functions pack it.

A recorded operator keeps residuals: operands, results and whatever else its backward needs. While ``STATE.saving`` is set, the operator gives
them to that object and gets them back in the backward pass.

A recomputed call is recorded like any other, so the tape has its operators, Parameters and hooks, but not the residuals. When the backward
pass reaches the end of the call, it runs the function a second time, under the same conditions, and the operators get their residuals from
that run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self, TypeAlias

import jax
import numpy as np

from msjax.common.bases import is_cell
from msjax.common.node import FunctionNode, RootLeaf, place_on_tape
from msjax.common.random import default_generator
from msjax.common.run_state import ROOT, SEQUENCE, STATE
from msjax.common.tensor import Tensor, renewed, tensors_in, wrap
from msjax.common.tensor_values import TENSORS
from msjax.core.base.arrays import is_tracer
from msjax.core.base.checks import check_kind
from msjax.core.base.errors import callable_name, check_function, describe
from msjax.engine.autograd.memory import Held
from msjax.engine.autograd.op import OpNode

__all__ = ["recompute", "saved_tensors_hooks"]

TwoContexts: TypeAlias = "tuple[AbstractContextManager[Any], AbstractContextManager[Any]]"


def recompute(
    block: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = True,
    output_recompute: bool = False,
    early_stop: bool = True,
    context_fn: Callable[[], TwoContexts] | None = None,
    **kwargs: Any,
) -> Any:
    """Call a cell or function without keeping its inner values; the backward pass computes them again.

    That takes less memory and more time; values and gradients are the same. Forward hooks of the cells inside run
    again in the backward pass, before their backward hooks. Random operators draw the same numbers again. A
    cell's buffers and untrained Parameters, such as moving averages, keep the values of the first run.

    Args:
        block (Cell or callable): what to call; both runs should do the same.
        args: its arguments.
        use_reentrant, output_recompute, early_stop: accepted for compatibility with MindSpore; without effect.
        context_fn (callable, optional): returns two context managers, for the first and the second run.
        kwargs: its keyword arguments.

    Returns:
        What the block returns.

    Raises:
        TypeError: `block` is not callable.
        RuntimeError: in the backward pass, the second run recorded other operators than the first.

    Example:
        >>> from msjax import Tensor, grad, ops, recompute
        >>> print(grad(lambda x: recompute(lambda v: ops.exp(v) * v, x))(Tensor(1.0)))
        5.4365635
    """
    check_kind(block, callable(block), "be a Cell or a function", "the block", "recompute")
    return call_recomputed(block, args, kwargs, context_fn)


def call_recomputed(
    block: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], context_fn: Callable[[], TwoContexts] | None = None
) -> Any:
    """`recompute` after its checks; `Cell.recompute` uses it too."""
    first, second = (nullcontext(), nullcontext()) if context_fn is None else context_fn()
    if not STATE.recording or any(is_tracer(t._value) for t in tensors_in((args, kwargs))):
        with first:
            out = block(*args, **kwargs)
        return _behind_node(out)
    return _Region(block, args, kwargs, second).run(first, args, kwargs)


def _behind_node(out: Any, back: Callable[[list[Any]], list[Any]] = list, kept: bool = False) -> Any:
    """The result of a block behind a node of its own: the hooks of its Tensors are not those of an argument that the block returns."""
    leaves, treedef, at = TENSORS.find(out)
    edges, base = place_on_tape([leaves[i] for i in at])
    if base is None:
        return renewed(out)
    node = FunctionNode(base, edges, len(at), back, "recompute", keeps=[leaves[i] for i in at] if kept else ())
    for k, (i, edge) in enumerate(zip(at, edges)):
        leaves[i] = wrap(leaves[i]._value, None if edge is None else node, k)
    return jax.tree.unflatten(treedef, leaves)


class _Region:
    """One recomputed call: what is needed to run the block again under the same conditions."""

    def __init__(
        self, block: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], context: AbstractContextManager[Any]
    ):
        self.block = block
        self.context = context
        # Tensors of the values that the arguments have now, at their places on the tape.
        self.arguments = renewed((args, kwargs))
        self.scope = STATE.scope
        self.cells = tuple(STATE.owners)
        # {id: (Tensor, the same for it)} of each Tensor from outside the block that a recorded operator read.
        self.outside: dict[int, tuple[Tensor, Tensor]] = {}
        # (operator or what it is made of, static values, slots, name) of each recorded operator that keeps values.
        self.signature: list[tuple[Any, ...]] = []
        self.store: Any = None  # after the second run: the residuals of each of those, until they are used
        # The random state and the buffers before the first run.
        self.state = [(tensor, tensor._value) for tensor in (default_generator.state, *_buffers(block))]
        self.start = next(SEQUENCE)
        # Whether this is a second run, or in one: it registers no hooks.
        self.again = STATE.saving is not None and STATE.saving.again

    def run(self, context, args, kwargs):
        """The first run; its outputs get a node that runs the block again in the backward pass."""
        with STATE.swap(saving=self), context:
            out = self.block(*args, **kwargs)
        return _behind_node(out, self._enter, kept=True) if self.signature else _behind_node(out)

    def save(self, node, operands, values):
        """Drop the residuals of a node recorded in the first run; store those of the second run."""
        first = self.store is None
        if first:
            for operand in operands:
                at = operand._node if isinstance(operand, Tensor) else None
                if at is not None and (at.seq < self.start or at.__class__ is RootLeaf):
                    self.outside.setdefault(id(operand), (operand, renewed(operand)))
        spec = node.spec
        if spec is None or not spec.sources:
            return
        seen = (node.op.made_of or node.op, node.static, node.pullback.slots, node.op.name)
        if first:
            node.saved = functools.partial(self.take, len(self.signature))
            self.signature.append(seen)
        else:
            n = len(self.store)
            if n >= len(self.signature) or self.signature[n] != seen:
                expected = f"{self.signature[n][-1]!r}" if n < len(self.signature) else "no further operator"
                raise RuntimeError(
                    f"For 'recompute', {callable_name(self.block)} did something else in its second run: it recorded "
                    f"operator {node.op.name!r} where the first run had {expected}."
                )
            self.store.append({"residuals": node.residuals, "operands": values})
        node.values = None
        node.residuals = ()

    def _enter(self, grads):
        self._run_again()
        return grads

    def _run_again(self):
        """The second run: computes the residuals again, with the Tensors, buffers and random state of the first run."""
        scopes = [self.scope]
        while scopes[-1].parent is not None:
            scopes.append(scopes[-1].parent)
        were_open = [scope.open for scope in scopes]
        args, kwargs = renewed(self.arguments)
        held = [*self.state, *((tensor, seen._value) for tensor, seen in self.outside.values())]
        for scope in scopes:
            scope.open = True
        self.store = []
        again, self.again = self.again, True
        try:
            with (
                Held([tensor for tensor, _ in held], [value for _, value in held]),
                STATE.swap(scope=self.scope, recording=True, saving=self, owners=list(self.cells)),
                self.context,
            ):
                for tensor, seen in self.outside.values():
                    tensor._node, tensor._oidx = seen._node, seen._oidx
                self.block(*args, **kwargs)
            if len(self.store) != len(self.signature):
                raise RuntimeError(
                    f"For 'recompute', {callable_name(self.block)} did something else in its second run: it recorded "
                    f"{len(self.store)} operators, in the first run {len(self.signature)}."
                )
        finally:
            self.again = again
            for scope, was in zip(scopes, were_open):
                scope.open = was

    def take(self, i, what):
        """The "residuals" or "operands" of an operator, which leave the store; another backward pass computes them again."""
        if self.store is None or self.store[i] is None:
            self._run_again()
        taken, self.store[i] = self.store[i], None  # pyright: ignore[reportOptionalSubscript]
        return taken[what]


def _buffers(block):
    """The state of a cell that a run may change: buffers and Parameters that are not trained."""
    if not is_cell(block):
        block = getattr(block, "__self__", None)
        if not is_cell(block):
            return []
    return [*block.untrainable_params(), *block.buffers()]


class saved_tensors_hooks:
    """Packs the Tensors that operators save for the backward pass, and unpacks them there, with two functions of the user.

    Inside this context, each Tensor that a recorded operator would save is passed to `pack_hook`, and the result is saved
    instead. When the backward pass reaches the operator, `unpack_hook` turns it back into a Tensor. That Tensor may have
    other values; the gradient is computed with them. If contexts are nested, the innermost one is used.

    Args:
        pack_hook (callable): from a Tensor to anything.
        unpack_hook (callable): from what `pack_hook` returned to a Tensor of the same shape and dtype.

    Raises:
        TypeError: a hook is not callable, or (in the backward pass) `unpack_hook` did not return a Tensor.
        ValueError: in the backward pass, `unpack_hook` returned another shape or dtype than was packed.
        NotImplementedError: the program is being compiled.

    Example:
        >>> import msjax as ms
        >>> def f(x, y):
        ...     with ms.saved_tensors_hooks(lambda t: t.asnumpy(), lambda a: ms.Tensor(a * 10)):
        ...         return x * y
        >>> print(ms.grad(f)(ms.Tensor(2.0), ms.Tensor(3.0)))
        30.0
    """

    again = False  # see `_Region`

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        check_function(pack_hook, "saved_tensors_hooks")
        check_function(unpack_hook, "saved_tensors_hooks")
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        self._before.append(STATE.swap(saving=self).__enter__())
        return self

    def __exit__(self, *_exception: Any) -> None:
        self._before.pop().__exit__()

    def save(self, node: OpNode, operands: Sequence[Any], values: Sequence[Any]) -> None:
        """Pack the residuals of a node that has just been recorded."""
        spec = node.spec
        if spec is None:
            raise NotImplementedError(
                "saved_tensors_hooks is not offered in a program that is being compiled; there, XLA decides what is kept."
            )
        if not spec.sources:
            return
        kept: dict[str, Any] = {"residuals": [*map(self._pack, node.residuals)]}
        # In nested gradient functions the backward pass is recorded too, and needs the operands for that.
        kept["operands"] = [*map(self._pack, values)] if node.needs_operands and node.base is not ROOT else None
        node.saved = functools.partial(self._unpacked, node.name, kept)
        node.values = None
        node.residuals = ()

    def _unpacked(self, name, kept, what):
        if kept[what] is None:
            raise RuntimeError(
                f"backward(create_graph=True) reached operator {name!r}, whose values saved_tensors_hooks has packed; that "
                "is not offered. Use ms.grad of ms.grad, or no saved_tensors_hooks here."
            )
        return [self._unpack(*each) for each in kept[what]]

    def _pack(self, value):
        if not hasattr(value, "shape"):
            return value, None, None  # a Python number or None
        # Operators inside the user's functions are neither recorded nor packed.
        with STATE.swap(recording=False, saving=None):
            return self.pack_hook(wrap(value)), value.shape, value.dtype

    def _unpack(self, packed, shape, dtype):
        if shape is None:
            return packed
        # Operators inside the user's functions are neither recorded nor packed.
        with STATE.swap(recording=False, saving=None):
            tensor = self.unpack_hook(packed)
        name = callable_name(self.unpack_hook)
        if not isinstance(tensor, Tensor):
            raise TypeError(f"The unpack hook {name} should return a Tensor, but returned {describe(tensor)}.")
        if tensor.shape != shape or tensor._value.dtype != dtype:
            raise ValueError(
                f"The unpack hook {name} should return a Tensor of shape {shape} and dtype {np.dtype(dtype)}, as it was packed, "
                f"but returned {describe(tensor)}."
            )
        return tensor._value
