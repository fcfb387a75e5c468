"""Local response normalization."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_in_range, check_int, check_number, check_one_of, check_rank
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import rounded_once

__all__ = ["lrn"]


@operator(numbers=("bias", "alpha"), name="LRN")
def _lrn(x, depth_radius, bias, alpha, beta):
    check_rank(x, 4, "the input")
    return rounded_once(_normalized, x, depth_radius, bias, alpha, beta)


def _normalized(x, depth_radius, bias, alpha, beta):
    squares = jnp.square(x)
    around = (depth_radius, depth_radius)
    padded = jnp.pad(squares, ((0, 0), around, (0, 0), (0, 0)))
    total = jnp.zeros_like(x)
    for i in range(2 * depth_radius + 1):
        total = total + jax.lax.slice_in_dim(padded, i, i + x.shape[1], axis=1)
    return x * jnp.power(bias + alpha * total, -beta)


def lrn(
    x: TensorLike,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Tensor:
    """Local response normalization: x / (bias + alpha * sum of squares over neighbouring channels) ** beta.

    Args:
        x (Tensor): of shape (N, C, H, W).
        depth_radius (int): how many channels on each side are neighbours. Default: 5.
        bias (float): Default: 1.0.
        alpha (float): Default: 1.0.
        beta (float): Default: 0.5.
        norm_region (str): "ACROSS_CHANNELS".

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.

    Example:
        >>> print(ops.lrn(Tensor([[[[3.0]], [[4.0]]]]), bias=0.0).flatten())
        [0.6 0.8]
    """
    check_lrn(depth_radius, bias, alpha, beta, norm_region, "lrn")
    return _lrn(x, depth_radius, float(bias), float(alpha), float(beta))


def check_lrn(depth_radius: int, bias: float, alpha: float, beta: float, norm_region: str, who: str) -> None:
    """TypeError or ValueError for arguments that `lrn` doesn't take."""
    check_int(depth_radius, "depth_radius", who)
    for name, value in (("bias", bias), ("alpha", alpha), ("beta", beta)):
        check_number(value, name, who)
    check_in_range(depth_radius, "depth_radius", who, low=0)
    check_one_of(norm_region, ("ACROSS_CHANNELS",), "norm_region", who)
