"""mint's layers without Parameters: a function and its settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.typing import Number
from msjax.mint.nn import functional as F
from msjax.nn.cell.base import Cell
from msjax.ops.primitive import REQUIRED, annotated

__all__ = [
    "ReLU", "ReLU6", "SiLU", "ELU", "GLU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LogSigmoid",
    "LogSoftmax", "Mish", "SELU", "Sigmoid", "Softmax", "Tanh", "Threshold", "Dropout", "Dropout2d", "Flatten", "Identity",
]  # fmt: skip


@dataclass_transform(eq_default=False)
class Layer(Cell):
    """The base of layers without Parameters: a function and its settings.

    A subclass annotates its settings, which its constructor takes in this order, with these defaults, and `repr` shows. Its function, if
    it names one, is called with the input and the settings in their order.
    """

    _name = ""
    _settings: ClassVar[dict[str, Any]] = {}
    _function: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls, of: Callable[..., Any] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if of is not None:
            cls._function = staticmethod(of)
        if cls.__module__.startswith("msjax.mint.nn"):  # a program's subclass has its base's settings
            cls.__module__, cls._name = "msjax.mint.nn", cls.__name__
            cls._settings = cls._settings | annotated(cls)
            if cls._settings:
                shown = (f"{k}" if v is REQUIRED else f"{k}: Default: {v!r}." for k, v in cls._settings.items())
                cls.__doc__ = "\n        ".join([f"{cls.__doc__}\n\n    Args:", *shown])

    if TYPE_CHECKING:

        def __init__(self) -> None: ...

    else:

        def __init__(self, *args, **kwargs):
            super().__init__()
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            signature = inspect.Signature([inspect.Parameter(k, kind, default=v) for k, v in self._settings.items()])
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"For '{self._name}': {error}; it takes {signature}.") from None
            bound.apply_defaults()
            for key, value in bound.arguments.items():
                setattr(self, key, value)

    def construct(self, input: TensorLike) -> Tensor:
        return self._function(input, *[getattr(self, key) for key in self._settings])

    def extend_repr(self) -> str:
        return ", ".join(f"{key}={getattr(self, key)}" for key in self._settings)


class OfX(Layer):
    """The same, of an input called x."""

    def construct(self, x: TensorLike) -> Tensor:
        return self._function(x, *[getattr(self, key) for key in self._settings])


class ReLU(Layer, of=F.relu):
    """max(x, 0), elementwise."""

    inplace: bool = False


class ReLU6(Layer, of=F.relu6):
    """min(max(x, 0), 6), elementwise."""

    inplace: bool = False


class SiLU(Layer, of=F.silu):
    """x * sigmoid(x), elementwise."""

    inplace: bool = False


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


class Hardsigmoid(Layer, of=F.hardsigmoid):
    """A sigmoid of straight lines."""


class Hardswish(Layer, of=F.hardswish):
    """x times a sigmoid of straight lines."""


class Hardtanh(Layer, of=F.hardtanh):
    """Values limited to [min_val, max_val]."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False


class LogSigmoid(OfX, of=F.logsigmoid):
    """log(sigmoid(x)), elementwise."""


class LogSoftmax(Layer, of=F.log_softmax):
    """log(softmax(x)) along an axis."""

    dim: int | None = None


class Mish(OfX, of=F.mish):
    """x * tanh(softplus(x)), elementwise."""


class SELU(Layer):
    """A scaled exponential linear unit."""

    def construct(self, input_x: TensorLike) -> Tensor:
        return F.selu(input_x)


class Sigmoid(Layer, of=F.sigmoid):
    """1 / (1 + exp(-x)), elementwise."""


class Softmax(Layer, of=F.softmax):
    """exp(x) / sum(exp(x)) along an axis."""

    dim: int | None = None


class Tanh(Layer, of=F.tanh):
    """The hyperbolic tangent, elementwise."""


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
