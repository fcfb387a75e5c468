"""Text of what rich can print."""

from __future__ import annotations

import io
from typing import Any


def printed(shown: Any, width: int = 120) -> str:
    """What rich prints, as plain text.

    Args:
        shown: anything that rich can print.
        width (int): the width of a line. Default: 120.
    """
    from rich.console import Console

    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None, force_jupyter=False)
    console.print(shown)
    lines = [line.removeprefix(" ").rstrip() for line in file.getvalue().splitlines()]
    return "\n".join(line for line in lines if line)
