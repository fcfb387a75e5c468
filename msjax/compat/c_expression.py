"""``mindspore._c_expression``, as far as programs import it: real names where msjax has them, placeholders for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msjax.common import dtype as typing
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.core.base.lazy import on_first_use

TensorPy = Tensor
ParamInfo = Parameter

__all__ = ["ParamInfo", "Tensor", "TensorPy", "typing"]


class MSContext:
    """The device as MindSpore's C++ code names it."""

    @staticmethod
    def get_instance() -> MSContext:
        return MSContext()

    def get_ascend_soc_version(self) -> str:
        """The name of the Ascend chip: there is none, so the empty string."""
        return ""


class security:
    """What MindSpore was built with."""

    @staticmethod
    def enable_security() -> bool:
        """Whether it was built without what writes data of users to disk: no."""
        return False


if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, {"*": "it is a part of MindSpore's C++ code."})
