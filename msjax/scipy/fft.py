"""Cosine transforms of ``scipy.fft``, for Tensors, with gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.scipy.fft

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_type, check_value
from msjax.ops.function.control.from_jax import from_jax

__all__ = ["dct", "dctn", "idct", "idctn"]


def _lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    lifted = from_jax(lambda x, *settings: function(x, 2, *settings), static_argnums=(1, 2, 3))

    def call(x, type, sizes, axes, norm):
        who = function.__name__
        check_type(x, Tensor, "x", who)
        check_value(type, type == 2, "be 2, the only one that jax has", "type", who)
        check_value(norm, norm in (None, "ortho"), "be None or 'ortho'", "norm", who)
        as_tuple = [tuple(value) if isinstance(value, (list, tuple)) else value for value in (sizes, axes)]
        return lifted(x, *as_tuple, norm)

    return call


_dct, _idct, _dctn, _idctn = map(_lifted, (jax.scipy.fft.dct, jax.scipy.fft.idct, jax.scipy.fft.dctn, jax.scipy.fft.idctn))


def dct(x: Tensor, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The cosine transform along an axis.

    Args:
        x (Tensor): real numbers.
        type (int): 2, the only one that there is.
        n (int, optional): the length, to which the axis is cut or filled with zeros. Default: its own.
        axis (int): Default: -1.
        norm (str, optional): "ortho" for an orthogonal transform. Default: None.

    Raises:
        TypeError: `x` is no Tensor.
        ValueError: another `type` or `norm`.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy import fft
        >>> print(fft.dct(ms.Tensor([1.0, 1.0])))
        [4. 0.]
    """
    return _dct(x, type, n, axis, norm)


def idct(x: Tensor, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `dct`; for the arguments, see there."""
    return _idct(x, type, n, axis, norm)


def dctn(
    x: Tensor, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The cosine transform along several axes, by default all; `s` are their lengths. For the other arguments, see `dct`."""
    return _dctn(x, type, s, axes, norm)


def idctn(
    x: Tensor, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse of `dctn`; for the arguments, see there."""
    return _idctn(x, type, s, axes, norm)
