"""How operators of Ascend are watched: accepted, without effect."""

from __future__ import annotations

__all__ = ["aclinit_config", "debug_option", "execute_timeout"]


def execute_timeout(op_timeout: int) -> None:
    """Accepted, without effect."""


def debug_option(option_value: str | None) -> None:
    """Accepted, without effect."""


def aclinit_config(config: dict[str, str]) -> None:
    """Accepted, without effect."""
