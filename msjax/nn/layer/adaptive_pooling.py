"""Adaptive and fractional pooling, and unpooling."""

from __future__ import annotations

from typing import Any

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_positive_int
from msjax.nn.function_layer import Layer, OfX
from msjax.ops.function.nn_func import pooling as ops, unpooling

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class AdaptiveAvgPool1d(Layer, of=ops.adaptive_avg_pool1d, output_size=check_positive_int):
    """The means of `output_size` equal parts of the last axis of an input (N, C, L).

    Args:
        output_size (int): has to divide L.

    Example:
        >>> print(nn.AdaptiveAvgPool1d(2)(Tensor([[[1.0, 2.0, 3.0, 4.0]]])))
        [[[1.5 3.5]]]
    """

    output_size: int


class AdaptiveAvgPool2d(Layer, of=ops.adaptive_avg_pool2d):
    """The means of windows, chosen so that the output has `output_size`, of an input (N, C, H, W) or (C, H, W).

    Args:
        output_size (int or tuple): for both axes, or (height, width); None keeps an axis as it is.

    Example:
        >>> nn.AdaptiveAvgPool2d((3, None))(ops.ones((1, 2, 7, 8))).shape
        (1, 2, 3, 8)
    """

    output_size: Any


# fmt: off
class AdaptiveAvgPool3d(Layer, of=ops.adaptive_avg_pool3d): output_size: Any
class AdaptiveMaxPool1d(OfX, of=ops.adaptive_max_pool1d, output_size=check_positive_int): output_size: int
# fmt: on


class AdaptiveMaxPool2d(Layer, of=ops.adaptive_max_pool2d):
    output_size: int | tuple[int | None, ...] | None
    return_indices: bool = False


class AdaptiveMaxPool3d(Layer, of=ops.adaptive_max_pool3d):
    """The maxima of windows, chosen so that the output has `output_size`, of an input (N, C, D, H, W); see `AdaptiveMaxPool2d`."""

    output_size: int | tuple[int | None, ...] | None
    return_indices: bool = False


class _MaxUnpool(Layer):
    kernel_size: Any
    stride: Any = None
    padding: Any = 0

    def construct(self, x: TensorLike, indices: TensorLike, output_size: int | tuple[int, ...] | None = None) -> Tensor:
        return self._function(x, indices, *self._values(), output_size)


class MaxUnpool1d(_MaxUnpool, of=unpooling.max_unpool1d):
    """Zeros with the elements of an input (N, C, L) where max-pooling found them; see `MaxUnpool2d`."""


class MaxUnpool2d(_MaxUnpool, of=unpooling.max_unpool2d):
    """Zeros with the elements of an input (N, C, H, W) where max-pooling found them.

    Args:
        kernel_size, stride, padding (int or tuple): those of the max-pooling; by default the stride is the window's size.

    Inputs:
        - **x** (Tensor) - of shape (N, C, H, W) or (C, H, W).
        - **indices** (Tensor) - of the same shape: the numbers that max-pooling returned.
        - **output_size** (tuple, optional) - the output's shape, where several are possible.
    """


class MaxUnpool3d(_MaxUnpool, of=unpooling.max_unpool3d):
    """Zeros with the elements of an input (N, C, D, H, W) where max-pooling found them; see `MaxUnpool2d`."""


class _Fractional(Layer):
    kernel_size: Any
    output_size: int | tuple[int | None, ...] | None = None
    output_ratio: Any = None
    return_indices: Any = False
    _random_samples: Any = None


# fmt: off
class FractionalMaxPool2d(_Fractional, of=unpooling.fractional_max_pool2d): ...
class FractionalMaxPool3d(_Fractional, of=unpooling.fractional_max_pool3d): ...
# fmt: on
