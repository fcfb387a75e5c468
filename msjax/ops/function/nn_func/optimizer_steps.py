"""Formulas of optimizers: from a parameter, its slots, a gradient and settings to the new parameter and slots."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from msjax.typing import TensorLike


def sgd(
    var: TensorLike,
    accum: TensorLike,
    grad: TensorLike,
    lr: float,
    momentum: TensorLike,
    dampening: float = 0.0,
    nesterov: bool = False,
    first: Any = None,
) -> Any:
    """Gradient descent with momentum; where `first` is true, the momentum starts with the whole gradient."""
    started = momentum * accum + (1 - dampening) * grad
    accum = started if first is None else jnp.where(first, grad, started)
    return var - lr * (grad + momentum * accum if nesterov else accum), accum


def moments(m: Any, v: Any, grad: TensorLike, beta1: Any, beta2: Any) -> tuple[Any, Any]:
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
) -> Any:
    """A step of Adam; with `vhat`, the largest `v` so far, of AMSGrad."""
    m, v = moments(m, v, grad, beta1, beta2)
    largest = () if vhat is None else (jnp.maximum(vhat, v),)
    step = lr * jnp.sqrt(1 - beta2_power) / (1 - beta1_power)
    towards = m * beta1 + (1 - beta1) * grad if nesterov else m
    return var - step * towards / (jnp.sqrt(largest[0] if largest else v) + epsilon), m, v, *largest


def adam_weight_decay(
    var: TensorLike, m: Any, v: Any, lr: float, beta1: Any, beta2: Any, epsilon: TensorLike, decay: Any, grad: TensorLike
) -> tuple[Any, Any, Any]:
    m, v = moments(m, v, grad, beta1, beta2)
    return var - lr * (m / (jnp.sqrt(v) + epsilon) + decay * var), m, v


def adagrad(
    var: TensorLike, accum: TensorLike, lr: float, grad: TensorLike, epsilon: TensorLike, update_slots: bool = True
) -> Any:
    accum = accum + jnp.square(grad) if update_slots else accum
    return var - lr * grad / (jnp.sqrt(accum) + epsilon), accum


def rms_prop(
    var: TensorLike,
    mean_square: TensorLike,
    moment: TensorLike,
    lr: float,
    grad: TensorLike,
    decay: Any,
    momentum: TensorLike,
    epsilon: TensorLike,
) -> Any:
    mean_square = decay * mean_square + (1 - decay) * jnp.square(grad)
    moment = momentum * moment + lr * grad / jnp.sqrt(mean_square + epsilon)
    return var - moment, mean_square, moment


def adadelta(
    var: TensorLike, accum: TensorLike, accum_update: Any, lr: float, rho: Any, epsilon: TensorLike, grad: TensorLike
) -> Any:
    accum = rho * accum + (1 - rho) * jnp.square(grad)
    update = jnp.sqrt(accum_update + epsilon) / jnp.sqrt(accum + epsilon) * grad
    return var - lr * update, accum, rho * accum_update + (1 - rho) * jnp.square(update)


def ada_max(
    var: TensorLike, m: Any, v: Any, beta1_power: Any, lr: float, beta1: Any, beta2: Any, epsilon: TensorLike, grad: TensorLike
) -> tuple[Any, Any, Any]:
    m = beta1 * m + (1 - beta1) * grad
    v = jnp.maximum(beta2 * v, jnp.abs(grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


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
) -> Any:
    mean_gradient = decay * mean_gradient + (1 - decay) * grad
    mean_square = decay * mean_square + (1 - decay) * jnp.square(grad)
    moment = momentum * moment + lr * grad / jnp.sqrt(mean_square - jnp.square(mean_gradient) + epsilon)
    return var - moment, mean_gradient, mean_square, moment


def proximal(var: TensorLike, rate: Any, l1: TensorLike, l2: Any, grad: TensorLike) -> Any:
    moved = var - rate * grad
    return jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - rate * jnp.maximum(l1, 0), 0) / (1 + rate * l2)


def proximal_adagrad(var: TensorLike, accum: TensorLike, lr: float, l1: TensorLike, l2: Any, grad: TensorLike) -> Any:
    accum = accum + jnp.square(grad)
    return proximal(var, lr / jnp.sqrt(accum), l1, l2, grad), accum


def ftrl(
    var: TensorLike, accum: TensorLike, linear: Any, grad: TensorLike, lr: float, l1: TensorLike, l2: Any, lr_power: Any
) -> Any:
    larger = accum + jnp.square(grad)
    power = jnp.power(larger, -lr_power)
    linear = linear + grad - (power - jnp.power(accum, -lr_power)) / lr * var
    new = (jnp.sign(linear) * l1 - linear) / (power / lr + 2 * l2)
    return jnp.where(jnp.abs(linear) > l1, new, 0), larger, linear
