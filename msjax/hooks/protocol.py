"""The protocol of hooks: the order in which hooks run around one call.

Forward pre hooks, the backward node on the inputs, the function, the backward node on the outputs, forward hooks, the
backward pre node; `msjax.hooks.dialect` says where the order differs. It serves every owner of hooks: a Cell, a module
of another framework, a plain function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax

from msjax.base.arrays import CONCRETE
from msjax.base.context import SETTINGS
from msjax.base.errors import where
from msjax.base.state import ACTIVITY, STATE
from msjax.common.node import FunctionNode, place_on_tape, through_node
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, being_traced, is_tensor
from msjax.hooks.batching import tie_calls_to
from msjax.hooks.delivery import run_traced_hook
from msjax.hooks.dialect import DIALECTS
from msjax.hooks.nodes import outputs_of, through_custom_vjp, under_jax_transform
from msjax.hooks.returns import forward_pre_result, gradients_result
from msjax.hooks.table import CALL_KINDS, EMPTY, GLOBAL, HookTable
from msjax.hooks.worker import barrier


def hooks_of(owner: Any) -> HookTable:
    """The hooks that run when an owner is called: those of all cells, then its own."""
    own, table = owner._hooks, GLOBAL.table
    if table is EMPTY:
        return own
    if own is EMPTY:
        return table
    return replace(own, **{kind: getattr(table, kind) + getattr(own, kind) for kind in CALL_KINDS})


def call_with_hooks(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    subject: object,
    table_of: Callable[[Any], HookTable],
) -> Any:
    """Call a function with the hooks of its owner around it.

    Args:
        function (callable): called with the arguments after the forward pre hooks.
        args (tuple), kwargs (dict): the arguments of the call.
        subject: the owner; hooks get it as their first argument.
        table_of (callable): returns the owner's present HookTable. A hook that a forward pre hook registers takes
            effect in the same call, and backward hooks are looked up when the gradient arrives.

    Returns:
        The function's result after the forward hooks.
    """
    rules = DIALECTS[SETTINGS.hook_dialect]
    named = rules.text_of(subject) if rules.names_subject else subject
    traced = being_traced(args, kwargs)
    if ACTIVITY.callbacks and not traced:
        barrier()
    table, out, pending = table_of(subject), None, None
    guard = STATE.trace.guard() if STATE.trace is not None and any(hook.always_call for hook in table.forward) else None
    try:
        if guard is not None:
            guard.pending(_after_failure(table.forward, named, args, kwargs, None))
        if table.forward_pre:
            for hook in table.forward_pre:
                args, kwargs = _run_forward_pre_hook(hook, named, args, kwargs, traced)
            table = table_of(subject)
        backward = BackwardHooks(subject, table_of) if table.backward or table.backward_pre else None
        pending = list(table.forward)
        inputs = backward.on_inputs(args) if table.backward else args  # pyright: ignore[reportOptionalMemberAccess]
        if rules.nodes_around_forward_hooks:
            args = inputs
        if guard is not None:
            guard.pending(_after_failure(pending, named, args, kwargs, None))
        out = function(*inputs, **kwargs)
        # Parameters may be traced although the arguments are not.
        traced = traced or being_traced((out,))
        if table.backward and not rules.nodes_around_forward_hooks:
            out = backward.on_outputs(out)  # pyright: ignore[reportOptionalMemberAccess]
        if ACTIVITY.callbacks and not traced:
            barrier()
        while pending:
            hook = pending.pop(0)
            if guard is not None:
                guard.pending(_after_failure(pending, named, args, kwargs, out))
            out = _run_forward_hook(hook, named, args, kwargs, out, traced)
        if table.backward and rules.nodes_around_forward_hooks:
            out = backward.on_outputs(out)  # pyright: ignore[reportOptionalMemberAccess]
    except Exception:
        if guard is not None:
            guard.end()  # code that fails while it is compiled runs in PyNative mode
        else:
            for call in _after_failure(
                table_of(subject).forward if pending is None else pending, named, args, kwargs, out, traced
            ):
                call_after_failure(*call)
        raise
    if guard is not None:
        guard.end()
    return backward.pre_on_outputs(out) if table.backward_pre else out  # pyright: ignore[reportOptionalMemberAccess]


def _run_forward_pre_hook(hook, subject, args, kwargs, traced):
    given = (subject, args, kwargs) if hook.with_kwargs else (subject, args)
    if traced:
        result, (args, kwargs) = run_traced_hook(
            hook.fn, given, "forward pre hook", observe=hook.observe, traced=hook.traced, carried=(args, kwargs)
        )
    else:
        result = hook.fn(*given)
    return forward_pre_result(hook, result, args, kwargs)


def _run_forward_hook(hook, subject, args, kwargs, out, traced=False):
    given = _given(hook, subject, args, kwargs, out)
    if traced:
        result, out = run_traced_hook(hook.fn, given, "forward hook", observe=hook.observe, traced=hook.traced)
    else:
        result = hook.fn(*given)
    return out if result is None else result


def _given(hook, subject, args, kwargs, out):
    return (subject, args, kwargs, out) if hook.with_kwargs else (subject, args, out)


def _after_failure(hooks, subject, args, kwargs, out, traced=False):
    """What `call_after_failure` is called with if the call fails now: those of the hooks that have always_call=True."""
    calls = []
    for hook in hooks:
        if hook.always_call:
            who = f"The forward hook {hook.name} (always_call=True){where()}"
            if traced:
                calls.append((_run_forward_hook, (hook, subject, args, kwargs, out, True), who))
            else:
                calls.append((hook.fn, _given(hook, subject, args, kwargs, out), who))
    return calls


def call_after_failure(fn: Callable[..., Any], args: tuple[Any, ...], who: str) -> None:
    """Run a forward hook that was registered with always_call=True after the call failed; its own failure is a warning."""
    try:
        fn(*args)
    except Exception as error:
        warnings.warn(f"{who} raised {error!r}, after the call had failed already.", stacklevel=4)


# ---- in the backward pass


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
        self.subject: Any = subject
        self.table_of = table_of
        self.cells = tuple(STATE.owners)
        self.inputs = self.grad_output = self.flags = None
        self.n_inputs = self.n_outputs = 0

    def __str__(self) -> Any:
        return f"backward hooks of {type(getattr(self.subject, 'hooked_module', self.subject)).__name__}"

    def on_inputs(self, args: Any) -> Any:
        """The positional arguments, with their Tensors passed through the node on the inputs."""
        if len(args) == 1 and args[0].__class__ is Tensor:
            tensor = args[0]
            out = through_node(tensor, self._call_hooks, self)
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
            outputs = outputs_of(self.inputs, tensors, on_tape)
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

    def _through(self, out, function, also_run=False):
        if out.__class__ is Tensor:
            through = through_node(out, function, self)
            if through is not None:
                if also_run:
                    self.n_outputs, through._node.also_run = 1, self.inputs  # pyright: ignore[reportOptionalMemberAccess]
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
            outputs = outputs_of(node, tensors, [e is not None for e in edges])
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
        grads, named = tuple(grads), self._named(DIALECTS[SETTINGS.hook_dialect])
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
        grads, rules = tuple(grads) or (None,), DIALECTS[SETTINGS.hook_dialect]
        named = self._named(rules)
        for hook in self.table_of(self.subject).backward:
            args = (named, grad_output, grads) if rules.grad_output_first else (named, grads, grad_output)
            grads = run_hook(hook, "backward hook", args, 1 + rules.grad_output_first, self.cells)
        return list(grads[: self.n_inputs])


def run_hook(hook: Callable[..., Any], kind: str, args: Any, carries: int, cells: Any = None) -> Any:
    """Run one registered backward hook, whose argument number `carries` is the tuple of gradients; returns the new ones."""
    check = partial(gradients_result, hook.fn, kind, cells=cells)
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
    if being_traced(args):
        result, carried = run_traced_hook(
            fn, args, kind, observe=observe, traced=traced, cells=cells, carries=carries, check=check
        )
        return check(result, carried)
    if ACTIVITY.callbacks:
        barrier()
    return check(fn(*args), args[carries])


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
