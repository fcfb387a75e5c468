"""The settings of a Cell: training, floating type, flags."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Self

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_options, check_type
from msjax.core.door import VERSION
from msjax.engine.autograd.precision import Precision
from msjax.engine.settings.compiler import JitConfig
from msjax.nn.cell.tree import CellTree


def compute_in(cell: CellTree, precision: Precision) -> None:
    """Make a cell, and what it calls, convert the operands of operators when it is called."""
    vars(cell)["_to_float"] = precision
    cell._refresh_special()


class CellSettings(CellTree):
    """The part of Cell with its settings, most of which apply to the cells inside, too."""

    def set_train(self, mode: bool = True) -> Self:
        """Set the cell and all cells inside to training (True) or inference (False); returns the cell."""
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "training", bool(mode))
            vars(cell).pop("_phase", None)
        VERSION.changed()
        return self

    def set_grad(self, requires_grad: bool = True) -> Self:
        """Set the flag `requires_grad`, which has no effect on gradients. Returns the cell."""
        object.__setattr__(self, "requires_grad", bool(requires_grad))
        return self

    def to_float(self, dst_type: Type) -> Self:
        """Compute the cell and all cells inside in another floating type: operators convert their floating operands.

        Parameters keep their type, and gradients are converted back to it. Conversions (``x.astype``), views and
        indexing keep the type of their operands.

        Args:
            dst_type: ms.float16, ms.bfloat16 or ms.float32.

        Raises:
            ValueError: `dst_type` is another type.
        """
        if dst_type not in (mstype.float16, mstype.bfloat16, mstype.float32):
            raise ValueError(f"For 'to_float', the type should be ms.float16, ms.bfloat16 or ms.float32, but got {dst_type!r}.")
        for _, cell in self.cells_and_names():
            compute_in(cell, dst_type)
        return self

    def set_jit_config(self, jit_config: JitConfig) -> None:
        """Accept a `JitConfig`, without effect: XLA compiles."""
        check_type(jit_config, JitConfig, "the argument", "set_jit_config")

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Without effect. It tells MindSpore's compiler which sizes vary; msjax compiles a program for each combination of shapes.

        Raises:
            TypeError: `construct` has no parameter of such a name.
        """
        parameters = inspect.signature(self.construct).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            check_options(kwargs, parameters, "set_inputs", what="input")

    def cast_inputs(self, inputs: Sequence[Any], dst_type: Type) -> tuple[Any, ...]:
        """Cast the floating Tensors among the inputs to a type; the rest stays as it is."""
        return tuple(
            x.astype(dst_type) if isinstance(x, Tensor) and x.is_floating_point() and x.dtype != dst_type else x for x in inputs
        )

    def add_flags(self, **flags: Any) -> Self:
        """Store settings on the cell, readable with `get_flags` and as attributes; returns the cell."""
        vars(self).update(flags)
        vars(self)["_flags"] = {**(self._flags or {}), **flags}
        return self

    def add_flags_recursive(self, **flags: Any) -> Self:
        """Store settings on the cell and all cells inside; returns the cell."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """The settings stored with `add_flags`."""
        return dict(self._flags or {})

    @property
    def cls_name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    # What MindSpore's compiler and its parallel training keep on a cell. Programs read these attributes, and may set them.
    _phase: str | None = None
    bprop_debug = is_top_cell = False
    cell_type = mixed_precision_type = None
    arguments_key = ""
    parallel_parameter_name_list: tuple[str, ...] = ()

    @property
    def phase(self) -> str:
        """ "train" or, after ``set_train(False)``, "predict"; or what the program has set. Without effect."""
        if self._phase is not None:
            return self._phase
        return "train" if self.training or "training" not in vars(self) else "predict"

    @phase.setter
    def phase(self, value: str) -> None:
        object.__setattr__(self, "_phase", value)

    @property
    def param_prefix(self) -> str:
        """The prefix of the names of the cell's Parameters."""
        return self._param_prefix

    @property
    def has_bprop(self) -> bool:
        """Whether the cell defines its own gradient."""
        return self.bprop is not None

    @property
    def jit_config_dict(self) -> dict[str, Any]:
        """The settings of MindSpore's compiler: none."""
        return {}

    @property
    def parameter_layout_dict(self) -> dict[str, Any]:
        """The layouts of Parameters that MindSpore would split: none."""
        return {}
