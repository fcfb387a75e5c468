"""Random operators, on the keys of the default generator or of a seed. Dropout and fillings in place are joined in here."""

import jax
import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.errors import describe
from msjax.ops.dispatch.operator import freeze
from msjax.ops.dispatch.promotion import as_operand, to_float
from msjax.ops.dispatch.random_keys import next_key, wrap

__all__ = [
    "bernoulli", "bernoulli_ext", "choice_with_mask", "gamma", "laplace", "log_uniform_candidate_sampler", "multinomial",
    "multinomial_with_replacement", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "random_categorical", "random_gamma", "random_poisson", "randperm", "shuffle", "standard_laplace", "standard_normal",
    "uniform", "uniform_candidate_sampler",
]  # fmt: skip


def shape_of(size, name):
    size = freeze(size)
    size = size if isinstance(size, tuple) else (size,)
    for n in size:
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ValueError(f"For '{name}', a shape should be made of ints that are not negative, but got {size!r}.")
    return size


def _sizes(size, name):
    """A shape given as several ints or as one tuple."""
    return shape_of(size[0] if len(size) == 1 else size, name)


def _typed(dtype, kinds, default, name):
    dtype = default if dtype is None else mstype.as_dtype(dtype)
    if dtype.kind not in kinds:
        wanted = "a float type" if kinds == "f" else "an integer type"
        raise ValueError(f"For '{name}', 'dtype' should be {wanted}, but got {dtype}.")
    return dtype


def _wide_shape(shape, *others):
    return jnp.broadcast_shapes(shape, *[jnp.shape(o) for o in others])


# ---- uniform


RAND = Op("rand", lambda key, shape, dtype: jax.random.uniform(wrap(key), shape, mstype.to_jax(dtype)), differentiable=False)
RANDN = Op("randn", lambda key, shape, dtype: jax.random.normal(wrap(key), shape, mstype.to_jax(dtype)), differentiable=False)
RANDINT = Op(
    "randint",
    lambda low, high, key, shape, dtype: jax.random.randint(wrap(key), shape, low, high, mstype.to_jax(dtype)),
    differentiable=False,
)


def rand(*size, dtype=None, seed=None):
    """Random numbers, uniform in [0, 1).

    Args:
        size (int or tuple): the shape.
        dtype (ms.dtype, optional): a float type. Default: None, for Float32.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Raises:
        ValueError: `dtype` is no float type.

    Example:
        >>> from msjax import ops
        >>> print(ops.rand(2, 3).shape)
        (2, 3)
    """
    return apply(RAND, (next_key(seed),), (_sizes(size, "rand"), _typed(dtype, "f", mstype.float32, "rand")))


def rand_like(input, seed=None, *, dtype=None):
    """Random numbers, uniform in [0, 1), of another Tensor's shape and, by default, dtype; see `rand`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.rand_like(ms.Tensor([1.0, 2.0])).shape)
        (2,)
    """
    return apply(RAND, (next_key(seed),), (input.shape, _typed(dtype, "f", input.dtype, "rand_like")))


def randn(*size, dtype=None, seed=None):
    """Random numbers of the standard normal distribution.

    Args:
        size (int or tuple): the shape.
        dtype (ms.dtype, optional): a float type. Default: None, for Float32.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Raises:
        ValueError: `dtype` is no float type.

    Example:
        >>> from msjax import ops
        >>> print(ops.randn(2, 3).shape)
        (2, 3)
    """
    return apply(RANDN, (next_key(seed),), (_sizes(size, "randn"), _typed(dtype, "f", mstype.float32, "randn")))


def randn_like(input, seed=None, *, dtype=None):
    """Random numbers of the standard normal distribution, of another Tensor's shape and, by default, dtype; see `randn`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.randn_like(ms.Tensor([1.0, 2.0])).shape)
        (2,)
    """
    return apply(RANDN, (next_key(seed),), (input.shape, _typed(dtype, "f", input.dtype, "randn_like")))


def standard_normal(shape, seed=None):
    """Random numbers of the standard normal distribution, as Float32.

    Args:
        shape (int, tuple or Tensor): the shape.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> from msjax import ops
        >>> print(ops.standard_normal((2, 3)).shape)
        (2, 3)
    """
    return apply(RANDN, (next_key(seed),), (shape_of(shape, "standard_normal"), mstype.float32))


def randint(low, high, size, seed=None, *, dtype=None):
    """Random integers, uniform in [low, high).

    Args:
        low, high (int): the limits.
        size (int or tuple): the shape.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.
        dtype (ms.dtype, optional): an integer type. Default: None, for Int64.

    Raises:
        ValueError: low >= high, or `dtype` is no integer type.

    Example:
        >>> from msjax import ops
        >>> print(ops.randint(3, 4, (2,)))
        [3 3]
    """
    return _randint(low, high, shape_of(size, "randint"), seed, _typed(dtype, "iu", mstype.int64, "randint"), "randint")


def _randint(low, high, shape, seed, dtype, name):
    if isinstance(low, int) and isinstance(high, int) and low >= high:
        raise ValueError(f"For '{name}', 'low' should be below 'high', but got {low} and {high}.")
    return apply(RANDINT, (low, high, next_key(seed)), (shape, dtype))


def randint_like(input, low, high, seed=None, *, dtype=None):
    """Random integers, uniform in [low, high), of another Tensor's shape and, by default, dtype; see `randint`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.randint_like(ms.Tensor([1, 2]), 3, 4))
        [3 3]
    """
    return _randint(low, high, input.shape, seed, _typed(dtype, "iu", input.dtype, "randint_like"), "randint_like")


def _randperm(key, n, dtype):
    return jax.random.permutation(wrap(key), n).astype(mstype.to_jax(dtype))


_RANDPERM = Op("randperm", _randperm, differentiable=False)


def randperm(n, seed=0, offset=0, dtype=mstype.int64):
    """The integers from 0 to n - 1 in random order.

    Args:
        n (int or Tensor): how many.
        seed, offset (int): if not both 0, make the order the same in every run of the program. Default: 0.
        dtype (ms.dtype): Default: Int64.

    Example:
        >>> from msjax import ops
        >>> print(ops.randperm(4).sum())
        6
    """
    (n,) = shape_of(n, "randperm")
    return apply(_RANDPERM, (next_key(seed + offset or None),), (n, mstype.as_dtype(dtype)))


def _uniform(low, high, key, shape, dtype):
    low, high = as_operand(low), as_operand(high)
    shape = _wide_shape(shape, low, high)
    dtype = mstype.to_jax(dtype)
    if dtype.kind in "iu":
        return jax.random.randint(wrap(key), shape, low, high, dtype)
    drawn = jax.random.uniform(wrap(key), shape, dtype)
    return low.astype(dtype) + (high - low).astype(dtype) * drawn


_UNIFORM = Op("uniform", _uniform)


def uniform(shape, minval, maxval, seed=None, dtype=mstype.float32):
    """Random numbers, uniform in [minval, maxval).

    Args:
        shape (tuple): the shape, broadcast with those of the limits.
        minval, maxval (Tensor or number): the limits; integers for an integer `dtype`.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.
        dtype (ms.dtype): Float32 or an integer type. Default: Float32.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.uniform((3, 1), ms.Tensor([0.0, 1.0]), ms.Tensor(2.0)).shape)
        (3, 2)
    """
    return apply(_UNIFORM, (minval, maxval, next_key(seed)), (shape_of(shape, "uniform"), mstype.as_dtype(dtype)))


# ---- other distributions


def _normal(mean, stddev, key, shape):
    mean, stddev = to_float(mean).astype(jnp.float32), to_float(stddev).astype(jnp.float32)
    return mean + stddev * jax.random.normal(wrap(key), _wide_shape(shape, mean, stddev), jnp.float32)


_NORMAL = Op("normal", _normal)


def normal(shape, mean, stddev, seed=None):
    """Random numbers of a normal distribution, as Float32; differentiable in its parameters.

    Args:
        shape (tuple): the shape, broadcast with those of the parameters.
        mean (Tensor or number): the mean.
        stddev (Tensor or number): the standard deviation.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.normal((3, 1), ms.Tensor([0.0, 1.0]), 1.0).shape)
        (3, 2)
    """
    return apply(_NORMAL, (mean, stddev, next_key(seed)), (shape_of(shape, "normal"),))


def _laplace(mean, scale, key, shape):
    mean, scale = to_float(mean), to_float(scale)
    return mean + scale * jax.random.laplace(wrap(key), _wide_shape(shape, mean, scale), mean.dtype)


LAPLACE = Op("laplace", _laplace)


def laplace(shape, mean, lambda_param, seed=None):
    """Random numbers of a Laplace distribution, of density exp(-|x - mean| / lambda_param) / (2 * lambda_param).

    Args:
        shape (tuple): the shape, broadcast with those of the parameters.
        mean (Tensor or number): the mean.
        lambda_param (Tensor or number): the scale.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> from msjax import ops
        >>> print(ops.laplace((2, 3), 0.0, 1.0).shape)
        (2, 3)
    """
    return apply(LAPLACE, (mean, lambda_param, next_key(seed)), (shape_of(shape, "laplace"),))


def standard_laplace(shape, seed=None):
    """Random numbers of the Laplace distribution of mean 0 and scale 1, as Float32; see `laplace`.

    Example:
        >>> from msjax import ops
        >>> print(ops.standard_laplace((2, 3)).shape)
        (2, 3)
    """
    return laplace(shape, 0.0, 1.0, seed)


def _gamma(alpha, beta, key, shape):
    alpha, beta = to_float(alpha), to_float(beta)
    return jax.random.gamma(wrap(key), alpha, _wide_shape(shape, alpha, beta), alpha.dtype) / beta


GAMMA = Op("gamma", _gamma)


def gamma(shape, alpha, beta, seed=None):
    """Random numbers of a gamma distribution; differentiable in its parameters.

    Args:
        shape (tuple): the shape, broadcast with those of the parameters.
        alpha (Tensor): the shape parameter.
        beta (Tensor): the inverse scale.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.gamma((3, 1), ms.Tensor([1.0, 2.0]), ms.Tensor([1.0])).shape)
        (3, 2)
    """
    return apply(GAMMA, (alpha, beta, next_key(seed)), (shape_of(shape, "gamma"),))


def random_gamma(shape, alpha, seed=None):
    """Random numbers of gamma distributions of scale 1, of the shape `shape` followed by that of `alpha`.

    Args:
        shape (tuple or Tensor): how many of each.
        alpha (Tensor): the shape parameters.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.random_gamma((2,), ms.Tensor([1.0, 2.0])).shape)
        (2, 2)
    """
    return apply(GAMMA, (alpha, 1.0, next_key(seed)), (shape_of(shape, "random_gamma") + jnp.shape(_value(alpha)),))


def _value(x):
    return x._value if isinstance(x, Tensor) else x


def _poisson(rate, key, shape, dtype):
    rate = to_float(rate)
    return jax.random.poisson(wrap(key), rate, shape).astype(mstype.to_jax(dtype))


POISSON = Op("poisson", _poisson, differentiable=False)


def poisson(shape, mean, seed=None):
    """Random numbers of a Poisson distribution, as Float32.

    Args:
        shape (tuple): the shape, broadcast with that of `mean`.
        mean (Tensor): the mean, positive.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.poisson((3, 1), ms.Tensor([1.0, 5.0])).shape)
        (3, 2)
    """
    full = jnp.broadcast_shapes(shape_of(shape, "poisson"), jnp.shape(_value(mean)))
    return apply(POISSON, (mean, next_key(seed)), (full, mstype.float32))


def random_poisson(shape, rate, seed=None, dtype=mstype.float32):
    """Random numbers of Poisson distributions, of the shape `shape` followed by that of `rate`.

    Args:
        shape (tuple or Tensor): how many of each.
        rate (Tensor): the means.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.
        dtype (ms.dtype): Default: Float32.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.random_poisson((2,), ms.Tensor([1.0, 2.0])).shape)
        (2, 2)
    """
    full = shape_of(shape, "random_poisson") + jnp.shape(_value(rate))
    return apply(POISSON, (rate, next_key(seed)), (full, mstype.as_dtype(dtype)))


# ---- choices


def _bernoulli(input, p, key):
    x = as_operand(input)
    return jax.random.bernoulli(wrap(key), jnp.broadcast_to(to_float(p), x.shape)).astype(x.dtype)


BERNOULLI = Op("bernoulli", _bernoulli, differentiable=False)


def bernoulli(input, p=0.5, seed=None):
    """Ones with probability `p`, else zeros, of the shape and dtype of `input`.

    Args:
        input (Tensor): gives shape and dtype.
        p (Tensor or float): how likely a one is, in [0, 1]. Default: 0.5.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Raises:
        ValueError: `p` is a number out of range.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.bernoulli(ms.Tensor([5, 5]), 1.0))
        [1 1]
    """
    if isinstance(p, (int, float)) and not 0 <= p <= 1:
        raise ValueError(f"For 'bernoulli', 'p' should be in [0, 1], but got {p}.")
    return apply(BERNOULLI, (input, p, next_key(None if seed == -1 else seed)))


def bernoulli_ext(input, *, generator=None):
    """Ones with the probabilities that `input` holds, else zeros, of its shape and dtype.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.bernoulli_ext(ms.Tensor([0.0, 1.0])))
        [0. 1.]
    """
    return apply(BERNOULLI, (input, input, next_key(generator=generator)))


def _multinomial(weights, key, count, replacement, dtype):
    weights = to_float(weights)
    logits = jnp.log(weights)
    if replacement:
        drawn = jax.random.categorical(wrap(key), logits[..., None, :], shape=(*weights.shape[:-1], count))
    else:
        # The places of the largest of log(weight) + Gumbel noise are a draw without replacement.
        drawn = jax.lax.top_k(logits + jax.random.gumbel(wrap(key), logits.shape, logits.dtype), count)[1]
    return drawn.astype(mstype.to_jax(dtype))


_MULTINOMIAL = Op("multinomial", _multinomial, differentiable=False)


def multinomial(input, num_samples, replacement=True, seed=None):
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
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.multinomial(ms.Tensor([0.0, 1.0]), 3))
        [1 1 1]
    """
    return draw_indices(input, num_samples, replacement, next_key(seed), mstype.int32)


def draw_indices(input, count, replacement, key, dtype):
    count = freeze(count)
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"For 'multinomial', 'num_samples' should be an int, but got {describe(count)}.")
    if count <= 0:
        raise ValueError(f"For 'multinomial', 'num_samples' should be positive, but got {count}.")
    if not replacement and count > input.shape[-1]:
        raise ValueError(
            f"For 'multinomial' without replacement, 'num_samples' should be at most {input.shape[-1]}, but got {count}."
        )
    return apply(_MULTINOMIAL, (input, key), (count, bool(replacement), dtype))


def multinomial_with_replacement(x, seed, offset, numsamples, replacement=False):
    """Random indices, drawn with weights, as Int64; drawn again where there are fewer, whatever `replacement` says.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.multinomial_with_replacement(ms.Tensor([[0.0, 1.0]]), 0, 0, 3))
        [[1 1 1]]
    """
    return draw_indices(x, numsamples, True, next_key(seed + offset or None), mstype.int64)


def _categorical(logits, key, count, dtype):
    drawn = jax.random.categorical(wrap(key), logits[:, None, :], shape=(logits.shape[0], count))
    return drawn.astype(mstype.to_jax(dtype))


_CATEGORICAL = Op("random_categorical", _categorical, differentiable=False)


def random_categorical(logits, num_sample, seed=0, dtype=mstype.int64):
    """Random indices, drawn with log weights.

    Args:
        logits (Tensor): shape (batch, classes), log weights.
        num_sample (int): how many to draw from each row.
        seed (int): if not 0, makes the numbers the same in every run of the program. Default: 0.
        dtype (ms.dtype): Default: Int64.

    Returns:
        Tensor of shape (batch, num_sample).

    Example:
        >>> from msjax import ops
        >>> print(ops.random_categorical(ops.zeros((2, 5)), 3).shape)
        (2, 3)
    """
    return apply(_CATEGORICAL, (logits, next_key(seed or None)), (freeze(num_sample), mstype.as_dtype(dtype)))


def _shuffle(x, key):
    return jax.random.permutation(wrap(key), x)


SHUFFLE = Op("shuffle", _shuffle, int_grad=(0,))


def shuffle(x, seed=None):
    """The elements along the first axis in random order.

    Args:
        x (Tensor): at least one axis.
        seed (int, optional): makes the order the same in every run of the program. Default: None.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.shuffle(ms.Tensor([1, 2, 3])).sum())
        6
    """
    return apply(SHUFFLE, (x, next_key(seed)))


def _choice(mask, key, count):
    flat = mask.reshape(-1)
    order = jnp.argsort(jnp.where(flat, jax.random.uniform(wrap(key), flat.shape), 2.0))
    order = jnp.pad(order, (0, max(0, count - order.size)))[:count]
    there = jnp.arange(count) < jnp.sum(flat)
    places = jnp.stack(jnp.unravel_index(order, mask.shape), -1).astype(jnp.int32)
    return jnp.where(there[:, None], places, 0), there


CHOICE = Op("choice_with_mask", _choice, differentiable=False)


def choice_with_mask(input_x, count=256, seed=None):
    """Random places where a Tensor of Bools is true.

    Args:
        input_x (Tensor): one to five axes, of Bool.
        count (int): how many places. Default: 256.
        seed (int, optional): makes the places the same in every run of the program. Default: None.

    Returns:
        (index, mask): places of shape (count, axes), as Int32, zeros where there are not enough; which are real.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.choice_with_mask(ms.Tensor([False, True]), 1)[0])
        [[1]]
    """
    return apply(CHOICE, (input_x, next_key(seed)), (count,))


def _candidates(true_classes, key, num_true, count, unique, high, log):
    ids = jnp.arange(high)
    if log:
        weights = jnp.log1p(1 / (ids + 1.0)) / jnp.log(high + 1.0)
    else:
        weights = jnp.full(high, 1.0 / high)
    logits = jnp.log(weights)
    if unique:
        drawn = jax.lax.top_k(logits + jax.random.gumbel(wrap(key), logits.shape), count)[1]
        # How often a class is expected: that it is drawn at all, in the tries that unique ones take on average.
        tries = jnp.log1p(-jnp.asarray(count / high)) / jnp.log1p(-1.0 / high) if count < high else jnp.inf
        expected = -jnp.expm1(tries * jnp.log1p(-weights)) if log else jnp.full(high, count / high)
    else:
        drawn = jax.random.categorical(wrap(key), logits, shape=(count,))
        expected = weights * count
    wide = mstype.to_jax(mstype.int64)
    return drawn.astype(wide), expected[true_classes].astype(jnp.float32), expected[drawn].astype(jnp.float32)


_CANDIDATES = Op("candidate_sampler", _candidates, differentiable=False)


def _sample_candidates(name, true_classes, num_true, num_sampled, unique, range_max, seed, log):
    if unique and num_sampled > range_max:
        raise ValueError(f"For '{name}', there are only {range_max} different classes, but 'num_sampled' is {num_sampled}.")
    key = next_key(seed or None)
    return apply(_CANDIDATES, (true_classes, key), (num_true, num_sampled, bool(unique), range_max, log))


def uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=0, remove_accidental_hits=False):
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
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.uniform_candidate_sampler(ms.Tensor([[0]]), 1, 4, True, 4)[0].sum())
        6
    """
    if remove_accidental_hits:
        raise NotImplementedError("For 'uniform_candidate_sampler', remove_accidental_hits=True is not offered.")
    return _sample_candidates("uniform_candidate_sampler", true_classes, num_true, num_sampled, unique, range_max, seed, False)


def log_uniform_candidate_sampler(true_classes, num_true=1, num_sampled=5, unique=True, range_max=5, seed=0):
    """Random classes in [0, range_max), the class k with weight log((k + 2) / (k + 1)); see `uniform_candidate_sampler`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.log_uniform_candidate_sampler(ms.Tensor([[0]]), num_sampled=3)[0].shape)
        (3,)
    """
    return _sample_candidates("log_uniform_candidate_sampler", true_classes, num_true, num_sampled, unique, range_max, seed, True)


def _cauchy(key, shape, median, sigma):
    return median + sigma * jax.random.cauchy(wrap(key), shape, jnp.float32)


CAUCHY = Op("Cauchy", _cauchy, differentiable=False)


def _log_normal(x, key, mean, std):
    return jnp.exp(mean + std * jax.random.normal(wrap(key), x.shape, x.dtype))


LOG_NORMAL = Op("LogNormalReverse", _log_normal, differentiable=False)
