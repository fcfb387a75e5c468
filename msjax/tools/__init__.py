"""Tools for looking into networks: tables of their cells, and how cells are shown in notebooks."""

from msjax.offers import later

_LATER = {"summary": "summarize", "Summary": "summarize", "SummaryRow": "summarize", "hooks_of": "describing", "tree": "display"}

__all__ = [*_LATER]
__getattr__ = later(__name__, _LATER)
