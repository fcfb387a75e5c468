"""Softmax over a sample of the classes, for networks with very many of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_positive_int, check_type, check_value
from msjax.core.base.errors import describe
from msjax.nn.layer.checks import check_tensor
from msjax.nn.loss.loss import LossBase
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.random_func import choices

__all__ = ["SampledSoftmaxLoss"]


@operator(7, name="SampledSoftmaxLoss")
def _losses(weights, biases, labels, logits, sampled, true_count, sampled_count, drop_hits):
    """The loss of each sample; counts are how often a class is expected among the sampled ones."""
    true = jnp.einsum("nd,ntd->nt", logits, weights[labels]) + biases[labels] - jnp.log(true_count)
    others = logits @ weights[sampled].T + biases[sampled] - jnp.log(sampled_count)
    if drop_hits:
        hits = jnp.any(labels[:, :, None] == sampled, 1)
        others = jnp.where(hits, jnp.finfo(others.dtype).min, others)
    scores = jax.nn.log_softmax(jnp.concatenate([true, others], 1), 1)
    return -jnp.mean(scores[:, : labels.shape[1]], 1)


class SampledSoftmaxLoss(LossBase):
    """Cross entropy over the true classes and a random sample of the others, for networks with very many classes.

    Args:
        num_sampled (int): how many classes are sampled for a batch.
        num_classes (int): how many classes there are.
        num_true (int): how many classes each sample belongs to. Default: 1.
        sampled_values (tuple or list, optional): what `ops.uniform_candidate_sampler` returns: the sampled classes, and
            how often the true and the sampled ones are expected. By default from `ops.log_uniform_candidate_sampler`.
        remove_accidental_hits (bool): whether sampled classes that are a sample's own don't count for it. Default: True.
        seed (int): of the sampler. Default: 0.
        reduction (str): "none" (the default), "mean" or "sum".

    Inputs:
        - **weights** (Tensor) - of shape (C, D).
        - **biases** (Tensor) - of shape (C,).
        - **labels** (Tensor) - integers, of shape (N, num_true) or (N,).
        - **logits** (Tensor) - what the classes are computed from, of shape (N, D).

    Outputs:
        Tensor, of shape (N,); of shape () with a reduction.

    Raises:
        TypeError: an argument of a wrong type.
        ValueError: `num_sampled` or `num_true` is above `num_classes`, `sampled_values` has not 3 Tensors, another
            reduction, or labels of another shape.

    Example:
        >>> loss = nn.SampledSoftmaxLoss(num_sampled=4, num_classes=7)
        >>> weights, biases = ops.ones((7, 10), float32), ops.zeros((7,), float32)
        >>> loss(weights, biases, Tensor([0, 1, 2]), ops.ones((3, 10), float32)).shape
        (3,)
    """

    def __init__(
        self,
        num_sampled: int,
        num_classes: int,
        num_true: int = 1,
        sampled_values: Sequence[Any] | None = None,
        remove_accidental_hits: bool = True,
        seed: int = 0,
        reduction: str = "none",
    ):
        super().__init__(reduction)
        who = "SampledSoftmaxLoss"
        self.num_sampled: int = check_positive_int(num_sampled, "num_sampled", who)
        self.num_classes: int = check_positive_int(num_classes, "num_classes", who)
        self.num_true: int = check_positive_int(num_true, "num_true", who)
        for name in ("num_sampled", "num_true"):
            if getattr(self, name) > num_classes:
                raise ValueError(
                    f"For '{who}', '{name}' should be at most 'num_classes', but got {getattr(self, name)} of {num_classes}."
                )
        if sampled_values is not None:
            check_type(sampled_values, (tuple, list), "sampled_values", who)
            if len(sampled_values) != 3 or not all(isinstance(v, Tensor) for v in sampled_values):
                raise ValueError(f"For '{who}', 'sampled_values' should have 3 Tensors, but got {describe(sampled_values)}.")
        self.sampled_values = sampled_values
        self.remove_accidental_hits: bool = check_bool(remove_accidental_hits, "remove_accidental_hits", who)
        self.seed: Any = check_type(seed, int, "seed", who)

    def construct(self, weights: Tensor, biases: Tensor, labels: Tensor, logits: Tensor) -> Tensor:
        for name, value in (("weights", weights), ("biases", biases), ("labels", labels), ("logits", logits)):
            check_tensor(value, name, "SampledSoftmaxLoss")
        labels = labels.expand_dims(1) if labels.ndim == 1 else labels
        fits = labels.shape == (logits.shape[0], self.num_true)
        check_value(labels, fits, f"have shape ({logits.shape[0]}, {self.num_true})", "labels", "SampledSoftmaxLoss")
        values = self.sampled_values
        if values is None:
            values = choices.log_uniform_candidate_sampler(
                labels, self.num_true, self.num_sampled, True, self.num_classes, self.seed
            )
        return self.get_loss(_losses(weights, biases, labels, logits, *values, self.remove_accidental_hits))
