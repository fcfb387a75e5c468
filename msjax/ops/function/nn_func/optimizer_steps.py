"""Formulas of optimizers: from a parameter, its slots, a gradient and settings to the new parameter and slots."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from msjax.core.base.typing import JaxArray, JaxNumber


def sgd(
    var: JaxArray,
    accum: JaxArray,
    grad: JaxArray,
    lr: JaxNumber,
    momentum: JaxNumber,
    dampening: JaxNumber = 0.0,
    nesterov: bool = False,
    first: JaxArray | None = None,
) -> tuple[JaxArray, JaxArray]:
    """Gradient descent with momentum; where `first` is true, the momentum starts with the whole gradient."""
    if first is None and not nesterov and dampening == 0 and _of_one_dtype(var, accum, grad, lr, momentum):
        # By functions of jax.lax, which take a third of the time of jax.numpy's to trace: networks have hundreds of parameters.
        accum = lax.add(lax.mul(momentum, accum), grad)
        return lax.sub(var, lax.mul(lr, accum)), accum
    started = momentum * accum + (1 - dampening) * grad
    accum = started if first is None else jnp.where(first, grad, started)
    return var - lr * (grad + momentum * accum if nesterov else accum), accum


def _of_one_dtype(var, *others):
    return all(getattr(v, "dtype", None) == var.dtype and v.shape in (var.shape, ()) for v in others)


def moments(m: JaxArray, v: JaxArray, grad: JaxArray, beta1: JaxNumber, beta2: JaxNumber) -> tuple[JaxArray, JaxArray]:
    """The running means of the gradients and of their squares."""
    return m + (grad - m) * (1 - beta1), v + (jnp.square(grad) - v) * (1 - beta2)


def adam(
    var: JaxArray,
    m: JaxArray,
    v: JaxArray,
    beta1_power: JaxNumber,
    beta2_power: JaxNumber,
    lr: JaxNumber,
    beta1: JaxNumber,
    beta2: JaxNumber,
    epsilon: JaxNumber,
    grad: JaxArray,
    nesterov: bool = False,
    vhat: JaxArray | None = None,
) -> tuple[JaxArray, ...]:
    """A step of Adam; with `vhat`, the largest `v` so far, of AMSGrad."""
    m, v = moments(m, v, grad, beta1, beta2)
    largest = () if vhat is None else (jnp.maximum(vhat, v),)
    step = lr * jnp.sqrt(1 - beta2_power) / (1 - beta1_power)
    towards = m * beta1 + (1 - beta1) * grad if nesterov else m
    return var - step * towards / (jnp.sqrt(largest[0] if largest else v) + epsilon), m, v, *largest


def adam_weight_decay(
    var: JaxArray,
    m: JaxArray,
    v: JaxArray,
    lr: JaxNumber,
    beta1: JaxNumber,
    beta2: JaxNumber,
    epsilon: JaxNumber,
    decay: JaxNumber,
    grad: JaxArray,
) -> tuple[JaxArray, JaxArray, JaxArray]:
    m, v = moments(m, v, grad, beta1, beta2)
    return var - lr * (m / (jnp.sqrt(v) + epsilon) + decay * var), m, v


def adagrad(
    var: JaxArray, accum: JaxArray, lr: JaxNumber, grad: JaxArray, epsilon: JaxNumber, update_slots: bool = True
) -> tuple[JaxArray, JaxArray]:
    accum = accum + jnp.square(grad) if update_slots else accum
    return var - lr * grad / (jnp.sqrt(accum) + epsilon), accum


def rms_prop(
    var: JaxArray,
    mean_square: JaxArray,
    moment: JaxArray,
    lr: JaxNumber,
    grad: JaxArray,
    decay: JaxNumber,
    momentum: JaxNumber,
    epsilon: JaxNumber,
) -> tuple[JaxArray, JaxArray, JaxArray]:
    mean_square = decay * mean_square + (1 - decay) * jnp.square(grad)
    moment = momentum * moment + lr * grad / jnp.sqrt(mean_square + epsilon)
    return var - moment, mean_square, moment


def adadelta(
    var: JaxArray, accum: JaxArray, accum_update: JaxArray, lr: JaxNumber, rho: JaxNumber, epsilon: JaxNumber, grad: JaxArray
) -> tuple[JaxArray, JaxArray, JaxArray]:
    accum = rho * accum + (1 - rho) * jnp.square(grad)
    update = jnp.sqrt(accum_update + epsilon) / jnp.sqrt(accum + epsilon) * grad
    return var - lr * update, accum, rho * accum_update + (1 - rho) * jnp.square(update)


def ada_max(
    var: JaxArray,
    m: JaxArray,
    v: JaxArray,
    beta1_power: JaxNumber,
    lr: JaxNumber,
    beta1: JaxNumber,
    beta2: JaxNumber,
    epsilon: JaxNumber,
    grad: JaxArray,
) -> tuple[JaxArray, JaxArray, JaxArray]:
    m = beta1 * m + (1 - beta1) * grad
    v = jnp.maximum(beta2 * v, jnp.abs(grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


def centered_rms_prop(
    var: JaxArray,
    mean_gradient: JaxArray,
    mean_square: JaxArray,
    moment: JaxArray,
    grad: JaxArray,
    lr: JaxNumber,
    decay: JaxNumber,
    momentum: JaxNumber,
    epsilon: JaxNumber,
) -> tuple[JaxArray, JaxArray, JaxArray, JaxArray]:
    mean_gradient = decay * mean_gradient + (1 - decay) * grad
    mean_square = decay * mean_square + (1 - decay) * jnp.square(grad)
    moment = momentum * moment + lr * grad / jnp.sqrt(mean_square - jnp.square(mean_gradient) + epsilon)
    return var - moment, mean_gradient, mean_square, moment


def proximal(var: JaxArray, rate: JaxNumber, l1: JaxNumber, l2: JaxNumber, grad: JaxArray) -> JaxArray:
    moved = var - rate * grad
    return jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - rate * jnp.maximum(jnp.asarray(l1), 0), 0) / (1 + rate * l2)


def proximal_adagrad(
    var: JaxArray, accum: JaxArray, lr: JaxNumber, l1: JaxNumber, l2: JaxNumber, grad: JaxArray
) -> tuple[JaxArray, JaxArray]:
    accum = accum + jnp.square(grad)
    return proximal(var, lr / jnp.sqrt(accum), l1, l2, grad), accum


def ftrl(
    var: JaxArray,
    accum: JaxArray,
    linear: JaxArray,
    grad: JaxArray,
    lr: JaxNumber,
    l1: JaxNumber,
    l2: JaxNumber,
    lr_power: JaxNumber,
) -> tuple[JaxArray, JaxArray, JaxArray]:
    larger = accum + jnp.square(grad)
    power = jnp.power(larger, -lr_power)
    linear = linear + grad - (power - jnp.power(accum, -lr_power)) / lr * var
    new = (jnp.sign(linear) * l1 - linear) / (power / lr + 2 * l2)
    return jnp.where(jnp.abs(linear) > l1, new, 0), larger, linear


def rms(x: JaxArray) -> JaxArray:
    """The root of the mean of the squares."""
    return jnp.sqrt(jnp.mean(jnp.square(x)))


def ada_factor(
    grad: JaxArray, rows: JaxArray, columns: JaxArray, squares: JaxArray, decay: JaxNumber, epsilon: JaxNumber, clip: JaxNumber
) -> tuple[JaxArray, ...]:
    """AdaFactor's move for a rate of 1, and the means of squares; of two and more axes those by rows and by columns alone."""
    square = jnp.square(grad) + epsilon
    if grad.ndim >= 2:
        rows = decay * rows + (1 - decay) * jnp.mean(square, -1)
        columns = decay * columns + (1 - decay) * jnp.mean(square, -2)
        share = rows / jnp.mean(rows, -1, keepdims=True)
        move = grad / jnp.sqrt(share[..., :, None] * columns[..., None, :])
    else:
        squares = decay * squares + (1 - decay) * square
        move = grad / jnp.sqrt(squares)
    return move / jnp.maximum(1, rms(move) / clip), rows, columns, squares
