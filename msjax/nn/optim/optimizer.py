"""Optimizer: the base of optimizers. One compiled program updates all Parameters at once."""

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.parameter import Parameter, ParameterTuple
from msjax.common.tensor import Tensor, wrap
from msjax.errors import describe
from msjax.nn.cell import Cell
from msjax.nn.learning_rate_schedule import LearningRateSchedule


class Optimizer(Cell):
    """Base of optimizers.

    A subclass names its state in `slots` and defines `update`, which moves one Parameter.

    Args:
        learning_rate: a number; a Tensor or list with one for each step; or a LearningRateSchedule.
        parameters: Parameters, or dicts of parameter groups: {"params": [...], "lr": ..., "weight_decay": ...}, and
            {"order_params": [...]} for the order of all.
        weight_decay (float): this share of a Parameter is added to its gradient. Default: 0.0.
        loss_scale (float): gradients are divided by it. Default: 1.0.

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.
    """

    # {prefix of the state's Parameter names: how each starts, a function of the Parameter's value}
    slots: dict = {}

    def __init__(self, learning_rate, parameters, weight_decay=0.0, loss_scale=1.0):
        super().__init__(auto_prefix=False)
        groups = _groups(parameters)
        if not isinstance(loss_scale, (int, float)) or loss_scale <= 0:
            raise ValueError(
                f"For '{type(self).__name__}', 'loss_scale' should be a positive number, but got {describe(loss_scale)}."
            )
        self.global_step = Parameter(wrap(jnp.zeros(1, jnp.int32)), name="global_step", requires_grad=False)
        self.loss_scale = float(loss_scale)
        decay, rates, ordered, order = [], [], [], None
        for group in groups:
            if "order_params" in group:
                order = [id(p) for p in group["order_params"]]
                continue
            rate = self._rate(
                "learning_rate" if group.get("lr") is None else f"learning_rate_{len(ordered)}",
                learning_rate if group.get("lr") is None else group["lr"],
            )
            for parameter in group["params"]:
                ordered.append(parameter)
                rates.append(rate)
                decay.append(_decay(group.get("weight_decay", weight_decay), type(self).__name__))
        if order is not None:
            by = {id(p): i for i, p in enumerate(ordered)}
            at = [by[i] for i in order]
            ordered, rates, decay = ([each[i] for i in at] for each in (ordered, rates, decay))
        if not ordered:
            raise ValueError(f"For '{type(self).__name__}', there are no parameters to optimize.")
        self.parameters = ParameterTuple(ordered)
        self._rates = rates
        self._decays = tuple(decay)
        self.is_group = len(groups) > 1 or (isinstance(groups[0], dict) and set(groups[0]) - {"params"} != set())
        for prefix, start in self.slots.items():
            setattr(self, prefix, ParameterTuple([
                Parameter(wrap(start(p._value)), name=f"{prefix}.{p.name}", requires_grad=False) for p in ordered
            ]))  # fmt: skip

    def _rate(self, name, value):
        """A learning rate as a Parameter, a table or a schedule."""
        if isinstance(value, LearningRateSchedule):
            setattr(self, name, value)
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float, Tensor, list, tuple)):
            raise TypeError(
                f"For '{type(self).__name__}', the learning rate should be a number, Tensor, list or schedule, but got {describe(value)}."
            )
        if isinstance(value, (int, float)) and value < 0:
            raise ValueError(f"For '{type(self).__name__}', the learning rate should not be negative, but got {value}.")
        if name in self.__dict__:
            return self.__dict__[name]
        setattr(self, name, Parameter(Tensor(value, mstype.float32), name=name))
        return self.__dict__[name]

    def _rate_now(self, rate):
        if isinstance(rate, LearningRateSchedule):
            return rate(self.global_step)._value.reshape(())
        value = rate._value
        return value if value.ndim == 0 else value[jnp.minimum(self.global_step._value[0], value.shape[0] - 1)]

    def get_lr(self):
        """The learning rate of the next step: a Tensor, or a tuple of one for each Parameter if they are in groups."""
        rates = tuple(wrap(self._rate_now(rate)) for rate in self._rates)
        return rates if self.is_group else rates[0]

    def update(self, value, grad, slots, rate, step):
        """One Parameter's step, on jax arrays.

        Args:
            value: the Parameter's.
            grad: its gradient, decay and scale included.
            slots: its state, a tuple in the order of `slots`.
            rate: the learning rate, 0-d.
            step: the number of this step, from 1, 0-d.

        Returns:
            (new value, new state).
        """
        raise NotImplementedError(f"{type(self).__name__} defines no 'update'.")

    def _step(self, values, grads, states, rates, step):
        new_values, new_states = [], []
        for value, grad, slots, rate, decay in zip(values, grads, states, rates, self._decays):
            grad = grad.astype(value.dtype) / self.loss_scale if self.loss_scale != 1.0 else grad.astype(value.dtype)
            if decay:
                grad = grad + decay * value
            new, slots = self.update(value, grad, slots, rate.astype(value.dtype), step)
            new_values.append(new.astype(value.dtype))
            new_states.append(slots)
        return new_values, new_states

    def construct(self, gradients):
        if len(gradients) != len(self.parameters):
            raise ValueError(
                f"For '{type(self).__name__}', {len(self.parameters)} gradients are expected, but got {len(gradients)}."
            )
        states = [self.__dict__[prefix] for prefix in self.slots]
        rates = {id(rate): self._rate_now(rate) for rate in self._rates}
        compiled = self.__dict__.get("_compiled_step")
        if compiled is None:
            compiled = self.__dict__["_compiled_step"] = jax.jit(self._step)
        values, new_states = compiled(
            [p._value for p in self.parameters],
            [g._value for g in gradients],
            [tuple(slot[i]._value for slot in states) for i in range(len(self.parameters))],
            [rates[id(rate)] for rate in self._rates],
            self.global_step._value[0] + 1,
        )
        for i, (parameter, value) in enumerate(zip(self.parameters, values)):
            parameter._value = value
            for slot, new in zip(states, new_states[i]):
                slot[i]._value = new
        self.global_step._value = self.global_step._value + 1
        return True


def _groups(parameters):
    parameters = [parameters] if isinstance(parameters, Parameter) else list(parameters)
    if not parameters:
        raise ValueError("For an optimizer, there are no parameters to optimize.")
    if all(isinstance(p, Parameter) for p in parameters):
        return [{"params": parameters}]
    if not all(isinstance(p, dict) for p in parameters):
        raise TypeError(
            "For an optimizer, 'params' should be Parameters or dicts of parameter groups, not " + describe(parameters[0]) + "."
        )
    for group in parameters:
        if "params" not in group and "order_params" not in group:
            raise KeyError(
                f"For an optimizer, a parameter group should have 'params' or 'order_params', but has {sorted(group)}."
            )
    return [{**g, "params": list(g["params"])} if "params" in g else g for g in parameters]


def _decay(value, who):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"For '{who}', 'weight_decay' should be a number, but got {describe(value)}.")
    if value < 0:
        raise ValueError(f"For '{who}', 'weight_decay' should not be negative, but got {value}.")
    return float(value)
