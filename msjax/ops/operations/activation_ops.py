"""Operator classes of activations."""

from __future__ import annotations

from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike
from msjax.ops.function.array_func import casting
from msjax.ops.function.nn_func import activations, softmaxes
from msjax.ops.primitive import Form, OfInput, OfInputX, OfX

__all__ = [
    "ReLU", "ReLU6", "Sigmoid", "Softsign", "HSigmoid", "HSwish", "SeLU", "Mish", "FastGeLU", "FastGelu", "PReLU", "Elu",
    "CeLU", "HShrink", "SoftShrink", "GLU", "Softmax", "LogSoftmax", "GeLU", "Gelu", "Softplus", "LogSoftmaxExt", "SiLU",
]  # fmt: skip


def _gelu_by_tanh(input: TensorLike) -> Tensor:
    """input * Phi(input), Phi the normal distribution function, by its approximation with tanh."""
    return activations.gelu(input, "tanh")


# fmt: off
class ReLU(Form): __call__ = staticmethod(activations.relu)
class ReLU6(Form): __call__ = staticmethod(activations.relu6)
class Sigmoid(Form): __call__ = staticmethod(activations.sigmoid)
class Softsign(Form): __call__ = staticmethod(activations.softsign)
class HSigmoid(Form): __call__ = staticmethod(activations.hardsigmoid)
class HSwish(Form): __call__ = staticmethod(activations.hardswish)
class SeLU(Form): __call__ = staticmethod(activations.selu)
class Mish(Form): __call__ = staticmethod(activations.mish)
class FastGeLU(Form): __call__ = staticmethod(activations.fast_gelu)
class FastGelu(Form): __call__ = staticmethod(activations.fast_gelu)
class PReLU(Form): __call__ = staticmethod(activations.prelu)
class SiLU(Form): __call__ = staticmethod(activations.silu)
class GeLU(Form): __call__ = staticmethod(_gelu_by_tanh)
class Gelu(Form): __call__ = staticmethod(_gelu_by_tanh)
class Elu(OfInputX, of=activations.elu): alpha: float = 1.0
class CeLU(OfX, of=activations.celu): alpha: float = 1.0
class HShrink(OfInput, of=activations.hardshrink): lambd: float = 0.5
class SoftShrink(OfInput, of=activations.softshrink): lambd: float = 0.5
class GLU(OfX, of=activations.glu): axis: int = -1
# fmt: on


class Softmax(Form, of=softmaxes.softmax):
    axis: int = -1

    def __call__(self, input: TensorLike, *, dtype: Type | None = None) -> Tensor:
        return softmaxes.softmax(input, self.axis, dtype=dtype)


class LogSoftmax(Form, of=softmaxes.log_softmax):
    axis: int = -1

    def __call__(self, logits: TensorLike) -> Tensor:
        return softmaxes.log_softmax(logits, self.axis)


class Softplus(Form):
    """log(1 + exp(x)): ``ops.Softplus()(x)``."""

    def __call__(self, x: TensorLike) -> Tensor:
        return activations.softplus(x, 1, 1e30)


class LogSoftmaxExt(Form):
    """log(softmax(input)) along an axis, the last by default: ``ops.LogSoftmaxExt()(input, dim)``."""

    def __call__(self, input: TensorLike, dim: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
        return softmaxes.log_softmax(input if dtype is None else casting.cast(input, dtype), -1 if dim is None else dim)
