"""Dialects: MindSpore's documents disagree about some rules of hooks; one setting chooses which to follow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """The rules of one dialect.

    Attributes:
        name: the value of the setting `hook_dialect`.
        nodes_around_forward_hooks: True puts the backward hooks' node on the outputs after the forward hooks, which get the
            inputs after the node on the inputs; False puts it before the forward hooks.
        names_subject: hooks get the str ``Name(id)`` instead of the cell.
        sums_shared_inputs: if a Tensor object is passed at several positions of a gradient function, each position gets the
            sum of their gradients; otherwise each gets its own.
        unreached_inputs_last: the backward hooks of cells whose inputs no gradient reaches run at the end of the backward pass, in the
            order in which their backward pre hooks run; otherwise with the cell's own backward pass.
        grad_output_first: backward hooks get the gradient of the outputs before that of the inputs.
    """

    name: str
    nodes_around_forward_hooks: bool = False
    names_subject: bool = False
    sums_shared_inputs: bool = False
    unreached_inputs_last: bool = False
    grad_output_first: bool = False

    def text_of(self, subject: object) -> str:
        """The first argument of hooks if `names_subject` is set."""
        return f"{type(subject).__name__}({id(subject)})"


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("tutorial"),
        Dialect("mindspore-2.10", nodes_around_forward_hooks=True, sums_shared_inputs=True, unreached_inputs_last=True),
        Dialect("mindspore-1", names_subject=True, grad_output_first=True),
    )
}
