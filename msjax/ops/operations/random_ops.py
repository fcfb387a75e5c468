"""Operator classes that draw random numbers; an object with a seed has its own sequence of keys."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, Shape, TensorLike
from msjax.core.base.checks import check_value
from msjax.core.base.typing import Axes
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import freeze
from msjax.ops.dispatch.promotion import to_float
from msjax.ops.dispatch.random_keys import next_key, sequence_of, wrap
from msjax.ops.function.array_func import casting
from msjax.ops.function.nn_func import dropouts
from msjax.ops.function.random_func import choices, distributions, sampling
from msjax.ops.primitive import Form

__all__ = [
    "StandardNormal", "UniformReal", "UniformInt", "StandardLaplace", "Gamma", "Poisson", "RandomGamma", "RandomPoisson",
    "Multinomial", "MultinomialWithReplacement", "RandomShuffle", "RandomChoiceWithMask", "RandomCategorical", "Bernoulli",
    "TruncatedNormal", "ParameterizedTruncatedNormal", "RandpermV2", "Randperm", "Cauchy", "LogNormalReverse",
    "NonDeterministicInts", "Dropout", "Dropout2D", "Dropout3D", "UniformCandidateSampler", "LogUniformCandidateSampler",
]  # fmt: skip


def _key(primitive, *names):
    """A key: from the object's own sequence if it has seeds, else from the default generator."""
    if "_keys" not in primitive.__dict__:
        seeds = [int(getattr(primitive, name)) for name in names or ("seed", "seed2")]
        primitive._keys = sequence_of(seeds[0] * 1000003 + sum(seeds[1:])) if any(s > 0 for s in seeds) else None
    return next_key() if primitive._keys is None else primitive._keys.next_key()


class _Seeded(Form):
    """The base of operators with seeds.

    Args:
        seed, seed2 (int): if not both 0, each new object gives the same numbers in every run of the program. Default: 0.
    """

    seed: int = 0
    seed2: int = 0

    if not TYPE_CHECKING:

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            if isinstance(self.seed, int) and isinstance(self.seed2, int) and (self.seed > 0 or self.seed2 > 0):
                # Before a program is compiled that draws: what is made while it is traced is made anew in each trace.
                self._keys = sequence_of(self.seed * 1000003 + self.seed2)


shape_of = sampling.shape_of


class StandardNormal(_Seeded):
    """Random numbers of the standard normal distribution, as Float32: ``ops.StandardNormal()(shape)``."""

    def __call__(self, shape: Shape) -> Tensor:
        return apply(sampling.RANDN, (_key(self),), (shape_of(shape, self.name), mstype.float32))


class UniformReal(_Seeded):
    """Random numbers, uniform in [0, 1), as Float32: ``ops.UniformReal()(shape)``."""

    def __call__(self, shape: Shape) -> Tensor:
        return apply(sampling.RAND, (_key(self),), (shape_of(shape, self.name), mstype.float32))


class UniformInt(_Seeded):
    """Random Int32, uniform in [minval, maxval): ``ops.UniformInt()(shape, minval, maxval)``."""

    def __call__(self, shape: Shape, minval: TensorLike, maxval: TensorLike) -> Tensor:
        return apply(sampling.RANDINT, (minval, maxval, _key(self)), (shape_of(shape, self.name), mstype.int32))


class StandardLaplace(_Seeded):
    """Random numbers of the Laplace distribution of mean 0 and scale 1: ``ops.StandardLaplace()(shape)``."""

    def __call__(self, shape: Shape) -> Tensor:
        return apply(distributions.LAPLACE, (0.0, 1.0, _key(self)), (shape_of(shape, self.name),))


class Gamma(_Seeded):
    """Random numbers of a gamma distribution: ``ops.Gamma()(shape, alpha, beta)``, beta the inverse scale."""

    def __call__(self, shape: Shape, alpha: TensorLike, beta: TensorLike) -> Tensor:
        return apply(distributions.GAMMA, (alpha, beta, _key(self)), (shape_of(shape, self.name),))


class Poisson(_Seeded):
    """Random Int32 of a Poisson distribution: ``ops.Poisson()(shape, mean)``."""

    def __call__(self, shape: Shape, mean: Tensor) -> Tensor:
        key = _key(self)
        full = jnp.broadcast_shapes(shape_of(shape, self.name), mean.shape)
        return apply(distributions.POISSON, (mean, key), (full, mstype.int32))


class RandomGamma(_Seeded):
    """Random numbers of gamma distributions of scale 1: ``ops.RandomGamma()(shape, alpha)``."""

    def __call__(self, shape: Shape, alpha: Tensor) -> Tensor:
        return apply(distributions.GAMMA, (alpha, 1.0, _key(self)), (shape_of(shape, self.name) + alpha.shape,))


class RandomPoisson(_Seeded):
    """Random numbers of Poisson distributions: ``ops.RandomPoisson()(shape, rate)``.

    Args:
        seed, seed2 (int): if not both 0, each new object gives the same numbers in every run. Default: 0.
        dtype (ms.dtype): Default: Int64.
    """

    dtype: DTypeLike = mstype.int64

    def __call__(self, shape: Shape, rate: Tensor) -> Tensor:
        return apply(
            distributions.POISSON, (rate, _key(self)), (shape_of(shape, self.name) + rate.shape, mstype.as_dtype(self.dtype))
        )


class Multinomial(_Seeded):
    """Random indices, drawn with weights and replacement: ``ops.Multinomial()(weights, num_samples)``.

    Args:
        seed, seed2 (int): if not both 0, each new object gives the same numbers in every run. Default: 0.
        dtype (ms.dtype): Default: Int32.
    """

    dtype: DTypeLike = mstype.int32

    def __call__(self, x: TensorLike, num_samples: int) -> Tensor:
        return choices.draw_indices(x, num_samples, True, _key(self), mstype.as_dtype(self.dtype))


class MultinomialWithReplacement(Form):
    """Random indices, drawn with weights: ``ops.MultinomialWithReplacement(n)(weights, seed, offset)``.

    Args:
        numsamples (int): how many to draw from each row.
        replacement (bool): whether an index can be drawn again; it always can. Default: False.
    """

    numsamples: int
    replacement: bool = False

    def __call__(self, x: TensorLike, seed: int | Tensor, offset: int | Tensor) -> Tensor:
        return choices.multinomial_with_replacement(x, freeze(seed), freeze(offset), self.numsamples, self.replacement)


class RandomShuffle(_Seeded):
    """The elements along the first axis in random order: ``ops.RandomShuffle()(x)``."""

    def __call__(self, x: TensorLike) -> Tensor:
        return apply(choices.SHUFFLE, (x, _key(self)))


class RandomChoiceWithMask(Form):
    """Random places where a Tensor of Bools is true.

    Args:
        count (int): how many places. Default: 256.
        seed, seed2 (int): if not both 0, each new object gives the same places in every run. Default: 0.
    """

    count: int = 256
    seed: int = 0
    seed2: int = 0

    def __call__(self, x: TensorLike) -> Tensor:
        return apply(choices.CHOICE, (x, _key(self)), (self.count,))


class RandomCategorical(Form):
    """Random indices, drawn with log weights: ``ops.RandomCategorical()(logits, num_sample, seed)``.

    Args:
        dtype (ms.dtype): Default: Int64.
    """

    dtype: DTypeLike = mstype.int64

    def __call__(self, logits: TensorLike, num_sample: int, seed: int | Tensor = 0) -> Tensor:
        return choices.random_categorical(logits, num_sample, freeze(seed), self.dtype)


class Bernoulli(Form):
    """Ones with probability p, else zeros: ``ops.Bernoulli()(x, p)``.

    Args:
        seed (int): if not -1, each new object gives the same numbers in every run of the program. Default: -1.
        offset (int): moves on from the seed. Default: 0.
    """

    seed: int = -1
    offset: int = 0

    def __call__(self, x: TensorLike, p: TensorLike) -> Tensor:
        if "_keys" not in self.__dict__:
            self._keys = sequence_of(self.seed + self.offset) if self.seed != -1 else None
        return apply(choices.BERNOULLI, (x, p, next_key() if self._keys is None else self._keys.next_key()))


@partial(Op, "TruncatedNormal", differentiable=False)
def _TRUNCATED(key, low, high, shape, dtype):
    return jax.random.truncated_normal(wrap(key), low, high, shape, mstype.to_jax(dtype))


class TruncatedNormal(Form):
    """Random numbers of the standard normal distribution, within two standard deviations: ``ops.TruncatedNormal()(shape)``.

    Args:
        dtype (ms.dtype): a float type. Default: Float32.
        seed, seed2 (int): if not both 0, each new object gives the same numbers in every run. Default: 0.
    """

    dtype: DTypeLike = mstype.float32
    seed: int = 0
    seed2: int = 0

    def __call__(self, shape: Shape) -> Tensor:
        return apply(_TRUNCATED, (_key(self), -2.0, 2.0), (shape_of(shape, self.name), mstype.as_dtype(self.dtype)))


@partial(Op, "ParameterizedTruncatedNormal")
def _PARAMETERIZED(mean, stdevs, low, high, key, shape):
    mean, stdevs, low, high = (jnp.reshape(to_float(v), (-1,) + (1,) * (len(shape) - 1)) for v in (mean, stdevs, low, high))
    drawn = jax.random.truncated_normal(wrap(key), (low - mean) / stdevs, (high - mean) / stdevs, shape, mean.dtype)
    return mean + stdevs * drawn


class ParameterizedTruncatedNormal(_Seeded):
    """Normal numbers within limits, one set of parameters for each row: called with (shape, mean, stdevs, min, max)."""

    def __call__(self, shape: Shape, mean: TensorLike, stdevs: TensorLike, low: TensorLike, high: TensorLike) -> Tensor:
        return apply(_PARAMETERIZED, (mean, stdevs, low, high, _key(self)), (shape_of(shape, self.name),))


class RandpermV2(Form, of=sampling.randperm):
    seed: int = 0
    offset: int = 0
    dtype: Type = mstype.int64

    def __call__(self, n: int | Tensor) -> Tensor:
        return sampling.randperm(n, self.seed, self.offset, self.dtype)


@partial(Op, "Randperm", differentiable=False)
def _RANDPERM_PADDED(key, n, length, pad, dtype):
    drawn = jax.random.permutation(wrap(key), n).astype(mstype.to_jax(dtype))
    return jnp.pad(drawn, (0, length - n), constant_values=pad)


class Randperm(Form):
    """The integers from 0 to n - 1 in random order, filled up to a fixed length: ``ops.Randperm(max_length)(n)``.

    Args:
        max_length (int): the length of the result. Default: 1.
        pad (int): what it is filled up with. Default: -1.
        dtype (ms.dtype): Default: Int32.
    """

    max_length: int = 1
    pad: Axes = -1
    dtype: DTypeLike = mstype.int32

    def __call__(self, n: int | Tensor) -> Tensor:
        (n,) = shape_of(n, "Randperm")
        if n > self.max_length:
            raise ValueError(f"For 'Randperm', n should be at most 'max_length' ({self.max_length}), but got {n}.")
        return apply(_RANDPERM_PADDED, (next_key(),), (n, self.max_length, self.pad, mstype.as_dtype(self.dtype)))


class Cauchy(Form):
    """Random numbers of a Cauchy distribution: ``ops.Cauchy(size)()``.

    Args:
        size (list or tuple of int): the shape.
        median (float): Default: 0.0.
        sigma (float): the scale. Default: 1.0.
    """

    size: Axes
    median: float = 0.0
    sigma: float = 1.0

    def __call__(self) -> Tensor:
        return apply(distributions.CAUCHY, (next_key(), float(self.median), float(self.sigma)), (shape_of(self.size, "Cauchy"),))


class LogNormalReverse(Form):
    """Random numbers whose logarithms are normal, in the shape and dtype of a Tensor: ``ops.LogNormalReverse()(x)``.

    Args:
        mean, std (float): those of the logarithms. Default: 1.0 and 2.0.
    """

    mean: float = 1.0
    std: float = 2.0

    def __call__(self, x: TensorLike) -> Tensor:
        return apply(distributions.LOG_NORMAL, (x, next_key(), float(self.mean), float(self.std)))


@partial(Op, "NonDeterministicInts", differentiable=False)
def _ANY_INTS(key, shape, dtype):
    dtype = mstype.to_jax(dtype)
    return jax.random.bits(wrap(key), shape, f"uint{dtype.itemsize * 8}").astype(dtype)


class NonDeterministicInts(Form):
    """Random integers from the whole range of a type: ``ops.NonDeterministicInts()(shape)``.

    Args:
        dtype (ms.dtype): an integer type. Default: Int64.
    """

    dtype: DTypeLike = mstype.int64

    def __call__(self, shape: Shape) -> Tensor:
        return apply(_ANY_INTS, (next_key(),), (shape_of(shape, self.name), mstype.as_dtype(self.dtype)))


# ---- dropout


class Dropout(Form):
    """Elements dropped at random, the others scaled by 1 / keep_prob; returns (output, mask).

    Args:
        keep_prob (float): how likely an element is kept. Default: 0.5.
        Seed0, Seed1 (int): if not both 0, each new object drops the same in every run of the program. Default: 0.
    """

    keep_prob: float = 0.5
    Seed0: int = 0
    Seed1: int = 0

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        p = 1 - float(self.keep_prob)
        check_value(self.keep_prob, 0 <= p < 1, "be in (0, 1]", "keep_prob", "Dropout")
        out, kept = dropouts.dropout_with_mask(x, _key(self, "Seed0", "Seed1"), p)
        return out, casting.cast(kept, x.dtype)


class _ChannelDropout(Form):
    """The base of dropout of channels.

    Args:
        keep_prob (float): how likely a channel is kept. Default: 0.5.
    """

    keep_prob: float = 0.5
    _axes: ClassVar[tuple[int, ...]]

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return dropouts.dropout_with_mask(x, next_key(), 1 - float(self.keep_prob), self._axes)


class Dropout2D(_ChannelDropout):
    """Whole channels of a Tensor of 4 axes dropped at random, the others scaled; returns (output, mask)."""

    _axes = (2, 3)


class Dropout3D(_ChannelDropout):
    """Whole channels of a Tensor of 5 axes dropped at random, the others scaled; returns (output, mask)."""

    _axes = (2, 3, 4)


class _CandidateSampler(Form):
    def __call__(self, true_classes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self._function(true_classes, *self._attributes())


class UniformCandidateSampler(_CandidateSampler, of=choices.uniform_candidate_sampler):
    num_true: int
    num_sampled: int
    unique: bool
    range_max: int
    seed: int = 0
    remove_accidental_hits: bool = False


class LogUniformCandidateSampler(_CandidateSampler, of=choices.log_uniform_candidate_sampler):
    num_true: int = 1
    num_sampled: int = 5
    unique: bool = True
    range_max: int = 5
    seed: int = 0
