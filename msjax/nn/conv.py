"""Convolution layers."""

import math

from msjax.autograd.op import apply
from msjax.common import dtype as mstype
from msjax.common.initializer import HeUniform, Uniform, initializer
from msjax.common.parameter import Parameter
from msjax.errors import describe
from msjax.nn.basic import positive_int
from msjax.nn.cell import Cell
from msjax.ops.convolution import CONV, same_padding

__all__ = ["Conv2d"]


def n_ints(value, n, name, who, lowest=1):
    """A tuple of n ints, from one int or n of them."""
    values = (value,) * n if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(values, (tuple, list)) or len(values) != n or not all(type(v) is int for v in values):
        raise TypeError(f"For '{who}', '{name}' should be an int or {n} ints, but got {describe(value)}.")
    if any(v < lowest for v in values):
        raise ValueError(f"For '{who}', '{name}' should be at least {lowest}, but got {value}.")
    return tuple(values)


class _Conv(Cell):
    """What convolutions of 1, 2 and 3 axes share; `axes` is set by each."""

    axes = 2

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        pad_mode="same",
        padding=0,
        dilation=1,
        group=1,
        has_bias=False,
        weight_init=None,
        bias_init=None,
        data_format=None,
        dtype=mstype.float32,
    ):
        super().__init__()
        who = type(self).__name__
        n = self.axes
        self.in_channels = positive_int(in_channels, "in_channels", who)
        self.out_channels = positive_int(out_channels, "out_channels", who)
        self.group = positive_int(group, "group", who)
        self.kernel_size = n_ints(kernel_size, n, "kernel_size", who)
        self.stride = n_ints(stride, n, "stride", who)
        self.dilation = n_ints(dilation, n, "dilation", who)
        if pad_mode not in ("same", "valid", "pad"):
            raise ValueError(f"For '{who}', 'pad_mode' should be 'same', 'valid' or 'pad', but got {pad_mode!r}.")
        self.pad_mode = pad_mode
        self.padding = padding
        pads = n_ints(padding, n if isinstance(padding, int) else 2 * n, "padding", who, lowest=0)
        pads = tuple((p, p) for p in pads) if isinstance(padding, int) else tuple(zip(pads[::2], pads[1::2]))
        if pad_mode != "pad" and any(p != (0, 0) for p in pads):
            raise ValueError(f"For '{who}', 'padding' should be 0 with pad_mode {pad_mode!r}, but got {padding}.")
        self._pads = pads
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % group:
                raise ValueError(f"For '{who}', '{name}' ({channels}) should be divisible by 'group' ({group}).")
        self.has_bias = has_bias
        weight_shape = (out_channels, in_channels // group, *self.kernel_size)
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight_init = weight_init
        self.weight = Parameter(initializer(weight_init, weight_shape, dtype), name="weight")
        self.bias = None
        if has_bias:
            limit = 1 / math.sqrt(math.prod(weight_shape[1:]))
            self.bias = Parameter(
                initializer(Uniform(limit) if bias_init is None else bias_init, (out_channels,), dtype), name="bias"
            )

    def _padding_for(self, spatial):
        if self.pad_mode == "pad":
            return self._pads
        if self.pad_mode == "valid":
            return ((0, 0),) * self.axes
        return tuple(same_padding(*each) for each in zip(spatial, self.kernel_size, self.stride, self.dilation))

    def construct(self, x):
        static = (self.stride, self._padding_for(x.shape[2:]), self.dilation, self.group)
        return apply(CONV, (x, self.weight, self.bias), static)

    def extend_repr(self):
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, pad_mode={self.pad_mode}, padding={self.padding}, dilation={self.dilation}, "
            f"group={self.group}, has_bias={self.has_bias}"
        )


class Conv2d(_Conv):
    """A 2-D convolution of inputs (N, C, H, W).

    Args:
        in_channels (int): channels of the input.
        out_channels (int): channels of the output.
        kernel_size (int or tuple): (height, width) of the kernel.
        stride (int or tuple): Default: 1.
        pad_mode (str): "same" (the default: the output has size ceil(size / stride)), "valid" (no padding) or "pad".
        padding (int or tuple): with "pad", one int or (top, bottom, left, right).
        dilation (int or tuple): Default: 1.
        group (int): channels are convolved in so many groups. Default: 1.
        has_bias (bool): Default: False.
        weight_init, bias_init: an Initializer, its name, a number or a Tensor; the weight has shape (out_channels,
            in_channels / group, height, width).
        data_format (str): "NCHW".
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Inputs:
        - **x** (Tensor) - of shape (N, in_channels, H, W).

    Outputs:
        Tensor, of shape (N, out_channels, H', W').

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.
        RuntimeError: the input has other channels.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> nn.Conv2d(3, 8, 3)(ms.ops.ones((1, 3, 5, 5))).shape
        (1, 8, 5, 5)
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        pad_mode="same",
        padding=0,
        dilation=1,
        group=1,
        has_bias=False,
        weight_init=None,
        bias_init=None,
        data_format="NCHW",
        dtype=mstype.float32,
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, data_format, dtype,
        )  # fmt: skip
