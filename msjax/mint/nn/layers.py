"""mint's layers without Parameters: a function and its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.common.tensor import Tensor
from msjax.core.base.typing import Number
from msjax.mint.nn import functional as F
from msjax.nn import function_layer
from msjax.nn.cell.base import Cell
from msjax.ops.primitive import REQUIRED

__all__ = [
    "ReLU", "ReLU6", "SiLU", "ELU", "GLU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LogSigmoid",
    "LogSoftmax", "Mish", "SELU", "Sigmoid", "Softmax", "Tanh", "Threshold", "Dropout", "Dropout2d", "Flatten", "Identity",
]  # fmt: skip


class Layer(function_layer.Layer):
    """The base of mint's layers without Parameters, whose settings `repr` shows."""

    def __init_subclass__(cls, of: Callable[..., Any] | None = None, **checks: Any) -> None:
        super().__init_subclass__(of, **checks)
        if cls.__module__.startswith("msjax.mint.nn"):
            cls.__module__ = "msjax.mint.nn"
            if cls._settings:
                shown = (f"{k}" if v is REQUIRED else f"{k}: Default: {v!r}." for k, v in cls._settings.items())
                cls.__doc__ = "\n        ".join([f"{cls.__doc__}\n\n    Args:", *shown])

    def extend_repr(self) -> str:
        return ", ".join(f"{key}={getattr(self, key)}" for key in self._settings)


class OfX(Layer, function_layer.OfX):
    """The same, of an input called x."""


class _Inplace(Layer):
    inplace: bool = False


class _AlongDim(Layer):
    dim: int | None = None


# fmt: off
class ReLU(_Inplace, of=F.relu): """max(x, 0), elementwise."""
class ReLU6(_Inplace, of=F.relu6): """min(max(x, 0), 6), elementwise."""
class SiLU(_Inplace, of=F.silu): """x * sigmoid(x), elementwise."""
class Hardsigmoid(Layer, of=F.hardsigmoid): """A sigmoid of straight lines."""
class Hardswish(Layer, of=F.hardswish): """x times a sigmoid of straight lines."""
class LogSigmoid(OfX, of=F.logsigmoid): """log(sigmoid(x)), elementwise."""
class LogSoftmax(_AlongDim, of=F.log_softmax): """log(softmax(x)) along an axis."""
class Mish(OfX, of=F.mish): """x * tanh(softplus(x)), elementwise."""
class Sigmoid(Layer, of=F.sigmoid): """1 / (1 + exp(-x)), elementwise."""
class Softmax(_AlongDim, of=F.softmax): """exp(x) / sum(exp(x)) along an axis."""
class Tanh(Layer, of=F.tanh): """The hyperbolic tangent, elementwise."""
class SELU(Layer, function_layer.OfInputX, of=F.selu): """A scaled exponential linear unit."""
# fmt: on


class ELU(Layer, of=F.elu):
    """x, or alpha * (exp(x) - 1) where x is negative."""

    alpha: float = 1.0
    inplace: bool = False


class GLU(Layer, of=F.glu):
    """The first half along an axis times the sigmoid of the second."""

    dim: int = -1


class GELU(OfX, of=F.gelu):
    """x times the normal distribution's probability of less than x."""

    approximate: str = "none"


class Hardshrink(Layer, of=F.hardshrink):
    """x where |x| exceeds lambd, 0 elsewhere."""

    lambd: float = 0.5


class Hardtanh(Layer, of=F.hardtanh):
    """Values limited to [min_val, max_val]."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False


class Threshold(Layer, of=F.threshold):
    """x where it exceeds a threshold, a value elsewhere."""

    threshold: Number | Tensor
    value: Number | Tensor
    inplace: bool = False


class Dropout(Layer):
    """In training, elements set to zero."""

    p: float = 0.5
    inplace: bool = False

    def construct(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training, self.inplace)


class Dropout2d(Layer):
    """In training, channels set to zero."""

    p: float = 0.5
    inplace: bool = False

    def construct(self, x: Tensor) -> Tensor:
        return F.dropout2d(x, self.p, self.training, self.inplace)


class Flatten(Layer, of=F.flatten):
    """The axes from start_dim to end_dim as one."""

    start_dim: int = 1
    end_dim: int = -1


class Identity(Cell):
    """Returns its input; takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def construct(self, input: Tensor | tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
        return input
