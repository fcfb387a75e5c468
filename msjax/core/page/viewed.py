"""What can be shown: tables that rich prints, as text and in notebooks; views of a page, as dicts, DataFrames, plots and parts of notebooks."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from msjax.core.page.page import Page


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


@runtime_checkable
class HasView(Protocol):
    """Something with a `view`, the data that a page shows, with its "kind" and its "title"; a class of its own or a tuple."""

    def view(self) -> dict[str, Any]: ...

    def to_dict(self) -> dict[str, Any]: ...


def page_of(thing: HasView) -> Page:
    """The page that shows only this."""
    from msjax.core.page.page import Page

    view = thing.view()
    return Page(view["title"], [view])


def to_dict(self: HasView) -> dict[str, Any]:
    """What the page shows as dicts, lists, strings and numbers."""
    return page_of(self).to_dict()["views"][0]


def to_pandas(self: HasView) -> Any:
    """What the page shows as a DataFrame, with a row for each number or set of numbers.

    Raises:
        ModuleNotFoundError: pandas is not installed.
    """
    return page_of(self).to_pandas()


def plot(self: HasView) -> Any:
    """A Figure of matplotlib with what the page shows.

    Raises:
        ValueError: a fault, or something without numbers.
    """
    return page_of(self).plot()


def repr_html(self: HasView) -> str:
    """The page, for a notebook."""
    return page_of(self)._repr_html_()


class Viewed:
    """What a page can show, and rich prints."""

    def view(self) -> dict[str, Any]:
        """The data of its view on a page."""
        raise NotImplementedError

    to_dict, to_pandas, plot = to_dict, to_pandas, plot

    def _repr_html_(self) -> str:
        """What rich prints, with the page folded below it."""
        return f"{html_of(self)}<details><summary>as a page</summary>{repr_html(self)}</details>"
