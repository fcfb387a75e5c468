"""``mindspore.ops.auto_generate``: the operator classes behind `mint`; all other names are those of `ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msjax import mint, ops
from msjax.core.base.lazy import on_first_use
from msjax.ops.not_offered import NOT_OFFERED
from msjax.ops.primitive import Form

__all__: list[str] = []

# Where class forms belong: those that say so have the attributes that they annotate.
_PLACE = "msjax.ops.operations"


def _form(name: str, function: Callable[..., Any]) -> Any:
    """The class whose instances call a function with the inputs."""
    return type(name, (Form,), {"__call__": staticmethod(function), "__module__": _PLACE, "__doc__": None})


class StackExt(Form):
    """Joins Tensors of one shape along a new axis `dim`; see `mint.stack`."""

    __module__ = _PLACE
    dim: int = 0

    def __call__(self, tensors: Any) -> Any:
        return mint.stack(tensors, self.dim)


class OneHotExt(Form):
    """One-hot vectors along an axis; see `ops.one_hot`."""

    __module__ = _PLACE
    axis: int = -1

    def __call__(self, tensor: Any, num_classes: int, on_value: Any, off_value: Any) -> Any:
        return ops.one_hot(tensor, num_classes, on_value, off_value, self.axis)


AddExt = _form("AddExt", lambda input, other, alpha=1: mint.add(input, other, alpha=alpha))
SubExt = _form("SubExt", lambda input, other, alpha=1: mint.sub(input, other, alpha=alpha))
SumExt = _form("SumExt", lambda input, dim=None, keepdim=False, dtype=None: mint.sum(input, dim, keepdim, dtype=dtype))
MeanExt = _form("MeanExt", lambda input, dim=None, keepdim=False, dtype=None: mint.mean(input, dim, keepdim, dtype=dtype))
CumsumExt = _form("CumsumExt", lambda input, dim, dtype=None: mint.cumsum(input, dim, dtype=dtype))
SortExt = _form(
    "SortExt",
    lambda input, dim=-1, descending=False, stable=False: mint.sort(input, dim=dim, descending=descending, stable=stable),
)
TopkExt = _form("TopkExt", mint.topk)
MatMulExt = _form("MatMulExt", mint.matmul)
BatchMatMulExt = _form("BatchMatMulExt", mint.bmm)
SplitWithSize = _form("SplitWithSize", lambda input, split_size, dim=0: mint.split(input, list(split_size), dim))
Scatter = _form("Scatter", mint.scatter)
IndexSelect = _form("IndexSelect", mint.index_select)
Outer = _form("Outer", mint.outer)
ZerosLikeExt = _form("ZerosLikeExt", mint.zeros_like)
OnesLikeExt = _form("OnesLikeExt", mint.ones_like)
FmodScalar = _form("FmodScalar", mint.fmod)
InplaceCopy = _form("InplaceCopy", lambda input, src, non_blocking=False: input.copy_(src))


def _swiglu(input, dim=-1):
    gate, value = mint.chunk(input, 2, dim)
    return ops.silu(gate) * value


Swiglu = _form("Swiglu", _swiglu)

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, NOT_OFFERED, elsewhere="msjax.ops")
