"""Activation functions, softmax and its relatives among them."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike, UnaryOperator, UnaryOperatorOfX
from msjax.core.base.checks import check_axis_of, check_in_range, check_int, check_number, check_one_of, check_order, check_value
from msjax.core.base.typing import Axes, JaxArray, Number
from msjax.engine.autograd.inplace import written
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import as_operand, broadcast, kind_of, need_floats, rounded_once, to_float, typed
from msjax.ops.dispatch.random_keys import next_key, wrap
from msjax.ops.function.math_func.elementary import magnitude, softplus_of, wide_slope
from msjax.ops.function.math_func.tables import of_floats, only_of_floats, unary, with_slopes

__all__ = [
    "celu", "elu", "fast_gelu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid",
    "mish", "prelu", "relu", "relu6", "rrelu", "selu", "sigmoid", "silu", "soft_shrink", "softplus", "softshrink",
    "softsign", "tanhshrink", "threshold", "glu", "swiglu", "gumbel_softmax", "log_softmax", "softmax", "softmin",
]  # fmt: skip


@jax.custom_jvp
def _relu(x):
    return jnp.maximum(x, 0)


@_relu.defjvp
def _relu_jvp(primals, tangents):
    # Use the output, not the input: it is kept as a residual anyway.
    out = _relu(primals[0])
    return out, jnp.where(out > 0, tangents[0], jnp.zeros_like(tangents[0]))


def _relu_of_operand(input):
    return _relu(as_operand(input))


def _relu_gradient(slots, input):
    """See `TracedVJP`. Its only residual is the output, which the next operator most often keeps anyway."""
    out = _relu(input)

    def pull(out, ct):
        return (jax.lax.select(jax.lax.gt(out, out.dtype.type(0)), ct, jax.lax.full_like(ct, 0)),)

    return out, jax.tree_util.Partial(pull, out)


_relu_of_operand.gradient = _relu_gradient
_RELU = Op("ReLU", _relu_of_operand, int_grad=True)


def relu(input: TensorLike, inplace: bool = False) -> Tensor:
    """max(input, 0); its gradient at 0 is 0.

    Args:
        input (Tensor): any shape and real dtype.
        inplace (bool): whether `input` itself gets the result. Default: False.

    Example:
        >>> print(ops.relu(Tensor([-1.0, 2.0])))
        [0. 2.]
    """
    out = apply(_RELU, (input,))
    if not inplace:
        return out
    return written(input, out)


relu.op = _RELU


def _relu6(x):
    # The gradient at 6 is 1, at 0 it is 0.
    return _relu(jnp.where(x > 6, 6, x).astype(x.dtype))


_sigmoid = wide_slope(jax.nn.sigmoid, lambda y: y * (1 - y))


def _hardsigmoid(x):
    if kind_of(x.dtype) != "f":
        return jnp.clip((x + 3) // 6, 0, 1)
    three, six, half = (x.dtype.type(n) for n in (3, 6, 0.5))
    inner = jax.lax.add(jax.lax.div(x, six), half)
    return _choose(jax.lax.le(x, -three), 0, _choose(jax.lax.ge(x, three), 1, inner))


def _hardswish(x):
    three, six = x.dtype.type(3), x.dtype.type(6)
    gate = _choose(jax.lax.lt(x, -three), 0, _choose(jax.lax.gt(x, three), 6, jax.lax.add(x, three)))
    return jax.lax.div(jax.lax.mul(x, gate), six)


def _choose(condition, number, x):
    """`jnp.where`, which takes three times as long to trace and lower, as operators of jax.numpy do."""
    return jax.lax.select(condition, jax.lax.full_like(x, number), x)


def _share(x):
    return 1 / (1 + magnitude(x))


# jax's slope is the difference of numbers that are almost equal where x is large.
_softsign = with_slopes(lambda x: x / (1 + magnitude(x)), lambda x, out: _share(x) * _share(x))


def _selu(x):
    # At 0 it has the slope of the positive side, and of NaN, too: jax's is NaN there.
    return 1.0507009873554805 * jnp.where(x < 0, 1.6732632423543772 * jnp.expm1(jnp.where(x < 0, x, 0)), x)


_X = "Tensor([-1.0, 0.0, 2.0])"

sigmoid: UnaryOperator = of_floats("sigmoid", _sigmoid, "1 / (1 + exp(-input)).", (_X, "[0.26894143 0.5        0.880797  ]"))
relu6: UnaryOperatorOfX = only_of_floats(
    "relu6", _relu6, "min(max(x, 0), 6).", ("Tensor([-1.0, 3.0, 8.0])", "[0. 3. 6.]"), parameter="x"
)
silu: UnaryOperator = of_floats("silu", jax.nn.silu, "input * sigmoid(input).", (_X, "[-0.26894143  0.          1.761594  ]"))
mish: UnaryOperatorOfX = only_of_floats(
    "mish", jax.nn.mish, "x * tanh(softplus(x)).", (_X, "[-0.30340144  0.          1.943959  ]"), parameter="x", wide=True
)
selu: UnaryOperator = of_floats(
    "selu",
    _selu,
    "scale * (input_x where positive, alpha * (exp(input_x) - 1) elsewhere), scale 1.0507, alpha 1.6733.",
    (_X, "[-1.1113307  0.         2.101402 ]"),
    parameter="input_x",
)
fast_gelu: UnaryOperatorOfX = only_of_floats(
    "fast_gelu",
    lambda x: x * jax.nn.sigmoid(1.702 * x),
    "x * sigmoid(1.702 * x), which is close to gelu.",
    (_X, "[-0.15420423  0.          1.9356586 ]"),
    parameter="x",
    wide=True,
)
hardsigmoid: UnaryOperator = unary(
    "hardsigmoid", _hardsigmoid, "input / 6 + 0.5, limited to [0, 1].", (_X, "[0.3333333 0.5       0.8333333]"), wide=True
)
hardswish: UnaryOperator = of_floats(
    "hardswish", _hardswish, "input * hardsigmoid(input).", (_X, "[-0.33333334  0.          1.6666666 ]"), wide=True
)
logsigmoid: UnaryOperatorOfX = of_floats(
    "logsigmoid",
    lambda x: -softplus_of(-x),
    "log(sigmoid(x)), computed without overflow.",
    (_X, "[-1.3132617  -0.6931472  -0.12692805]"),
    parameter="x",
)
softsign: UnaryOperatorOfX = only_of_floats(
    "softsign", _softsign, "x / (1 + |x|).", (_X, "[-0.5        0.         0.6666667]"), parameter="x", wide=True
)
tanhshrink: UnaryOperator = of_floats(
    "tanhshrink", lambda x: x - jnp.tanh(x), "input - tanh(input).", (_X, "[-0.23840582  0.          1.0359724 ]")
)


@operator(tensors=True)
def gelu(input: TensorLike, approximate: str = "none") -> JaxArray:
    """input * Phi(input), with Phi the normal distribution function.

    Args:
        input (Tensor): any shape, of floats.
        approximate (str): "none" for the exact formula, "tanh" for the one with tanh. Default: "none".

    Raises:
        ValueError: an unknown `approximate`.

    Example:
        >>> print(ops.gelu(Tensor([-1.0, 0.0, 2.0])))
        [-0.15865526  0.          1.9544997 ]
    """
    check_one_of(approximate, ("none", "tanh"), "approximate")
    x = need_floats(input)
    return rounded_once(jax.nn.gelu, x) if approximate == "tanh" else jax.nn.gelu(x, approximate=False)


@operator(numbers=("alpha",), check=lambda input, alpha: check_number(alpha, "alpha"), tensors=True)
def leaky_relu(input: TensorLike, alpha: float = 0.2) -> JaxArray:
    """input where positive, alpha * input elsewhere.

    Example:
        >>> print(ops.leaky_relu(Tensor([-2.0, 0.5, 2.0]), 0.1))
        [-0.2  0.5  2. ]
    """
    x = to_float(input)
    # Not the maximum of x and alpha * x, which is NaN where an infinity meets an alpha of 0.
    slope = jnp.where(x > 0, jnp.zeros((), x.dtype), jnp.asarray(alpha, x.dtype))  # an infinite one is not multiplied by 0
    below = jnp.where(x == x, jnp.minimum(x, 0), x)  # NaN has the slope of negative numbers
    return jnp.maximum(x, 0) + slope * below


@operator(numbers=("alpha",), tensors=True)
def elu(input_x: TensorLike, alpha: float = 1.0) -> JaxArray:
    """input_x where positive, alpha * (exp(input_x) - 1) elsewhere.

    Example:
        >>> print(ops.elu(Tensor([-2.0, 0.5, 2.0])))
        [-0.86466473  0.5         2.        ]
    """
    x = need_floats(input_x)
    # Of NaN the slope is 1; jax's is NaN.
    return jnp.where(x <= 0, jnp.asarray(alpha, x.dtype) * jnp.expm1(jnp.where(x <= 0, x, 0)), x)


@operator(numbers=("alpha",), check=lambda x, alpha: check_value(alpha, alpha != 0, "not be 0", "alpha"), tensors=True)
def celu(x: TensorLike, alpha: float = 1.0) -> JaxArray:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)); `alpha` should not be 0.

    Example:
        >>> print(ops.celu(Tensor([-2.0, 0.5, 2.0]), 2.0))
        [-1.2642411  0.5        2.       ]
    """
    x = need_floats(x)
    # As XLA divides by a constant: by multiplication.
    below = alpha * jnp.expm1(jnp.where(x < 0, x, 0) * (1 / jnp.asarray(alpha, x.dtype)))
    return jnp.where(x < 0, below.astype(x.dtype), x)


@operator(numbers=("min_val", "max_val"), tensors=True)
def hardtanh(input: TensorLike, min_val: float = -1.0, max_val: float = 1.0) -> JaxArray:
    """input limited to [min_val, max_val]; the gradient is 1/2 at the limits.

    Example:
        >>> print(ops.hardtanh(Tensor([-2.0, 0.5, 2.0])))
        [-1.   0.5  1. ]
    """
    x = as_operand(input)
    out = jnp.minimum(jnp.maximum(x, jnp.asarray(min_val, x.dtype)), jnp.asarray(max_val, x.dtype))
    return jnp.where(x == x, out, x)  # the slope of NaN is 1


@operator(numbers=("lambd",), tensors=True)
def hardshrink(input: TensorLike, lambd: float = 0.5) -> JaxArray:
    """input where |input| > lambd, 0 elsewhere.

    Example:
        >>> print(ops.hardshrink(Tensor([-2.0, 0.5, 2.0])))
        [-2.  0.  2.]
    """
    x = need_floats(input)
    limit = jnp.asarray(lambd, x.dtype)
    return jnp.where((x >= -limit) & (x <= limit), jnp.zeros_like(x), x)


def _check_lambd(input, lambd):
    if check_number(lambd + 0 if isinstance(lambd, bool) else lambd, "lambd") < 0:
        raise RuntimeError(f"'lambd' should not be negative, but got {lambd}.")


@operator(numbers=("lambd",), check=_check_lambd, tensors=True)
def softshrink(input: TensorLike, lambd: float = 0.5) -> JaxArray:
    """input moved towards 0 by lambd, and 0 where |input| <= lambd.

    Example:
        >>> print(ops.softshrink(Tensor([-2.0, 0.5, 2.0])))
        [-1.5  0.   1.5]
    """
    x = need_floats(input)
    limit = jnp.asarray(lambd, x.dtype)
    return jnp.where(x > limit, x - limit, jnp.where(x < -limit, x + limit, jnp.zeros_like(x)))


soft_shrink = softshrink


@operator(numbers=("beta", "threshold"), tensors=True)
def softplus(input: TensorLike, beta: float = 1, threshold: float = 20) -> JaxArray:
    """log(1 + exp(beta * input)) / beta; input itself where beta * input > threshold.

    Example:
        >>> print(ops.softplus(Tensor([-2.0, 0.5, 2.0])))
        [0.126928 0.974077 2.126928]
    """
    return rounded_once(_softplus, need_floats(input), beta, threshold)


def _softplus(x, beta, threshold):
    scaled = x * beta
    # As XLA divides by a constant: by multiplication.
    return jnp.where(scaled > threshold, x, softplus_of(scaled) * (1 / jnp.asarray(beta, x.dtype)))


@operator(numbers=("thr", "value"), check=lambda _, *numbers: [check_number(*pair) for pair in zip(numbers, ("thr", "value"))])
def threshold(input: TensorLike, thr: Number | Tensor, value: Number | Tensor) -> JaxArray:
    """`value` where input is at most `thr`, input elsewhere; NaN stays.

    Example:
        >>> print(ops.threshold(Tensor([-2.0, 0.5, 2.0]), 0.5, 9.0))
        [9. 9. 2.]
    """
    x = as_operand(input)
    # Not `x > thr`: NaN stays.
    return jnp.where(x <= jnp.asarray(thr).astype(x.dtype), jnp.asarray(value).astype(x.dtype), x)


@operator(2)
def prelu(input: TensorLike, weight: TensorLike) -> JaxArray:
    """input where positive, weight * input elsewhere; one weight for each channel (axis 1), or one for all.

    Args:
        input (Tensor): shape (N, C, ...), of floats.
        weight (Tensor): shape (1,) or (C,).

    Example:
        >>> print(ops.prelu(Tensor([-2.0, 4.0]), Tensor([0.25])))
        [-0.5  4. ]
    """
    x = to_float(input)
    w = as_operand(weight).astype(x.dtype)
    check_value(w, w.ndim <= 1, "have one axis", "weight")
    if w.size == 1:
        w = w.reshape(())
    elif w.size > 1:
        if x.ndim < 2 or x.shape[1] != w.size:
            raise ValueError(f"'weight' should have one element or one for each channel of {x.shape}, but has {w.size}.")
        w = w.reshape((-1,) + (1,) * (x.ndim - 2))
    # The product is of zeros where x is taken itself: the weight's slope would be NaN at infinity.
    return jnp.where(x > 0, x, broadcast(w, x.shape) * jnp.where(x > 0, 0, x))


@partial(Op, "rrelu")
def _RRELU(x, key, lower, upper, equal):
    x = to_float(x)
    if equal:
        slope = jnp.asarray(lower, x.dtype)
    else:
        slope = jax.random.uniform(wrap(key), x.shape, x.dtype, lower, upper)
    return jnp.where(x <= 0, slope * x, x)


def rrelu(input: TensorLike, lower: float = 1.0 / 8, upper: float = 1.0 / 3) -> Tensor:
    """input where positive, elsewhere multiplied by a slope drawn for each element.

    Args:
        input (Tensor): any shape, of floats.
        lower, upper (float): slopes are drawn uniformly from [lower, upper). Default: 1/8 and 1/3.

    Raises:
        ValueError: lower > upper.

    Example:
        >>> print(ops.rrelu(Tensor([-1.0, 2.0]), 0.5, 0.5))
        [-0.5  2. ]
    """
    check_order(lower, upper, ("lower", "upper"), "rrelu", equal=True)
    return apply(_RRELU, (input, next_key(), float(lower), float(upper)), (lower == upper,))


def _halves(x, axis):
    check_axis_of(x, check_int(axis, "axis"))
    if x.shape[axis] % 2:
        raise ValueError(f"axis {axis} should have an even size to be halved, but the shape is {x.shape}.")
    return jnp.split(x, 2, axis)


@operator(name="GLU")
def glu(x: TensorLike, axis: int = -1) -> JaxArray:
    """The first half along `axis` times the sigmoid of the second half.

    Example:
        >>> print(ops.glu(Tensor([1.0, 2.0, 0.0, 0.0])))
        [0.5 1. ]
    """
    first, second = _halves(to_float(x), axis)
    return first * jax.nn.sigmoid(second)


@operator(name="Swiglu")
def swiglu(input: TensorLike, dim: int = -1) -> JaxArray:
    """The silu of the first half along `dim` times the second half.

    Example:
        >>> print(ops.swiglu(Tensor([0.0, 1.0, 2.0, 2.0])))
        [0.        1.4621172]
    """
    first, second = _halves(to_float(input), dim)
    return jax.nn.silu(first) * second


# ---- softmax and its relatives: probabilities along an axis


def _axes(value, name):
    """The value, if it is an int or a tuple or list of ints."""
    return tuple(check_int(v, name) for v in value) if isinstance(value, (tuple, list)) else check_int(value, name)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def softmax_along(x: JaxArray, axis: Axes) -> JaxArray:
    """`jax.nn.softmax`, with a derivative that needs its result only.

    jax's own, by default, goes through exponential, sum and division, and keeps more: attention with its gradients (8 x 128 tokens, 8 heads)
    takes 0.90 of that time on CPUs, of 32 x 128 tokens 0.84.
    """
    return jax.nn.softmax(x, axis)


@softmax_along.defjvp
def _softmax_jvp(axis, primals, tangents):
    out = softmax_along(primals[0], axis)
    return out, out * (tangents[0] - jnp.sum(out * tangents[0], axis, keepdims=True))


@operator()
def softmax(input: TensorLike, axis: Axes = -1, *, dtype: DTypeLike | None = None) -> JaxArray:
    """exp(input) / sum(exp(input)) along `axis`.

    Example:
        >>> print(ops.softmax(Tensor([1.0, 2.0])))
        [0.26894143 0.7310586 ]
    """
    return rounded_once(softmax_along, to_float(typed(input, dtype)), _axes(axis, "axis"))


@operator()
def softmin(x: TensorLike, axis: int = -1, *, dtype: DTypeLike | None = None) -> JaxArray:
    """softmax(-x) along `axis`.

    Example:
        >>> print(ops.softmin(Tensor([1.0, 2.0])))
        [0.7310586  0.26894143]
    """
    return rounded_once(softmax_along, -to_float(typed(x, dtype)), _axes(axis, "axis"))


@operator()
def log_softmax(logits: TensorLike, axis: int = -1) -> JaxArray:
    """log(softmax(logits)) along `axis`, computed without overflow.

    Example:
        >>> print(ops.log_softmax(Tensor([1.0, 2.0])))
        [-1.3132616  -0.31326163]
    """
    return rounded_once(jax.nn.log_softmax, to_float(logits), check_int(axis, "axis"))


@partial(Op, "gumbel_softmax")
def _GUMBEL_SOFTMAX(logits, key, tau, hard, dim):
    logits = to_float(logits)
    noise = jax.random.gumbel(wrap(key), logits.shape, logits.dtype)
    # As XLA divides by a constant: by multiplication.
    soft = softmax_along((logits + noise) * (1 / jnp.asarray(tau, logits.dtype)), dim)
    if not hard:
        return soft
    picked = jax.nn.one_hot(jnp.argmax(soft, dim), soft.shape[dim], dtype=soft.dtype, axis=dim)
    # One-hot forward, with the gradient of the soft sample.
    return jax.lax.stop_gradient(picked - soft) + soft


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """A random, differentiable choice: softmax((logits + Gumbel noise) / tau) along `dim`.

    Args:
        logits (Tensor): unnormalized log probabilities, of floats.
        tau (float): the temperature, above 0. Default: 1.0.
        hard (bool): whether the result is one-hot, with the gradient of the soft one. Default: False.
        dim (int): the axis of choices. Default: -1.

    Raises:
        ValueError: `tau` is not positive.

    Example:
        >>> print(ops.gumbel_softmax(Tensor([[1.0, 2.0, 3.0]]), hard=True).sum())
        1.0
    """
    check_in_range(tau, "tau", "gumbel_softmax", above=0)
    if not -logits.ndim <= dim < logits.ndim:
        raise ValueError(f"For 'gumbel_softmax', 'dim' {dim} is out of range for {logits.ndim} axes.")
    return apply(_GUMBEL_SOFTMAX, (logits, next_key(), float(tau)), (bool(hard), dim % logits.ndim))
