"""Random choices: Bernoulli trials, weighted draws, shuffles, candidate classes."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.random import Generator
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_positive_int, check_value
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import freeze
from msjax.ops.dispatch.promotion import as_operand, to_float
from msjax.ops.dispatch.random_keys import fixed_key, next_key, wrap
from msjax.ops.function.random_func.sampling import seeded_units

__all__ = [
    "bernoulli", "bernoulli_ext", "choice_with_mask", "log_uniform_candidate_sampler", "multinomial",
    "multinomial_with_replacement", "random_categorical", "shuffle", "uniform_candidate_sampler",
]  # fmt: skip


@partial(Op, "bernoulli", differentiable=False)
def BERNOULLI(input, p, key):
    x = as_operand(input)
    return jax.random.bernoulli(wrap(key), jnp.broadcast_to(to_float(p), x.shape)).astype(x.dtype)


def bernoulli(input: Tensor, p: Tensor | float = 0.5, seed: int | None = None) -> Tensor:
    """Ones with probability `p`, else zeros, of the shape and dtype of `input`.

    Args:
        input (Tensor): gives shape and dtype.
        p (Tensor or float): how likely a one is, in [0, 1]. Default: 0.5.
        seed (int, optional): makes the numbers the same in every call; None and -1 don't. Default: None.

    Raises:
        ValueError: `p` is a number out of range.

    Example:
        >>> print(ops.bernoulli(Tensor([5, 5]), 1.0))
        [1 1]
    """
    check_value(p, not isinstance(p, (int, float)) or 0 <= p <= 1, "be in [0, 1]", "p", "bernoulli")
    return apply(BERNOULLI, (input, p, next_key() if seed in (None, -1) else fixed_key(seed)))


def bernoulli_ext(input: TensorLike, *, generator: Generator | None = None) -> Tensor:
    """Ones with the probabilities that `input` holds, else zeros, of its shape and dtype.

    Example:
        >>> print(ops.bernoulli_ext(Tensor([0.0, 1.0])))
        [0. 1.]
    """
    return apply(BERNOULLI, (input, input, next_key(generator=generator)))


@partial(Op, "multinomial", differentiable=False)
def _MULTINOMIAL(weights, key, count, replacement, dtype):
    weights = to_float(weights)
    logits = jnp.log(weights)
    if replacement:
        drawn = jax.random.categorical(wrap(key), logits[..., None, :], shape=(*weights.shape[:-1], count))
    else:
        # The places of the largest of log(weight) + Gumbel noise are a draw without replacement.
        drawn = jax.lax.top_k(logits + jax.random.gumbel(wrap(key), logits.shape, logits.dtype), count)[1]
    return drawn.astype(mstype.to_jax(dtype))


@partial(Op, "multinomial", differentiable=False)
def _INDICES_OF(weights, units, dtype):
    ends = jnp.cumsum(to_float(weights).astype(jnp.float32), -1)[..., None, :]
    return (ends / ends[..., -1:] < units[..., None]).sum(-1).astype(mstype.to_jax(dtype))


def multinomial(input: TensorLike, num_samples: int, replacement: bool = True, seed: int | None = None) -> Tensor:
    """Random indices, drawn with weights.

    Args:
        input (Tensor): shape (n,) or (m, n), weights that are not negative.
        num_samples (int): how many to draw from each row.
        replacement (bool): whether an index can be drawn again. Default: True.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Returns:
        Tensor of Int32, of shape (num_samples,) or (m, num_samples).

    Raises:
        ValueError: more indices wanted than there are, without replacement.

    Example:
        >>> print(ops.multinomial(Tensor([0.0, 1.0]), 3))
        [1 1 1]
    """
    count = freeze(num_samples)
    check_positive_int(count, "num_samples", "multinomial")
    units = seeded_units("multinomial", seed, (*input.shape[:-1], count)) if replacement else None
    if units is not None:
        return apply(_INDICES_OF, (input, units), (mstype.int32,))
    return draw_indices(input, count, replacement, next_key(seed), mstype.int32)


def draw_indices(input: TensorLike, count: int, replacement: bool, key: TensorLike, dtype: DTypeLike) -> Tensor:
    count = freeze(count)
    check_positive_int(count, "num_samples", "multinomial")
    if not replacement and count > input.shape[-1]:
        raise ValueError(
            f"For 'multinomial' without replacement, 'num_samples' should be at most {input.shape[-1]}, but got {count}."
        )
    return apply(_MULTINOMIAL, (input, key), (count, bool(replacement), dtype))


def multinomial_with_replacement(x: TensorLike, seed: int, offset: int, numsamples: int, replacement: bool = False) -> Tensor:
    """Random indices, drawn with weights, as Int64; drawn again where there are fewer, whatever `replacement` says.

    Example:
        >>> print(ops.multinomial_with_replacement(Tensor([[0.0, 1.0]]), 0, 0, 3))
        [[1 1 1]]
    """
    return draw_indices(x, numsamples, True, next_key(seed + offset or None), mstype.int64)


@partial(Op, "random_categorical", differentiable=False)
def _CATEGORICAL(logits, key, count, dtype):
    drawn = jax.random.categorical(wrap(key), logits[:, None, :], shape=(logits.shape[0], count))
    return drawn.astype(mstype.to_jax(dtype))


def random_categorical(logits: Tensor, num_sample: int, seed: int = 0, dtype: DTypeLike = mstype.int64) -> Tensor:
    """Random indices, drawn with log weights.

    Args:
        logits (Tensor): shape (batch, classes), log weights.
        num_sample (int): how many to draw from each row.
        seed (int): if not 0, makes the numbers the same in every call. Default: 0.
        dtype (ms.dtype): Default: Int64.

    Returns:
        Tensor of shape (batch, num_sample).

    Example:
        >>> print(ops.random_categorical(ops.zeros((2, 5)), 3).shape)
        (2, 3)
    """
    return apply(_CATEGORICAL, (logits, fixed_key(seed) if seed else next_key()), (freeze(num_sample), mstype.as_dtype(dtype)))


@partial(Op, "shuffle", int_grad=(0,))
def SHUFFLE(x, key):
    return jax.random.permutation(wrap(key), x)


def shuffle(x: Tensor, seed: int | None = None) -> Tensor:
    """The elements along the first axis in random order.

    Args:
        x (Tensor): at least one axis.
        seed (int, optional): makes the order the same in every run of the program. Default: None.

    Example:
        >>> print(ops.shuffle(Tensor([1, 2, 3])).sum())
        6
    """
    return apply(SHUFFLE, (x, next_key(seed)))


@partial(Op, "choice_with_mask", differentiable=False)
def CHOICE(mask, key, count):
    flat = mask.reshape(-1)
    order = jnp.argsort(jnp.where(flat, jax.random.uniform(wrap(key), flat.shape), 2.0))
    order = jnp.pad(order, (0, max(0, count - order.size)))[:count]
    there = jnp.arange(count) < jnp.sum(flat)
    places = jnp.stack(jnp.unravel_index(order, mask.shape), -1).astype(jnp.int32)
    return jnp.where(there[:, None], places, 0), there


def choice_with_mask(input_x: Tensor, count: int = 256, seed: int | None = None) -> tuple[Tensor, Tensor]:
    """Random places where a Tensor of Bools is true.

    Args:
        input_x (Tensor): one to five axes, of Bool.
        count (int): how many places. Default: 256.
        seed (int, optional): makes the places the same in every run of the program. Default: None.

    Returns:
        (index, mask): places of shape (count, axes), as Int32, zeros where there are not enough; which are real.

    Example:
        >>> print(ops.choice_with_mask(Tensor([False, True]), 1)[0])
        [[1]]
    """
    return apply(CHOICE, (input_x, next_key(seed)), (count,))


@partial(Op, "candidate_sampler", differentiable=False)
def _CANDIDATES(true_classes, key, count, unique, high, log):
    ids = jnp.arange(high)
    if log:
        weights = jnp.log1p(1 / (ids + 1.0)) / jnp.log(high + 1.0)
    else:
        weights = jnp.full(high, 1.0 / high)
    logits = jnp.log(weights)
    if unique:
        drawn = jax.lax.top_k(logits + jax.random.gumbel(wrap(key), logits.shape), count)[1]
        # The expected count of a class. With `unique`, the probability that it is drawn within the average number of tries.
        tries = jnp.log1p(-jnp.asarray(count / high)) / jnp.log1p(-1.0 / high) if count < high else jnp.inf
        expected = -jnp.expm1(tries * jnp.log1p(-weights)) if log else jnp.full(high, count / high)
    else:
        drawn = jax.random.categorical(wrap(key), logits, shape=(count,))
        expected = weights * count
    wide = mstype.to_jax(mstype.int64)
    return drawn.astype(wide), expected[true_classes].astype(jnp.float32), expected[drawn].astype(jnp.float32)


def _sample_candidates(name, true_classes, num_sampled, unique, range_max, seed, log):
    if unique and num_sampled > range_max:
        raise ValueError(f"For '{name}', there are only {range_max} different classes, but 'num_sampled' is {num_sampled}.")
    key = next_key(seed or None)
    return apply(_CANDIDATES, (true_classes, key), (num_sampled, bool(unique), range_max, log))


def uniform_candidate_sampler(
    true_classes: Tensor,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    remove_accidental_hits: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Random classes, uniform in [0, range_max), for losses that sample classes.

    Args:
        true_classes (Tensor): shape (batch, num_true), the target classes.
        num_true (int): target classes of each example.
        num_sampled (int): how many classes to draw.
        unique (bool): whether each is drawn only once.
        range_max (int): the number of classes.
        seed (int): if not 0, makes the classes the same in every run of the program. Default: 0.
        remove_accidental_hits (bool): only False is offered.

    Returns:
        (sampled classes, how often each true class is expected, how often each sampled class is).

    Example:
        >>> print(ops.uniform_candidate_sampler(Tensor([[0]]), 1, 4, True, 4)[0].sum())
        6
    """
    if remove_accidental_hits:
        raise NotImplementedError("For 'uniform_candidate_sampler', remove_accidental_hits=True is not offered.")
    return _sample_candidates("uniform_candidate_sampler", true_classes, num_sampled, unique, range_max, seed, False)


def log_uniform_candidate_sampler(
    true_classes: Tensor, num_true: int = 1, num_sampled: int = 5, unique: bool = True, range_max: int = 5, seed: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Random classes in [0, range_max), the class k with weight log((k + 2) / (k + 1)); see `uniform_candidate_sampler`.

    Example:
        >>> print(ops.log_uniform_candidate_sampler(Tensor([[0]]), num_sampled=3)[0].shape)
        (3,)
    """
    return _sample_candidates("log_uniform_candidate_sampler", true_classes, num_sampled, unique, range_max, seed, True)
