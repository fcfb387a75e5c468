"""Docstrings of class forms, derived from the docstrings of their functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

# An argument in a docstring: "names (type): text", with the lines below it that are indented deeper.
_ENTRY = re.compile(r"^    (?P<names>\w+(?:, \w+)*)(?P<type> \([^)]*\))?: (?P<text>.*(?:\n     +.*)*)", re.M)
_DEFAULT = re.compile(r"\s*Default: .*$", re.S)
_UNUSED = "accepted for compatibility with MindSpore, without effect."


class DerivedDoc:
    """A class's docstring, built when it is read: building hundreds of them would slow the import.

    Args:
        function (callable): what the class calls.
        settings (dict): {attribute: its `Setting`}.
    """

    def __init__(self, function: Callable[..., Any], settings: dict[str, Any]):
        self.function, self.settings = function, settings

    def __get__(self, operator: Any, owner: Any = None) -> Any:
        doc = inspect.cleandoc(self.function.__doc__ or "")
        summary = doc.split("\n\n")[0]
        args = _section(doc, "Args")
        entries = [(m["names"].split(", "), m["type"] or "", m["text"]) for m in _ENTRY.finditer(args)]
        inputs = [name for name in self._parameters() if name not in {s.parameter for s in self.settings.values()}]
        call = f"``ops.{owner.__name__}({', '.join(self.settings)})({', '.join(inputs)})``"
        parts = [summary, f"Called as {call}."]
        if self.settings:
            parts.append("\n".join(["Args:", *self._described_settings(entries)]))
        rows = [
            f"    {', '.join(kept)}{kind}: {text}" for names, kind, text in entries if (kept := [n for n in names if n in inputs])
        ]
        if rows:
            parts.append("\n".join(["Inputs:", *rows]))
        if returned := _section(doc, "Returns").rstrip():
            parts.append("Outputs:\n" + returned)
        return "\n\n".join(parts)

    def _parameters(self):
        return [p.name for p in inspect.signature(self.function).parameters.values() if p.default is p.empty]

    def _described_settings(self, entries):
        described = {name: (kind, text) for names, kind, text in entries for name in names}
        for key, (default, parameter) in self.settings.items():
            kind, text = ("", _UNUSED) if parameter is None else described.get(parameter, ("", ""))
            text = _DEFAULT.sub("", text)
            shown = "" if default is inspect.Parameter.empty else f"Default: {default!r}."
            yield f"    {key}{kind}: {' '.join(part for part in (text, shown) if part) or 'required.'}"


def _section(doc, title):
    found = re.search(rf"^{title}:\n((?:    .*\n?|\n)*)", doc, re.M)
    return found[1] if found else ""
