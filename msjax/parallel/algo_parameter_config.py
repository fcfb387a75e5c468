"""Settings of MindSpore's search for strategies of parallelism, which msjax keeps and never needs."""

from __future__ import annotations

from typing import Any

from msjax.core.base.errors import describe

__all__ = ["get_algo_parameters", "reset_algo_parameters", "set_algo_parameters"]

_DEFAULTS = {
    "fully_use_devices": False, "elementwise_op_strategy_follow": False, "tensor_slice_align_enable": False,
    "tensor_slice_align_size": 16, "enable_algo_approxi": False, "algo_approxi_epsilon": 0.1,
}  # fmt: skip
_BOUNDS = {"tensor_slice_align_size": (1, 1024), "algo_approxi_epsilon": (0, 1)}
_VALUES: dict[str, Any] = dict(_DEFAULTS)


def set_algo_parameters(**kwargs: Any) -> None:
    """Accepted for compatibility with MindSpore, without effect: each process has the whole network here.

    Args:
        kwargs: fully_use_devices, elementwise_op_strategy_follow, tensor_slice_align_enable, enable_algo_approxi (bool),
            tensor_slice_align_size (int), algo_approxi_epsilon (float).

    Raises:
        TypeError, ValueError: there is no such setting, or it can't have this value.

    Example:
        >>> from msjax import parallel
        >>> parallel.set_algo_parameters(fully_use_devices=True)
        >>> parallel.get_algo_parameters("fully_use_devices")
        True
        >>> parallel.reset_algo_parameters()
    """
    for name, value in kwargs.items():
        expected = type(_known(name, "set_algo_parameters"))
        if type(value) is not expected:
            raise TypeError(f"For 'set_algo_parameters', '{name}' should be a {expected.__name__}, but got {describe(value)}.")
        low, high = _BOUNDS.get(name, (value, value))
        if not low <= value <= high or (expected is float and not value):
            raise ValueError(f"For 'set_algo_parameters', '{name}' should be in [{low}, {high}], but got {value}.")
    _VALUES.update(kwargs)


def get_algo_parameters(attr_key: str) -> Any:
    """The value of a setting of `set_algo_parameters`.

    Raises:
        ValueError: there is no such setting.
    """
    return _known(attr_key, "get_algo_parameters")


def reset_algo_parameters() -> None:
    """Give the settings of `set_algo_parameters` their defaults."""
    _VALUES.update(_DEFAULTS)


def _known(name, who):
    if name not in _VALUES:
        raise ValueError(f"For '{who}', there is no setting {name!r}; there are {', '.join(_VALUES)}.")
    return _VALUES[name]
