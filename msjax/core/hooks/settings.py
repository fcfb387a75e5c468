"""Settings of the protocol of hooks, which the program around it may change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """What hooks get, and where the nodes sit that call hooks of gradients.

    Attributes:
        nodes_around_forward_hooks: True puts the backward hooks' node on the outputs after the forward hooks, which get the
            inputs after the node on the inputs; False puts it before the forward hooks.
        names_subject: hooks get the str ``Name(id)`` instead of their owner.
        grad_output_first: backward hooks get the gradient of the outputs before that of the inputs.
    """

    nodes_around_forward_hooks: bool = False
    names_subject: bool = False
    grad_output_first: bool = False

    def text_of(self, subject: object) -> str:
        """The first argument of hooks if `names_subject` is set."""
        return f"{type(subject).__name__}({id(subject)})"


class HookSettings:
    """The present settings.

    Attributes:
        rules: those that calls from now on follow.
        queue_bytes: how many bytes of values may wait for hooks of programs that jax compiles.
    """

    __slots__ = ("queue_bytes", "rules")

    def __init__(self):
        self.rules: Rules = Rules()
        self.queue_bytes: int = 256 << 20

    def follow(self, **rules: bool) -> None:
        """Have calls from now on follow `Rules` with these attributes."""
        self.rules = Rules(**rules)


HOOK_SETTINGS = HookSettings()
