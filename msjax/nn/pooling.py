"""Pooling layers."""

from msjax.autograd.op import apply
from msjax.nn.cell import Cell
from msjax.ops.pooling import AVG_POOL, MAX_POOL
from msjax.ops.sliding import n_ints, same_padding

__all__ = ["AvgPool2d", "MaxPool2d"]


class _Pool(Cell):
    """What pooling layers of two axes share."""

    def _setup(self, kernel_size, stride, pad_mode, padding):
        who = type(self).__name__
        self.kernel_size = n_ints(kernel_size, 2, "kernel_size", who)
        self.stride = n_ints(stride, 2, "stride", who)
        self._shown = kernel_size, stride
        if pad_mode.upper() not in ("SAME", "VALID", "PAD"):
            raise ValueError(f"For '{who}', 'pad_mode' should be 'same', 'valid' or 'pad', but got {pad_mode!r}.")
        self.pad_mode = pad_mode.upper()
        pads = n_ints(padding, 2, "padding", who, lowest=0)
        if self.pad_mode != "PAD" and any(pads):
            raise ValueError(f"For '{who}', 'padding' should be 0 with pad_mode {pad_mode!r}, but got {padding}.")
        self._pads = tuple((p, p) for p in pads)

    def _padding_for(self, spatial):
        if self.pad_mode == "SAME":
            return tuple(same_padding(size, k, s, 1) for size, k, s in zip(spatial, self.kernel_size, self.stride))
        return self._pads

    def extend_repr(self):
        kernel, stride = self._shown
        return f"kernel_size={kernel}, stride={stride}, pad_mode={self.pad_mode}"


class MaxPool2d(_Pool):
    """The largest value of each window of an input (N, C, H, W); of equal ones, the first gets the gradient.

    Args:
        kernel_size (int or tuple): Default: 1.
        stride (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default), "same" or "pad".
        padding (int or tuple): with "pad".
    """

    def __init__(self, kernel_size=1, stride=1, pad_mode="valid", padding=0):
        super().__init__()
        self._setup(kernel_size, stride, pad_mode, padding)

    def construct(self, x):
        return apply(MAX_POOL, (x,), (self.kernel_size, self.stride, self._padding_for(x.shape[-2:])))


class AvgPool2d(_Pool):
    """The mean of each window of an input (N, C, H, W).

    Args:
        kernel_size (int or tuple): Default: 1.
        stride (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default), "same" or "pad".
        padding (int or tuple): with "pad".
        count_include_pad (bool): with "pad", whether padding counts in the mean. Default: True.
        divisor_override (int, optional): with "pad", what sums are divided by.
    """

    def __init__(self, kernel_size=1, stride=1, pad_mode="valid", padding=0, count_include_pad=True, divisor_override=None):
        super().__init__()
        self._setup(kernel_size, stride, pad_mode, padding)
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def construct(self, x):
        include = self.count_include_pad and self.pad_mode != "SAME"
        static = (self.kernel_size, self.stride, self._padding_for(x.shape[-2:]), include, self.divisor_override)
        return apply(AVG_POOL, (x,), static)
