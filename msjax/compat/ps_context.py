"""``mindspore.parallel._ps_context``: the settings of MindSpore's parameter servers, of which there are none here."""

from __future__ import annotations

from typing import Any

__all__ = ["get_ps_context", "reset_ps_context", "set_ps_context"]

_DEFAULTS: dict[str, Any] = {
    "enable_ps": False, "config_file_path": "", "scheduler_manage_port": 0, "enable_ssl": False, "client_password": "", "server_password": "",
}  # fmt: skip
_VALUES: dict[str, Any] = dict(_DEFAULTS)


def set_ps_context(**kwargs: Any) -> None:
    """Accepted for compatibility with MindSpore, without effect: processes train together in data parallelism.

    Args:
        kwargs: enable_ps, enable_ssl (bool), config_file_path, client_password, server_password (str), scheduler_manage_port (int).

    Raises:
        ValueError: there is no such setting.

    Example:
        >>> import msjax as ms
        >>> ms.set_ps_context(enable_ps=True)
        >>> ms.get_ps_context("enable_ps")
        True
        >>> ms.reset_ps_context()
    """
    for name in kwargs:
        _check(name, "set_ps_context")
    _VALUES.update(kwargs)


def get_ps_context(attr_key: str) -> Any:
    """The value of a setting of `set_ps_context`.

    Raises:
        ValueError: there is no such setting.
    """
    _check(attr_key, "get_ps_context")
    return _VALUES[attr_key]


def reset_ps_context() -> None:
    """Give the settings of `set_ps_context` their defaults."""
    _VALUES.update(_DEFAULTS)


def _check(name, who):
    if name not in _VALUES:
        raise ValueError(f"For '{who}', there is no setting {name!r}; there are {', '.join(_VALUES)}.")


def _is_ps_mode() -> bool:
    return False


def _is_role_worker() -> bool:
    return False


def _is_role_pserver() -> bool:
    return False


def _is_role_sched() -> bool:
    return False
