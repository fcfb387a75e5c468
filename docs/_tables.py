"""Fills the tables of names in api.md while the pages are built, so that they are always those of the code.

An extension of Python-Markdown, which both mkdocs and its successor Zensical read pages with.
"""

import importlib
import inspect
import re

from markdown import Extension
from markdown.preprocessors import Preprocessor

_MARK = re.compile(r"<!-- names: ([\w.]+)(?: (functions|classes))? -->")


def makeExtension(**_):
    """What Markdown calls for an extension that is named by its module."""
    return Tables()


class Tables(Extension):
    """Puts tables of names where pages have ``<!-- names: msjax.nn functions -->``."""

    def extendMarkdown(self, md):
        # Before comments are taken for HTML.
        md.preprocessors.register(_Fill(md), "names", 25)


class _Fill(Preprocessor):
    def run(self, lines):
        return _MARK.sub(lambda mark: table(mark[1], mark[2]), "\n".join(lines)).split("\n")


def table(path, kind):
    """A Markdown table of the public names of a module or class.

    Args:
        path (str): such as "msjax.nn" or "msjax.Tensor".
        kind (str or None): "functions" or "classes" for only those.
    """
    rows = [
        f"| `{name}` | {_first_sentence(value)} |"
        for name, value in _public(path)
        if _is(value, kind)
    ]
    return "\n".join(["| name | what it is |", "| --- | --- |", *rows])


def _public(path):
    module, _, name = path.rpartition(".")
    owner = (
        getattr(importlib.import_module(module), name)
        if name[0].isupper()
        else importlib.import_module(path)
    )
    for name in sorted(n for n in dir(owner) if not n.startswith("_")):
        try:
            value = (
                inspect.getattr_static(owner, name)
                if inspect.isclass(owner)
                else getattr(owner, name)
            )
        except (AttributeError, ImportError):
            continue
        if inspect.ismodule(value) or not (
            callable(value) or isinstance(value, (property, staticmethod, classmethod))
        ):
            continue
        # A package offers what its files define; a single file offers only its own.
        home = path if inspect.ismodule(owner) and not hasattr(owner, "__path__") else "msjax"
        if getattr(value, "__module__", home).startswith(home):
            yield name, value


def _is(value, kind):
    return kind is None or inspect.isclass(value) == (kind == "classes")


def _first_sentence(value):
    paragraph = (inspect.getdoc(value) or "").strip().split("\n\n")[0]
    text = re.split(r"(?<=[a-z0-9)])\. (?=[A-Z])", " ".join(paragraph.split()))[0]
    return text.replace("``", "`").replace("|", "\\|")
