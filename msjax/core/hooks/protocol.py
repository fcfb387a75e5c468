"""The protocol of hooks: the calls that hooks stand around, and the order in which hooks run there.

Forward pre hooks, the backward node on the inputs, the function, the backward node on the outputs, forward hooks, the
backward pre node; `msjax.core.hooks.kinds.Rules` says where the order differs. It serves every owner of hooks: a Cell, a module
of another framework, a plain function.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from msjax.core.base.arrays import staged
from msjax.core.base.errors import describe, where
from msjax.core.base.state import STATE
from msjax.core.hooks.batching import CALLBACKS, CallbackBatch, after_latest_call, tie_calls_to
from msjax.core.hooks.delivery import BACKWARD, BACKWARD_PRE, FORWARD, FORWARD_PRE, NOW, Frame
from msjax.core.hooks.hook import HookTable
from msjax.core.hooks.kinds import HOOK_SETTINGS, HookPlace, check_forward_result, check_has_run, forward_pre_result
from msjax.core.hooks.values import ARRAYS, ModuleSubject, Values


class CallFrame(Frame):
    """One call of an owner of hooks, which they get as their first argument.

    In the backward pass it is a node on the inputs of the call, and one or two on its outputs. The node on the outputs stores the gradients
    that arrive. The node on the inputs runs after everything between the two, and calls the backward hooks with the gradients of both.
    Hooks are looked up at that moment, so removed ones don't run. `Values` makes the nodes: on the tape, or as identities of jax where
    jax differentiates.

    Args:
        subject: the owner: a Cell, or a `ModuleSubject`.
        table_of (callable): returns the owner's present HookTable.
        values (Values): says what the values among the arguments and results are.

    Attributes:
        rules: the dialect.
        inputs: the tape's node on the inputs, until those on the outputs refer to it; or None.
        n_inputs, n_outputs: how many values pass the nodes.
        flags: where jax differentiates, whether each input carries a gradient; None elsewhere.
    """

    inputs: Any = None
    grad_output: tuple[Any, ...] | None = None
    flags: list[bool] | None = None
    n_inputs = n_outputs = 0

    def __init__(self, subject: Any, table_of: Callable[[Any], HookTable], values: Values):
        self.subject = subject
        self.table_of = table_of
        self.values = values
        self.owners: tuple[Any, ...] | None = tuple(STATE.owners)
        self.rules = HOOK_SETTINGS.rules

    def __str__(self) -> str:
        return f"backward hooks of {type(self.values.during(self.subject)).__name__}"

    def call(self, fn: Callable[..., Any], given: Sequence[Any]) -> Any:
        subject = self.subject
        if subject.__class__ is ModuleSubject:
            subject = self.values.during(subject)
        return fn(self.rules.text_of(subject) if self.rules.names_subject else subject, *given)

    def head(self) -> tuple[Callable[[], Any], ...]:
        if self.rules.names_subject:
            text = self.rules.text_of(self.values.during(self.subject))
            return (lambda: text,)
        return (self.values.later(self.subject),)

    # ---- the call

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function with the hooks of its owner around it; returns the result after the forward hooks.

        A hook that a forward pre hook registers takes effect in the same call, and backward hooks are looked up when the gradient arrives.
        """
        subject, table_of, values, delivery = self.subject, self.table_of, self.values, STATE.delivery
        if values.has_tracers(args, kwargs) if delivery is NOW else delivery.begins_batch:
            if staged():
                return CallbackBatch.around(values, functools.partial(self.run, function, args, kwargs))
            if delivery is NOW:
                delivery = CALLBACKS
        table, out, pending, replaced = table_of(subject), None, None, None
        try:
            if table.forward_pre:
                for number, hook in enumerate(table.forward_pre):
                    given = (args, kwargs) if hook.with_kwargs else (args,)
                    result, (args, kwargs) = delivery.run(self, FORWARD_PRE, hook, given, (args, kwargs), number)
                    if result is not None:
                        new = forward_pre_result(values, hook.fn, hook.with_kwargs, result, args, kwargs)
                        # The new arguments may not be computed from those that an observer has seen.
                        args, kwargs = new if delivery is NOW or new[0] is args else after_latest_call(values, new)
                        replaced = hook
                table = table_of(subject)
            pending = list(table.forward)
            inputs = values.on_inputs(self, args) if table.backward else args
            around = self.rules.nodes_around_forward_hooks
            if around:
                args = inputs
            out = function(*inputs, **kwargs)
            if table.backward and not around:
                out = values.on_outputs(self, out, pre=False)
            # Parameters may be traced although the arguments are not.
            if pending and delivery is NOW and values.has_tracers((out,)):
                delivery = CALLBACKS
            while pending:
                hook = pending.pop(0)
                given = (args, kwargs, out) if hook.with_kwargs else (args, out)
                result, out = delivery.run(self, FORWARD, hook, given, out, len(table.forward) - len(pending) - 1)
                if result is not None and not values.is_nothing(result):
                    check_has_run(hook.fn, FORWARD.text, result, self.owners)
                    if values is ARRAYS:
                        check_forward_result(hook.fn, result, out, self.owners)
                    out = result if delivery is NOW else after_latest_call(values, result)
            if table.backward and around:
                out = values.on_outputs(self, out, pre=False)
        except Exception as error:
            if replaced is not None and out is None:
                what = HookPlace.within(FORWARD_PRE.text, self.owners).text(replaced.fn)
                error.add_note(f"called with what {what} returned: {describe((*args, *kwargs.values()))}")
            if not (delivery.outputs and STATE.in_program()):  # code that fails while msjax compiles it runs in PyNative mode
                for hook in table_of(subject).forward if pending is None else pending:
                    if hook.always_call:
                        given = (args, kwargs, out) if hook.with_kwargs else (args, out)
                        self._call_after_failure(delivery, hook, given, out)
            raise
        if (table.backward or table.backward_pre) and dataclasses.is_dataclass(out) and not values.arrays(out):
            warnings.warn(
                f"Hooks of gradients{where()} find no {values.noun}s in its output, {describe(out)}, and get no gradients of it. Return a tuple "
                "or a dict, or register the class with jax.tree_util.register_dataclass.",
                stacklevel=2,
            )
        return values.on_outputs(self, out, pre=True) if table.backward_pre else out

    def _call_after_failure(self, delivery, hook, given, out):
        """Run a forward hook that was registered with always_call=True after the call failed; its own failure is a warning."""
        try:
            delivery.run(self, FORWARD, hook, given, out)
        except Exception as error:
            warnings.warn(
                f"The forward hook {hook.name} (always_call=True){where()} raised {error!r}, after the call had failed already.",
                stacklevel=4,
            )

    # ---- in the backward pass

    def call_pre_hooks(self, grads: Sequence[Any]) -> list[Any]:
        """The function of the node that calls the backward pre hooks: from the gradients of the outputs to new ones."""
        grads, self.rules = tuple(grads), HOOK_SETTINGS.rules
        for number, hook in enumerate(self.table_of(self.subject).backward_pre):
            grads = self.run_backward(BACKWARD_PRE, hook, (grads,), 0, number)
        return list(grads)

    def keep(self, grads: Any) -> Any:
        """The function of the tape's node on the outputs."""
        self.grad_output = tuple(grads)
        return grads

    def keep_under_jax(self, grads: Any) -> Any:
        """The function of the identity on the outputs, where jax differentiates."""
        self.keep(grads)
        if not self.flags or True not in self.flags:
            # No input carries a gradient: jax never reaches the node on the inputs, so the hooks run here.
            grads = list(grads)
            with tie_calls_to(self.values, grads):
                self.call_hooks([None] * self.n_inputs)
        return grads

    def call_hooks(self, grads: Sequence[Any]) -> list[Any]:
        """The function of the node on the inputs: from the gradients of the inputs to new ones."""
        grad_output = self.grad_output or (None,) * self.n_outputs
        self.grad_output = None
        # For a call without inputs that are values, grad_input is (None,), as in MindSpore.
        grads, self.rules = tuple(grads) or (None,), HOOK_SETTINGS.rules
        last = self.rules.grad_output_first
        for number, hook in enumerate(self.table_of(self.subject).backward):
            given = (grad_output, grads) if last else (grads, grad_output)
            grads = self.run_backward(BACKWARD, hook, given, int(last), number)
        return list(grads[: self.n_inputs])
