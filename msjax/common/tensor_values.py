"""TENSORS: the Tensors among the arguments and results of a call, and the tape's nodes that call hooks."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, TypeGuard

import jax

from msjax.common.bases import CellBase
from msjax.common.node import FunctionNode, place_on_tape, through_node
from msjax.common.parameter import Parameter
from msjax.common.run_state import STATE
from msjax.common.tensor import Tensor, has_tracers, is_leaf, is_tensor, mark_used, wrap
from msjax.core.base.arrays import CONCRETE, is_float
from msjax.core.door import CallFrame, Hook, HookTable, Slot, Values


class TensorValues(Values):
    """Tensors in nested containers."""

    noun = "Tensor"
    reading = "asnumpy"
    uncompiled = "run the network in PyNative mode"

    # ---- values in containers

    is_leaf = staticmethod(is_leaf)  # pyright: ignore[reportAssignmentType]  (called in the same way)

    def is_value(self, leaf: Any) -> TypeGuard[Tensor]:
        return isinstance(leaf, Tensor)

    def is_fixed(self, leaf: Any) -> bool:
        # A Parameter is the same object in every run.
        return isinstance(leaf, Parameter) and STATE.at_level_of_program()

    def is_nothing(self, result: Any) -> bool:
        return result is None

    def raw(self, leaf: Any) -> Any:
        return leaf._value

    made = staticmethod(wrap)  # pyright: ignore[reportAssignmentType]
    has_tracers = staticmethod(has_tracers)  # pyright: ignore[reportAssignmentType]

    def depending(self, array: Any, value: Any) -> Tensor:
        mark_used((value,))
        made = wrap(array, value._node, value._oidx)
        if value._stopped:
            made._stopped = True
        return made

    # ---- the first argument of hooks

    def later(self, subject: Any) -> Callable[[], Any]:
        # A program that the network keeps must not keep the network.
        weakly = isinstance(subject, CellBase) and STATE.msjax_compiles()
        return weakref.ref(subject) if weakly else lambda: subject

    def slot(self, subject: Any, kind: str, number: int, hook: Hook) -> Slot | None:
        if not hook.in_slot or not hasattr(subject, "_hooks_around"):
            return None
        # A program that the network keeps must not keep the network.
        return Slot(partial(_present_hooks, weakref.ref(subject)), kind, number, hook.key)

    # ---- nodes of the backward pass

    def on_inputs(self, hooks: CallFrame, args: Any) -> Any:
        if len(args) == 1 and args[0].__class__ is Tensor and args[0]._value.__class__ in CONCRETE:
            tensor = args[0]
            hooks.n_inputs = 1
            out = through_node(tensor, hooks.call_hooks, hooks)
            if out is not None:
                out._stands_for = tensor
                hooks.inputs = out._node
                return (out,)
            # Off the tape, the node still marks where the call began.
            hooks.inputs = FunctionNode(STATE.scope, [None], 1, hooks.call_hooks, hooks)
            return args
        leaves, at, join = _find(args)
        tensors = [leaves[i] for i in at]
        hooks.n_inputs = len(tensors)
        edges, base = place_on_tape(tensors)
        node = hooks.inputs = FunctionNode(base or STATE.scope, edges, len(tensors), hooks.call_hooks, hooks)
        outputs = tensors
        if self.under_jax_transform(tensors):
            hooks.flags = []
            mark_used(tensors)
            outputs = _as_stopped(self.through_custom_vjp(tensors, hooks.call_hooks, hooks.flags), tensors)
        elif base is None:
            if len(set(map(id, tensors))) == len(tensors):
                return args
            # One Tensor given twice is two within the call, as behind a node.
            outputs = _as_stopped([wrap(t._value) for t in tensors], tensors)
        if base is not None:
            on_tape = [e is not None or _is_trained(t) for e, t in zip(edges, tensors)]
            outputs = outputs_of(node, outputs, on_tape)
        for i, tensor in zip(at, outputs):
            if tensor is not leaves[i]:
                tensor._stands_for = leaves[i]
            leaves[i] = tensor
        return join(leaves)

    def on_outputs(self, hooks: CallFrame, out: Any, pre: bool) -> Any:
        if out.__class__ is Tensor and out._value.__class__ in CONCRETE:
            through = through_node(out, hooks.call_pre_hooks if pre else hooks.keep, hooks)
            if through is not None:
                if not pre:
                    # The frame lets go of its node, which holds it: garbage in circles would wait for Python's collector.
                    hooks.n_outputs, through._node.also_run, hooks.inputs = 1, hooks.inputs, None  # pyright: ignore[reportOptionalMemberAccess]
                return through
        leaves, at, join = _find(out)
        tensors = [leaves[i] for i in at]
        function = hooks.call_pre_hooks if pre else hooks.keep
        outputs, node = _through(tensors, function, hooks, function if pre else hooks.keep_under_jax)
        if not pre:
            hooks.n_outputs, inputs, hooks.inputs = len(tensors), hooks.inputs, None
            if node is not None:
                node.also_run = inputs
        for i, tensor in zip(at, _as_stopped(outputs, tensors)):
            leaves[i] = tensor
        return join(leaves)


def _present_hooks(ref):
    owner = ref()
    return HookTable.EMPTY if owner is None else owner._hooks_around()


TENSORS = TensorValues()


def hook_gradients(tensors: Sequence[Tensor], function: Callable[[list[Any]], list[Any]], label: str) -> list[Tensor]:
    """Pass Tensors through an identity whose backward applies `function` to their gradients."""
    if STATE.stops_jax():
        return [wrap(jax.lax.stop_gradient(t._value)) for t in tensors]
    return _through(tensors, function, label, function)[0]


def _through(tensors, function, label, under_jax):
    """(the Tensors behind an identity whose backward applies a function to their gradients, its node on the tape or None).

    It is one of the tape, one of jax with the function `under_jax`, or both. The Tensors are new ones, also if nothing differentiates them: a
    write to a given one leaves them as they are.
    """
    edges, base = place_on_tape(tensors)
    outputs, node = tensors, None
    if TENSORS.under_jax_transform(tensors):
        mark_used(tensors)
        outputs = TENSORS.through_custom_vjp(tensors, under_jax)
    if base is not None:
        node = FunctionNode(base, edges, len(tensors), function, label)
        outputs = outputs_of(node, outputs, [e is not None for e in edges])
    return [wrap(new._value) if new is old else new for new, old in zip(outputs, tensors)], node


def outputs_of(node: FunctionNode, tensors: Sequence[Tensor], on_tape: Sequence[bool]) -> list[Tensor]:
    """The Tensors, those on the tape replaced by copies that are the outputs of a node."""
    return [wrap(t._value, node, i) if there else t for i, (t, there) in enumerate(zip(tensors, on_tape))]


def _as_stopped(outputs, tensors):
    """The Tensors behind a node, marked as results of `ops.stop_gradient` where those before it are."""
    for new, old in zip(outputs, tensors):
        if old._stopped:
            new._stopped = True
    return outputs


def _is_trained(tensor):
    return isinstance(tensor, Parameter) and tensor.requires_grad and is_float(tensor._value)


def _find(value):
    """(leaves, numbers of the leaves that are Tensors, a function from leaves to such a value)."""
    if isinstance(value, Tensor):
        return [value], [0], itemgetter(0)
    if value.__class__ is tuple and not any(isinstance(v, (tuple, list, dict)) for v in value):
        leaves, join = list(value), tuple
    else:
        leaves, treedef = jax.tree.flatten(value, is_leaf=is_tensor)
        join = treedef.unflatten
    return leaves, [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)], join
