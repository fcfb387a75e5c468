"""Operator classes that draw random numbers; with a seed, each object has a sequence of its own."""

import jax
import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.common import dtype as mstype
from msjax.ops.dispatch.operator import freeze
from msjax.ops.dispatch.promotion import to_float
from msjax.ops.dispatch.random_keys import SeededKeys, next_key, wrap
from msjax.ops.function.array_func import casting
from msjax.ops.function.nn_func import dropouts
from msjax.ops.function.random_func import choices, distributions, sampling
from msjax.ops.primitive import REQUIRED, primitive_class

__all__ = []

_SEEDS = """seed, seed2 (int): if not both 0, each new object gives the same numbers in every run of the program.
            Default: 0."""


def _key(primitive, *names):
    """A key: from the object's own sequence if it has seeds, else from the default generator."""
    sequence = primitive.__dict__.get("_keys")
    if sequence is None:
        seeds = [int(getattr(primitive, name)) for name in names]
        sequence = primitive._keys = SeededKeys(seeds[0] * 1000003 + sum(seeds[1:])) if any(s > 0 for s in seeds) else False
    return sequence.next_key() if sequence else next_key()


def _define(name, attributes, call, doc):
    globals()[name] = primitive_class(name, attributes, call, doc)
    __all__.append(name)


def _drawing(name, doc, draw, first=None, last=None):
    """A class whose function takes (object, key, *inputs); `first` and `last` are attributes around the seeds."""
    attributes = {**(first or {}), "seed": 0, "seed2": 0, **(last or {})}
    _define(name, attributes, lambda self, *inputs: draw(self, _key(self, "seed", "seed2"), *inputs), doc)


def _doc(line, extra=""):
    return f"{line}\n\n    Args:\n        {_SEEDS}\n{extra}    "


shape_of = sampling.shape_of

_drawing(
    "StandardNormal",
    _doc("Random numbers of the standard normal distribution, as Float32: ``ops.StandardNormal()(shape)``."),
    lambda self, key, shape: apply(sampling.RANDN, (key,), (shape_of(shape, "StandardNormal"), mstype.float32)),
)
_drawing(
    "UniformReal",
    _doc("Random numbers, uniform in [0, 1), as Float32: ``ops.UniformReal()(shape)``."),
    lambda self, key, shape: apply(sampling.RAND, (key,), (shape_of(shape, "UniformReal"), mstype.float32)),
)
_drawing(
    "UniformInt",
    _doc("Random Int32, uniform in [minval, maxval): ``ops.UniformInt()(shape, minval, maxval)``."),
    lambda self, key, shape, minval, maxval: apply(
        sampling.RANDINT, (minval, maxval, key), (shape_of(shape, "UniformInt"), mstype.int32)
    ),
)
_drawing(
    "StandardLaplace",
    _doc("Random numbers of the Laplace distribution of mean 0 and scale 1: ``ops.StandardLaplace()(shape)``."),
    lambda self, key, shape: apply(distributions.LAPLACE, (0.0, 1.0, key), (shape_of(shape, "StandardLaplace"),)),
)
_drawing(
    "Gamma",
    _doc("Random numbers of a gamma distribution: ``ops.Gamma()(shape, alpha, beta)``, beta the inverse scale."),
    lambda self, key, shape, alpha, beta: apply(distributions.GAMMA, (alpha, beta, key), (shape_of(shape, "Gamma"),)),
)


def _poisson(self, key, shape, mean):
    full = jnp.broadcast_shapes(shape_of(shape, "Poisson"), mean.shape)
    return apply(distributions.POISSON, (mean, key), (full, mstype.int32))


_drawing("Poisson", _doc("Random Int32 of a Poisson distribution: ``ops.Poisson()(shape, mean)``."), _poisson)


def _random_gamma(self, key, shape, alpha):
    return apply(distributions.GAMMA, (alpha, 1.0, key), (shape_of(shape, "RandomGamma") + alpha.shape,))


_drawing(
    "RandomGamma", _doc("Random numbers of gamma distributions of scale 1: ``ops.RandomGamma()(shape, alpha)``."), _random_gamma
)


def _random_poisson(self, key, shape, rate):
    return apply(distributions.POISSON, (rate, key), (shape_of(shape, "RandomPoisson") + rate.shape, mstype.as_dtype(self.dtype)))


_drawing(
    "RandomPoisson",
    _doc(
        "Random numbers of Poisson distributions: ``ops.RandomPoisson()(shape, rate)``.",
        "        dtype (ms.dtype): Default: Int64.\n",
    ),
    _random_poisson,
    last={"dtype": mstype.int64},
)
_drawing(
    "Multinomial",
    _doc(
        "Random indices, drawn with weights, again and again: ``ops.Multinomial()(weights, num_samples)``.",
        "        dtype (ms.dtype): Default: Int32.\n",
    ),
    lambda self, key, x, num_samples: choices.draw_indices(x, num_samples, True, key, mstype.as_dtype(self.dtype)),
    last={"dtype": mstype.int32},
)
_define(
    "MultinomialWithReplacement",
    {"numsamples": REQUIRED, "replacement": False},
    lambda self, x, seed, offset: choices.multinomial_with_replacement(
        x, freeze(seed), freeze(offset), self.numsamples, self.replacement
    ),
    """Random indices, drawn with weights: ``ops.MultinomialWithReplacement(n)(weights, seed, offset)``.

    Args:
        numsamples (int): how many to draw from each row.
        replacement (bool): whether an index can be drawn again; it always can. Default: False.
    """,
)
_drawing(
    "RandomShuffle",
    _doc("The elements along the first axis in random order: ``ops.RandomShuffle()(x)``."),
    lambda self, key, x: apply(choices.SHUFFLE, (x, key)),
)
_drawing(
    "RandomChoiceWithMask",
    """Random places where a Tensor of Bools is true.

    Args:
        count (int): how many places. Default: 256.
        seed, seed2 (int): if not both 0, each new object gives the same places in every run. Default: 0.
    """,
    lambda self, key, x: apply(choices.CHOICE, (x, key), (self.count,)),
    {"count": 256},
)

_define(
    "RandomCategorical",
    {"dtype": mstype.int64},
    lambda self, logits, num_sample, seed=0: choices.random_categorical(logits, num_sample, freeze(seed), self.dtype),
    """Random indices, drawn with log weights: ``ops.RandomCategorical()(logits, num_sample, seed)``.

    Args:
        dtype (ms.dtype): Default: Int64.
    """,
)


def _bernoulli(self, x, p):
    sequence = self.__dict__.get("_keys")
    if sequence is None:
        sequence = self._keys = SeededKeys(self.seed + self.offset) if self.seed != -1 else False
    return apply(choices.BERNOULLI, (x, p, sequence.next_key() if sequence else next_key()))


_define(
    "Bernoulli",
    {"seed": -1, "offset": 0},
    _bernoulli,
    """Ones with probability p, else zeros: ``ops.Bernoulli()(x, p)``.

    Args:
        seed (int): if not -1, each new object gives the same numbers in every run of the program. Default: -1.
        offset (int): moves on from the seed. Default: 0.
    """,
)


def _truncated(key, low, high, shape, dtype):
    return jax.random.truncated_normal(wrap(key), low, high, shape, mstype.to_jax(dtype))


_TRUNCATED = Op("TruncatedNormal", _truncated, differentiable=False)
_drawing(
    "TruncatedNormal",
    """Random numbers of the standard normal distribution, within two standard deviations: ``ops.TruncatedNormal()(shape)``.

    Args:
        dtype (ms.dtype): a float type. Default: Float32.
        seed, seed2 (int): if not both 0, each new object gives the same numbers in every run. Default: 0.
    """,
    lambda self, key, shape: apply(
        _TRUNCATED, (key, -2.0, 2.0), (shape_of(shape, "TruncatedNormal"), mstype.as_dtype(self.dtype))
    ),
    {"dtype": mstype.float32},
)


def _parameterized(mean, stdevs, low, high, key, shape):
    mean, stdevs, low, high = (jnp.reshape(to_float(v), (-1,) + (1,) * (len(shape) - 1)) for v in (mean, stdevs, low, high))
    drawn = jax.random.truncated_normal(wrap(key), (low - mean) / stdevs, (high - mean) / stdevs, shape, mean.dtype)
    return mean + stdevs * drawn


_PARAMETERIZED = Op("ParameterizedTruncatedNormal", _parameterized)
_drawing(
    "ParameterizedTruncatedNormal",
    _doc("Normal numbers within limits, one set of parameters for each row: called with (shape, mean, stdevs, min, max)."),
    lambda self, key, shape, mean, stdevs, low, high: apply(
        _PARAMETERIZED, (mean, stdevs, low, high, key), (shape_of(shape, "ParameterizedTruncatedNormal"),)
    ),
)
_define(
    "RandpermV2",
    {"seed": 0, "offset": 0, "dtype": mstype.int64},
    lambda self, n: sampling.randperm(n, self.seed, self.offset, self.dtype),
    """The integers from 0 to n - 1 in random order: ``ops.RandpermV2()(n)``.

    Args:
        seed, offset (int): if not both 0, make the order the same in every run of the program. Default: 0.
        dtype (ms.dtype): Default: Int64.
    """,
)


def _randperm(self, n):
    (n,) = shape_of(n, "Randperm")
    if n > self.max_length:
        raise ValueError(f"For 'Randperm', n should be at most 'max_length' ({self.max_length}), but got {n}.")
    return apply(_RANDPERM_PADDED, (next_key(),), (n, self.max_length, self.pad, mstype.as_dtype(self.dtype)))


def _padded(key, n, length, pad, dtype):
    drawn = jax.random.permutation(wrap(key), n).astype(mstype.to_jax(dtype))
    return jnp.pad(drawn, (0, length - n), constant_values=pad)


_RANDPERM_PADDED = Op("Randperm", _padded, differentiable=False)
_define(
    "Randperm",
    {"max_length": 1, "pad": -1, "dtype": mstype.int32},
    _randperm,
    """The integers from 0 to n - 1 in random order, filled up to a fixed length: ``ops.Randperm(max_length)(n)``.

    Args:
        max_length (int): the length of the result. Default: 1.
        pad (int): what it is filled up with. Default: -1.
        dtype (ms.dtype): Default: Int32.
    """,
)


_define(
    "Cauchy",
    {"size": REQUIRED, "median": 0.0, "sigma": 1.0},
    lambda self: apply(
        distributions.CAUCHY, (next_key(),), (shape_of(self.size, "Cauchy"), float(self.median), float(self.sigma))
    ),
    """Random numbers of a Cauchy distribution: ``ops.Cauchy(size)()``.

    Args:
        size (list or tuple of int): the shape.
        median (float): Default: 0.0.
        sigma (float): the scale. Default: 1.0.
    """,
)


_define(
    "LogNormalReverse",
    {"mean": 1.0, "std": 2.0},
    lambda self, x: apply(distributions.LOG_NORMAL, (x, next_key()), (float(self.mean), float(self.std))),
    """Random numbers whose logarithms are normal, in the shape and dtype of a Tensor: ``ops.LogNormalReverse()(x)``.

    Args:
        mean (float): that of the logarithms. Default: 1.0.
        std (float): that of the logarithms. Default: 2.0.
    """,
)


def _any_ints(key, shape, dtype):
    dtype = mstype.to_jax(dtype)
    return jax.random.bits(wrap(key), shape, f"uint{dtype.itemsize * 8}").astype(dtype)


_ANY_INTS = Op("NonDeterministicInts", _any_ints, differentiable=False)
_define(
    "NonDeterministicInts",
    {"dtype": mstype.int64},
    lambda self, shape: apply(_ANY_INTS, (next_key(),), (shape_of(shape, "NonDeterministicInts"), mstype.as_dtype(self.dtype))),
    """Random integers from the whole range of a type: ``ops.NonDeterministicInts()(shape)``.

    Args:
        dtype (ms.dtype): an integer type. Default: Int64.
    """,
)

# ---- dropout


def _dropout(self, x):
    p = 1 - float(self.keep_prob)
    if not 0 <= p < 1:
        raise ValueError(f"For 'Dropout', 'keep_prob' should be in (0, 1], but got {self.keep_prob}.")
    out, kept = apply(dropouts.DROPOUT_WITH_MASK, (x, _key(self, "Seed0", "Seed1")), (p, ()))
    return out, casting.cast(kept, x.dtype)


_define(
    "Dropout",
    {"keep_prob": 0.5, "Seed0": 0, "Seed1": 0},
    _dropout,
    """Elements dropped at random, the others scaled by 1 / keep_prob; returns (output, mask).

    Args:
        keep_prob (float): how likely an element is kept. Default: 0.5.
        Seed0, Seed1 (int): if not both 0, each new object drops the same in every run of the program. Default: 0.
    """,
)


def _channels(axes):
    def call(self, x):
        p = 1 - float(self.keep_prob)
        return apply(dropouts.DROPOUT_WITH_MASK, (x, next_key()), (p, axes))

    return call


for _name, _ndim in (("Dropout2D", 4), ("Dropout3D", 5)):
    _define(
        _name,
        {"keep_prob": 0.5},
        _channels(tuple(range(2, _ndim))),
        f"""Whole channels of a Tensor of {_ndim} axes dropped at random, the others scaled; returns (output, mask).

    Args:
        keep_prob (float): how likely a channel is kept. Default: 0.5.
    """,
    )


def _sampler(name, log):
    function = choices.log_uniform_candidate_sampler if log else choices.uniform_candidate_sampler
    needed = (
        {"num_true": 1, "num_sampled": 5, "unique": True, "range_max": 5}
        if log
        else dict.fromkeys(("num_true", "num_sampled", "unique", "range_max"), REQUIRED)
    )
    attributes = {**needed, "seed": 0} if log else {**needed, "seed": 0, "remove_accidental_hits": False}

    def call(self, true_classes):
        return function(true_classes, *[getattr(self, a) for a in attributes])

    _define(name, attributes, call, f"{function.__doc__.splitlines()[0]}\n\n    Its attributes are the function's arguments.")


_sampler("UniformCandidateSampler", False)
_sampler("LogUniformCandidateSampler", True)
