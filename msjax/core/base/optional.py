"""Packages that are imported when they are needed, and a clear error where they are not installed."""

from __future__ import annotations

from typing import Any


def tensorboardx(who: str, otherwise: str = "") -> Any:
    """The package tensorboardX, which writes TensorBoard's files; ModuleNotFoundError where it is not installed, with the name of the function
    that needs it, and a sentence about what needs it not."""
    try:
        import tensorboardX
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"For '{who}', writing for TensorBoard needs tensorboardX: pip install 'msjax[tools]'. {otherwise}".rstrip()
        ) from None
    return tensorboardX
