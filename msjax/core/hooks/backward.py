"""The hooks of one call in its backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msjax.core.base.state import ACTIVITY, STATE
from msjax.core.hooks.batching import tie_calls_to
from msjax.core.hooks.delivery import NO_SUBJECT, run_traced_hook
from msjax.core.hooks.returns import gradients_result
from msjax.core.hooks.settings import HOOK_SETTINGS
from msjax.core.hooks.table import Hook, HookTable
from msjax.core.hooks.values import ModuleSubject, Values
from msjax.core.hooks.worker import barrier


class BackwardHooks:
    """The backward hooks of one call: a node on its inputs, and one or two on its outputs.

    The node on the outputs stores the gradients that arrive. The node on the inputs runs after everything between the two,
    and calls the backward hooks with the gradients of both. Hooks are looked up at that moment, so removed ones don't run.
    `Values` makes the nodes: on the tape, or as identities of jax where jax differentiates.

    Args:
        subject: the owner of the hooks, their first argument.
        table_of (callable): returns the owner's present HookTable.
        values (Values): says what the values among the arguments and results are.

    Attributes:
        owners: the owners of hooks around the call.
        inputs: the tape's node on the inputs, or None.
        n_inputs, n_outputs: how many values pass the nodes.
        flags: where jax differentiates, whether each input carries a gradient; None elsewhere.
    """

    __slots__ = ("flags", "grad_output", "inputs", "n_inputs", "n_outputs", "owners", "subject", "table_of", "values")

    def __init__(self, subject: Any, table_of: Callable[[Any], HookTable], values: Values):
        self.subject = subject
        self.table_of = table_of
        self.values = values
        self.owners = tuple(STATE.owners)
        self.inputs: Any = None
        self.grad_output: tuple[Any, ...] | None = None
        self.flags: list[bool] | None = None
        self.n_inputs = self.n_outputs = 0

    def __str__(self) -> str:
        return f"backward hooks of {type(self.values.during(self.subject)).__name__}"

    # ---- in the backward pass

    def call_pre_hooks(self, grads: Sequence[Any]) -> list[Any]:
        """The function of the node that calls the backward pre hooks: from the gradients of the outputs to new ones."""
        grads, rules, named = tuple(grads), HOOK_SETTINGS.rules, self.subject
        if rules.names_subject:
            named = rules.text_of(self.values.during(named))
        for number, hook in enumerate(self.table_of(self.subject).backward_pre):
            slot = self.subject, "backward_pre", number, hook
            grads = run_hook(self.values, hook, named, "backward pre hook", (grads,), 0, self.owners, slot)
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
        grads, rules = tuple(grads) or (None,), HOOK_SETTINGS.rules
        named = rules.text_of(self.values.during(self.subject)) if rules.names_subject else self.subject
        for number, hook in enumerate(self.table_of(self.subject).backward):
            slot = self.subject, "backward", number, hook
            args = (grad_output, grads) if rules.grad_output_first else (grads, grad_output)
            grads = run_hook(self.values, hook, named, "backward hook", args, int(rules.grad_output_first), self.owners, slot)
        return list(grads[: self.n_inputs])


def run_hook(
    values: Values,
    hook: Hook,
    subject: Any,
    kind: str,
    args: tuple[Any, ...],
    carries: int,
    owners: Sequence[Any] | None = None,
    slot: tuple[Any, str, int, Hook] | None = None,
) -> tuple[Any, ...]:
    """Run one registered backward hook, whose argument number `carries` is the tuple of gradients; returns the new ones."""
    check = partial(gradients_result, values, hook.fn, kind, owners=owners)
    return run_checked(values, hook.fn, subject, kind, args, carries, check, hook.observe, hook.traced, owners, slot)


def run_checked(
    values: Values,
    fn: Callable[..., Any],
    subject: Any,
    kind: str,
    args: tuple[Any, ...],
    carries: int,
    check: Callable[[Any, Any], Any],
    observe: bool | None = None,
    traced: bool | None = None,
    owners: Sequence[Any] | None = None,
    slot: tuple[Any, str, int, Hook] | None = None,
) -> Any:
    """Run a hook of gradients, now or as part of a traced program.

    Args:
        subject: its first argument, or NO_SUBJECT.
        carries: the number in `args` of what the hook may replace.
        check: takes what the hook returned and that argument; returns its new value.
        slot: the arguments of `Values.slot`, if the hook is registered on an owner.
    """
    if values.being_traced(args):
        result, carried = run_traced_hook(
            values,
            fn,
            subject,
            args,
            kind,
            observe=observe,
            traced=traced,
            owners=owners,
            carries=carries,
            check=check,
            slot=None if slot is None else values.slot(*slot),
        )
        return check(result, carried)
    if ACTIVITY.callbacks:
        barrier()
    if subject is NO_SUBJECT:
        return check(fn(*args), args[carries])
    return check(fn(subject if subject.__class__ is not ModuleSubject else values.during(subject), *args), args[carries])
