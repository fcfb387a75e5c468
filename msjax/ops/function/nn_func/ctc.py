"""Connectionist temporal classification: the loss and a decoder."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.arrays import concrete
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_bool, check_int
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator, require_tensors
from msjax.ops.function.nn_func.losses import check_reduction, reduce_loss

__all__ = ["ctc_greedy_decoder", "ctc_loss"]

# Used instead of -inf, whose gradient would be NaN.
_NEVER = -1e30


def _extended(targets, blank):
    """The targets with blanks between them and around."""
    n, length = targets.shape
    out = jnp.full((n, 2 * length + 1), blank, jnp.int32)
    return out.at[:, 1::2].set(targets.astype(jnp.int32))


def log_alphas(
    log_probs: JaxArray, targets: JaxArray, input_lengths: JaxArray, target_lengths: JaxArray, blank: int
) -> tuple[JaxArray, JaxArray]:
    """Losses (N,) and the logarithms of the forward probabilities (N, T, 2 S + 1)."""
    labels = _extended(targets, blank)
    n, states = labels.shape
    emitted = jnp.take_along_axis(log_probs, jnp.broadcast_to(labels, (log_probs.shape[0], n, states)), 2)
    at = jnp.arange(states)
    skips = (at >= 2) & (labels != blank) & (labels != jnp.roll(labels, 2, 1))
    never = jnp.asarray(_NEVER, log_probs.dtype)

    def shifted(alpha, by):
        return jnp.pad(alpha, ((0, 0), (by, 0)), constant_values=_NEVER)[:, :states]

    def step(alpha, emission):
        paths = jnp.stack([alpha, shifted(alpha, 1), jnp.where(skips, shifted(alpha, 2), never)])
        alpha = jnp.maximum(jax.nn.logsumexp(paths, 0) + emission, never)
        return alpha, alpha

    first = jnp.where(at < 2, emitted[0], never)
    first = jnp.where((at == 1) & (target_lengths[:, None] == 0), never, first)
    _, rest = jax.lax.scan(step, first, emitted[1:])
    alphas = jnp.moveaxis(jnp.concatenate([first[None], rest]), 0, 1)
    last = jnp.take_along_axis(alphas, (input_lengths - 1)[:, None, None], 1)[:, 0]
    end = 2 * target_lengths[:, None]
    ends = jnp.take_along_axis(last, jnp.concatenate([end, jnp.maximum(end - 1, 0)], 1), 1)
    total = jnp.where(target_lengths == 0, ends[:, 0], jax.nn.logsumexp(ends, 1))
    # Without any step, only no targets at all are possible.
    total = jnp.where(input_lengths == 0, jnp.where(target_lengths == 0, jnp.zeros_like(never), never), total)
    return -total, alphas


@operator(4, name="CTCLoss")
def ctc_losses(
    log_probs: TensorLike,
    targets: TensorLike,
    input_lengths: TensorLike,
    target_lengths: TensorLike,
    blank: int,
    reduction: str,
    zero_infinity: bool,
) -> tuple[JaxArray, JaxArray]:
    """The reduced loss and the logarithms of the forward probabilities."""
    batched = log_probs.ndim == 3
    if not batched:
        log_probs, targets = log_probs[:, None], targets[None]
        input_lengths, target_lengths = input_lengths.reshape(1), target_lengths.reshape(1)
    if targets.ndim == 1:
        raise NotImplementedError("targets as one concatenated axis are not offered: give them as (N, S).")
    input_lengths, target_lengths = input_lengths.astype(jnp.int32), target_lengths.astype(jnp.int32)
    losses, alphas = log_alphas(log_probs, targets, input_lengths, target_lengths, blank)
    impossible = losses > -_NEVER / 2
    losses = jnp.where(impossible, 0 if zero_infinity else jnp.inf, losses)
    alphas = jnp.where(alphas < _NEVER / 2, -jnp.inf, alphas)
    losses = reduce_loss(losses / jnp.maximum(target_lengths, 1) if reduction == "mean" else losses, reduction)
    losses = losses if batched or reduction != "none" else losses[0]
    return losses, jax.lax.stop_gradient(alphas if batched else alphas[0])


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """The loss of connectionist temporal classification: -log of the targets' probability over all alignments.

    Args:
        log_probs (Tensor): logarithms of probabilities, of shape (T, N, C) or (T, C).
        targets (Tensor): class numbers, of shape (N, S) or (S,).
        input_lengths (Tensor or tuple): how many of the T steps count, of shape (N,).
        target_lengths (Tensor or tuple): how many of the S targets count, of shape (N,).
        blank (int): the class number of the blank. Default: 0.
        reduction (str): "mean" (the default: of losses divided by the targets' lengths), "sum" or "none".
        zero_infinity (bool): whether losses of impossible targets are 0, not infinite. Default: False.

    Returns:
        A tuple of the loss and of the logarithms of the forward probabilities, of shape (N, T, 2 S + 1).

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.

    Example:
        >>> log_probs = ops.log_softmax(ops.zeros((3, 1, 2)))
        >>> loss, _ = ops.ctc_loss(log_probs, Tensor([[1]]), Tensor([3]), Tensor([1]))
        >>> print(round(float(loss), 4))
        0.2877
    """
    require_tensors("ctc_loss", log_probs=log_probs, targets=targets)
    check_int(blank, "blank", "ctc_loss")
    check_bool(zero_infinity, "zero_infinity", "ctc_loss")
    if log_probs.ndim not in (2, 3) or not 0 <= blank < log_probs.shape[-1]:
        raise ValueError(f"For 'ctc_loss', log_probs of shape {log_probs.shape} and blank {blank} don't fit.")
    check_reduction(reduction, "ctc_loss")
    lengths = [v if isinstance(v, Tensor) else Tensor(v) for v in (input_lengths, target_lengths)]
    return ctc_losses(log_probs, targets, *lengths, blank, reduction, zero_infinity)


def ctc_greedy_decoder(
    inputs: Tensor, sequence_length: Tensor, merge_repeated: bool = True
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The most probable class of each step, without blanks (the last class), as sparse rows.

    Args:
        inputs (Tensor): of shape (T, N, C), where class C - 1 is the blank.
        sequence_length (Tensor): how many of the T steps count, of shape (N,).
        merge_repeated (bool): whether equal neighbours count once. Default: True.

    Returns:
        A tuple of indices (M, 2), values (M,), the shape (2,) of the dense result, all Int64, and the negative sums of
        the maxima (N, 1).

    Raises:
        ValueError: a length is larger than T.
    """
    x = np.asarray(concrete(inputs, "ops.ctc_greedy_decoder"))
    lengths = np.asarray(concrete(sequence_length, "ops.ctc_greedy_decoder"))
    if x.ndim != 3 or (lengths > x.shape[0]).any():
        raise ValueError(f"For 'ctc_greedy_decoder', lengths {lengths.tolist()} don't fit inputs of shape {inputs.shape}.")
    indices, values, longest = [], [], 0
    scores = np.zeros((x.shape[1], 1), x.dtype)
    for n, length in enumerate(lengths):
        best = x[:length, n].argmax(-1)
        scores[n] = -x[:length, n].max(-1).sum()
        previous, kept = -1, []
        for c in best.tolist():
            if c != x.shape[2] - 1 and not (merge_repeated and c == previous):
                kept.append(c)
            previous = c
        indices += [(n, i) for i in range(len(kept))]
        values += kept
        longest = max(longest, len(kept))
    return (
        Tensor(np.asarray(indices, np.int64).reshape(-1, 2)),
        Tensor(np.asarray(values, np.int64)),
        Tensor(np.asarray([x.shape[1], longest], np.int64)),
        Tensor(scores),
    )


@operator(4, name="CTCLoss")
def ctc_loss_of_logits(
    x: TensorLike, labels_indices: TensorLike, labels_values: TensorLike, sequence_length: TensorLike
) -> tuple[JaxArray, JaxArray]:
    """The losses (N,) of logits (T, N, C), the last class being blank, and the gradient of their sum."""
    batch, classes = x.shape[1:]  # pyright: ignore[reportAssignmentType]
    # Room for all labels in each row: shapes may not depend on the number of labels of a sequence.
    targets = jnp.zeros((batch, labels_values.size), labels_values.dtype)
    targets = targets.at[labels_indices[:, 0], labels_indices[:, 1]].set(labels_values).astype(jnp.int32)
    lengths = jnp.bincount(labels_indices[:, 0], length=batch).astype(jnp.int32)

    def losses_of(x):
        steps = sequence_length.astype(jnp.int32)
        return log_alphas(jax.nn.log_softmax(x), targets, steps, lengths, classes - 1)[0]

    gradient = jax.grad(lambda x: losses_of(x).sum())(jax.lax.stop_gradient(x))
    return losses_of(x), jax.lax.stop_gradient(gradient)
