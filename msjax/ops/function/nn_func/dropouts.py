"""Dropout."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import jax
import jax.numpy as jnp

from msjax.common.generators import minstd
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_in_range, check_rank
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.random_keys import next_key, state_of_mask, wrap

__all__ = ["dropout", "dropout1d", "dropout2d", "dropout3d"]


@partial(Op, "Dropout")
def _DROPOUT(x, key, share, axes, all_dropped):
    return _dropout_with_mask(x, key, share, axes, all_dropped)[0]


def _dropout_with_mask(x, key, share, axes, all_dropped):
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    keep = jax.random.bernoulli(wrap(key), share, shape)
    # As XLA divides by a constant: by multiplication.
    out = jnp.zeros_like(x) if all_dropped else jnp.where(keep, x * (1 / jnp.asarray(share, x.dtype)), jnp.zeros((), x.dtype))
    return out, jnp.broadcast_to(keep, x.shape)


@partial(Op, "Dropout")
def _DROPOUT_FROM_STATE(x, state, share):
    keep = minstd.kept(state, x.shape, jnp.asarray(share, jnp.float32))
    return jnp.where(keep, x * (1 / jnp.asarray(share, x.dtype)), jnp.zeros((), x.dtype))


_DROPOUT_WITH_MASK = Op("Dropout", _dropout_with_mask)


def _drop(op, x, key, p, axes):
    """`axes`: the axes along which elements are dropped together; () for none."""
    share = 1 - float(p)
    return apply(op, (x, key, share), (axes, share == 0))


def dropout_from_state(x: Tensor, state: Tensor | JaxArray, p: float) -> Tensor:
    """Dropout whose mask is drawn from a state of `MaskStream`."""
    return apply(_DROPOUT_FROM_STATE, (x, state, 1 - float(p)))


def dropout_with_mask(x: Tensor, key: JaxArray, p: float, axes: tuple[int, ...] = ()) -> tuple[Tensor, Tensor]:
    """(the Tensor with elements dropped with probability `p`, which elements were kept)."""
    return _drop(_DROPOUT_WITH_MASK, x, key, p, axes)


def dropout(input: TensorLike, p: float = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """Elements set to zero with probability `p`, the others scaled by 1 / (1 - p).

    Args:
        input (Tensor): any shape, of floats.
        p (float): how likely an element is dropped. Default: 0.5.
        training (bool): if False, the result is the input itself. Default: True.
        seed (int, optional): makes the drawing the same in every run of the program. Default: None.

    Raises:
        ValueError: `p` is out of range.

    Example:
        >>> print(ops.dropout(Tensor([1.0, 2.0]), 0.5, training=False))
        [1. 2.]
    """
    if not training or p == 0:
        return input
    check_in_range(p, "p", "dropout", low=0, high=1)
    state = state_of_mask(seed, input.size) if p < 1 else None
    if state is not None:
        return dropout_from_state(input, state, p)
    return _drop(_DROPOUT, input, next_key(seed), p, ())


class _ChannelDropout(Protocol):
    def __call__(self, input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor: ...


def _of_channels(n: int, sizes: str, shape: tuple[int, ...]) -> _ChannelDropout:
    name = f"dropout{n}d"

    def call(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
        check_rank(input, (n + 1, n + 2), "the Tensor", name)
        check_in_range(p, "p", name, low=0, high=1)
        if not training or p == 0:
            return input
        return _drop(_DROPOUT, input, next_key(), p, tuple(range(input.ndim - n, input.ndim)))

    doc = f"""Whole channels set to zero with probability `p`, the others scaled by 1 / (1 - p).

    Args:
        input (Tensor): shape (N, C, {sizes}) or (C, {sizes}).
        p (float): how likely a channel is dropped. Default: 0.5.
        training (bool): if False, the result is the input itself. Default: True.

    Raises:
        ValueError: another number of axes, or `p` is out of range.

    Example:
        >>> print(ops.{name}(ops.ones({shape}), 0.5).shape)
        {shape}
    """
    return titled(call, name, doc)


dropout1d: _ChannelDropout = _of_channels(1, "L", (2, 3, 4))
dropout2d: _ChannelDropout = _of_channels(2, "H, W", (2, 3, 4, 4))
dropout3d: _ChannelDropout = _of_channels(3, "D, H, W", (2, 3, 4, 4, 4))
