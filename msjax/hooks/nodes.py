"""Hook nodes: identities whose backward calls hooks with the gradients that flow through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.arrays import CONCRETE, is_tracer
from msjax.common.node import FunctionNode, place_on_tape
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, is_tensor, wrap
from msjax.hooks.batching import tie_calls_to
from msjax.hooks.delivery import run_traced_hook
from msjax.hooks.dialect import dialect
from msjax.hooks.returns import gradients_result
from msjax.hooks.worker import barrier
from msjax.state import ACTIVITY, STATE, swap


def hook_gradients(tensors: Any, function: Callable[..., Any], label: str) -> list[Tensor]:
    """Pass Tensors through an identity whose backward applies `function` to their gradients.

    Args:
        tensors: a list of Tensors.
        function: takes and returns a list with one gradient (Tensor or None) for each Tensor.
        label: the node's name.
    """
    edges, base = place_on_tape(tensors)
    if base is None:
        outputs = through_custom_vjp(tensors, function) if under_jax_transform(tensors) else list(tensors)
    else:
        node = FunctionNode(base, edges, len(tensors), function, label)
        outputs = _outputs(node, tensors, [e is not None for e in edges])
    # New Tensors, with or without a gradient: a write to the given one leaves them as they are.
    return [wrap(new._value) if new is old else new for new, old in zip(outputs, tensors)]


def under_jax_transform(tensors: list[Tensor]) -> bool:
    """True if jax, not the tape, differentiates these Tensors: under a jax transformation, also inside of a program."""
    trace = STATE.trace
    for tensor in tensors:
        if tensor._value.__class__ not in CONCRETE and is_tracer(tensor._value):
            if trace is None or not trace.here():
                return True
            trace.needs_node()
            return False
    return False


def through_custom_vjp(tensors: list[Tensor], function: Callable[..., Any], flags: list[Any] | None = None) -> list[Tensor]:
    """The same as `hook_gradients` under a jax transformation, as a custom_vjp.

    Args:
        flags: a list; when jax differentiates, it is filled with whether each Tensor carries a gradient.
    """
    flags = [] if flags is None else flags
    at = [i for i, t in enumerate(tensors) if is_tracer(t._value) and jnp.issubdtype(t._value.dtype, jnp.inexact)]
    if not at:
        return list(tensors)

    # The rules outlive the trace with the compiled program, so they must not hold tracers.
    count = len(tensors)

    @jax.custom_vjp
    def identity(*values):
        return values

    def forward(*values):
        flags[:] = [False] * count
        for i, value in zip(at, values):
            flags[i] = value.perturbed
        return tuple(value.value for value in values), None

    def backward(_, cts):
        grads = [None] * count
        for i, ct in zip(at, cts):
            if flags[i] and not isinstance(ct, jax.custom_derivatives.SymbolicZero):
                grads[i] = wrap(ct)
        with swap(recording=False):
            grads = function(grads)
        return tuple(None if grads[i] is None else grads[i]._value for i in at)

    identity.defvjp(forward, backward, symbolic_zeros=True)
    out = list(tensors)
    for i, value in zip(at, identity(*[tensors[i]._value for i in at])):
        out[i] = wrap(value)
    return out


def _outputs(node, tensors, on_tape):
    """The Tensors, those on the tape replaced by copies that are the outputs of a node."""
    out = []
    for i, (tensor, there) in enumerate(zip(tensors, on_tape)):
        if there:
            tensor = wrap(tensor._value)
            tensor._node, tensor._oidx = node, i
        out.append(tensor)
    return out


class BackwardHooks:
    """The backward hooks of one call: a node on its inputs, and one or two on its outputs.

    The node on the outputs stores the gradients that arrive. The node on the inputs runs after everything between the two,
    and calls the backward hooks with the gradients of both. Hooks are looked up at that moment, so removed ones don't run.

    Args:
        subject: the owner of the hooks, their first argument.
        table_of (callable): returns the owner's present HookTable.
    """

    __slots__ = ("subject", "table_of", "cells", "inputs", "n_outputs", "grad_output", "n_inputs", "flags")

    def __init__(self, subject: Any, table_of: Callable[..., Any]):
        self.subject = subject
        self.table_of = table_of
        self.cells = tuple(STATE.cells)
        self.inputs = self.grad_output = self.flags = None
        self.n_inputs = self.n_outputs = 0

    def __str__(self) -> Any:
        return f"backward hooks of {type(getattr(self.subject, 'hooked_module', self.subject)).__name__}"

    def on_inputs(self, args: Any) -> Any:
        """The positional arguments, with their Tensors passed through the node on the inputs."""
        if len(args) == 1 and args[0].__class__ is Tensor:
            tensor = args[0]
            out = self._through_node(tensor, self._call_hooks)
            if out is not None:
                out._stands_for = tensor
                self.n_inputs, self.inputs = 1, out._node
                return (out,)
            if tensor._value.__class__ in CONCRETE:
                # Off the tape, the node still marks where the call began.
                self.n_inputs, self.inputs = 1, FunctionNode(STATE.scope, [None], 1, self._call_hooks, self)
                return args
        leaves, treedef, at = _find_tensors(args)
        tensors = [leaves[i] for i in at]
        self.n_inputs: int = len(tensors)
        edges, base = place_on_tape(tensors)
        self.inputs = FunctionNode(base or STATE.scope, edges, len(tensors), self._call_hooks, self)
        if base is None:
            if not under_jax_transform(tensors):
                return args
            self.flags = []
            outputs = through_custom_vjp(tensors, self._call_hooks, self.flags)
        else:
            on_tape = [
                e is not None or (isinstance(t, Parameter) and t.requires_grad and (t.is_floating_point() or t.is_complex()))
                for e, t in zip(edges, tensors)
            ]
            outputs = _outputs(self.inputs, tensors, on_tape)
        for i, tensor in zip(at, outputs):
            if tensor is not leaves[i]:
                tensor._stands_for = leaves[i]
            leaves[i] = tensor
        return tuple(leaves) if treedef is None else jax.tree.unflatten(treedef, leaves)

    def on_outputs(self, out: Any) -> Any:
        """The result, with its Tensors passed through the node that stores the arriving gradients."""
        return self._through(out, self._keep, also_run=True)

    def pre_on_outputs(self, out: Any) -> Any:
        """The result, with its Tensors passed through the node that calls the backward pre hooks."""
        return self._through(out, self._call_pre_hooks)

    def _through_node(self, tensor, function):
        """A copy of a Tensor that is the output of a new node; None if the Tensor is not on the tape."""
        node, state = tensor._node, STATE
        if node is None or not state.recording or not node.live():
            return None
        if node.base is not state.scope:
            state.scope.nested = True
        out = wrap(tensor._value)
        out._node = FunctionNode(node.base, [(node, tensor._oidx)], 1, function, self)
        return out

    def _through(self, out, function, also_run=False):
        if out.__class__ is Tensor:
            through = self._through_node(out, function)
            if through is not None:
                if also_run:
                    self.n_outputs, through._node.also_run = 1, self.inputs
                return through
        leaves, treedef, at = ((out,), None, (0,)) if isinstance(out, Tensor) else _find_tensors(out)
        tensors = [leaves[i] for i in at]
        edges, base = place_on_tape(tensors)
        if also_run:
            self.n_outputs: int = len(tensors)
        if base is None:
            if not under_jax_transform(tensors):
                return out
            outputs = through_custom_vjp(tensors, self._keep_under_jax_transform if also_run else function)
        else:
            node = FunctionNode(base, edges, len(tensors), function, self)
            if also_run:
                node.also_run = self.inputs
            outputs = _outputs(node, tensors, [e is not None for e in edges])
        if isinstance(out, Tensor):
            return outputs[0]
        leaves = list(leaves)
        for i, tensor in zip(at, outputs):
            leaves[i] = tensor
        return tuple(leaves) if treedef is None else jax.tree.unflatten(treedef, leaves)

    # ---- in the backward pass

    def _named(self, rules):
        return rules.text_of(self.subject) if rules.names_subject else self.subject

    def _call_pre_hooks(self, grads):
        grads, named = tuple(grads), self._named(dialect())
        for hook in self.table_of(self.subject).backward_pre:
            grads = run_hook(hook, "backward pre hook", (named, grads), 1, self.cells)
        return list(grads)

    def _keep(self, grads):
        self.grad_output = tuple(grads)
        return grads

    def _keep_under_jax_transform(self, grads):
        self._keep(grads)
        if not self.flags or True not in self.flags:
            # No input carries a gradient: jax never reaches the node on the inputs, so the hooks run here.
            grads = list(grads)
            with tie_calls_to(grads):
                self._call_hooks([None] * self.n_inputs)
        return grads

    def _call_hooks(self, grads):
        grad_output = self.grad_output or (None,) * self.n_outputs
        self.grad_output = None
        # For a call without Tensor inputs, grad_input is (None,), as in MindSpore.
        grads, rules = tuple(grads) or (None,), dialect()
        named = self._named(rules)
        for hook in self.table_of(self.subject).backward:
            args = (named, grad_output, grads) if rules.grad_output_first else (named, grads, grad_output)
            grads = run_hook(hook, "backward hook", args, 1 + rules.grad_output_first, self.cells)
        return list(grads[: self.n_inputs])


def run_hook(hook: Callable[..., Any], kind: str, args: Any, carries: int, cells: Any = None) -> Any:
    """Run one registered backward hook, whose argument number `carries` is the tuple of gradients; returns the new ones."""

    def check(result, grads):
        return gradients_result(hook.fn, kind, result, grads, cells)

    return run_checked(hook.fn, kind, args, carries, check, hook.observe, hook.traced, cells)


def run_checked(
    fn: Callable[..., Any],
    kind: str,
    args: Any,
    carries: int,
    check: Callable[..., Any],
    observe: bool | None = None,
    traced: bool | None = None,
    cells: Any = None,
) -> Any:
    """Run a hook of gradients, now or as part of a traced program.

    Args:
        carries: the number of the argument that the hook may replace.
        check: takes what the hook returned and that argument; returns its new value.
    """
    if STATE.trace is not None or STATE.functional or any_traced(args):
        result, carried = run_traced_hook(
            fn, args, kind, observe=observe, traced=traced, cells=cells, carries=carries, check=check
        )
        return check(result, carried)
    if ACTIVITY.callbacks:
        barrier()
    return check(fn(*args), args[carries])


def any_traced(args: tuple[Any, ...]) -> bool:
    """Whether one of a hook's arguments is, or is a tuple with, a Tensor that jax traces."""
    for arg in args:
        for tensor in arg if arg.__class__ is tuple else (arg,):
            if isinstance(tensor, Tensor) and tensor._value.__class__ not in CONCRETE and is_tracer(tensor._value):
                return True
    return False


def _find_tensors(value):
    """(leaves, treedef, numbers of the leaves that are Tensors); treedef is None for a tuple without containers in it."""
    if value.__class__ is tuple:
        for v in value:
            if not isinstance(v, Tensor) and isinstance(v, (tuple, list, dict)):
                break
        else:
            return list(value), None, [i for i, v in enumerate(value) if isinstance(v, Tensor)]
    leaves, treedef = jax.tree.flatten(value, is_leaf=is_tensor)
    return leaves, treedef, [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]
