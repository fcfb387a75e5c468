"""Operator classes that perform one step of an optimizer and write the new values into their Parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp

from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_kind
from msjax.engine.autograd.op import Op, apply
from msjax.ops.function.nn_func.optimizer_steps import (
    ada_factor,
    ada_max,
    adadelta,
    adagrad,
    adam,
    adam_weight_decay,
    centered_rms_prop,
    ftrl,
    proximal,
    proximal_adagrad,
    rms,
    rms_prop,
    sgd,
)
from msjax.ops.primitive import Form

__all__ = [
    "ApplyMomentum", "Adam", "AdamWeightDecay", "ApplyGradientDescent", "ApplyAdagrad", "ApplyRMSProp", "ApplyAdadelta",
    "ApplyAdagradV2", "ApplyAdagradDA", "ApplyAddSign", "ApplyPowerSign", "ApplyCenteredRMSProp", "ApplyProximalAdagrad",
    "ApplyProximalGradientDescent", "ApplyFtrl", "ApplyAdamWithAmsgrad", "ApplyAdamWithAmsgradV2", "ApplyAdaMax", "SGD",
    "FusedAdaFactor", "FusedAdaFactorWithGlobalNorm",
]  # fmt: skip


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


def _fused_ada_factor(
    var, mean, rows, columns, squares, grad, floor, least, clip, beta1, beta2, decay, lr, norm, by_size, with_mean, decayed
):
    move, rows, columns, squares = ada_factor(grad / norm, rows, columns, squares, beta2, floor, clip)
    lr = lr * jnp.maximum(least, rms(var)) if by_size else lr
    move = move * lr
    if with_mean:
        move = mean = beta1 * mean + (1 - beta1) * move
    return (var * (1 - decay * lr) if decayed else var) - move, mean, rows, columns, squares


class _Step(Form):
    """A class whose call runs a function of the operands and the attributes, and writes its results into the first operands.

    Args:
        of (callable): the function. It takes the attributes after the operands, but for `use_locking`.
        written (int): how many operands are written.
        order (tuple, optional): the places of the operands that the function takes. Default: None, for all in their order.
    """

    _op: ClassVar[Op]
    _static: ClassVar[list[str]]
    _written: ClassVar[int]
    _order: ClassVar[tuple[int, ...] | None]

    def __init_subclass__(
        cls, of: Callable[..., Any] | None = None, written: int = 0, order: tuple[int, ...] | None = None
    ) -> None:
        super().__init_subclass__()
        if of is None:
            return
        cls._static = [key for key in cls._arguments if key != "use_locking"]
        cls._written, cls._order = written, order

        def kernel(*args):
            new = of(*args)
            return tuple(n.astype(old.dtype) for n, old in zip(new, args))

        cls._op = Op(cls.__name__, kernel, differentiable=False)
        if cls.__doc__ is None:
            names = [p.name for p in inspect.signature(of).parameters.values() if p.default is p.empty]
            operands = ", ".join(n for n in names if not any(f"_{key}".endswith(f"_{n}") for key in cls._static))
            returned = "the first" if issubclass(cls, _First) else "them"
            cls.__doc__ = (
                f"An optimizer's step, called with ({operands}): writes the new values into the first {written} and returns "
                f"{returned}."
            )

    def _run(self, operands):
        given = operands if self._order is None else [operands[i] for i in self._order]
        for operand in given[: self._written]:
            check_kind(
                operand, isinstance(operand, Parameter), "be Parameters", f"the first {self._written} operand(s)", self._operator
            )
        out = apply(self._op, given, tuple(getattr(self, key) for key in self._static))
        for operand, new in zip(given, out):
            operand._set_value(new._value)
        return out


class _All(_Step):
    def __call__(self, *operands: TensorLike) -> tuple[Tensor, ...]:
        return self._run(operands)


class _First(_Step):
    def __call__(self, *operands: TensorLike) -> Tensor:
        return self._run(operands)[0]


class ApplyMomentum(_First, of=_momentum, written=2):
    """A step with momentum, of (variable, accumulation, learning_rate, gradient, momentum); returns the variable.

    Args:
        use_nesterov (bool): Default: False.
        use_locking (bool): accepted for compatibility with MindSpore, without effect.
        gradient_scale (float): Default: 1.0.

    Example:
        >>> from msjax import Parameter, Tensor, ops
        >>> w, accum = Parameter(Tensor([1.0])), Parameter(Tensor([0.0]))
        >>> print(ops.ApplyMomentum()(w, accum, 0.5, Tensor([1.0]), 0.9))
        [0.5]
    """

    use_nesterov: bool = False
    use_locking: bool = False
    gradient_scale: float = 1.0


class Adam(_All, of=adam, written=3):
    """A step of Adam, of (var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient); returns var, m and v.

    Args:
        use_locking (bool): accepted for compatibility with MindSpore, without effect.
        use_nesterov (bool): Default: False.
    """

    use_locking: bool = False
    use_nesterov: bool = False


class SGD(_First, of=_sgd, written=3, order=(0, 3, 5, 1, 2, 4)):
    """A step of gradient descent, of (parameters, gradient, learning_rate, accum, momentum, stat); returns the parameters.

    Args:
        dampening (float): how much of the gradient the momentum leaves out. Default: 0.0.
        weight_decay (float): the share of the parameters that is added to the gradient. Default: 0.0.
        nesterov (bool): Default: False.

    Example:
        >>> from msjax import Parameter, Tensor, ops
        >>> w, accum, stat = (Parameter(Tensor([v])) for v in (1.0, 0.0, 1.0))
        >>> print(ops.SGD()(w, Tensor([1.0]), 0.5, accum, 0.9, stat))
        [0.5]
    """

    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False


class ApplyAdagradV2(_All, of=adagrad, written=2):
    epsilon: float
    update_slots: bool = True


class ApplyAdamWithAmsgrad(_All, of=_amsgrad, written=4):
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-08
    use_locking: bool = False


class FusedAdaFactor(_All, of=_fused_ada_factor, written=5, order=(8, 9, 10, 11, 12, 7, *range(7), 13)):
    """A step of AdaFactor, of (epsilon, clip_threshold, beta1, beta2, weight_decay, learning_rate, gradient, param, exp_avg,
    exp_avg_sq_row, exp_avg_sq_col, exp_avg_sq); writes the last five, and returns them.

    `epsilon` is a pair. For `FusedAdaFactorWithGlobalNorm` the norm by which gradients are divided comes last.

    Args:
        enable_scale_parameter (bool): the rate is relative to the parameter's size. Default: False.
        enable_first_moment (bool): use the running mean of the moves. Default: False.
        enable_weight_decay (bool): Default: False.

    Example:
        >>> from msjax import Parameter, Tensor, ops
        >>> w, mean, row, column, squares = (Parameter(Tensor([v])) for v in (1.0, 0.0, 0.0, 0.0, 0.0))
        >>> _ = ops.FusedAdaFactor()((1e-30, 1e-3), 1.0, 0.9, 0.75, 0.0, 0.5, Tensor([1.0]), w, mean, row, column, squares)
        >>> print(w.asnumpy(), squares.asnumpy())
        [0.5] [0.25]
    """

    enable_scale_parameter: bool = False
    enable_first_moment: bool = False
    enable_weight_decay: bool = False

    def __call__(self, epsilon: tuple[float, float], *operands: TensorLike) -> tuple[Tensor, ...]:
        return self._run((*epsilon, *operands, 1.0))


class FusedAdaFactorWithGlobalNorm(FusedAdaFactor):
    """`FusedAdaFactor`, called with the norm by which the gradients are divided as the last operand."""

    def __call__(self, epsilon: tuple[float, float], *operands: TensorLike) -> tuple[Tensor, ...]:
        return self._run((*epsilon, *operands))


# fmt: off
class AdamWeightDecay(_All, of=adam_weight_decay, written=3): use_locking: bool = False
class ApplyGradientDescent(_First, of=_gradient_descent, written=1): ...
class ApplyAdagrad(_All, of=_adagrad, written=2): update_slots: bool = True
class ApplyRMSProp(_First, of=rms_prop, written=3): use_locking: bool = False
class ApplyAdadelta(_All, of=adadelta, written=3): ...
class ApplyAdagradDA(_First, of=_adagrad_da, written=3): use_locking: bool = False
class ApplyAddSign(_All, of=_add_sign, written=2): ...
class ApplyPowerSign(_All, of=_power_sign, written=2): ...
class ApplyCenteredRMSProp(_First, of=centered_rms_prop, written=4): use_locking: bool = False
class ApplyProximalAdagrad(_All, of=proximal_adagrad, written=2): use_locking: bool = False
class ApplyProximalGradientDescent(_First, of=_proximal_gradient_descent, written=1): ...
class ApplyFtrl(_First, of=ftrl, written=3): use_locking: bool = False
class ApplyAdamWithAmsgradV2(_All, of=_amsgrad_v2, written=4): use_locking: bool = False
class ApplyAdaMax(_All, of=ada_max, written=3): ...
# fmt: on
