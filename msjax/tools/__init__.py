"""Tools for looking into networks: tables of their cells, and how cells are shown in notebooks."""

import importlib

_LATER = {"summary": "summarize", "Summary": "summarize", "SummaryRow": "summarize", "hooks_of": "describing", "tree": "display"}

__all__ = [*_LATER]


def __getattr__(name):
    if name in _LATER:
        value = getattr(importlib.import_module(f"msjax.tools.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"msjax.tools has no {name!r}.")
