"""Viewed: what has a view on a page has its data as dicts and as a DataFrame, a plot, and a part of a notebook as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msjax.core.page.texts import html_of

if TYPE_CHECKING:
    from msjax.core.page.page import Page


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
