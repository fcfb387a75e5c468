"""The settings that msjax acts on: execution mode, device, hook dialect and the like; `msjax.set_context` sets them.

MindSpore's documents disagree about some rules of hooks; the dialect chooses which to follow.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from msjax.core.door import HOOK_SETTINGS


@dataclass(frozen=True)
class Dialect:
    """The rules of one dialect.

    Attributes:
        name: the value of the setting `hook_dialect`.
        of_protocol: those of `msjax.core.hooks.kinds.Rules` that hold.
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


GRAPH_MODE = 0
PYNATIVE_MODE = 1


class _Settings:
    """Plain attributes, since operators read them at every call.

    Attributes:
        forced_mode: ``msjax run --mode``: overrides what the script sets.
        device_id: the index of the device among those of the target.
        conv_tf32: whether operands of convolutions may be rounded to TF32; None for what jax is set to.
        dialect: the rules of hooks, those of the protocol and those of the tape.
        kept: MindSpore's settings that have no effect here.
    """

    def __init__(self):
        self.mode: int = PYNATIVE_MODE
        self.forced_mode: int | None = None
        self.device_target: str | None = None
        self.device_id = 0
        self.pynative_synchronize = False
        self.deterministic = "OFF"
        self.dialect: Dialect
        self.enable_compile_cache = False
        self.compile_cache_path = ""
        self.compile_cache_bytes = 1 << 30
        self.gpu_config: dict[str, Any] = {}
        self.conv_tf32: bool | None = None
        self.kept: dict[str, Any] = {}
        chosen = os.environ.get("MSJAX_HOOK_DIALECT", "tutorial")
        if chosen not in DIALECTS:
            raise ValueError(
                f"The environment variable MSJAX_HOOK_DIALECT should be one of {', '.join(DIALECTS)}, but is {chosen!r}."
            )
        self.hook_dialect = chosen

    @property
    def hook_dialect(self) -> str:
        """The name of the dialect."""
        return self.dialect.name

    @hook_dialect.setter
    def hook_dialect(self, name: str) -> None:
        self.dialect = DIALECTS[name]
        HOOK_SETTINGS.follow(**dict.fromkeys(self.dialect.of_protocol, True))


SETTINGS = _Settings()
