"""Normalization layers."""

from msjax.autograd.op import apply
from msjax.common import dtype as mstype
from msjax.common.initializer import initializer
from msjax.common.parameter import Parameter
from msjax.nn.basic import positive_int
from msjax.nn.cell import Cell
from msjax.ops.normalization import BATCH_NORM_EVAL, BATCH_NORM_TRAIN, LAYER_NORM

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LayerNorm"]


class _BatchNorm(Cell):
    """What batch normalizations of inputs of 2 or 3, 4 and 5 axes share; `ndims` is set by each."""

    ndims = (4,)

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.9,
        affine=True,
        gamma_init="ones",
        beta_init="zeros",
        moving_mean_init="zeros",
        moving_var_init="ones",
        use_batch_statistics=None,
        data_format="NCHW",
        dtype=mstype.float32,
    ):
        super().__init__()
        who = type(self).__name__
        positive_int(num_features, "num_features", who)
        if not 0 <= momentum <= 1:
            raise ValueError(f"For '{who}', 'momentum' should be in [0, 1], but got {momentum}.")
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.use_batch_statistics = use_batch_statistics
        self.moving_mean = Parameter(initializer(moving_mean_init, num_features, dtype), name="mean", requires_grad=False)
        self.moving_variance = Parameter(initializer(moving_var_init, num_features, dtype), name="variance", requires_grad=False)
        self.gamma = Parameter(initializer(gamma_init, num_features, dtype), name="gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, num_features, dtype), name="beta", requires_grad=affine)

    def construct(self, x):
        if x.ndim not in self.ndims:
            raise ValueError(
                f"For '{type(self).__name__}', the input should have {' or '.join(map(str, self.ndims))} axes, but its shape is {x.shape}."
            )
        operands = (x, self.gamma, self.beta, self.moving_mean, self.moving_variance)
        if self.use_batch_statistics if self.use_batch_statistics is not None else self.training:
            out, mean, variance = apply(BATCH_NORM_TRAIN, operands, (self.momentum, self.eps))
            self.moving_mean._value = mean._value
            self.moving_variance._value = variance._value
            return out
        return apply(BATCH_NORM_EVAL, operands, (self.eps,))

    def extend_repr(self):
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, gamma={self.gamma}, "
            f"beta={self.beta}, moving_mean={self.moving_mean}, moving_variance={self.moving_variance}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalization of inputs (N, C) or (N, C, L); see `BatchNorm2d`."""

    ndims = (2, 3)


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

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> print(nn.BatchNorm2d(1, eps=0.0)(ms.Tensor([[[[1.0, 2.0]]]])))
        [[[[1. 2.]]]]
    """


class BatchNorm3d(_BatchNorm):
    """Batch normalization of inputs (N, C, D, H, W); see `BatchNorm2d`."""

    ndims = (5,)


class LayerNorm(Cell):
    """Normalization over the last axes.

    Args:
        normalized_shape (tuple or list): the shape of gamma and beta.
        begin_norm_axis (int): the first axis to normalize. Default: -1.
        begin_params_axis (int): the first axis of gamma and beta. Default: -1.
        gamma_init, beta_init: initializers, names, numbers or Tensors.
        epsilon (float): added to the variance. Default: 1e-7.
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Raises:
        TypeError: `normalized_shape` is no tuple or list.
    """

    def __init__(
        self,
        normalized_shape,
        begin_norm_axis=-1,
        begin_params_axis=-1,
        gamma_init="ones",
        beta_init="zeros",
        epsilon=1e-7,
        dtype=mstype.float32,
    ):
        super().__init__()
        if not isinstance(normalized_shape, (tuple, list)) or not normalized_shape:
            raise TypeError(
                f"For 'LayerNorm', 'normalized_shape' should be a non-empty tuple or list, but got {normalized_shape!r}."
            )
        self.normalized_shape = tuple(normalized_shape)
        self.begin_norm_axis = begin_norm_axis
        self.begin_params_axis = begin_params_axis
        self.epsilon = epsilon
        self.gamma = Parameter(initializer(gamma_init, self.normalized_shape, dtype), name="gamma")
        self.beta = Parameter(initializer(beta_init, self.normalized_shape, dtype), name="beta")

    def construct(self, x):
        return apply(LAYER_NORM, (x, self.gamma, self.beta), (self.begin_norm_axis, self.begin_params_axis, float(self.epsilon)))

    def extend_repr(self):
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
            f"begin_params_axis={self.begin_params_axis}, gamma={self.gamma}, beta={self.beta}"
        )
