"""Optimizers that look at a Parameter as a whole: Lamb, LARS, AdaFactor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import ParametersLike
from msjax.core.base.checks import check_bool, check_float, check_number, check_type, check_value
from msjax.core.base.typing import JaxArray, JaxArrays
from msjax.engine.autograd.op import Op, apply
from msjax.nn.cell.base import Cell
from msjax.nn.learning_rate_schedule import LearningRate
from msjax.nn.optim.engine import Update
from msjax.nn.optim.optimizer import Optimizer
from msjax.ops.function.nn_func import optimizer_steps as formulas

__all__ = ["AdaFactor", "LARS", "Lamb"]


def _norm(x):
    return jnp.sqrt(jnp.sum(jnp.square(x)))


class Lamb(Optimizer):
    """Adam with the decay of weights apart, each Parameter's move scaled to its norm.

    Args:
        params, beta1, beta2, weight_decay: as in `Adam`.
        learning_rate: a number, table or schedule.
        eps (float): Default: 1e-6.
    """

    constants: tuple[str, ...] = ("beta1", "beta2", "eps")
    decays_gradient = False

    def __init__(
        self,
        params: ParametersLike,
        learning_rate: LearningRate,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        self._set_betas(beta1, beta2, eps)
        self.add_state("lamb_m", attribute="moments1")
        self.add_state("lamb_v", attribute="moments2")

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        t = u.context.astype(u.value.dtype)
        m, v = formulas.moments(*u.slots, u.grad, c.beta1, c.beta2)
        move = (m / (1 - c.beta1**t)) / (jnp.sqrt(v / (1 - c.beta2**t)) + c.eps) + u.decay * u.value
        size, move_size = _norm(u.value), _norm(move)
        trust = jnp.where((size > 0) & (move_size > 0), size / jnp.where(move_size > 0, move_size, 1), 1)
        return u.value - u.rate * trust * move, m, v


class LARS(Optimizer):
    """Scales the gradient of each Parameter to its norm, and lets another optimizer make the step.

    The factor is coefficient * |w| / (|g| + decay * |w| + epsilon). The decay is that of the wrapped optimizer, which
    leaves it to this one.

    Args:
        optimizer (Optimizer): the optimizer that makes the step.
        epsilon (float): Default: 1e-5.
        coefficient (float): Default: 0.001.
        use_clip (bool): whether the factor times learning rate is kept below the learning rate. Default: False.
        lars_filter (callable): says of a Parameter whether its gradient is scaled. By default those whose names have
            neither "LayerNorm" nor "bias".
    """

    def __init__(
        self, optimizer: Optimizer, epsilon: float = 1e-5, coefficient: float = 0.001, use_clip: bool = False,
        lars_filter: Callable[..., Any] = lambda x: "LayerNorm" not in x.name and "bias" not in x.name,
    ):  # fmt: skip
        check_type(optimizer, Optimizer, "optimizer", "LARS")
        super().__init__(0.0, [Parameter(Tensor(0.0), name="fake_param")])
        self.epsilon: float = check_float(epsilon, "epsilon", "LARS")
        self.coefficient: float = check_float(coefficient, "coefficient", "LARS")
        self.use_clip: bool = check_bool(use_clip, "use_clip", "LARS")
        if use_clip and optimizer.is_group_lr and optimizer.dynamic_lr:
            raise ValueError("For 'LARS', use_clip=True can't go with learning rates that groups have and that change.")
        self.opt = optimizer
        rate: Any = self.learning_rate
        rate.name = "fake_lr"
        self.parameters = optimizer.parameters
        self.is_group: bool = optimizer.is_group
        self.lars_flag: tuple[bool, ...] = tuple(bool(lars_filter(p)) for p in optimizer.parameters)
        self._rates, self._decays, self._states, self._shared = optimizer._rates, optimizer._decays, {}, ()
        self._centralized = optimizer._centralized
        self.loss_scale, self.reciprocal_scale = optimizer.loss_scale, optimizer.reciprocal_scale
        self.decay_flags, self.dynamic_weight_decay = optimizer.decay_flags, optimizer.dynamic_weight_decay
        # LARS applies the decay and the loss scale, so the wrapped optimizer must not.
        optimizer._decays = (0.0,) * len(optimizer.parameters)
        optimizer.decay_flags = (False,) * len(optimizer.parameters)
        optimizer.dynamic_weight_decay = optimizer.exec_weight_decay = False
        optimizer.loss_scale = optimizer.reciprocal_scale = 1.0

    def construct(self, gradients: Sequence[Tensor]) -> Tensor | bool:
        if len(gradients) != len(self.parameters):
            raise ValueError(f"For 'LARS', {len(self.parameters)} gradients are expected, but got {len(gradients)}.")
        self.global_step.set_data(self.opt.global_step)
        scaled = [self._scale(i, g) if self.lars_flag[i] else g * self.reciprocal_scale for i, g in enumerate(gradients)]
        return self.opt(tuple(scaled))

    def _scale(self, i, grad):
        parameter = self.parameters[i]
        decay = self._decay(self._decays[i]) if self.decay_flags[i] else Tensor(0.0)
        rate = self._lr(self._rates[i]) if self.use_clip else None
        return apply(_lars, (parameter, grad, decay, rate, self.reciprocal_scale, self.epsilon, self.coefficient))

    def get_lr(self) -> Parameter:
        """The wrapped optimizer's."""
        return self.opt.get_lr()


class AdaFactor(Optimizer):
    """Adam whose mean squares of a matrix are kept as those of its rows and columns.

    Args:
        params, loss_scale: as in `Adam`.
        learning_rate: a number, table or schedule; None with `relative_step`.
        eps (tuple of float): added to squares, and the smallest scale of a Parameter. Default: (1e-30, 1e-3).
        clip_threshold (float): the largest root mean square of a move. Default: 1.0.
        decay_rate (float): the power in which means come to keep more. Default: 0.8.
        beta1 (float): how much of the mean of moves is kept; 0.0 for no such mean. Default: 0.9.
        weight_decay (float): for all Parameters; as in MindSpore, that of a group has no effect. Default: 0.0.
        scale_parameter (bool): whether the learning rate is scaled by a Parameter's root mean square. Default: True.
        relative_step (bool): whether the learning rate follows from the step. Default: True.
        warmup_init (bool): whether it then grows at first. Default: False.
        compression (bool): whether the mean squares of vectors are kept in float16. Default: False.
    """

    constants: tuple[str, ...] = (
        "eps",
        "clip_threshold",
        "decay_rate",
        "beta1",
        "scale_parameter",
        "relative_step",
        "warmup_init",
    )
    decays_gradient = False

    def __init__(
        self, params: ParametersLike, learning_rate: LearningRate | None = None, eps: tuple[float, ...] = (1e-30, 1e-3),
        clip_threshold: float = 1.0, decay_rate: float = 0.8, beta1: float = 0.9, weight_decay: float | Cell = 0.0,
        scale_parameter: bool = True, relative_step: bool = True, warmup_init: bool = False, compression: bool = False,
        loss_scale: float = 1.0,
    ):  # fmt: skip
        if learning_rate is not None and relative_step:
            raise ValueError("For 'AdaFactor', a learning rate needs relative_step=False.")
        if warmup_init and not relative_step:
            raise ValueError("For 'AdaFactor', warmup_init=True needs relative_step=True.")
        super().__init__(0.0 if learning_rate is None else learning_rate, params, weight_decay, loss_scale)
        check_value(eps, isinstance(eps, (list, tuple)) and len(eps) == 2, "be a tuple of two floats", "eps", "AdaFactor")
        self.scale_parameter: bool = check_bool(scale_parameter, "scale_parameter", "AdaFactor")
        self.relative_step: bool = check_bool(relative_step, "relative_step", "AdaFactor")
        self.warmup_init: bool = check_bool(warmup_init, "warmup_init", "AdaFactor")
        check_bool(compression, "compression", "AdaFactor")
        # Unlike in other optimizers, this decay applies to all Parameters, whatever their names or groups.
        self._decays = (weight_decay,) * len(self.parameters)
        self.eps: tuple[float, ...] = tuple(float(e) for e in eps)
        self.clip_threshold: float = float(check_number(clip_threshold, "clip_threshold", "AdaFactor", above=0))
        self.decay_rate: float = check_float(decay_rate, "decay_rate", "AdaFactor", low=0)
        self.beta1: float = float(check_number(beta1 or 0, "beta1", "AdaFactor", low=0, high=1))
        if self.beta1:
            self.add_state("exp_avg")
        self.add_state("exp_avg_sq_row", start=lambda x: jnp.zeros(x.shape[:-1] if x.ndim >= 2 else 1, x.dtype), form="{}_{}")
        self.add_state(
            "exp_avg_sq_col", start=lambda x: jnp.zeros(x.shape[:-2] + x.shape[-1:] if x.ndim >= 2 else 1, x.dtype), form="{}_{}"
        )
        small = jnp.float16 if compression else None
        self.add_state(
            "exp_avg_sq", start=lambda x: jnp.zeros(1, x.dtype) if x.ndim >= 2 else jnp.zeros_like(x, small), form="{}_{}"
        )
        self.add_shared("afactor_step", Tensor(np.zeros(1), mstype.float32))

    @staticmethod
    def begin(c: SimpleNamespace, shared: dict[str, JaxArray], step: JaxArray, rate: JaxArray) -> tuple[Any, dict[str, JaxArray]]:
        t = shared["afactor_step"].reshape(()) + 1
        return t, {"afactor_step": t.reshape(1)}

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        rate = u.rate
        *mean, rows, columns, squares = u.slots
        t = u.context.astype(u.value.dtype)
        if c.relative_step:
            rate = jnp.minimum(1e-6 * t if c.warmup_init else 1e-2, 1 / jnp.sqrt(t)).astype(u.value.dtype)
        if c.scale_parameter:
            rate = rate * jnp.maximum(jnp.asarray(c.eps[1]), formulas.rms(u.value))
        kept = 1 - t ** -float(c.decay_rate)
        move, rows, columns, squares = formulas.ada_factor(u.grad, rows, columns, squares, kept, c.eps[0], c.clip_threshold)
        move = move * rate
        if c.beta1:
            move = c.beta1 * mean[0] + (1 - c.beta1) * move
            mean = [move]
        return u.value * (1 - u.decay * rate) - move, *mean, rows, columns, squares


@partial(Op, "LARSUpdate")
def _lars(value, grad, decay, rate, scale, epsilon, coefficient):
    grad = grad * scale
    size, grad_size = _norm(value), _norm(grad)
    trust = coefficient * size / (grad_size + decay * size + epsilon)
    trust = jnp.where((size > 0) & (grad_size > 0), trust, 1)
    if rate is not None:
        trust = jnp.minimum(trust / rate, 1)
    return ((grad + decay * value) * trust).astype(value.dtype)
