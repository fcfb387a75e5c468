"""Operator classes that perform one step of an optimizer and write the new values into their Parameters."""

from __future__ import annotations

import inspect

import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.base.errors import describe
from msjax.base.typing import TensorLike
from msjax.common.parameter import Parameter
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


def _step(name, fn, written, doc=None, *, first=False, order=None, **attributes):
    """A class whose call runs `fn` and writes its results into the first `written` operands (of those in `order`).

    Args:
        first (bool): whether the call returns the first result only.
        attributes: what the constructor takes; all but `use_locking` are passed to `fn` after the operands.
    """
    static = [key for key in attributes if key != "use_locking"]
    names = [p.name for p in inspect.signature(fn).parameters.values() if p.default is p.empty]
    operands = ", ".join(n for n in names if not any(f"_{key}".endswith(f"_{n}") for key in static))

    def kernel(*args):
        new = fn(*args)
        return tuple(n.astype(old.dtype) for n, old in zip(new, args))

    op = Op(name, kernel, differentiable=False)

    def call(self, *operands: TensorLike):
        given = [operands[i] for i in order] if order is not None else operands
        for operand in given[:written]:
            if not isinstance(operand, Parameter):
                raise TypeError(
                    f"For '{name}', the first {written} operand(s) should be Parameters, but got {describe(operand)}."
                )
        out = apply(op, given, tuple(getattr(self, key) for key in static))
        for operand, new in zip(given, out):
            operand._value = new._value
        return out[0] if first else out

    call.__annotations__["return"] = "Tensor" if first else "tuple[Tensor, ...]"
    returned = "the first" if first else "them"
    call.__doc__ = doc or (
        f"An optimizer's step, called with ({operands}): writes the new values into the first {written} and returns {returned}."
    )
    return operator_class(**attributes)(call)


ApplyMomentum = _step(
    "ApplyMomentum", _momentum, 2,
    """A step with momentum, of (variable, accumulation, learning_rate, gradient, momentum); returns the variable.

    Args:
        use_nesterov (bool): Default: False.
        use_locking (bool): accepted for compatibility with MindSpore, without effect.
        gradient_scale (float): Default: 1.0.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> w, accum = ms.Parameter(ms.Tensor([1.0])), ms.Parameter(ms.Tensor([0.0]))
        >>> print(ops.ApplyMomentum()(w, accum, 0.5, ms.Tensor([1.0]), 0.9))
        [0.5]
    """, first=True, use_nesterov=False, use_locking=False, gradient_scale=1.0,
)  # fmt: skip
Adam = _step(
    "Adam", adam, 3,
    """A step of Adam, of (var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient); returns var, m and v.

    Args:
        use_locking (bool): accepted for compatibility with MindSpore, without effect.
        use_nesterov (bool): Default: False.
    """, use_locking=False, use_nesterov=False,
)  # fmt: skip
AdamWeightDecay = _step("AdamWeightDecay", adam_weight_decay, 3, use_locking=False)
ApplyGradientDescent = _step("ApplyGradientDescent", _gradient_descent, 1, first=True)
ApplyAdagrad = _step("ApplyAdagrad", _adagrad, 2, update_slots=True)
ApplyRMSProp = _step("ApplyRMSProp", rms_prop, 3, first=True, use_locking=False)
ApplyAdadelta = _step("ApplyAdadelta", adadelta, 3)
ApplyAdagradV2 = _step("ApplyAdagradV2", adagrad, 2, epsilon=REQUIRED, update_slots=True)
ApplyAdagradDA = _step("ApplyAdagradDA", _adagrad_da, 3, first=True, use_locking=False)
ApplyAddSign = _step("ApplyAddSign", _add_sign, 2)
ApplyPowerSign = _step("ApplyPowerSign", _power_sign, 2)
ApplyCenteredRMSProp = _step("ApplyCenteredRMSProp", centered_rms_prop, 4, first=True, use_locking=False)
ApplyProximalAdagrad = _step("ApplyProximalAdagrad", proximal_adagrad, 2, use_locking=False)
ApplyProximalGradientDescent = _step("ApplyProximalGradientDescent", _proximal_gradient_descent, 1, first=True)
ApplyFtrl = _step("ApplyFtrl", ftrl, 3, first=True, use_locking=False)
ApplyAdamWithAmsgrad = _step("ApplyAdamWithAmsgrad", _amsgrad, 4, beta1=0.9, beta2=0.999, epsilon=1e-08, use_locking=False)
ApplyAdamWithAmsgradV2 = _step("ApplyAdamWithAmsgradV2", _amsgrad_v2, 4, use_locking=False)
ApplyAdaMax = _step("ApplyAdaMax", ada_max, 3)
SGD = _step(
    "SGD", _sgd, 3,
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
    """, first=True, order=(0, 3, 5, 1, 2, 4), dampening=0.0, weight_decay=0.0, nesterov=False,
)  # fmt: skip

name_classes(globals())
