"""The usual optimizers."""

import jax.numpy as jnp

from msjax.nn.optim.optimizer import Optimizer


class Momentum(Optimizer):
    """v = momentum * v + grad; the Parameter moves by -lr * v, with Nesterov by -lr * (grad + momentum * v).

    Args:
        params: Parameters or parameter groups.
        learning_rate: a number, table or schedule.
        momentum (float): not negative.
        weight_decay (float): Default: 0.0.
        loss_scale (float): Default: 1.0.
        use_nesterov (bool): Default: False.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = nn.Momentum([w], 0.1, 0.9)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.8]
    """

    slots = {"moments": jnp.zeros_like}

    def __init__(self, params, learning_rate, momentum, weight_decay=0.0, loss_scale=1.0, use_nesterov=False):
        if isinstance(momentum, (int, float)) and momentum < 0:
            raise ValueError(f"For 'Momentum', 'momentum' should not be negative, but got {momentum}.")
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.momentum = float(momentum)
        self.use_nesterov = bool(use_nesterov)

    def update(self, value, grad, slots, rate, step):
        v = self.momentum * slots[0] + grad
        return value - rate * (grad + self.momentum * v if self.use_nesterov else v), (v,)


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and dampening if asked for.

    Args:
        params: Parameters or parameter groups.
        learning_rate: a number, table or schedule. Default: 0.1.
        momentum (float): Default: 0.0.
        dampening (float): the gradient enters the momentum as (1 - dampening) * grad, after the first step. Default: 0.0.
        weight_decay (float): Default: 0.0.
        nesterov (bool): needs momentum and no dampening. Default: False.
        loss_scale (float): Default: 1.0.
    """

    slots = {"accum": jnp.zeros_like, "stat": jnp.ones_like}

    def __init__(self, params, learning_rate=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, loss_scale=1.0):
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                f"For 'SGD', nesterov=True needs a momentum and no dampening, but got momentum={momentum}, dampening={dampening}."
            )
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.momentum = float(momentum)
        self.dampening = float(dampening)
        self.nesterov = bool(nesterov)

    def update(self, value, grad, slots, rate, step):
        accum, stat = slots
        if not self.momentum:
            return value - rate * grad, slots
        accum = jnp.where(stat > 0, grad, self.momentum * accum + (1 - self.dampening) * grad)
        move = grad + self.momentum * accum if self.nesterov else accum
        return value - rate * move, (accum, jnp.zeros_like(stat))


class Adam(Optimizer):
    """Adaptive moment estimation, with the correction of the bias in the learning rate.

    Args:
        params: Parameters or parameter groups.
        learning_rate: a number, table or schedule. Default: 1e-3.
        beta1, beta2 (float): Default: 0.9, 0.999.
        eps (float): Default: 1e-8.
        use_locking, use_nesterov, use_amsgrad (bool): Nesterov's and the AMSGrad variant; locking is without effect.
        weight_decay (float): Default: 0.0.
        loss_scale (float): Default: 1.0.
    """

    slots = {"moment1": jnp.zeros_like, "moment2": jnp.zeros_like}

    def __init__(
        self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, use_locking=False, use_nesterov=False,
        weight_decay=0.0, loss_scale=1.0, use_amsgrad=False,
    ):  # fmt: skip
        for name, beta in (("beta1", beta1), ("beta2", beta2)):
            if not 0 < beta < 1:
                raise ValueError(f"For 'Adam', '{name}' should be between 0 and 1, but got {beta}.")
        if eps <= 0:
            raise ValueError(f"For 'Adam', 'eps' should be positive, but got {eps}.")
        if use_amsgrad:
            raise NotImplementedError("For 'Adam', use_amsgrad=True is not offered.")
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1, self.beta2, self.eps, self.use_nesterov = float(beta1), float(beta2), float(eps), bool(use_nesterov)

    def update(self, value, grad, slots, rate, step):
        m = self.beta1 * slots[0] + (1 - self.beta1) * grad
        v = self.beta2 * slots[1] + (1 - self.beta2) * jnp.square(grad)
        t = step.astype(value.dtype)
        rate = rate * jnp.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)
        top = self.beta1 * m + (1 - self.beta1) * grad if self.use_nesterov else m
        return value - rate * top / (jnp.sqrt(v) + self.eps), (m, v)


class RMSProp(Optimizer):
    """Gradients divided by the root of their mean square, which starts at one.

    Args:
        params: Parameters or parameter groups.
        learning_rate: a number, table or schedule. Default: 0.1.
        decay (float): of the mean square. Default: 0.9.
        momentum (float): Default: 0.0.
        epsilon (float): Default: 1e-10.
        use_locking (bool): without effect.
        centered (bool): whether the mean is subtracted. Default: False.
        loss_scale (float): Default: 1.0.
        weight_decay (float): Default: 0.0.
    """

    slots = {"ms": jnp.ones_like, "moment": jnp.zeros_like, "mg": jnp.zeros_like}

    def __init__(
        self, params, learning_rate=0.1, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False,
        loss_scale=1.0, weight_decay=0.0,
    ):  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.decay, self.momentum, self.epsilon, self.centered = float(decay), float(momentum), float(epsilon), bool(centered)

    def update(self, value, grad, slots, rate, step):
        mean_square, moment, mean = slots
        mean_square = self.decay * mean_square + (1 - self.decay) * jnp.square(grad)
        spread = mean_square
        if self.centered:
            mean = self.decay * mean + (1 - self.decay) * grad
            spread = mean_square - jnp.square(mean)
        moment = self.momentum * moment + rate * grad / jnp.sqrt(spread + self.epsilon)
        return value - moment, (mean_square, moment, mean)
