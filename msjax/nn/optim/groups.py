"""Checks an optimizer's parameters and parameter groups, and lists them in order with their group's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msjax.common.parameter import Parameter
from msjax.common.typing import ParametersLike
from msjax.core.base.errors import describe

_KEYS = ("params", "lr", "weight_decay", "order_params", "grad_centralization")


@dataclass
class Member:
    """One Parameter to optimize.

    Attributes:
        parameter: it.
        group: the number of its group; None without groups.
        lr, weight_decay: the group's; None where the optimizer's counts.
        centralize: whether the mean of its gradient is taken off.
    """

    parameter: Parameter
    group: int | None = None
    lr: object = None
    weight_decay: object = None
    centralize: bool = False


def members(parameters: ParametersLike) -> list[Member]:
    """The members of what an optimizer was given as `params`."""
    if parameters is None:
        raise ValueError("For an optimizer, 'params' should be Parameters, but got None.")
    listed = any(hasattr(parameters, name) for name in ("__iter__", "__getitem__"))
    if not listed or isinstance(parameters, (Parameter, dict, str)):
        raise TypeError(f"For an optimizer, 'params' should be a list of Parameters or dicts, but got {describe(parameters)}.")
    given: list[Any] = list(parameters)
    if not given:
        raise ValueError("For an optimizer, 'params' should not be empty.")
    if isinstance(given[0], dict):
        found = _grouped(given)
    else:
        _check_parameters(given)
        found = [Member(p) for p in given]
    names = set()
    for member in found:
        if member.parameter.name in names:
            raise ValueError(f"For an optimizer, two Parameters have the name {member.parameter.name!r}.")
        names.add(member.parameter.name)
    return found


def _check_parameters(given):
    for p in given:
        if not isinstance(p, Parameter):
            raise TypeError(
                f"For an optimizer, 'params' should hold Parameters only, or dicts of parameter groups only, but got {describe(p)}."
            )


def _grouped(groups) -> list[Member]:
    found, order = [], None
    for number, group in enumerate(groups):
        if not isinstance(group, dict):
            raise TypeError(f"For an optimizer, every parameter group should be a dict, but got {describe(group)}.")
        wrong = [k for k in group if k not in _KEYS]
        if wrong or not group:
            raise KeyError(
                f"For an optimizer, the keys of a parameter group should be among {', '.join(_KEYS)}, but got {wrong}."
            )
        if "order_params" in group:
            if len(group) > 1:
                raise ValueError(
                    f"For an optimizer, 'order_params' should be its group's only key, but there are {sorted(group)}."
                )
            order = list(group["order_params"])
            continue
        if "params" not in group:
            raise KeyError(f"For an optimizer, a parameter group should have 'params', but has {sorted(group)}.")
        own = list(group["params"])
        if not own:
            raise ValueError(f"For an optimizer, 'params' of parameter group {number} should not be empty.")
        _check_parameters(own)
        centralize = group.get("grad_centralization", False)
        if not isinstance(centralize, bool):
            raise TypeError(f"For an optimizer, 'grad_centralization' should be a bool, but got {describe(centralize)}.")
        for parameter in own:
            if any(m.parameter is parameter for m in found):
                raise RuntimeError(f"For an optimizer, Parameter {parameter.name!r} is in two groups.")
            found.append(Member(parameter, number, group.get("lr"), group.get("weight_decay"), centralize))
    if order is not None:
        by = {id(m.parameter): m for m in found}
        if len(order) != len(found) or {id(p) for p in order} != set(by):
            raise ValueError(
                f"For an optimizer, 'order_params' should hold the Parameters of all groups ({len(found)}), but has {len(order)}."
            )
        found = [by[id(p)] for p in order]
    return found
