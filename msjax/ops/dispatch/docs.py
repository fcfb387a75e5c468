"""Docstrings of class forms, derived from the docstrings of their functions, and the imports of examples."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

# An argument in a docstring: "names (type): text", with the lines below it that are indented deeper.
_ENTRY = re.compile(r"^    (?P<names>\w+(?:, \w+)*)(?P<type> \([^)]*\))?: (?P<text>.*(?:\n     +.*)*)", re.M)
_DEFAULT = re.compile(r"\s*Default: .*$", re.S)
_UNUSED = "accepted for compatibility with MindSpore, without effect."

_EXAMPLE = re.compile(r"Example:(\n +)(?:>>> (?:import|from) .*\1)*(?=>>> )")
_CODE = re.compile(r"(?:>>>|\.\.\.) (.*)")
_NAMES = re.compile(r"(?<![\w.\"'])(Parameter|Tensor|complex64|float16|float32|int32|nn|ops)\b(?!=)")


def with_imports(doc: str | None, own: str | None = None) -> str | None:
    """The docstring of a function or class of msjax, whose example, if it has no imports, gets them: numpy if it is used, and that of the names of msjax
    that it uses; or `own`, behind those that it has, if none is of msjax."""
    found = _EXAMPLE.search(doc) if doc else None
    if doc is None or found is None or (">>>" if own is None else "msjax") in found[0]:
        return doc
    rest = doc[found.end() :]
    code = "\n".join(_CODE.findall(rest))
    numpy = f">>> import numpy as np{found[1]}" if "np." in code and "numpy" not in found[0] else ""
    if own is None:
        names = sorted({*_NAMES.findall(code)}, key=lambda name: (name.islower(), name))
        own = f"from msjax import {', '.join(names)}"
    return f"{doc[: found.end()]}{numpy}>>> {own}{found[1]}{rest}"


def complete_examples(names: dict[str, Any], own: str | None = None) -> None:
    """The imports, by `with_imports`, for the examples of a module's functions, given its attributes; with `own` of its classes and their members, too."""
    documented = [value for value in names.values() if isinstance(value, FunctionType)]
    for value in names.values() if own else ():
        if isinstance(value, type) and value.__module__ == names["__name__"]:
            documented += [value, *(member for member in vars(value).values() if isinstance(member, (FunctionType, property)))]
    for value in documented:
        value.__doc__ = with_imports(value.__doc__, own)


def titled(function: _F, name: str, doc: str | None) -> _F:
    """A function that a table makes, under the name and with the docstring that it has there."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


class DerivedDoc:
    """A class's docstring, built when it is read: building hundreds of them would slow the import.

    Args:
        function (callable): what the class calls.
        defaults (dict): {attribute: its default}.
        renamed (dict): {attribute: the function's name for it}, where it has another. An attribute that the function doesn't take
            has no effect.
        layer (bool): whether the class is one of ``nn``, whose `construct` names the inputs. Default: False.
        example (str, optional): what the docstring ends with.
    """

    def __init__(
        self, function: Callable[..., Any], defaults: dict[str, Any], renamed: dict[str, str], *, layer: bool = False,
        example: str | None = None,
    ):  # fmt: skip
        self.function, self.defaults, self.renamed, self.layer, self.example = function, defaults, renamed, layer, example

    def __get__(self, operator: Any, owner: Any = None) -> str:
        doc = inspect.cleandoc(self.function.__doc__ or "")
        summary = doc.split("\n\n")[0]
        args = _section(doc, "Args")
        entries = [(m["names"].split(", "), m["type"] or "", m["text"]) for m in _ENTRY.finditer(args)]
        parameters = inspect.signature(self.function).parameters
        taken = {self.renamed.get(key, key) for key in self.defaults}
        inputs = [p.name for p in parameters.values() if p.default is p.empty and p.name not in taken]
        names = list(inspect.signature(owner.construct).parameters)[1:] if self.layer else inputs
        shown = dict(zip(inputs, names))
        for own, name in shown.items():
            summary = re.sub(rf"\b{own}\b", name, summary)
        call = f"``{'nn' if self.layer else 'ops'}.{owner.__name__}({', '.join(self.defaults)})({', '.join(names)})``"
        parts = [summary, f"Called as {call}."]
        if self.defaults:
            parts.append("\n".join(["Args:", *self._described_settings(entries, parameters)]))
        rows = [
            f"    {', '.join(kept)}{kind}: {text}"
            for names, kind, text in entries
            if (kept := [shown[n] for n in names if n in shown])
        ]
        if rows:
            parts.append("\n".join(["Inputs:", *rows]))
        if returned := _section(doc, "Returns").rstrip():
            parts.append("Outputs:\n" + returned)
        if self.example:
            parts.append(inspect.cleandoc(self.example).replace("\n", "\n    "))
        return "\n\n".join(parts)

    def _described_settings(self, entries, parameters):
        described = {name: (kind, text) for names, kind, text in entries for name in names}
        for key, default in self.defaults.items():
            parameter = self.renamed.get(key, key)
            kind, text = described.get(parameter, ("", "")) if parameter in parameters else ("", _UNUSED)
            if not kind and parameter in parameters and isinstance(parameters[parameter].annotation, str):
                kind = f" ({parameters[parameter].annotation})"
            text = _DEFAULT.sub("", text)
            shown = "" if default is inspect.Parameter.empty else f"Default: {default!r}."
            yield f"    {key}{kind}: {' '.join(part for part in (text, shown) if part) or 'required.'}"


def _section(doc, title):
    found = re.search(rf"^{title}:\n((?:    .*\n?|\n)*)", doc, re.M)
    return found[1] if found else ""
