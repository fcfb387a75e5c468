"""Operator classes of optimizers' steps: they write the new values into their Parameters."""

import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.common.parameter import Parameter
from msjax.errors import describe
from msjax.ops.primitive import primitive_class

__all__ = []


def _momentum(var, accum, lr, grad, momentum, nesterov, scale):
    grad = grad * scale
    accum = accum * momentum + grad
    return var - lr * (grad + momentum * accum if nesterov else accum), accum


def _adam(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, nesterov):
    m = m + (grad - m) * (1 - beta1)
    v = v + (jnp.square(grad) - v) * (1 - beta2)
    step = lr * jnp.sqrt(1 - beta2_power) / (1 - beta1_power)
    towards = m * beta1 + (1 - beta1) * grad if nesterov else m
    return var - step * towards / (jnp.sqrt(v) + epsilon), m, v


def _adam_weight_decay(var, m, v, lr, beta1, beta2, epsilon, decay, grad):
    m = m + (grad - m) * (1 - beta1)
    v = v + (jnp.square(grad) - v) * (1 - beta2)
    return var - lr * (m / (jnp.sqrt(v) + epsilon) + decay * var), m, v


def _gradient_descent(var, alpha, delta):
    return (var - alpha * delta,)


def _adagrad(var, accum, lr, grad, update_slots):
    accum = accum + jnp.square(grad) if update_slots else accum
    return var - lr * grad / jnp.sqrt(accum), accum


def _rms_prop(var, mean_square, moment, lr, grad, decay, momentum, epsilon):
    mean_square = decay * mean_square + (1 - decay) * jnp.square(grad)
    moment = momentum * moment + lr * grad / jnp.sqrt(mean_square + epsilon)
    return var - moment, mean_square, moment


def _adadelta(var, accum, accum_update, lr, rho, epsilon, grad):
    accum = rho * accum + (1 - rho) * jnp.square(grad)
    update = jnp.sqrt(accum_update + epsilon) / jnp.sqrt(accum + epsilon) * grad
    return var - lr * update, accum, rho * accum_update + (1 - rho) * jnp.square(update)


def _ada_max(var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    m = beta1 * m + (1 - beta1) * grad
    v = jnp.maximum(beta2 * v, jnp.abs(grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


def _step(name, fn, written, attributes, static, single, doc):
    """A class whose call runs `fn` and writes its results into the first `written` operands."""

    def kernel(*args):
        new = fn(*args)
        return tuple(n.astype(old.dtype) for n, old in zip(new, args))

    op = Op(name, kernel, differentiable=False)

    def call(self, *operands):
        for operand in operands[:written]:
            if not isinstance(operand, Parameter):
                raise TypeError(
                    f"For '{name}', the first {written} operand(s) should be Parameters, but got {describe(operand)}."
                )
        out = apply(op, operands, tuple(getattr(self, key) for key in static))
        for operand, new in zip(operands, out):
            operand._value = new._value
        return out[0] if single else out

    globals()[name] = primitive_class(name, attributes, call, doc)
    __all__.append(name)


_LOCKING = {"use_locking": False}
_step(
    "ApplyMomentum", _momentum, 2, {"use_nesterov": False, **_LOCKING, "gradient_scale": 1.0},
    ("use_nesterov", "gradient_scale"), True,
    """A step with momentum, of (variable, accumulation, learning_rate, gradient, momentum); returns the variable.

    Args:
        use_nesterov (bool): Default: False.
        use_locking (bool): kept for MindSpore's programs, without effect.
        gradient_scale (float): Default: 1.0.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> w, accum = ms.Parameter(ms.Tensor([1.0])), ms.Parameter(ms.Tensor([0.0]))
        >>> print(ops.ApplyMomentum()(w, accum, 0.5, ms.Tensor([1.0]), 0.9))
        [0.5]
    """,
)  # fmt: skip
_step(
    "Adam", _adam, 3, {**_LOCKING, "use_nesterov": False}, ("use_nesterov",), False,
    """A step of Adam, of (var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient); returns var, m and v.

    Args:
        use_locking (bool): kept for MindSpore's programs, without effect.
        use_nesterov (bool): Default: False.
    """,
)  # fmt: skip
for _name, _fn, _written, _attributes, _static, _single, _operands in (
    ("AdamWeightDecay", _adam_weight_decay, 3, _LOCKING, (), False, "var, m, v, lr, beta1, beta2, epsilon, decay, gradient"),
    ("ApplyGradientDescent", _gradient_descent, 1, {}, (), True, "var, alpha, delta"),
    ("ApplyAdagrad", _adagrad, 2, {"update_slots": True}, ("update_slots",), False, "var, accum, lr, grad"),
    ("ApplyRMSProp", _rms_prop, 3, _LOCKING, (), True, "var, mean_square, moment, lr, grad, decay, momentum, epsilon"),
    ("ApplyAdadelta", _adadelta, 3, {}, (), False, "var, accum, accum_update, lr, rho, epsilon, grad"),
    ("ApplyAdaMax", _ada_max, 3, {}, (), False, "var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad"),
):
    _doc = f"An optimizer's step, of ({_operands}): writes the new values into the first {_written} and returns "
    _step(_name, _fn, _written, _attributes, _static, _single, _doc + ("the first." if _single else "them."))
