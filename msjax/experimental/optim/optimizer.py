"""Optimizer: the base of optimizers with parameter groups. One compiled program updates all Parameters at once."""

import functools
import types

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.buffer import Buffer
from msjax.common.parameter import Parameter, ParameterTuple
from msjax.common.tensor import Tensor, wrap
from msjax.errors import describe
from msjax.nn.cell.base import Cell
from msjax.ops.dispatch.operator import freeze


class Optimizer(Cell):
    """Base of optimizers with parameter groups.

    The groups are dicts in `param_groups`. A setting changed there counts from the next step on; the learning rate is a
    Parameter, changed with ``ops.assign(group["lr"], 0.1)`` or by a scheduler.

    Args:
        params: a list of Parameters, or of dicts of parameter groups: {"params": [...], and settings of its own}.
        defaults (dict): the settings of groups that don't have them.

    Raises:
        TypeError: `params` holds something else.
        ValueError: `params` is empty, or a Parameter is in two groups.

    Example:
        >>> import msjax as ms
        >>> from msjax.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> sgd = optim.SGD([w], lr=0.1)
        >>> _ = sgd((ms.Tensor([2.0]),))
        >>> print(w.value(), sgd.param_groups[0]["momentum"])
        [0.8] 0.0
    """

    def __init__(self, params, defaults):
        super().__init__(auto_prefix=False)
        if isinstance(params, (Parameter, str, dict)):
            raise TypeError(
                f"For '{type(self).__name__}', 'params' should be a list of Parameters or dicts, but got {describe(params)}."
            )
        groups = list(params)
        if not groups:
            raise ValueError(f"For '{type(self).__name__}', 'params' should not be empty.")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        self.defaults = defaults
        self.param_groups = []
        self.parameters = ParameterTuple([])
        self.lrs = ParameterTuple([])
        self.state = {}
        self._states, self._step_name = (), None
        for group in groups:
            self.add_param_group(group)

    # ---- groups

    def add_param_group(self, param_group):
        """Add Parameters to optimize.

        Args:
            param_group (dict): "params" (a Parameter or a list of them), and settings other than the defaults.
        """
        who = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(f"For '{who}', a parameter group should be a dict, but got {describe(param_group)}.")
        if "params" not in param_group:
            raise KeyError(f"For '{who}', a parameter group should have 'params', but has {sorted(param_group)}.")
        own = param_group["params"]
        own = [own] if isinstance(own, Parameter) else list(own)
        for p in own:
            if not isinstance(p, Parameter):
                raise TypeError(f"For '{who}', 'params' should hold Parameters, but got {describe(p)}.")
            if any(p is q for q in self.parameters):
                raise ValueError(f"For '{who}', Parameter {p.name!r} is in two groups.")
        group = {**param_group, "params": own}
        for name, value in self.defaults.items():
            group.setdefault(name, value)
        if group["lr"] is self.defaults.get("lr") or not isinstance(group["lr"], Parameter):
            self._check_rate(group["lr"])
            group["lr"] = Parameter(
                Tensor(group["lr"], mstype.float32), name=f"learning_rate_group_{len(self.param_groups)}", requires_grad=False
            )
        self.param_groups.append(group)
        self.lrs = ParameterTuple([*self.lrs, group["lr"]])
        self.parameters = ParameterTuple([*self.parameters, *own])
        for attribute, prefix, start in self._states:
            self._extend(attribute, prefix, start, own)
        self._check_group(group)

    def _check_rate(self, lr):
        who = type(self).__name__
        if isinstance(lr, bool) or not isinstance(lr, (int, float, Tensor)):
            raise TypeError(f"For '{who}', 'lr' should be a number or Tensor, but got {describe(lr)}.")
        if not isinstance(lr, Tensor) and not lr >= 0:
            raise ValueError(f"For '{who}', 'lr' should not be negative, but got {lr}.")

    def _check_group(self, group):
        """Check a group's settings; overridden where there is something to check."""

    def _not_negative(self, group, *names):
        for name in names:
            value = group[name]
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"For '{type(self).__name__}', '{name}' should be a number, but got {describe(value)}.")
            if value < 0:
                raise ValueError(f"For '{type(self).__name__}', '{name}' should not be negative, but got {value}.")

    def _check_betas(self, group):
        for i, beta in enumerate(group["betas"]):
            if not 0 <= beta < 1:
                raise ValueError(f"For '{type(self).__name__}', 'betas[{i}]' should be in [0, 1), but got {beta}.")

    # ---- state

    def add_state(self, attribute, start=jnp.zeros_like, prefix=None):
        """Make a Parameter of state for each Parameter; `start` makes it of the Parameter's value."""
        self._states += ((attribute, prefix or attribute, start),)
        setattr(self, attribute, ParameterTuple([]))
        self._extend(attribute, prefix or attribute, start, self.parameters)

    def _extend(self, attribute, prefix, start, parameters):
        made = [Parameter(wrap(start(p._value)), name=f"{prefix}.{p.name}", requires_grad=False) for p in parameters]
        setattr(self, attribute, ParameterTuple([*getattr(self, attribute), *made]))

    def add_step(self, name):
        """Make the Parameter that counts steps."""
        setattr(self, name, Parameter(Tensor(0, mstype.int32), name=name, requires_grad=False))
        self.__dict__["_step_name"] = name

    # What a group keeps from step to step beside the state of its Parameters: {name: where it starts}.
    group_state: dict = {}

    def _group_buffers(self):
        """The buffers of `group_state`, for each group a dict."""
        found = []
        for i, group in enumerate(self.param_groups):
            for name, start in self.group_state.items():
                if f"{name}_{i}" not in self.__dict__:
                    value = group["lr"]._value if start == "lr" else jnp.float32(start)
                    self.register_buffer(f"{name}_{i}", wrap(value))
            found.append({name: getattr(self, f"{name}_{i}") for name in self.group_state})
        return found

    # ---- the formula

    @staticmethod
    def begin(c, rate, step, kept):
        """What a group's step has in common for all its Parameters, on jax arrays.

        Args:
            c: has the group's settings as attributes.
            rate: the learning rate, 0-d.
            step: the number of this step, from 1, 0-d; None without `add_step`.
            kept (dict): the values of `group_state`.

        Returns:
            (anything that `update` wants, the new values of `group_state`).
        """
        return step, kept

    @staticmethod
    def update(c, value, grad, slots, rate, context):
        """One Parameter's step, on jax arrays: (new value, tuple of the new state)."""
        raise NotImplementedError("The optimizer defines neither 'construct' nor 'update'.")

    def construct(self, gradients):
        """One step.

        Args:
            gradients (tuple or list of Tensor): one for each of `parameters`, in their order.
        """
        who, parameters = type(self).__name__, self.parameters
        if not isinstance(gradients, (tuple, list)) or len(gradients) != len(parameters):
            raise ValueError(
                f"For '{who}', a tuple of {len(parameters)} gradients is expected, but got "
                f"{len(gradients) if isinstance(gradients, (tuple, list)) else describe(gradients)}."
            )
        for g in gradients:
            if not isinstance(g, Tensor):
                raise TypeError(f"For '{who}', every gradient should be a Tensor, but got {describe(g)}.")
        plan = tuple(
            (len(group["params"]), tuple((k, freeze(v)) for k, v in group.items() if k not in _NO_SETTINGS))
            for group in self.param_groups
        )
        states = list(zip(*(getattr(self, s[0]) for s in self._states))) or [()] * len(parameters)
        step = None if self._step_name is None else getattr(self, self._step_name)
        buffers = self._group_buffers()
        values, new_states, now, kept = _program(type(self), plan)(
            [p._value for p in parameters],
            [g._value for g in gradients],
            [[s._value for s in state] for state in states],
            [group["lr"]._value if isinstance(group["lr"], Tensor) else jnp.float32(group["lr"]) for group in self.param_groups],
            None if step is None else step._value,
            [{name: b._value for name, b in each.items()} for each in buffers],
        )
        for p, value in zip(parameters, values):
            p._value = value
        for state, new in zip(states, new_states):
            for s, value in zip(state, new):
                s._value = value
        if step is not None:
            step._value = now
        for each, new in zip(buffers, kept):
            for name, b in each.items():
                b._value = new[name]
        return True

    def __repr__(self):
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            for name in sorted(k for k in group if k != "params"):
                value = group[name]
                lines.append(f"    {name}: {value.asnumpy() if isinstance(value, (Parameter, Buffer)) else value}")
            lines.append("")
        return f"{type(self).__name__} (\n" + "\n".join(lines[:-1]) + "\n)"

    __str__ = __repr__


_NO_SETTINGS = ("params", "lr", "initial_lr", "order_params")


@functools.lru_cache(maxsize=256)
def _program(cls, plan):
    """The compiled step of an optimizer class for parameter groups of some sizes and settings."""
    groups = [
        (size, types.SimpleNamespace(**{k: float(v) if isinstance(v, float) else v for k, v in settings}))
        for size, settings in plan
    ]

    def step(values, grads, states, rates, number, kept):
        number = None if number is None else number + 1
        new_values, new_states, new_kept, at = [], [], [], 0
        for (size, c), rate, group_kept in zip(groups, rates, kept):
            context, group_kept = cls.begin(c, rate, number, group_kept)
            new_kept.append(group_kept)
            for i in range(at, at + size):
                value, grad = values[i], grads[i]
                if grad.shape != value.shape:
                    raise ValueError(
                        f"For '{cls.__name__}', gradient {i} has shape {grad.shape}, but its Parameter has shape {value.shape}."
                    )
                kind = jnp.promote_types(value.dtype, jnp.float32)
                grad = -grad.astype(kind) if getattr(c, "maximize", False) else grad.astype(kind)
                slots = tuple(s.astype(kind) for s in states[i])
                new, slots = cls.update(c, value.astype(kind), grad, slots, rate.astype(kind), context)
                new_values.append(new.astype(value.dtype))
                new_states.append([n.astype(s.dtype) for n, s in zip(slots, states[i])])
            at += size
        return new_values, new_states, number, new_kept

    step.__name__ = f"{cls.__name__}_step"
    return jax.jit(step, inline=True)
