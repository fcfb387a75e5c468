"""Normalization layers with moving statistics: batch and instance normalization."""

from __future__ import annotations

from typing import Any, ClassVar

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializer import initializer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import InitLike
from msjax.core.base.checks import (
    check_bool,
    check_float,
    check_number,
    check_one_of,
    check_positive_int,
    check_rank,
    check_value,
)
from msjax.engine.autograd.op import apply
from msjax.nn.cell.base import Cell
from msjax.nn.function_layer import PrimitiveAttribute
from msjax.ops.function.nn_func import normalization as ops
from msjax.ops.operations import nn_ops

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "SyncBatchNorm"]


class _MovingNorm(Cell):
    """Base of layers with moving statistics; `ndims` are the allowed numbers of input axes."""

    ndims: ClassVar[tuple[int, ...]] = (4,)

    def __init_subclass__(cls, ndims: tuple[int, ...] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.ndims = ndims or cls.ndims

    def __init__(self, num_features, eps, momentum, affine, inits, dtype):
        super().__init__()
        who = type(self).__name__
        self.num_features: int = check_positive_int(num_features, "num_features", who)
        self.momentum: float = check_number(momentum, "momentum", who, low=0, high=1)
        self.eps = eps
        gamma, beta, mean, variance = [initializer(init, num_features, dtype) for init in inits]
        self.moving_mean: Parameter = Parameter(mean, name="mean", requires_grad=False)
        self.moving_variance: Parameter = Parameter(variance, name="variance", requires_grad=False)
        self.gamma: Parameter = Parameter(gamma, name="gamma", requires_grad=affine)
        self.beta: Parameter = Parameter(beta, name="beta", requires_grad=affine)

    def _operands(self, x):
        if x.ndim not in self.ndims or x.shape[1] != self.num_features:
            raise ValueError(
                f"For '{type(self).__name__}', the input should have {' or '.join(map(str, self.ndims))} axes, and "
                f"{self.num_features} channels (axis 1), but its shape is {x.shape}."
            )
        return x, self.gamma, self.beta, self.moving_mean, self.moving_variance, float(self.eps)

    def _moved(self, op, x, old):
        """What an operator of training returns; the statistics that it moves, `old` being their share that stays, are kept."""
        out, mean, variance = apply(op, (*self._operands(x), old, 1 - old))
        self.moving_mean._set_value(mean._value)
        self.moving_variance._set_value(variance._value)
        return out

    def _shown_momentum(self):
        return self.momentum

    def extend_repr(self):
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self._shown_momentum()}, gamma={self.gamma}, "
            f"beta={self.beta}, moving_mean={self.moving_mean}, moving_variance={self.moving_variance}"
        )


class _BatchNorm(_MovingNorm):
    def _shown_momentum(self):
        # MindSpore stores 1 - momentum, and shows 1 less that value.
        return 1.0 - (1.0 - self.momentum)

    bn_train: PrimitiveAttribute = PrimitiveAttribute(
        lambda cell: nn_ops.BatchNorm(True, cell.eps, 1 - cell.momentum, cell.format)
    )
    bn_infer: PrimitiveAttribute = PrimitiveAttribute(lambda cell: nn_ops.BatchNorm(False, cell.eps, data_format=cell.format))

    def __init__(
        self, num_features: int, eps: float=1e-5, momentum: float=0.9, affine: bool=True, gamma_init: InitLike="ones", beta_init: InitLike="zeros",
        moving_mean_init: InitLike="zeros", moving_var_init: InitLike="ones", use_batch_statistics: bool | None=None, data_format: str="NCHW",
        dtype: Type=mstype.float32,
    ):  # fmt: skip
        who = type(self).__name__
        fits = use_batch_statistics is None or isinstance(use_batch_statistics, bool)
        check_value(use_batch_statistics, fits, "be True, False or None", "use_batch_statistics", who)
        check_one_of(data_format, ("NCHW",), "data_format", who)
        super().__init__(num_features, eps, momentum, affine, (gamma_init, beta_init, moving_mean_init, moving_var_init), dtype)
        self.format = data_format
        self.use_batch_statistics = use_batch_statistics

    def construct(self, x):
        if self.use_batch_statistics if self.use_batch_statistics is not None else self.training:
            return self._moved(ops.BATCH_NORM_TRAIN, x, float(self.momentum))
        return apply(ops.BATCH_NORM_EVAL, self._operands(x))


class BatchNorm2d(_BatchNorm):
    """Batch normalization of inputs (N, C, H, W), per channel.

    In training it uses the statistics of the batch and moves its own towards them; in inference, its own.

    Args:
        num_features (int): the channels C.
        eps (float): added to the variance. Default: 1e-5.
        momentum (float): the share of the old moving statistics, in [0, 1]. Default: 0.9.
        affine (bool): whether gamma and beta are trained. Default: True.
        gamma_init, beta_init, moving_mean_init, moving_var_init: initializers, names, numbers or Tensors (C,).
        use_batch_statistics (bool, optional): True or False for batch statistics always or never.
        data_format (str): "NCHW".
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Inputs:
        - **x** (Tensor) - of shape (N, C, H, W).

    Outputs:
        Tensor, of the same shape and dtype.

    Raises:
        TypeError: `num_features` is not an int.
        ValueError: a wrong value of an argument, or the input's shape doesn't fit.

    Example:
        >>> print(nn.BatchNorm2d(1, eps=0.0)(Tensor([[[[1.0, 2.0]]]])))
        [[[[1. 2.]]]]
    """


class BatchNorm3d(Cell):
    """Batch normalization of inputs (N, C, D, H, W), by a `BatchNorm2d`; see there for the arguments."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
        gamma_init: InitLike = "ones", beta_init: InitLike = "zeros", moving_mean_init: InitLike = "zeros",
        moving_var_init: InitLike = "ones", use_batch_statistics: bool | None = None, dtype: Type = mstype.float32,
    ):  # fmt: skip
        super().__init__()
        self.bn2d = BatchNorm2d(
            num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
            use_batch_statistics, "NCHW", dtype,
        )  # fmt: skip

    def construct(self, x: Tensor) -> Tensor:
        check_rank(x, 5, "the input", "BatchNorm3d")
        n, c, d, h, w = x.shape
        return self.bn2d(x.reshape((n, c, d * h, w))).reshape((n, c, d, h, w))


class SyncBatchNorm(_BatchNorm, ndims=(2, 3, 4, 5)):
    """Batch normalization whose statistics are those of all devices.

    A compiled network sees the whole batch, also where it is spread over devices, so that this is batch normalization.

    Args:
        process_groups (list, optional): accepted for compatibility with MindSpore; only None is offered.
        num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
            use_batch_statistics, dtype: as of `BatchNorm2d`.
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
        gamma_init: InitLike = "ones", beta_init: InitLike = "zeros", moving_mean_init: InitLike = "zeros",
        moving_var_init: InitLike = "ones", use_batch_statistics: bool | None = None, process_groups: list[Any] | None = None,
        dtype: Type = mstype.float32,
    ):  # fmt: skip
        if process_groups is not None:
            raise NotImplementedError(
                "For 'SyncBatchNorm', 'process_groups' is not offered: statistics are those of all devices."
            )
        super().__init__(
            num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
            use_batch_statistics, "NCHW", dtype,
        )  # fmt: skip


class _InstanceNorm(_MovingNorm):
    def __init__(
        self, num_features: int, eps: float=1e-5, momentum: float=0.1, affine: bool=True, gamma_init: InitLike="ones", beta_init: InitLike="zeros", dtype: Type=mstype.float32,
    ):  # fmt: skip
        who = type(self).__name__
        check_bool(affine, "affine", who)
        check_float(momentum, "momentum", who)
        super().__init__(num_features, eps, momentum, affine, (gamma_init, beta_init, "zeros", "ones"), dtype)

    def construct(self, x):
        return self._moved(ops.INSTANCE_NORM_TRAIN, x, 1 - float(self.momentum))


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of inputs (N, C, H, W): each channel of each sample by itself.

    Args:
        num_features, eps, affine, gamma_init, beta_init, dtype: as in `BatchNorm2d`.
        momentum (float): the share of the batch's statistics in the moving ones, which are kept, but not used. Default: 0.1.

    Example:
        >>> nn.InstanceNorm2d(3)(ops.ones((1, 3, 4, 4))).shape
        (1, 3, 4, 4)
    """


# fmt: off
class BatchNorm1d(_BatchNorm, ndims=(2, 3)): """Batch normalization of inputs (N, C) or (N, C, L); see `BatchNorm2d`."""
class InstanceNorm1d(_InstanceNorm, ndims=(3,)): """Instance normalization of inputs (N, C, L); see `InstanceNorm2d`."""
class InstanceNorm3d(_InstanceNorm, ndims=(5,)): """Instance normalization of inputs (N, C, D, H, W); see `InstanceNorm2d`."""
# fmt: on
