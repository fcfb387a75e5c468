"""Elementwise operators: arithmetic, comparison, logic and elementary functions."""

import jax
import jax.numpy as jnp

from msjax.ops.dispatch import operator
from msjax.ops.promote import kind_of, promote, to_float

__all__ = [
    "abs",
    "add",
    "clamp",
    "clip_by_value",
    "bitwise_not",
    "cos",
    "equal",
    "erf",
    "exp",
    "floor_divide",
    "floor_mod",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "log",
    "logical_not",
    "maximum",
    "minimum",
    "mul",
    "neg",
    "not_equal",
    "positive",
    "pow",
    "reciprocal",
    "rsqrt",
    "sin",
    "sqrt",
    "square",
    "sub",
    "tanh",
    "true_divide",
]

# ---- arithmetic of two operands


@operator(2, name="Add", int_grad=True)
def add(input, other):
    """input + other, elementwise with broadcasting."""
    x, y = promote(input, other)
    return x | y if x.dtype == jnp.bool_ else x + y


@operator(2, name="Sub", int_grad=True)
def sub(input, other):
    """input - other, elementwise with broadcasting."""
    x, y = promote(input, other)
    return x - y


@operator(2, name="Mul", int_grad=True)
def mul(input, other):
    """input * other, elementwise with broadcasting."""
    x, y = promote(input, other, scalar_tensors_yield=True)
    return x & y if x.dtype == jnp.bool_ else x * y


@operator(2, name="Div", int_grad=True)
def true_divide(input, other):
    """input / other, elementwise with broadcasting; of integers a Float32."""
    x, y = promote(input, other, scalar_tensors_yield=True)
    return to_float(x) / to_float(y)


@operator(2, name="FloorDiv", int_grad=False)
def floor_divide(input, other):
    """input / other rounded towards minus infinity, elementwise with broadcasting."""
    x, y = promote(input, other, scalar_tensors_yield=True)
    # No gradient flows through a step function; jax's own rule for floor_divide is not zero everywhere.
    return jax.lax.stop_gradient(jnp.floor_divide(x, y))


@operator(2, name="FloorMod", int_grad=True)
def floor_mod(input, other):
    """The remainder of floor division, with the sign of `other`."""
    x, y = promote(input, other)
    return jnp.remainder(x, y)


@operator(2, name="Pow", int_grad=True)
def _pow(input, exponent):
    x, y = promote(input, exponent)
    return _float_power(x, y) if kind_of(x.dtype) == "f" else jnp.power(x, y)


@operator(1, name="Pow", int_grad=True)
def _pow_constant(input, exponent):
    x, _ = promote(input, exponent)
    return jax.lax.integer_pow(x, exponent)


def pow(input, exponent):
    """input to the power of exponent, elementwise with broadcasting."""
    if type(exponent) is int and 0 <= exponent <= 64:
        # Compiled for this exponent: exact, and with a gradient that needs no logarithm.
        return _pow_constant(input, exponent)
    return _pow(input, exponent)


@jax.custom_jvp
def _float_power(x, y):
    return jnp.power(x, y)


@_float_power.defjvp
def _float_power_jvp(primals, tangents):
    # jax gives NaN for the exponent's gradient at a base of 0 or below; the limit, 0, is what training wants.
    (x, y), (dx, dy) = primals, tangents
    out = _float_power(x, y)
    by_x = jnp.where(y == 0, jnp.zeros_like(out), y * jnp.power(x, jnp.where(y == 0, 1.0, y - 1)).astype(out.dtype))
    by_y = jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1.0)) * out, jnp.zeros_like(out))
    return out, by_x * dx + by_y * dy


@operator(2, name="Maximum", int_grad=True)
def maximum(input, other):
    """The larger of two values, elementwise; equal values share the gradient."""
    return jnp.maximum(*promote(input, other))


@operator(2, name="Minimum", int_grad=True)
def minimum(input, other):
    """The smaller of two values, elementwise; equal values share the gradient."""
    return jnp.minimum(*promote(input, other))


def _compare(name, fn, doc):
    def kernel(input, other):
        return fn(*promote(input, other))

    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = doc
    return operator(2, differentiable=False)(kernel)


equal = _compare("equal", jnp.equal, "input == other, elementwise, as Bool.")
not_equal = _compare("not_equal", jnp.not_equal, "input != other, elementwise, as Bool.")
greater = _compare("greater", jnp.greater, "input > other, elementwise, as Bool.")
greater_equal = _compare("greater_equal", jnp.greater_equal, "input >= other, elementwise, as Bool.")
less = _compare("less", jnp.less, "input < other, elementwise, as Bool.")
less_equal = _compare("less_equal", jnp.less_equal, "input <= other, elementwise, as Bool.")


# ---- one operand


def _unary(name, fn, doc, *, floats=False, int_grad=False, differentiable=True):
    """An elementwise operator; `floats`: integers are taken as Float32."""

    def kernel(input):
        return fn(to_float(input) if floats else jnp.asarray(input))

    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = doc
    return operator(1, int_grad=int_grad, differentiable=differentiable)(kernel)


neg = _unary("neg", jnp.negative, "-input.", int_grad=True)
abs = _unary("abs", jnp.abs, "The absolute value; its gradient at 0 is 0.", int_grad=True)
square = _unary("square", jnp.square, "input * input.", int_grad=True)
positive = _unary("positive", jnp.positive, "input itself.", int_grad=True)
exp = _unary("exp", jnp.exp, "e to the power of input.", floats=True)
log = _unary("log", jnp.log, "The natural logarithm.", floats=True)
sqrt = _unary("sqrt", jnp.sqrt, "The square root; its gradient at 0 is infinite.", floats=True)
rsqrt = _unary("rsqrt", jax.lax.rsqrt, "1 / sqrt(input).", floats=True)
reciprocal = _unary("reciprocal", jnp.reciprocal, "1 / input.", floats=True)
sin = _unary("sin", jnp.sin, "The sine.", floats=True)
cos = _unary("cos", jnp.cos, "The cosine.", floats=True)
tanh = _unary("tanh", jnp.tanh, "The hyperbolic tangent.", floats=True)
erf = _unary("erf", jax.lax.erf, "The error function.", floats=True)
logical_not = _unary("logical_not", jnp.logical_not, "not input, elementwise, as Bool.", differentiable=False)
bitwise_not = _unary("bitwise_not", jnp.bitwise_not, "The bits of integers, or Bools, inverted.", differentiable=False)

# ---- limits


@operator(3, int_grad=True)
def _clamp(input, min, max):
    x = jnp.asarray(input)
    if min is not None:
        x, low = promote(x, min)
        x = jnp.where(x < low, low, x)
    if max is not None:
        x, high = promote(x, max)
        x = jnp.where(x > high, high, x)
    return x


def clamp(input, min=None, max=None):
    """Values limited to [min, max], which may be numbers, Tensors or None; at the limits the gradient is 1."""
    if min is None and max is None:
        raise ValueError("For 'clamp', 'min' and 'max' can't both be None.")
    return _clamp(input, min, max)


def clip_by_value(x, clip_value_min=None, clip_value_max=None):
    """Values limited to [clip_value_min, clip_value_max]."""
    return clamp(x, clip_value_min, clip_value_max)
