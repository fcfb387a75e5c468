"""What objects of a program have as members, as far as its files and msjax's sources show: for `msjax check`."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable

from msjax.dataset.dataset import Dataset
from msjax.nn.cell.base import Cell


class ProgramNames:
    """The names that a program gives to members of anything: assigned, defined, or written as a text (``setattr``, ``hasattr``).

    Args:
        trees: the syntax trees of its files.
    """

    def __init__(self, trees: Iterable[ast.AST]):
        found: set[str] = set()
        for tree in trees:
            for node in ast.walk(tree):
                found.update(_given(node))
        self.members: frozenset[str] = frozenset(found)


def bindings(tree: ast.AST) -> Counter[str]:
    """How often each name, and each attribute of ``self``, is bound in a file."""
    count: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            count[node.arg] += 1
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            count[ast.unparse(node)] += 1
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            count[node.name] += 1
    return count


def bound_once(node: ast.AST, count: Counter[str]) -> bool:
    """Whether every name that an expression begins with stands for one thing in its file; ``self`` always does."""
    while True:
        if isinstance(node, (ast.Name, ast.Attribute)):
            text = ast.unparse(node)
            if text != "self" and count[text] > 1:
                return False
        if isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return True


def sets_by_text(tree: ast.AST) -> bool:
    """Whether code sets attributes whose names it computes."""
    return any(_computed(tree)) or any(isinstance(node, ast.Attribute) and node.attr == "__dict__" for node in ast.walk(tree))


def _computed(tree):
    """What stands for the name where code sets an attribute whose name is no constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and len(node.args) > 1:
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in ("setattr", "__setattr__", "insert_child_to_cell") and not any(
                isinstance(a, ast.Constant) for a in node.args[:2]
            ):
                yield node.args[name != "insert_child_to_cell"]


def has_member(kind: type, name: str) -> bool:
    """Whether objects of a class of msjax can have a member; True where that can't be told.

    Of a dataset, the members of all datasets count, since their methods return others.
    """
    kinds = (kind, *_below(Dataset)) if issubclass(kind, Dataset) else (kind,)
    return any(
        hasattr(each, name) or any(name == own or (own[-1] == "*" and name.startswith(own[:-1])) for own in _own(each))
        for each in kinds
    )


@functools.cache
def _below(kind):
    return tuple({below for each in kind.__subclasses__() for below in (each, *_below(each))})


@functools.cache
def _own(kind):
    """The names that the classes of an object give to its members; those that end in "*" stand for all that begin so."""
    found = set()
    for each in kind.__mro__:
        if each.__module__.partition(".")[0] in ("msjax", "mindspore"):
            try:
                tree = ast.parse(textwrap.dedent(_source(each)))
            except (OSError, TypeError, SyntaxError):
                return frozenset("*")
            if sets_by_text(tree):  # the names may be made anywhere in the class's file
                tree = ast.parse(inspect.getsource(sys.modules[each.__module__]))
            for node in ast.walk(tree):
                found.update(_given(node))
                if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                    found.add(f"{node.values[0].value}*")
            if any(isinstance(name, (ast.BinOp, ast.Call)) for name in _computed(tree)):
                found.add("*")
            if "__getattr__" in vars(each) and each is not Cell:
                found.add("*")
    return frozenset(name for name in found if name and (name == "*" or name.rstrip("*").isidentifier()))


def _source(kind):
    """The text of a class; of one that is made of a table, the text of its file."""
    try:
        return inspect.getsource(kind)
    except OSError:
        return inspect.getsource(sys.modules[kind.__module__])


def _given(node):
    """The names that a node of a syntax tree gives to members."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        for child in node.body if isinstance(node, ast.ClassDef) else ():
            for target in _targets(child):
                yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from node.value.replace(",", " ").split() if len(node.value) < 200 else ()
    elif isinstance(node, ast.keyword) and node.arg is not None:
        yield node.arg


def _targets(node):
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []
