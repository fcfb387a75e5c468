"""Dropout layers."""

from msjax.autograd.op import apply
from msjax.common import dtype as mstype
from msjax.common.random import default_generator
from msjax.nn.cell import Cell
from msjax.nn.checks import check_tensor, check_type
from msjax.ops import sampling

__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout2dExt", "Dropout3d", "DropoutExt"]


class Dropout(Cell):
    """In training, elements set to zero with probability `p` and the others scaled by 1 / (1 - p).

    Args:
        keep_prob (float): the older form of `p`, which is 1 - p; used where `p` is None. Default: 0.5.
        p (float or int, optional): the probability, in [0, 1).
        dtype (ms.dtype): kept for MindSpore's programs, without effect.

    Inputs:
        - **x** (Tensor) - of floats, of any shape.

    Outputs:
        Tensor, of the same shape and dtype; out of training, the input.

    Raises:
        TypeError: `p` is no number, or `keep_prob` no float.
        ValueError: `p` is not in [0, 1), or `keep_prob` not in (0, 1].

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> net = nn.Dropout(p=0.5)
        >>> print(net(ms.Tensor([1.0, 2.0])))
        [1. 2.]
        >>> net.set_train()
        Dropout(p=0.5)
        >>> sorted(set(net(ops.ones((100,), ms.float32)).tolist()))
        [0.0, 2.0]
    """

    def __init__(self, keep_prob=0.5, p=None, dtype=mstype.float32):
        super().__init__()
        if p is None:
            check_type(keep_prob, float, "keep_prob", "Dropout")
            if not 0 < keep_prob <= 1:
                raise ValueError(f"For 'Dropout', 'keep_prob' should be in (0, 1], but got {keep_prob}.")
        else:
            check_type(p, (float, int), "p", "Dropout")
            if not 0 <= p < 1:
                raise ValueError(f"For 'Dropout', 'p' should be in [0, 1), but got {p}.")
        self.p = p
        self.keep_prob = keep_prob

    def construct(self, x):
        if not self.training:
            return x
        p = 1 - self.keep_prob if self.p is None else self.p
        if p == 0:
            return x
        if check_tensor(x, "x", "Dropout").dtype.kind not in "fc":
            raise TypeError(f"For 'Dropout', the input should be of floats, but its dtype is {x.dtype}.")
        return sampling.dropout(x, p, True)

    def extend_repr(self):
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class _ChannelDropout(Cell):
    """Dropout of whole channels: `axes` says how the mask is shared, `ndims` what inputs are taken."""

    ndims = ()

    def __init__(self, p=0.5):
        super().__init__()
        who = type(self).__name__
        check_type(p, float, "p", who)
        if not 0 <= p <= 1:
            raise ValueError(f"For '{who}', 'p' should be in [0, 1], but got {p}.")
        self.p = p
        self.keep_prob = 1 - p

    def construct(self, x):
        if not self.training or self.p == 0:
            return x
        return drop_channels(x, self.p, self.ndims, type(self).__name__)


def drop_channels(x, p, ndims, who):
    """Channels (axis 1; axis 0 of an input without a batch) set to zero with probability p, the others scaled."""
    if x.ndim not in ndims:
        raise ValueError(f"For '{who}', the input should have {' or '.join(map(str, ndims))} axes, but its shape is {x.shape}.")
    first = 2 if x.ndim == max(ndims) else 1
    return apply(sampling._DROPOUT, (x, default_generator.next_key()), (float(p), tuple(range(first, x.ndim))))


class Dropout1d(_ChannelDropout):
    """In training, whole channels of an input (N, C, L) or (C, L) set to zero with probability `p`, the others scaled.

    Args:
        p (float): the probability, in [0, 1]. Default: 0.5.

    Raises:
        TypeError: `p` is no float.
        ValueError: `p` is not in [0, 1], or the input has a wrong number of axes.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> out = nn.Dropout1d(0.5).set_train()(ops.ones((2, 5, 3), ms.float32))
        >>> bool((out[:, :, 0] == out[:, :, 2]).all())
        True
    """

    ndims = (2, 3)


class Dropout2d(_ChannelDropout):
    """In training, whole channels of an input (N, C, H, W) set to zero with probability `p`, the others scaled.

    Args:
        p (float): the probability, in [0, 1]. Default: 0.5.

    Raises:
        TypeError: `p` is no float.
        ValueError: `p` is not in [0, 1], or the input has a wrong number of axes.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> out = nn.Dropout2d(0.5).set_train()(ops.ones((2, 5, 3, 3), ms.float32))
        >>> bool((out[:, :, 0, 0] == out[:, :, 2, 1]).all())
        True
    """

    ndims = (4,)

    def extend_repr(self):
        return f"p={self.keep_prob}"


class Dropout3d(_ChannelDropout):
    """In training, whole channels of an input (N, C, D, H, W) set to zero with probability `p`, the others scaled.

    Args:
        p (float): the probability, in [0, 1]. Default: 0.5.

    Raises:
        TypeError: `p` is no float.
        ValueError: `p` is not in [0, 1], or the input has a wrong number of axes.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> nn.Dropout3d(0.5).set_train()(ops.ones((2, 5, 3, 3, 3), ms.float32)).shape
        (2, 5, 3, 3, 3)
    """

    ndims = (5,)

    def extend_repr(self):
        return f"p={self.keep_prob}"


class DropoutExt(Cell):
    """In training, elements set to zero with probability `p` and the others scaled by 1 / (1 - p).

    Args:
        p (float): the probability, in [0, 1]. Default: 0.5.
        inplace (bool): whether the input itself is changed. Default: False.

    Raises:
        ValueError: `p` is not in [0, 1]; found when the layer is called in training.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> print(nn.DropoutExt(0.5)(ms.Tensor([1.0, 2.0])))
        [1. 2.]
    """

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        self.p = p
        self.inplace = inplace

    def construct(self, input):
        if not self.training:
            return input
        if not 0 <= self.p <= 1:
            raise ValueError(f"For '{type(self).__name__}', 'p' should be in [0, 1], but got {self.p}.")
        out = self._drop(input)
        return input.copy_(out) if self.inplace else out

    def _drop(self, x):
        return sampling.dropout(x, self.p, True)


class Dropout2dExt(DropoutExt):
    """In training, whole channels of an input (N, C, H, W) or (C, H, W) set to zero with probability `p`, the others scaled.

    Args:
        p (float): the probability, in [0, 1]. Default: 0.5.
        inplace (bool): whether the input itself is changed. Default: False.

    Raises:
        ValueError: `p` is not in [0, 1], or the input has a wrong number of axes.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> nn.Dropout2dExt(0.5).set_train()(ops.ones((2, 5, 3, 3), ms.float32)).shape
        (2, 5, 3, 3)
    """

    def _drop(self, x):
        return x if self.p == 0 else drop_channels(x, self.p, (3, 4), "Dropout2dExt")
