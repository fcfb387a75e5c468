"""Dropout layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_float, check_in_range, check_type
from msjax.engine.autograd.inplace import written
from msjax.nn.cell.base import Cell
from msjax.nn.function_layer import Layer
from msjax.ops.dispatch.random_keys import mask_stream, streams_are_open
from msjax.ops.function.nn_func.dropouts import dropout_from_state

__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout2dExt", "Dropout3d", "DropoutExt"]


class Dropout(Cell):
    """In training, elements set to zero with probability `p` and the others scaled by 1 / (1 - p).

    Args:
        keep_prob (float): the older form of `p`, which is 1 - p; used where `p` is None. Default: 0.5.
        p (float or int, optional): the probability, in [0, 1).
        dtype (ms.dtype): accepted for compatibility with MindSpore, without effect.

    Inputs:
        - **x** (Tensor) - of floats, of any shape.

    Outputs:
        Tensor, of the same shape and dtype; out of training, the input.

    Raises:
        TypeError: `p` is not a number, or `keep_prob` no float.
        ValueError: `p` is not in [0, 1), or `keep_prob` not in (0, 1].

    Example:
        >>> net = nn.Dropout(p=0.5)
        >>> print(net(Tensor([1.0, 2.0])))
        [1. 2.]
        >>> net.set_train()
        Dropout(p=0.5)
        >>> sorted(set(net(ops.ones((100,), float32)).tolist()))
        [0.0, 2.0]
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: Type = mstype.float32):
        super().__init__()
        if p is None:
            check_float(keep_prob, "keep_prob", "Dropout", above=0, high=1)
        else:
            check_type(p, (float, int), "p", "Dropout")
            check_in_range(p, "p", "Dropout", low=0, below=1)
        self.p = p
        self.keep_prob = keep_prob
        self._masks = mask_stream()

    def construct(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        p = 1 - self.keep_prob if self.p is None else self.p
        if p == 0:
            return x
        if check_type(x, Tensor, "x", "Dropout").dtype.kind not in "fc":
            raise TypeError(f"For 'Dropout', the input should be of floats, but its dtype is {x.dtype}.")
        if self._masks is not None and streams_are_open():
            return dropout_from_state(x, self._masks.next_state(x.shape), p)
        return ops.dropout(x, p)

    def extend_repr(self) -> str:
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class _ChannelDropout(Cell):
    """Dropout of whole channels, by the function `drop`."""

    drop: Callable[[Tensor, float], Tensor]
    _in_repr = ("p",)

    def __init__(self, p: Any = 0.5):
        super().__init__()
        who = type(self).__name__
        self.p: float = check_float(p, "p", who, low=0, high=1)
        self.keep_prob: Any = 1 - p

    def construct(self, x):
        return type(self).drop(x, self.p) if self.training and self.p > 0 else x


class Dropout1d(_ChannelDropout):
    """In training, whole channels of an input (N, C, L) or (C, L) set to zero with probability `p`, the others scaled.

    Args:
        p (float): the probability, in [0, 1]. Default: 0.5.

    Raises:
        TypeError: `p` is not a float.
        ValueError: `p` is not in [0, 1], or the input has a wrong number of axes.

    Example:
        >>> out = nn.Dropout1d(0.5).set_train()(ops.ones((2, 5, 3), float32))
        >>> bool((out[:, :, 0] == out[:, :, 2]).all())
        True
    """

    drop = staticmethod(ops.dropout1d)
    _in_repr = ()  # As in MindSpore, the text of this one does not show `p`.


class Dropout2d(_ChannelDropout):
    """In training, whole channels of an input (N, C, H, W) or (C, H, W) set to zero with probability `p`, the others scaled.

    Args, Raises:
        As in `Dropout1d`.

    Example:
        >>> out = nn.Dropout2d(0.5).set_train()(ops.ones((2, 5, 3, 3), float32))
        >>> bool((out[:, :, 0, 0] == out[:, :, 2, 1]).all())
        True
    """

    drop = staticmethod(ops.dropout2d)


class Dropout3d(_ChannelDropout):
    """In training, whole channels of an input (N, C, D, H, W) or (C, D, H, W) set to zero with probability `p`, the others scaled.

    Args, Raises:
        As in `Dropout1d`.

    Example:
        >>> nn.Dropout3d(0.5).set_train()(ops.ones((2, 5, 3, 3, 3), float32)).shape
        (2, 5, 3, 3, 3)
    """

    drop = staticmethod(ops.dropout3d)


class DropoutExt(Layer):
    """In training, elements set to zero with probability `p` and the others scaled by 1 / (1 - p).

    Args:
        p (float): the probability, in [0, 1]. Default: 0.5.
        inplace (bool): whether the input itself is changed. Default: False.

    Raises:
        ValueError: `p` is not in [0, 1]; found when the layer is called in training.

    Example:
        >>> print(nn.DropoutExt(0.5)(Tensor([1.0, 2.0])))
        [1. 2.]
    """

    p: float = 0.5
    inplace: bool = False

    def construct(self, input: Tensor) -> Tensor:
        if not self.training:
            return input
        check_in_range(self.p, "p", type(self).__name__, low=0, high=1)
        out = self._drop(input, self.p)
        return written(input, out) if self.inplace else out

    _drop = staticmethod(ops.dropout)


class Dropout2dExt(DropoutExt):
    """In training, whole channels of an input (N, C, H, W) or (C, H, W) set to zero with probability `p`, the others scaled.

    Args:
        p, inplace: as in `DropoutExt`.

    Raises:
        ValueError: `p` is not in [0, 1], or the input has a wrong number of axes.

    Example:
        >>> nn.Dropout2dExt(0.5).set_train()(ops.ones((2, 5, 3, 3), float32)).shape
        (2, 5, 3, 3)
    """

    _drop = staticmethod(ops.dropout2d)
