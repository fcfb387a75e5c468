"""Pooling layers, adaptive and fractional ones among them, and unpooling."""

from __future__ import annotations

from typing import Any

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_bool, check_int, check_one_of, check_positive_int, check_value
from msjax.nn.function_layer import Layer, OfAxes, OfX, PrimitiveAttribute
from msjax.ops.function.nn_func import pooling as ops
from msjax.ops.function.nn_func.sliding import n_ints
from msjax.ops.operations import pooling_ops

__all__ = [
    "AvgPool1d", "AvgPool1dExt", "AvgPool2d", "AvgPool2dExt", "AvgPool3d", "AvgPool3dExt", "LPPool1d", "LPPool2d",
    "MaxPool1d", "MaxPool2d", "MaxPool2dExt", "MaxPool3d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


def _primitive(kind):
    """The operator of a layer, as an attribute; for the pad_modes "valid" and "same", and in 3-D for "pad"."""

    def make(cell):
        known = {"kernel_size": cell.kernel_size, "strides": cell.stride, "pad_mode": cell.pad_mode}
        if cell.axes == 3 and cell.pad_mode == "PAD":
            known |= {"pad_list" if kind is pooling_ops.MaxPool3D else "pad": cell.padding, "ceil_mode": cell.ceil_mode}
        return kind(**known)

    return PrimitiveAttribute(make)


class _Pool(OfAxes):
    """Base of pooling layers."""

    _in_repr = ("kernel_size", "stride", "pad_mode")

    def __init__(self, kernel_size, stride, pad_mode, padding, ceil_mode, data_format="NCHW"):
        super().__init__()
        who, n = type(self).__name__, self.axes
        self._kernel = n_ints(kernel_size, n, "kernel_size", who)
        if n == 2 and isinstance(stride, (tuple, list)) and len(stride) == 1:
            stride = stride[0]
        self._strides = n_ints(stride, n, "stride", who)
        # 1-D pooling is shown as 2-D pooling with a first axis of size 1.
        self.kernel_size = (1, *self._kernel) if n == 1 else kernel_size
        self.stride = (1, *self._strides) if n == 1 else stride
        fits = isinstance(pad_mode, str) and pad_mode.upper() in ("SAME", "VALID", "PAD")
        check_value(pad_mode, fits, "be 'same', 'valid' or 'pad'", "pad_mode", who)
        self.pad_mode: str = pad_mode.upper()
        self.format: str = check_one_of(data_format, ("NCHW",), "data_format", who)
        self.ceil_mode: bool = check_bool(ceil_mode, "ceil_mode", who)
        self.padding = padding
        pads = tuple((p, p) for p in n_ints(padding, n, "padding", who, lowest=0))
        self._padded = any(p != (0, 0) for p in pads)
        self._pads = "same" if self.pad_mode == "SAME" else pads


class _MaxPool(_Pool):
    def __init__(
        self, kernel_size: int | tuple[int, ...] = 1, stride: int | tuple[int, ...] = 1, pad_mode: str = "valid",
        padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, return_indices: bool = False,
        ceil_mode: bool = False, data_format: str = "NCHW",
    ):  # fmt: skip
        who = type(self).__name__
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        if self.axes == 1 and self.pad_mode == "PAD":
            self.kernel_size, self.stride = (1, *self.kernel_size), (1, *self.stride)
        self._dilations = n_ints(dilation, self.axes, "dilation", who)
        self.dilation = dilation
        self.return_indices = return_indices
        plain = not self._padded and not any(d != 1 for d in self._dilations)
        if self.pad_mode != "PAD" and (not plain or return_indices or ceil_mode):
            raise ValueError(
                f"For '{who}', 'padding', 'dilation', 'return_indices' and 'ceil_mode' need the pad_mode 'pad', but got {pad_mode!r}."
            )

    def construct(self, x):
        return ops.max_pool(x, self._kernel, self._strides, self._pads, self._dilations, self.ceil_mode, self.return_indices)


class MaxPool1d(_MaxPool, axes=1):
    """The largest value of each window of an input (N, C, L) or (C, L); see `MaxPool2d` for the other arguments.

    Args:
        kernel_size, stride, padding, dilation (int): of the one axis.

    Example:
        >>> print(nn.MaxPool1d(2, 2)(Tensor([[1.0, 3.0, 2.0, 0.0]])))
        [[3. 2.]]
    """

    max_pool: PrimitiveAttribute = _primitive(pooling_ops.MaxPool)

    def __init__(
        self, kernel_size: int = 1, stride: int = 1, pad_mode: str = "valid", padding: int = 0, dilation: int = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ):  # fmt: skip
        for name, value in (("kernel_size", kernel_size), ("stride", stride)):
            check_int(value, name, "MaxPool1d")
        super().__init__(kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode)


class MaxPool2d(_MaxPool):
    """The largest value of each window of an input (N, C, H, W) or (C, H, W); of equal ones, the first gets the gradient.

    Args:
        kernel_size, stride (int or tuple): for both axes, or (height, width). Default: 1.
        pad_mode (str): "valid" (the default), "same" (the output has size ceil(size / stride)) or "pad".
        padding (int or tuple): with "pad", at both sides of each axis. Default: 0.
        dilation (int or tuple): with "pad", the distance of neighbouring elements in a window. Default: 1.
        return_indices (bool): with "pad", whether to return, too, where the maxima are, counted in C order over (H, W).
        ceil_mode (bool): with "pad", whether the output's sizes are rounded up. Default: False.
        data_format (str): "NCHW".

    Inputs:
        - **x** (Tensor) - of shape (N, C, H, W) or (C, H, W).

    Outputs:
        Tensor, of shape (N, C, H', W'); with `return_indices` a tuple of that and an Int64 Tensor.

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.

    Example:
        >>> print(nn.MaxPool2d(2, 2)(Tensor([[[1.0, 2.0], [3.0, 4.0]]])))
        [[[4.]]]
    """

    max_pool: PrimitiveAttribute = _primitive(pooling_ops.MaxPool)


class MaxPool3d(_MaxPool, axes=3):
    """The largest value of each window of an input (N, C, D, H, W) or (C, D, H, W); see `MaxPool2d`."""

    max_pool: PrimitiveAttribute = _primitive(pooling_ops.MaxPool3D)

    def __init__(
        self, kernel_size: int | tuple[int, ...] = 1, stride: int | tuple[int, ...] = 1, pad_mode: str = "valid",
        padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ):  # fmt: skip
        super().__init__(kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode)


class MaxPool2dExt(Layer, of=ops.max_pool2d):
    kernel_size: int | tuple[int, ...] = 1
    stride: int | tuple[int, ...] | None = None
    padding: int | tuple[int, ...] = 0
    dilation: int | tuple[int, ...] = 1
    return_indices: bool = False
    ceil_mode: bool = False


class _AvgPool(_Pool):
    def __init__(
        self, kernel_size: int | tuple[int, ...] = 1, stride: int | tuple[int, ...] = 1, pad_mode: str = "valid",
        padding: int | tuple[int, ...] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None, data_format: str = "NCHW",
    ):  # fmt: skip
        who = type(self).__name__
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        if self.pad_mode != "PAD" and self._padded:
            raise ValueError(f"For '{who}', 'padding' should be 0 with pad_mode {pad_mode!r}, but got {padding}.")
        if divisor_override is not None:
            check_int(divisor_override, "divisor_override", who)
        fits = divisor_override is None or divisor_override > 0
        self.divisor_override: Any = check_value(divisor_override, fits, "be positive", "divisor_override", who)
        self.count_include_pad = count_include_pad
        if self.axes == 1 and (self.pad_mode == "PAD" or ceil_mode or not count_include_pad):
            self.kernel_size, self.stride = kernel_size, stride

    def construct(self, x):
        # MindSpore has a separate operator for 3-D pooling with ceil_mode.
        counts = self.pad_mode != "SAME" or self.axes == 3 or self.ceil_mode
        include = self.count_include_pad and counts
        return ops.avg_pool(
            x, self._kernel, self._strides, self._pads, self.ceil_mode, include, self.divisor_override,
            type(self).__name__,
        )  # fmt: skip


class AvgPool1d(_AvgPool, axes=1):
    """The mean of each window of an input (N, C, L) or (C, L); see `AvgPool2d` for the other arguments.

    Args:
        kernel_size, stride, padding (int): of the one axis.

    Example:
        >>> print(nn.AvgPool1d(2, 2)(Tensor([[1.0, 3.0, 2.0, 0.0]])))
        [[2. 1.]]
    """

    avg_pool: PrimitiveAttribute = _primitive(pooling_ops.AvgPool)

    def __init__(
        self,
        kernel_size: int = 1,
        stride: int = 1,
        pad_mode: str = "valid",
        padding: int = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad)


class AvgPool2d(_AvgPool):
    """The mean of each window of an input (N, C, H, W) or (C, H, W).

    Args:
        kernel_size, stride, pad_mode, padding, data_format: as in `MaxPool2d`.
        ceil_mode (bool): whether the output's sizes are rounded up. Default: False.
        count_include_pad (bool): with "pad", and with "same" and `ceil_mode`, whether padding counts in the mean.
            Default: True.
        divisor_override (int, optional): what sums are divided by, in the place of the elements' number.

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.

    Example:
        >>> print(nn.AvgPool2d(2, 2)(Tensor([[[1.0, 2.0], [3.0, 4.0]]])))
        [[[2.5]]]
    """

    avg_pool: PrimitiveAttribute = _primitive(pooling_ops.AvgPool)


class AvgPool3d(_AvgPool, axes=3):
    """The mean of each window of an input (N, C, D, H, W) or (C, D, H, W); see `AvgPool2d`.

    Unlike there, `count_include_pad` holds with the pad_mode "same", too.
    """

    avg_pool: PrimitiveAttribute = _primitive(pooling_ops.AvgPool3D)

    def __init__(
        self, kernel_size: int | tuple[int, ...] = 1, stride: int | tuple[int, ...] = 1, pad_mode: str = "valid",
        padding: int | tuple[int, ...] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):  # fmt: skip
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad, divisor_override)


class _AvgPoolExt(_AvgPool):
    """Average pooling whose stride defaults to the window's size, and whose padding has no mode."""

    _in_repr = ()

    def __init__(
        self, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None=None, padding: int | tuple[int, ...]=0, ceil_mode: bool=False, count_include_pad: bool=True, divisor_override: int | None=None,
    ):  # fmt: skip
        stride = kernel_size if stride is None else stride
        super().__init__(kernel_size, stride, "pad", padding, ceil_mode, count_include_pad, divisor_override)


class AvgPool1dExt(_AvgPoolExt, axes=1):
    """The mean of each window of an input (N, C, L) or (C, L); the stride is `kernel_size` by default."""

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)


class AvgPool2dExt(_AvgPoolExt):
    """The mean of each window of an input (N, C, H, W) or (C, H, W); the stride is `kernel_size` by default."""


class AvgPool3dExt(_AvgPoolExt, axes=3):
    """The mean of each window of an input (N, C, D, H, W) or (C, D, H, W); the stride is `kernel_size` by default."""


class _LPPool(OfX):
    norm_type: Any
    kernel_size: Any
    stride: Any = None
    ceil_mode: Any = False


class LPPool1d(_LPPool, of=ops.lp_pool1d):
    """Example:
    >>> print(nn.LPPool1d(2, 2)(Tensor([[[3.0, 4.0]]])))
    [[[5.]]]
    """


class LPPool2d(_LPPool, of=ops.lp_pool2d):
    """The p-norm of each window of an input (N, C, H, W): (sum of x^p)^(1/p); see `LPPool1d`."""


class AdaptiveAvgPool1d(Layer, of=ops.adaptive_avg_pool1d, output_size=check_positive_int):
    """Example:
    >>> print(nn.AdaptiveAvgPool1d(2)(Tensor([[[1.0, 2.0, 3.0, 4.0]]])))
    [[[1.5 3.5]]]
    """

    output_size: int


class AdaptiveAvgPool2d(Layer, of=ops.adaptive_avg_pool2d):
    """Example:
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


class MaxUnpool1d(_MaxUnpool, of=ops.max_unpool1d):
    """Zeros with the elements of an input (N, C, L) where max-pooling found them; see `MaxUnpool2d`."""


class MaxUnpool2d(_MaxUnpool, of=ops.max_unpool2d):
    """Zeros with the elements of an input (N, C, H, W) where max-pooling found them.

    Args:
        kernel_size, stride, padding (int or tuple): those of the max-pooling; by default the stride is the window's size.

    Inputs:
        - **x** (Tensor) - of shape (N, C, H, W) or (C, H, W).
        - **indices** (Tensor) - of the same shape: the numbers that max-pooling returned.
        - **output_size** (tuple, optional) - the output's shape, where several are possible.
    """


class MaxUnpool3d(_MaxUnpool, of=ops.max_unpool3d):
    """Zeros with the elements of an input (N, C, D, H, W) where max-pooling found them; see `MaxUnpool2d`."""


class _Fractional(Layer):
    kernel_size: Any
    output_size: int | tuple[int | None, ...] | None = None
    output_ratio: Any = None
    return_indices: Any = False
    _random_samples: Any = None


# fmt: off
class FractionalMaxPool2d(_Fractional, of=ops.fractional_max_pool2d): ...
class FractionalMaxPool3d(_Fractional, of=ops.fractional_max_pool3d): ...
# fmt: on
