"""Window functions."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import DTypeLike
from msjax.core.base.checks import check_int
from msjax.ops.dispatch.operator import freeze

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _window(name, make, window_length, periodic, dtype, default=mstype.float32):
    n = check_int(freeze(window_length), "window_length", name, low=0)
    values = jnp.ones(n) if n <= 1 else make(n + 1)[:-1] if periodic else make(n)
    return wrap(values.astype(mstype.to_jax(default if dtype is None else dtype)))


def bartlett_window(window_length: int | Tensor, periodic: bool = True, *, dtype: DTypeLike | None = None) -> Tensor:
    """The triangular window.

    Args:
        window_length (int or Tensor): the number of values.
        periodic (bool): whether the window continues evenly when repeated; else it is symmetric. Default: True.
        dtype (ms.dtype, optional): Default: None, for Float32.

    Example:
        >>> print(ops.bartlett_window(4))
        [0.  0.5 1.  0.5]
    """
    return _window("bartlett_window", jnp.bartlett, window_length, periodic, dtype)


def blackman_window(window_length: int | Tensor, periodic: bool = True, *, dtype: DTypeLike | None = None) -> Tensor:
    """Blackman's window.

    Args:
        window_length, periodic, dtype: as in `bartlett_window`.

    Example:
        >>> print(ops.blackman_window(4).max())
        1.0
    """
    # Rounding can make the ends slightly negative.
    return _window("blackman_window", lambda n: jnp.maximum(jnp.blackman(n), 0), window_length, periodic, dtype)


def hann_window(window_length: int, periodic: bool = True, *, dtype: DTypeLike | None = None) -> Tensor:
    """Hann's window.

    Args:
        window_length, periodic: as in `bartlett_window`.
        dtype (ms.dtype, optional): Default: None, for Float64.

    Example:
        >>> print(ops.hann_window(4))
        [0.  0.5 1.  0.5]
    """
    return _window("hann_window", jnp.hanning, window_length, periodic, dtype, mstype.float64)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Hamming's window, alpha - beta * cos.

    Args:
        window_length, periodic: as in `bartlett_window`.
        alpha, beta (float): Default: 0.54 and 0.46.
        dtype (ms.dtype, optional): Default: None, for Float32.

    Example:
        >>> print(ops.hamming_window(4))
        [0.08 0.54 1.   0.54]
    """

    def make(n):
        return alpha - beta * jnp.cos(2 * jnp.pi * jnp.arange(n) / (n - 1))

    return _window("hamming_window", make, window_length, periodic, dtype)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: DTypeLike | None = None) -> Tensor:
    """Kaiser's window.

    Args:
        window_length, periodic: as in `bartlett_window`.
        beta (float): how narrow it is. Default: 12.0.
        dtype (ms.dtype, optional): Default: None, for Float64.

    Example:
        >>> print(ops.kaiser_window(4).max())
        1.0
    """
    return _window("kaiser_window", lambda n: jnp.kaiser(n, beta), window_length, periodic, dtype, mstype.float64)
