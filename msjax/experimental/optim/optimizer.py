"""Optimizer: the base of optimizers with parameter groups that may be changed between steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from msjax.common import dtype as mstype
from msjax.common.parameter import Buffer, Parameter, ParameterTuple
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import ParametersLike
from msjax.core.base.checks import check_kind, check_number, check_type, check_value
from msjax.nn.optim.engine import CompiledOptimizer, GroupSpec, StepInputs, UpdateSpec, compiled_step
from msjax.ops.dispatch.operator import freeze


class Optimizer(CompiledOptimizer):
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

    # Settings that may not be negative, checked in each group that is added.
    not_negative: tuple[Any, ...] = ()
    # What a group shares beside the state of its Parameters: {name: its first value, or "lr" for the learning rate's}.
    group_state: dict[str, Any] = {}

    def __init__(self, params: ParametersLike, defaults: dict[str, Any]):
        super().__init__()
        fits = not isinstance(params, (Parameter, str, dict))
        check_kind(params, fits, "be a list of Parameters or dicts", "params", type(self).__name__)
        groups: list[Any] = list(params)
        check_value(groups, groups, "not be empty", "params", type(self).__name__)
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        self.defaults = defaults
        self.param_groups = []
        self.parameters = ParameterTuple([])
        self.lrs: Any = ParameterTuple([])
        self.state = {}
        self._step_name = None
        for group in groups:
            self.add_param_group(group)

    # ---- groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add Parameters to optimize.

        Args:
            param_group (dict): "params" (a Parameter or a list of them), and settings other than the defaults.
        """
        who = type(self).__name__
        check_type(param_group, dict, "a parameter group", who)
        if "params" not in param_group:
            raise KeyError(f"For '{who}', a parameter group should have 'params', but has {sorted(param_group)}.")
        own = param_group["params"]
        own = [own] if isinstance(own, Parameter) else list(own)
        for p in own:
            check_kind(p, isinstance(p, Parameter), "hold Parameters", "params", who)
            if any(p is q for q in self.parameters):
                raise ValueError(f"For '{who}', Parameter {p.name!r} is in two groups.")
        group = {**param_group, "params": own}
        for name, value in self.defaults.items():
            group.setdefault(name, value)
        if group["lr"] is self.defaults.get("lr") or not isinstance(group["lr"], Parameter):
            if not isinstance(group["lr"], Tensor):
                check_number(group["lr"], "lr", who, low=0)
            group["lr"] = Parameter(
                Tensor(group["lr"], mstype.float32), name=f"learning_rate_group_{len(self.param_groups)}", requires_grad=False
            )
        self.param_groups.append(group)
        self.lrs = ParameterTuple([*self.lrs, group["lr"]])
        self.parameters = ParameterTuple([*self.parameters, *own])
        for name in self._states:
            self._extend_state(name, own)
        self._check_group(group)

    def _check_group(self, group):
        """Check a group's settings."""
        who = type(self).__name__
        for name in self.not_negative:
            check_number(group[name], name, who, low=0)
        for i, beta in enumerate(group.get("betas", ())):
            check_number(beta, f"betas[{i}]", who, low=0, below=1)

    # ---- state

    def add_step(self, name: str, *shape: int) -> None:
        """Make the Parameter that counts steps, a number if no shape is given."""
        setattr(self, name, Parameter(Tensor(np.zeros(shape, np.int32)), name=name, requires_grad=False))
        vars(self)["_step_name"] = name

    def _group_buffers(self):
        """For each group, a dict of the Buffers of `group_state`."""
        found = []
        for i, group in enumerate(self.param_groups):
            for name, start in self.group_state.items():
                if f"{name}_{i}" not in self.__dict__:
                    # A numpy scalar: in a compiled step, an array made here would be the trace's.
                    value: Any = group["lr"]._value if start == "lr" else np.float32(start)
                    self.register_buffer(f"{name}_{i}", wrap(value))
            found.append({name: getattr(self, f"{name}_{i}") for name in self.group_state})
        return found

    def _prepare(self):
        groups, rates = [], []
        for i, group in enumerate(self.param_groups):
            settings = tuple((name, freeze(value)) for name, value in group.items() if name not in _NO_SETTINGS)
            spec = UpdateSpec(i, float(group.get("weight_decay", 0.0)))
            groups.append(GroupSpec(settings, i, (spec,) * len(group["params"])))
            rates.append(group["lr"] if isinstance(group["lr"], Tensor) else Tensor(group["lr"], mstype.float32))
        program = compiled_step(type(self), tuple(groups))
        step = None if self._step_name is None else getattr(self, self._step_name)
        return StepInputs(program, rates, [], self._states_by_parameter(), self._group_buffers(), step)

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            for name in sorted(k for k in group if k != "params"):
                value = group[name]
                lines.append(f"    {name}: {str(value.asnumpy()) if isinstance(value, (Parameter, Buffer)) else value}")
            lines.append("")
        return f"{type(self).__name__} (\n" + "\n".join(lines[:-1]) + "\n)"

    __str__ = __repr__


_NO_SETTINGS = ("params", "lr", "initial_lr", "order_params", "weight_decay")
