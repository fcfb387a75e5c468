"""Adaptive and fractional pooling, and unpooling."""

from __future__ import annotations

from typing import Any

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_positive_int
from msjax.nn.cell.base import Cell
from msjax.ops.function.nn_func import pooling as ops, unpooling

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class _Adaptive(Cell):
    def __init__(self, output_size: Any):
        super().__init__()
        self.output_size = output_size


class _Adaptive1d(_Adaptive):
    def __init__(self, output_size: int):
        super().__init__(output_size)
        who = type(self).__name__
        check_positive_int(output_size, "output_size", who)


class AdaptiveAvgPool1d(_Adaptive1d):
    """The means of `output_size` equal parts of the last axis of an input (N, C, L).

    Args:
        output_size (int): has to divide L.

    Example:
        >>> print(nn.AdaptiveAvgPool1d(2)(Tensor([[[1.0, 2.0, 3.0, 4.0]]])))
        [[[1.5 3.5]]]
    """

    def construct(self, input: Tensor) -> Tensor:
        return ops.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """The means of windows, chosen so that the output has `output_size`, of an input (N, C, H, W) or (C, H, W).

    Args:
        output_size (int or tuple): for both axes, or (height, width); None keeps an axis as it is.

    Example:
        >>> nn.AdaptiveAvgPool2d((3, None))(ops.ones((1, 2, 7, 8))).shape
        (1, 2, 3, 8)
    """

    def construct(self, input: Tensor) -> Tensor:
        return ops.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_Adaptive):
    """The means of windows, chosen so that the output has `output_size`, of an input (N, C, D, H, W); see `AdaptiveAvgPool2d`."""

    def construct(self, input: TensorLike) -> Tensor:
        return ops.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_Adaptive1d):
    """The maxima of `output_size` equal parts of the last axis of an input (N, C, L).

    Args:
        output_size (int): has to divide L.
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.adaptive_max_pool1d(x, self.output_size)


class AdaptiveMaxPool2d(_Adaptive):
    """The maxima of windows, chosen so that the output has `output_size`, of an input (N, C, H, W) or (C, H, W).

    Args:
        output_size (int or tuple): for both axes, or (height, width); None keeps an axis as it is.
        return_indices (bool): whether to return, too, where the maxima are, counted in C order over (H, W).
    """

    def __init__(self, output_size: int | tuple[int | None, ...] | None, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def construct(self, input: Tensor) -> Tensor:
        return ops.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_Adaptive):
    """The maxima of windows, chosen so that the output has `output_size`, of an input (N, C, D, H, W); see `AdaptiveMaxPool2d`."""

    def __init__(self, output_size: int | tuple[int | None, ...] | None, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def construct(self, input: TensorLike) -> Any:
        return ops.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _MaxUnpool(Cell):
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding


class MaxUnpool1d(_MaxUnpool):
    """Zeros with the elements of an input (N, C, L) where max-pooling found them; see `MaxUnpool2d`."""

    def construct(self, x: TensorLike, indices: TensorLike, output_size: int | tuple[int, ...] | None = None) -> Tensor:
        return unpooling.max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool):
    """Zeros with the elements of an input (N, C, H, W) where max-pooling found them.

    Args:
        kernel_size, stride, padding (int or tuple): those of the max-pooling; by default the stride is the window's size.

    Inputs:
        - **x** (Tensor) - of shape (N, C, H, W) or (C, H, W).
        - **indices** (Tensor) - of the same shape: the numbers that max-pooling returned.
        - **output_size** (tuple, optional) - the output's shape, where several are possible.
    """

    def construct(self, x: Tensor, indices: Tensor, output_size: int | tuple[int, ...] | None = None) -> Tensor:
        return unpooling.max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool):
    """Zeros with the elements of an input (N, C, D, H, W) where max-pooling found them; see `MaxUnpool2d`."""

    def construct(self, x: TensorLike, indices: TensorLike, output_size: int | tuple[int, ...] | None = None) -> Tensor:
        return unpooling.max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class _Fractional(Cell):
    def __init__(
        self,
        kernel_size: Any,
        output_size: int | tuple[int | None, ...] | None = None,
        output_ratio: Any = None,
        return_indices: Any = False,
        _random_samples: Any = None,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.output_size = output_size
        self.output_ratio = output_ratio
        self.return_indices = return_indices
        self._random_samples = _random_samples

    def _arguments(self):
        return self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples


class FractionalMaxPool2d(_Fractional):
    """The maxima of windows that begin at random places, of an input (N, C, H, W) or (C, H, W).

    Args:
        kernel_size (int or tuple): the window.
        output_size (int or tuple, optional): the output's sizes.
        output_ratio (float or tuple, optional): the output's sizes as a share of the input's.
        return_indices (bool): whether to return, too, where the maxima are.
    """

    def construct(self, input: Tensor) -> Tensor:
        return unpooling.fractional_max_pool2d(input, *self._arguments())


class FractionalMaxPool3d(_Fractional):
    """The maxima of windows that begin at random places, of an input (N, C, D, H, W); see `FractionalMaxPool2d`."""

    def construct(self, input: TensorLike) -> Tensor:
        return unpooling.fractional_max_pool3d(input, *self._arguments())
