"""Dialects: MindSpore's documents disagree about some rules of hooks; one setting chooses which to follow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """The rules of one dialect.

    Attributes:
        name: the value of the setting `hook_dialect`.
        of_protocol: those of `msjax.core.hooks.settings.Rules` that hold.
        sums_shared_inputs: if a Tensor object is passed at several positions of a gradient function, each position gets the
            sum of their gradients; otherwise each gets its own.
        unreached_inputs_last: the backward hooks of cells whose inputs no gradient reaches run at the end of the backward pass, in the
            order in which their backward pre hooks run; otherwise with the cell's own backward pass.
    """

    name: str
    of_protocol: tuple[str, ...] = ()
    sums_shared_inputs: bool = False
    unreached_inputs_last: bool = False


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("tutorial"),
        Dialect("mindspore-2.10", ("nodes_around_forward_hooks",), sums_shared_inputs=True, unreached_inputs_last=True),
        Dialect("mindspore-1", ("names_subject", "grad_output_first")),
    )
}
