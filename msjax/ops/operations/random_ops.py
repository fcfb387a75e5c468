"""Operator classes that draw random numbers; an object with a seed has its own sequence of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.base.typing import JaxArray, Shape, TensorLike
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import freeze
from msjax.ops.dispatch.promotion import to_float
from msjax.ops.dispatch.random_keys import SeededKeys, next_key, wrap
from msjax.ops.function.array_func import casting
from msjax.ops.function.nn_func import dropouts
from msjax.ops.function.random_func import choices, distributions, sampling
from msjax.ops.primitive import REQUIRED, class_form, name_classes, operator_class

if TYPE_CHECKING:
    from msjax.ops.primitive import PrimitiveSelf


_SEEDS = "seed, seed2 (int): if not both 0, each new object gives the same numbers in every run of the program. Default: 0."


def _key(primitive, *names):
    """A key: from the object's own sequence if it has seeds, else from the default generator."""
    sequence = primitive.__dict__.get("_keys")
    if sequence is None:
        seeds = [int(getattr(primitive, name)) for name in names]
        sequence = primitive._keys = SeededKeys(seeds[0] * 1000003 + sum(seeds[1:])) if any(s > 0 for s in seeds) else False
    return sequence.next_key() if sequence else next_key()


def _drawing(draw=None, *, first=None, last=None):
    """Decorator: a class that calls ``draw(self, key, *inputs)``; `first` and `last` are attributes around its seeds."""
    if draw is None:
        return lambda draw: _drawing(draw, first=first, last=last)

    def call(self, *inputs):
        return draw(self, _key(self, "seed", "seed2"), *inputs)

    call.__name__ = draw.__name__
    call.draw = draw  # its parameters, but for the key, are those of the class's call
    call.__doc__ = draw.__doc__ if "Args:" in draw.__doc__ else f"{draw.__doc__}\n\n    Args:\n        {_SEEDS}\n    "
    return operator_class(**(first or {}), seed=0, seed2=0, **(last or {}))(call)


shape_of = sampling.shape_of


@_drawing
def StandardNormal(self: PrimitiveSelf, key: JaxArray, shape: Shape) -> Tensor:
    """Random numbers of the standard normal distribution, as Float32: ``ops.StandardNormal()(shape)``."""
    return apply(sampling.RANDN, (key,), (shape_of(shape, self.name), mstype.float32))


@_drawing
def UniformReal(self: PrimitiveSelf, key: JaxArray, shape: Shape) -> Tensor:
    """Random numbers, uniform in [0, 1), as Float32: ``ops.UniformReal()(shape)``."""
    return apply(sampling.RAND, (key,), (shape_of(shape, self.name), mstype.float32))


@_drawing
def UniformInt(self: PrimitiveSelf, key: JaxArray, shape: Shape, minval: TensorLike, maxval: TensorLike) -> Tensor:
    """Random Int32, uniform in [minval, maxval): ``ops.UniformInt()(shape, minval, maxval)``."""
    return apply(sampling.RANDINT, (minval, maxval, key), (shape_of(shape, self.name), mstype.int32))


@_drawing
def StandardLaplace(self: PrimitiveSelf, key: JaxArray, shape: Shape) -> Tensor:
    """Random numbers of the Laplace distribution of mean 0 and scale 1: ``ops.StandardLaplace()(shape)``."""
    return apply(distributions.LAPLACE, (0.0, 1.0, key), (shape_of(shape, self.name),))


@_drawing
def Gamma(self: PrimitiveSelf, key: JaxArray, shape: Shape, alpha: TensorLike, beta: TensorLike) -> Tensor:
    """Random numbers of a gamma distribution: ``ops.Gamma()(shape, alpha, beta)``, beta the inverse scale."""
    return apply(distributions.GAMMA, (alpha, beta, key), (shape_of(shape, self.name),))


@_drawing
def Poisson(self: PrimitiveSelf, key: JaxArray, shape: Shape, mean: Tensor) -> Tensor:
    """Random Int32 of a Poisson distribution: ``ops.Poisson()(shape, mean)``."""
    full = jnp.broadcast_shapes(shape_of(shape, self.name), mean.shape)
    return apply(distributions.POISSON, (mean, key), (full, mstype.int32))


@_drawing
def RandomGamma(self: PrimitiveSelf, key: JaxArray, shape: Shape, alpha: Tensor) -> Tensor:
    """Random numbers of gamma distributions of scale 1: ``ops.RandomGamma()(shape, alpha)``."""
    return apply(distributions.GAMMA, (alpha, 1.0, key), (shape_of(shape, self.name) + alpha.shape,))


@_drawing(last={"dtype": mstype.int64})
def RandomPoisson(self: PrimitiveSelf, key: JaxArray, shape: Shape, rate: Tensor) -> Tensor:
    """Random numbers of Poisson distributions: ``ops.RandomPoisson()(shape, rate)``.

    Args:
        seed, seed2 (int): if not both 0, each new object gives the same numbers in every run. Default: 0.
        dtype (ms.dtype): Default: Int64.
    """
    return apply(distributions.POISSON, (rate, key), (shape_of(shape, self.name) + rate.shape, mstype.as_dtype(self.dtype)))


@_drawing(last={"dtype": mstype.int32})
def Multinomial(self: PrimitiveSelf, key: JaxArray, x: TensorLike, num_samples: int) -> Tensor:
    """Random indices, drawn with weights and replacement: ``ops.Multinomial()(weights, num_samples)``.

    Args:
        seed, seed2 (int): if not both 0, each new object gives the same numbers in every run. Default: 0.
        dtype (ms.dtype): Default: Int32.
    """
    return choices.draw_indices(x, num_samples, True, key, mstype.as_dtype(self.dtype))


@operator_class(numsamples=REQUIRED, replacement=False)
def MultinomialWithReplacement(self: PrimitiveSelf, x: TensorLike, seed: int | Tensor, offset: int | Tensor) -> Tensor:
    """Random indices, drawn with weights: ``ops.MultinomialWithReplacement(n)(weights, seed, offset)``.

    Args:
        numsamples (int): how many to draw from each row.
        replacement (bool): whether an index can be drawn again; it always can. Default: False.
    """
    return choices.multinomial_with_replacement(x, freeze(seed), freeze(offset), self.numsamples, self.replacement)


@_drawing
def RandomShuffle(self: PrimitiveSelf, key: JaxArray, x: TensorLike) -> Tensor:
    """The elements along the first axis in random order: ``ops.RandomShuffle()(x)``."""
    return apply(choices.SHUFFLE, (x, key))


@_drawing(first={"count": 256})
def RandomChoiceWithMask(self: PrimitiveSelf, key: JaxArray, x: TensorLike) -> Tensor:
    """Random places where a Tensor of Bools is true.

    Args:
        count (int): how many places. Default: 256.
        seed, seed2 (int): if not both 0, each new object gives the same places in every run. Default: 0.
    """
    return apply(choices.CHOICE, (x, key), (self.count,))


@operator_class(dtype=mstype.int64)
def RandomCategorical(self: PrimitiveSelf, logits: TensorLike, num_sample: int, seed: int | Tensor = 0) -> Tensor:
    """Random indices, drawn with log weights: ``ops.RandomCategorical()(logits, num_sample, seed)``.

    Args:
        dtype (ms.dtype): Default: Int64.
    """
    return choices.random_categorical(logits, num_sample, freeze(seed), self.dtype)


@operator_class(seed=-1, offset=0)
def Bernoulli(self: PrimitiveSelf, x: TensorLike, p: TensorLike) -> Tensor:
    """Ones with probability p, else zeros: ``ops.Bernoulli()(x, p)``.

    Args:
        seed (int): if not -1, each new object gives the same numbers in every run of the program. Default: -1.
        offset (int): moves on from the seed. Default: 0.
    """
    sequence = self.__dict__.get("_keys")
    if sequence is None:
        sequence = self._keys = SeededKeys(self.seed + self.offset) if self.seed != -1 else False
    return apply(choices.BERNOULLI, (x, p, sequence.next_key() if sequence else next_key()))


def _truncated(key, low, high, shape, dtype):
    return jax.random.truncated_normal(wrap(key), low, high, shape, mstype.to_jax(dtype))


_TRUNCATED = Op("TruncatedNormal", _truncated, differentiable=False)


@_drawing(first={"dtype": mstype.float32})
def TruncatedNormal(self: PrimitiveSelf, key: JaxArray, shape: Shape) -> Tensor:
    """Random numbers of the standard normal distribution, within two standard deviations: ``ops.TruncatedNormal()(shape)``.

    Args:
        dtype (ms.dtype): a float type. Default: Float32.
        seed, seed2 (int): if not both 0, each new object gives the same numbers in every run. Default: 0.
    """
    return apply(_TRUNCATED, (key, -2.0, 2.0), (shape_of(shape, self.name), mstype.as_dtype(self.dtype)))


def _parameterized(mean, stdevs, low, high, key, shape):
    mean, stdevs, low, high = (jnp.reshape(to_float(v), (-1,) + (1,) * (len(shape) - 1)) for v in (mean, stdevs, low, high))
    drawn = jax.random.truncated_normal(wrap(key), (low - mean) / stdevs, (high - mean) / stdevs, shape, mean.dtype)
    return mean + stdevs * drawn


_PARAMETERIZED = Op("ParameterizedTruncatedNormal", _parameterized)


@_drawing
def ParameterizedTruncatedNormal(
    self: PrimitiveSelf, key: JaxArray, shape: Shape, mean: TensorLike, stdevs: TensorLike, low: TensorLike, high: TensorLike
) -> Tensor:
    """Normal numbers within limits, one set of parameters for each row: called with (shape, mean, stdevs, min, max)."""
    return apply(_PARAMETERIZED, (mean, stdevs, low, high, key), (shape_of(shape, self.name),))


RandpermV2 = class_form(sampling.randperm, seed=0, offset=0, dtype=mstype.int64)


def _padded(key, n, length, pad, dtype):
    drawn = jax.random.permutation(wrap(key), n).astype(mstype.to_jax(dtype))
    return jnp.pad(drawn, (0, length - n), constant_values=pad)


_RANDPERM_PADDED = Op("Randperm", _padded, differentiable=False)


@operator_class(max_length=1, pad=-1, dtype=mstype.int32)
def Randperm(self: PrimitiveSelf, n: int | Tensor) -> Tensor:
    """The integers from 0 to n - 1 in random order, filled up to a fixed length: ``ops.Randperm(max_length)(n)``.

    Args:
        max_length (int): the length of the result. Default: 1.
        pad (int): what it is filled up with. Default: -1.
        dtype (ms.dtype): Default: Int32.
    """
    (n,) = shape_of(n, "Randperm")
    if n > self.max_length:
        raise ValueError(f"For 'Randperm', n should be at most 'max_length' ({self.max_length}), but got {n}.")
    return apply(_RANDPERM_PADDED, (next_key(),), (n, self.max_length, self.pad, mstype.as_dtype(self.dtype)))


@operator_class(size=REQUIRED, median=0.0, sigma=1.0)
def Cauchy(self: PrimitiveSelf) -> Tensor:
    """Random numbers of a Cauchy distribution: ``ops.Cauchy(size)()``.

    Args:
        size (list or tuple of int): the shape.
        median (float): Default: 0.0.
        sigma (float): the scale. Default: 1.0.
    """
    return apply(distributions.CAUCHY, (next_key(), float(self.median), float(self.sigma)), (shape_of(self.size, "Cauchy"),))


@operator_class(mean=1.0, std=2.0)
def LogNormalReverse(self: PrimitiveSelf, x: TensorLike) -> Tensor:
    """Random numbers whose logarithms are normal, in the shape and dtype of a Tensor: ``ops.LogNormalReverse()(x)``.

    Args:
        mean, std (float): those of the logarithms. Default: 1.0 and 2.0.
    """
    return apply(distributions.LOG_NORMAL, (x, next_key(), float(self.mean), float(self.std)))


def _any_ints(key, shape, dtype):
    dtype = mstype.to_jax(dtype)
    return jax.random.bits(wrap(key), shape, f"uint{dtype.itemsize * 8}").astype(dtype)


_ANY_INTS = Op("NonDeterministicInts", _any_ints, differentiable=False)


@operator_class(dtype=mstype.int64)
def NonDeterministicInts(self: PrimitiveSelf, shape: Shape) -> Tensor:
    """Random integers from the whole range of a type: ``ops.NonDeterministicInts()(shape)``.

    Args:
        dtype (ms.dtype): an integer type. Default: Int64.
    """
    return apply(_ANY_INTS, (next_key(),), (shape_of(shape, self.name), mstype.as_dtype(self.dtype)))


# ---- dropout


@operator_class(keep_prob=0.5, Seed0=0, Seed1=0)
def Dropout(self: PrimitiveSelf, x: Tensor) -> tuple[Tensor, Tensor]:
    """Elements dropped at random, the others scaled by 1 / keep_prob; returns (output, mask).

    Args:
        keep_prob (float): how likely an element is kept. Default: 0.5.
        Seed0, Seed1 (int): if not both 0, each new object drops the same in every run of the program. Default: 0.
    """
    p = 1 - float(self.keep_prob)
    if not 0 <= p < 1:
        raise ValueError(f"For 'Dropout', 'keep_prob' should be in (0, 1], but got {self.keep_prob}.")
    out, kept = dropouts.dropout_with_mask(x, _key(self, "Seed0", "Seed1"), p)
    return out, casting.cast(kept, x.dtype)


def _channel_dropout(ndim):
    def call(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return dropouts.dropout_with_mask(x, next_key(), 1 - float(self.keep_prob), tuple(range(2, ndim)))

    call.__doc__ = f"""Whole channels of a Tensor of {ndim} axes dropped at random, the others scaled; returns (output, mask).

    Args:
        keep_prob (float): how likely a channel is kept. Default: 0.5.
    """
    return operator_class(keep_prob=0.5)(call)


Dropout2D = _channel_dropout(4)
Dropout3D = _channel_dropout(5)

UniformCandidateSampler = class_form(
    choices.uniform_candidate_sampler,
    **dict.fromkeys(("num_true", "num_sampled", "unique", "range_max"), REQUIRED),
    seed=0,
    remove_accidental_hits=False,
)
LogUniformCandidateSampler = class_form(
    choices.log_uniform_candidate_sampler, num_true=1, num_sampled=5, unique=True, range_max=5, seed=0
)

name_classes(globals())
