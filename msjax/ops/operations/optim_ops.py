"""Operator classes of optimizers' steps: they write the new values into their Parameters."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.common.parameter import Parameter
from msjax.errors import describe
from msjax.ops.primitive import REQUIRED, primitive_class
from msjax.typing import TensorLike

__all__ = []


def sgd(
    var: TensorLike,
    accum: TensorLike,
    grad: TensorLike,
    lr: float,
    momentum: TensorLike,
    dampening: float = 0.0,
    nesterov: bool = False,
    first: Any = None,
):
    """Gradient descent with momentum; where `first` is true, the momentum starts with the whole gradient."""
    started = momentum * accum + (1 - dampening) * grad
    accum = started if first is None else jnp.where(first, grad, started)
    return var - lr * (grad + momentum * accum if nesterov else accum), accum


def _momentum(var, accum, lr, grad, momentum, nesterov, scale):
    return sgd(var, accum, grad * scale, lr, momentum, nesterov=nesterov)


def moments(m: Any, v: Any, grad: TensorLike, beta1: Any, beta2: Any):
    """The running means of the gradients and of their squares."""
    return m + (grad - m) * (1 - beta1), v + (jnp.square(grad) - v) * (1 - beta2)


def adam(
    var: TensorLike,
    m: Any,
    v: Any,
    beta1_power: Any,
    beta2_power: Any,
    lr: float,
    beta1: Any,
    beta2: Any,
    epsilon: TensorLike,
    grad: TensorLike,
    nesterov: bool = False,
    vhat: Any = None,
):
    """A step of Adam; with `vhat`, the largest `v` so far, of AMSGrad."""
    m, v = moments(m, v, grad, beta1, beta2)
    largest = () if vhat is None else (jnp.maximum(vhat, v),)
    step = lr * jnp.sqrt(1 - beta2_power) / (1 - beta1_power)
    towards = m * beta1 + (1 - beta1) * grad if nesterov else m
    return var - step * towards / (jnp.sqrt(largest[0] if largest else v) + epsilon), m, v, *largest


def adam_weight_decay(
    var: TensorLike, m: Any, v: Any, lr: float, beta1: Any, beta2: Any, epsilon: TensorLike, decay: Any, grad: TensorLike
):
    m, v = moments(m, v, grad, beta1, beta2)
    return var - lr * (m / (jnp.sqrt(v) + epsilon) + decay * var), m, v


def _gradient_descent(var, alpha, delta):
    return (var - alpha * delta,)


def adagrad(var: TensorLike, accum: TensorLike, lr: float, grad: TensorLike, epsilon: TensorLike, update_slots: bool = True):
    accum = accum + jnp.square(grad) if update_slots else accum
    return var - lr * grad / (jnp.sqrt(accum) + epsilon), accum


def _adagrad(var, accum, lr, grad, update_slots):
    return adagrad(var, accum, lr, grad, 0.0, update_slots)


def rms_prop(
    var: TensorLike,
    mean_square: TensorLike,
    moment: TensorLike,
    lr: float,
    grad: TensorLike,
    decay: Any,
    momentum: TensorLike,
    epsilon: TensorLike,
):
    mean_square = decay * mean_square + (1 - decay) * jnp.square(grad)
    moment = momentum * moment + lr * grad / jnp.sqrt(mean_square + epsilon)
    return var - moment, mean_square, moment


def adadelta(var: TensorLike, accum: TensorLike, accum_update: Any, lr: float, rho: Any, epsilon: TensorLike, grad: TensorLike):
    accum = rho * accum + (1 - rho) * jnp.square(grad)
    update = jnp.sqrt(accum_update + epsilon) / jnp.sqrt(accum + epsilon) * grad
    return var - lr * update, accum, rho * accum_update + (1 - rho) * jnp.square(update)


def ada_max(
    var: TensorLike, m: Any, v: Any, beta1_power: Any, lr: float, beta1: Any, beta2: Any, epsilon: TensorLike, grad: TensorLike
):
    m = beta1 * m + (1 - beta1) * grad
    v = jnp.maximum(beta2 * v, jnp.abs(grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


def _adagrad_da(var, total, squares, grad, lr, l1, l2, global_step):
    total, squares = total + grad, squares + jnp.square(grad)
    shrunk = jnp.sign(total) * jnp.maximum(jnp.abs(total) - l1 * global_step, 0)
    return -lr * jnp.where(l1 > 0, shrunk, total) / (l2 * global_step * lr + jnp.sqrt(squares)), total, squares


def _add_sign(var, m, lr, alpha, sign_decay, beta, grad):
    m = m * beta + grad * (1 - beta)
    return var - lr * (alpha + sign_decay * jnp.sign(grad) * jnp.sign(m)) * grad, m


def _power_sign(var, m, lr, logbase, sign_decay, beta, grad):
    m = m * beta + grad * (1 - beta)
    return var - lr * jnp.exp(logbase * sign_decay * jnp.sign(grad) * jnp.sign(m)) * grad, m


def centered_rms_prop(
    var: TensorLike,
    mean_gradient: Any,
    mean_square: TensorLike,
    moment: TensorLike,
    grad: TensorLike,
    lr: float,
    decay: Any,
    momentum: TensorLike,
    epsilon: TensorLike,
):
    mean_gradient = decay * mean_gradient + (1 - decay) * grad
    mean_square = decay * mean_square + (1 - decay) * jnp.square(grad)
    moment = momentum * moment + lr * grad / jnp.sqrt(mean_square - jnp.square(mean_gradient) + epsilon)
    return var - moment, mean_gradient, mean_square, moment


def _proximal(var, rate, l1, l2, grad):
    moved = var - rate * grad
    return jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - rate * jnp.maximum(l1, 0), 0) / (1 + rate * l2)


def proximal_adagrad(var: TensorLike, accum: TensorLike, lr: float, l1: TensorLike, l2: Any, grad: TensorLike):
    accum = accum + jnp.square(grad)
    return _proximal(var, lr / jnp.sqrt(accum), l1, l2, grad), accum


def _proximal_gradient_descent(var, alpha, l1, l2, delta):
    return (_proximal(var, alpha, l1, l2, delta),)


def ftrl(var: TensorLike, accum: TensorLike, linear: Any, grad: TensorLike, lr: float, l1: TensorLike, l2: Any, lr_power: Any):
    larger = accum + jnp.square(grad)
    power = jnp.power(larger, -lr_power)
    linear = linear + grad - (power - jnp.power(accum, -lr_power)) / lr * var
    new = (jnp.sign(linear) * l1 - linear) / (power / lr + 2 * l2)
    return jnp.where(jnp.abs(linear) > l1, new, 0), larger, linear


def _amsgrad_v2(var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad):
    return adam(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, vhat=vhat)


def _amsgrad(var, m, v, vhat, beta1_power, beta2_power, lr, grad, beta1, beta2, epsilon):
    return adam(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, vhat=vhat)


def _sgd(var, accum, stat, grad, lr, momentum, dampening, weight_decay, nesterov):
    grad = grad + weight_decay * var
    # stat is 1 before the first step, which takes the gradient as it is.
    moved, started = sgd(var, accum, grad, lr, momentum, dampening, nesterov, first=stat > 0)
    moves = momentum > 0
    return jnp.where(moves, moved, var - lr * grad), jnp.where(moves, started, accum), jnp.where(moves & (stat > 0), 0, stat)


def _step(name, fn, written, attributes, static, single, doc, order=None):
    """A class whose call runs `fn` and writes its results into the first `written` operands (of those in `order`)."""

    def kernel(*args):
        new = fn(*args)
        return tuple(n.astype(old.dtype) for n, old in zip(new, args))

    op = Op(name, kernel, differentiable=False)

    def call(self, *operands):
        operands = [operands[i] for i in order] if order is not None else operands
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
    "Adam", adam, 3, {**_LOCKING, "use_nesterov": False}, ("use_nesterov",), False,
    """A step of Adam, of (var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient); returns var, m and v.

    Args:
        use_locking (bool): kept for MindSpore's programs, without effect.
        use_nesterov (bool): Default: False.
    """,
)  # fmt: skip
for _name, _fn, _written, _attributes, _static, _single, _operands in (
    ("AdamWeightDecay", adam_weight_decay, 3, _LOCKING, (), False, "var, m, v, lr, beta1, beta2, epsilon, decay, gradient"),
    ("ApplyGradientDescent", _gradient_descent, 1, {}, (), True, "var, alpha, delta"),
    ("ApplyAdagrad", _adagrad, 2, {"update_slots": True}, ("update_slots",), False, "var, accum, lr, grad"),
    ("ApplyRMSProp", rms_prop, 3, _LOCKING, (), True, "var, mean_square, moment, lr, grad, decay, momentum, epsilon"),
    ("ApplyAdadelta", adadelta, 3, {}, (), False, "var, accum, accum_update, lr, rho, epsilon, grad"),
    ("ApplyAdagradV2", adagrad, 2, {"epsilon": REQUIRED, "update_slots": True}, ("epsilon", "update_slots"), False, "var, accum, lr, grad"),
    ("ApplyAdagradDA", _adagrad_da, 3, _LOCKING, (), True, "var, sum of gradients, sum of squares, grad, lr, l1, l2, global_step"),
    ("ApplyAddSign", _add_sign, 2, {}, (), False, "var, m, lr, alpha, sign_decay, beta, grad"),
    ("ApplyPowerSign", _power_sign, 2, {}, (), False, "var, m, lr, logbase, sign_decay, beta, grad"),
    ("ApplyCenteredRMSProp", centered_rms_prop, 4, _LOCKING, (), True,
     "var, mean_gradient, mean_square, moment, grad, lr, decay, momentum, epsilon"),
    ("ApplyProximalAdagrad", proximal_adagrad, 2, _LOCKING, (), False, "var, accum, lr, l1, l2, grad"),
    ("ApplyProximalGradientDescent", _proximal_gradient_descent, 1, {}, (), True, "var, alpha, l1, l2, delta"),
    ("ApplyFtrl", ftrl, 3, _LOCKING, (), True, "var, accum, linear, grad, lr, l1, l2, lr_power"),
    ("ApplyAdamWithAmsgrad", _amsgrad, 4, {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, **_LOCKING},
     ("beta1", "beta2", "epsilon"), False, "var, m, v, vhat, beta1_power, beta2_power, lr, grad"),
    ("ApplyAdamWithAmsgradV2", _amsgrad_v2, 4, _LOCKING, (), False,
     "var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad"),
    ("ApplyAdaMax", ada_max, 3, {}, (), False, "var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad"),
):  # fmt: skip
    _doc = f"An optimizer's step, of ({_operands}): writes the new values into the first {_written} and returns "
    _step(_name, _fn, _written, _attributes, _static, _single, _doc + ("the first." if _single else "them."))
_step(
    "SGD", _sgd, 3, {"dampening": 0.0, "weight_decay": 0.0, "nesterov": False}, ("dampening", "weight_decay", "nesterov"), True,
    """A step of gradient descent, of (parameters, gradient, learning_rate, accum, momentum, stat); returns the parameters.

    Args:
        dampening (float): how much of the gradient the momentum leaves out. Default: 0.0.
        weight_decay (float): the share of the parameters that is added to the gradient. Default: 0.0.
        nesterov (bool): Default: False.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> w, accum, stat = (ms.Parameter(ms.Tensor([v])) for v in (1.0, 0.0, 1.0))
        >>> print(ops.SGD()(w, ms.Tensor([1.0]), 0.5, accum, 0.9, stat))
        [0.5]
    """,
    order=(0, 3, 5, 1, 2, 4),
)  # fmt: skip
