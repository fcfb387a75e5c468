"""Layers combined with batch normalization and an activation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.common.tensor import Tensor
from msjax.common.typing import InitLike
from msjax.core.base.checks import check_bool
from msjax.nn.cell.base import Cell
from msjax.nn.layer.activation import LeakyReLU, get_activation
from msjax.nn.layer.conv import Conv2d
from msjax.nn.layer.dense import Dense
from msjax.nn.layer.normalization import BatchNorm1d, BatchNorm2d

__all__ = ["Conv2dBnAct", "DenseBnAct"]


def _activation(activation, alpha):
    if activation == "leakyrelu":
        return LeakyReLU(alpha)
    return get_activation(activation) if isinstance(activation, str) else activation


class _BnAct(Cell):
    """A layer made by a subclass, then optional batch normalization and activation."""

    def _follow_with(self, norm, activation, alpha, after_fake):
        self.has_bn: bool = norm is not None
        if self.has_bn:
            self.batchnorm = norm
        self.after_fake = after_fake
        self.has_act: bool = activation is not None
        self.activation = _activation(activation, alpha)

    def _followed(self, x):
        if self.has_bn:
            x = self.batchnorm(x)
        return self.activation(x) if self.has_act else x  # pyright: ignore[reportOptionalCall]


class Conv2dBnAct(_BnAct):
    """A 2-D convolution, then batch normalization and an activation, both optional.

    Args:
        in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init: as of `Conv2d`.
        has_bn (bool): whether there is a batch normalization. Default: False.
        momentum (float): of the batch normalization. Default: 0.997.
        eps (float): of the batch normalization. Default: 1e-5.
        activation (str, Cell or Primitive, optional): Default: None.
        alpha (float): the slope of the activation "leakyrelu". Default: 0.2.
        after_fake (bool): accepted for compatibility with MindSpore, without effect.

    Example:
        >>> nn.Conv2dBnAct(3, 8, 3, has_bn=True, activation="relu")(ops.ones((1, 3, 5, 5))).shape
        (1, 8, 5, 5)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1,
        pad_mode: str = "same", padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, group: int = 1,
        has_bias: bool = False, weight_init: InitLike = "normal", bias_init: InitLike = "zeros", has_bn: bool = False,
        momentum: float = 0.997, eps: float = 1e-5, activation: str | Cell | Callable[..., Any] | None = None,
        alpha: float = 0.2, after_fake: bool = True,
    ):  # fmt: skip
        super().__init__()
        self.conv = Conv2d(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init, bias_init
        )
        check_bool(has_bn, "has_bn", "Conv2dBnAct")
        self._follow_with(BatchNorm2d(out_channels, eps, momentum) if has_bn else None, activation, alpha, after_fake)

    def construct(self, x: Tensor) -> Tensor:
        return self._followed(self.conv(x))


class DenseBnAct(_BnAct):
    """A fully connected layer, then batch normalization and an activation, both optional.

    Args:
        in_channels, out_channels, weight_init, bias_init, has_bias: as of `Dense`.
        has_bn (bool): whether there is a batch normalization. Default: False.
        momentum (float): of the batch normalization. Default: 0.9.
        eps, activation, alpha, after_fake: as of `Conv2dBnAct`.

    Example:
        >>> nn.DenseBnAct(4, 3, has_bn=True, activation="relu")(ops.ones((2, 4))).shape
        (2, 3)
    """

    def __init__(
        self, in_channels: int, out_channels: int, weight_init: InitLike = "normal", bias_init: InitLike = "zeros",
        has_bias: bool = True, has_bn: bool = False, momentum: float = 0.9, eps: float = 1e-5,
        activation: str | Cell | Callable[..., Any] | None = None, alpha: float = 0.2, after_fake: bool = True,
    ):  # fmt: skip
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        check_bool(has_bn, "has_bn", "DenseBnAct")
        self._follow_with(BatchNorm1d(out_channels, eps, momentum) if has_bn else None, activation, alpha, after_fake)

    def construct(self, x: Tensor) -> Tensor:
        return self._followed(self.dense(x))
