"""Tables that rich prints, as text and in notebooks."""

from __future__ import annotations

import io
from typing import Any


class Printed:
    """Something that rich can print, as text with lines of `width` characters and in a notebook."""

    width = 120

    def __str__(self) -> str:
        lines = [line.removeprefix(" ").rstrip() for line in _console(self, self.width).file.getvalue().splitlines()]
        return "\n".join(line for line in lines if line)

    __repr__ = __str__

    def _repr_html_(self):
        return html_of(self)


def html_of(shown: Any) -> str:
    """What rich prints, as HTML."""
    console = _console(shown, 120)
    return console.export_html(inline_styles=True, code_format="<pre style='line-height:1.2'>{code}</pre>")


def _console(shown, width):
    from rich.console import Console

    console: Any = Console(file=io.StringIO(), width=width, color_system=None, force_jupyter=False, record=True)
    console.print(shown)
    return console
