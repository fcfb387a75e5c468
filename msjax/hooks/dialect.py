"""Dialects: where MindSpore's documents disagree about hooks, one setting says which of them is followed."""

from __future__ import annotations

from dataclasses import dataclass

from msjax.context import SETTINGS


@dataclass(frozen=True)
class Dialect:
    """The rules of one dialect.

    Attributes:
        name: the value of the setting `hook_dialect`.
        nodes_around_forward_hooks: the backward hooks' node on the outputs stands after the forward hooks, and those get
            the inputs as they left the node on the inputs; else it stands before them.
        names_subject: hooks get the text ``Name(id)`` in the place of the cell.
        sums_shared_inputs: one Tensor object at several positions of a gradient function gets the sum of their gradients at
            each; else each position has its own.
        grad_output_first: backward hooks get the gradient of the outputs before that of the inputs.
    """

    name: str
    nodes_around_forward_hooks: bool = False
    names_subject: bool = False
    sums_shared_inputs: bool = False
    grad_output_first: bool = False

    def text_of(self, subject: object) -> str:
        """What hooks get as their first argument where the dialect names the subject."""
        subject = getattr(subject, "hooked_module", subject)
        return f"{type(subject).__name__}({id(subject)})"


_DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("tutorial"),
        Dialect("mindspore-2.10", nodes_around_forward_hooks=True, sums_shared_inputs=True),
        Dialect("mindspore-1", names_subject=True, grad_output_first=True),
    )
}


def dialect() -> Dialect:
    """The dialect that is set at this moment."""
    return _DIALECTS[SETTINGS.hook_dialect]
