"""Operator classes of optimizers' steps: they write the new values into their Parameters."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.common.parameter import Parameter
from msjax.errors import describe
from msjax.ops.function.nn_func.optimizer_steps import (
    ada_max,
    adadelta,
    adagrad,
    adam,
    adam_weight_decay,
    centered_rms_prop,
    ftrl,
    proximal,
    proximal_adagrad,
    rms_prop,
    sgd,
)
from msjax.ops.primitive import REQUIRED, name_classes, operator_class


def _momentum(var, accum, lr, grad, momentum, nesterov, scale):
    return sgd(var, accum, grad * scale, lr, momentum, nesterov=nesterov)


def _gradient_descent(var, alpha, delta):
    return (var - alpha * delta,)


def _adagrad(var, accum, lr, grad, update_slots):
    return adagrad(var, accum, lr, grad, 0.0, update_slots)


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


def _proximal_gradient_descent(var, alpha, l1, l2, delta):
    return (proximal(var, alpha, l1, l2, delta),)


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

    call.__name__, call.__doc__ = name, doc
    globals()[name] = operator_class(**attributes)(call)


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

__all__ = name_classes(globals())
