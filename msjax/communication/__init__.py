"""MindSpore's ``communication``: the processes that run a program together, and groups of them."""

from msjax.communication import management as management
from msjax.communication._comm_helper import GlobalComm as GlobalComm
from msjax.communication.management import *
from msjax.communication.management import __all__ as _names

__all__ = ["GlobalComm", *_names]  # pyright: ignore[reportUnsupportedDunderAll]
