"""``mindspore.log``: MindSpore's logger, on Python's ``logging``.

The environment variable GLOG_v sets the level: 0 debug, 1 info, 2 warning (the default), 3 error, 4 critical. The logger's name
is "msjax"; without a handler of its own it writes to the standard error.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

__all__ = ["get_level", "get_log_config"]

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
_LOGGER = logging.getLogger("msjax")


class _Handler(logging.StreamHandler):
    """Writes to what sys.stderr is at the time."""

    def __init__(self):
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        import sys

        return sys.stderr


def _logger():
    if not _LOGGER.handlers and not _LOGGER.hasHandlers():
        handler = _Handler()
        layout = "[%(levelname)s] ME(%(process)d:%(thread)d,%(processName)s):%(asctime)s [%(pathname)s:%(lineno)d] %(message)s"
        handler.setFormatter(logging.Formatter(layout))
        _LOGGER.addHandler(handler)
    _LOGGER.setLevel(_LEVELS[int(get_level())])
    return _LOGGER


def _of_level(name: str, number: int) -> Callable[..., None]:
    def log(msg: Any, *args: Any, **kwargs: Any) -> None:
        getattr(_logger(), name)(msg, *args, stacklevel=2, **kwargs)

    log.__name__ = log.__qualname__ = name
    log.__doc__ = f"Log a message of level {number}; `args` are put in by ``%``."
    return log


debug, info, warning, error, critical = map(_of_level, ("debug", "info", "warning", "error", "critical"), range(5))


def get_level() -> str:
    """The level, "0" to "4", from the environment variable GLOG_v.

    Example:
        >>> from msjax import log
        >>> log.get_level()
        '2'
    """
    level = os.environ.get("GLOG_v", "2")
    return level if level in ("0", "1", "2", "3", "4") else "2"


def get_log_config() -> dict[str, str]:
    """The settings of the logger."""
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}
