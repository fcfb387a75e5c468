"""Reads MindSpore programs without running them, and finds the names in them that msjax lacks: ``msjax check``.

``mindspore`` has to be installed as a name of msjax (`msjax.install_as_mindspore`), as the command line does.
"""

from __future__ import annotations

import ast
import builtins
import operator
import os
import types
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msjax.compat.program_check.mindspore_names import MissingName, member, module_of
from msjax.core.base.lazy import is_placeholder

_PACKAGE = "mindspore"
_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
_OTHER = object()  # what a name of the program stands for
_COMPARED = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Lack(NamedTuple):
    """A name that msjax lacks.

    Attributes:
        name: such as "mindspore.rewrite.SymbolTree".
        advice: what to do.
        apart: True where a plain run need not come by: in a branch, in an import that the program can do without.
    """

    path: str
    line: int
    name: str
    advice: str
    apart: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.name}: {self.advice}"


class Checked(NamedTuple):
    """The names that msjax lacks, how many files were read, and the files in folders that are no Python, each with its error."""

    lacks: list[Lack]
    files: int
    unread: list[tuple[str, SyntaxError]]


def check_programs(paths: Iterable[str]) -> Checked:
    """The names that msjax lacks in some files, by line. A file in a folder that Python could not run is left out.

    Names that a program imports within ``try`` and an ``except`` for the missing ones, and names in branches, are marked as
    apart. Names that it only imports and that can be imported are left out.
    """
    trees, lacks, unread, named = {}, [], [], set(paths := list(paths))
    for path in _files(paths):
        try:
            trees[path] = _parsed(path)
        except SyntaxError as error:
            if path in named:
                raise
            unread.append((path, error))
    for path, tree in trees.items():
        reader = _Reader(path)
        reader.visit(tree)
        lacks += sorted(set(reader.lacks), key=lambda lack: (lack.apart, lack.line, lack.name))
    return Checked(lacks, len(trees), unread)


def _parsed(path):
    with open(path, "rb") as file:
        text = file.read()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in texts, of which Python warns when it compiles them
        return ast.parse(text, path)  # bytes: their encoding is what the file says, as where it runs


def _files(paths) -> Iterator[str]:
    for path in paths:
        if not os.path.exists(path):
            raise FileNotFoundError(f"there is no file or folder {path!r}")
        if os.path.isfile(path):
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))


class _Reader(ast.NodeVisitor):
    """Follows imports of mindspore, and attributes of what they bind, through the scopes of a file."""

    def __init__(self, path: str):
        self.path: str = path
        self.lacks: list[Lack] = []
        # For each scope, what its names stand for: (object, its name under mindspore), or _OTHER.
        self.scopes: list[dict[str, Any]] = [{}]
        self.apart = 0
        self.silent = 0

    def _report(self, node, missing):
        if not self.silent:
            self.lacks.append(Lack(self.path, node.lineno, *missing.args, apart=self.apart > 0))

    # ---- imports

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] != _PACKAGE:
                self._bind(alias.asname or alias.name.partition(".")[0], _OTHER)
                continue
            try:
                module = module_of(alias.name)
            except MissingName as missing:
                self._report(node, missing)
                module = None
            if alias.asname is None:
                self._bind(_PACKAGE, (module_of(_PACKAGE), _PACKAGE))
            else:
                self._bind(alias.asname, _OTHER if module is None else (module, alias.name))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        shown, module = node.module or "", None
        try:
            module = module_of(shown) if not node.level and shown.partition(".")[0] == _PACKAGE else None
        except MissingName as missing:
            self._report(node, missing)
        for alias in node.names:
            value = _OTHER
            try:
                if module is not None and alias.name == "*":
                    for name in getattr(module, "__all__", ()):
                        self._bind(name, (getattr(module, name, None), f"{shown}.{name}"))
                elif module is not None:
                    value = member(module, shown, alias.name), f"{shown}.{alias.name}"
            except MissingName as missing:
                self._report(node, missing)
            self._bind(alias.asname or alias.name, value)

    def visit_Try(self, node: ast.Try) -> None:
        caught = {name for handler in node.handlers for name in _names_of(handler.type)}
        guarded = any(handler.type is None for handler in node.handlers) or bool(caught & _IMPORT_ERRORS)
        self._visit_all(node.body, guarded)
        self._visit_all(node.handlers, True)
        self._visit_all((*node.orelse, *node.finalbody))

    # ---- branches

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        taken = self._truth(node.test)
        body, otherwise = (node.body, node.orelse) if taken is not False else (node.orelse, node.body)
        self._visit_all(body, taken is None)
        self._visit_all(otherwise, True)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        taken = self._truth(node.test)
        self._visit_all([node.body], taken is not True)
        self._visit_all([node.orelse], taken is not False)

    def _visit_all(self, nodes, apart=False):
        self.apart += apart
        for node in nodes:
            self.visit(node)
        self.apart -= apart

    def _truth(self, test):
        """Whether a condition holds, as far as that can be told without running anything; None otherwise."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._truth(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if isinstance(test, (ast.Name, ast.Attribute)) and ast.unparse(test).rpartition(".")[2] == "TYPE_CHECKING":
            return False
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            if ast.unparse(test.left) == "__name__":
                return isinstance(test.ops[0], ast.Eq)
            compare, sides = _COMPARED.get(type(test.ops[0])), [self._version(side) for side in (test.left, test.comparators[0])]
            if compare is not None and None not in sides:
                return compare(*sides)
        return None

    def _version(self, node):
        """A text that stands there, or the version of mindspore."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        found = self._known(node)
        return found[0] if found is not None and found[1].endswith(".__version__") else None

    # ---- names

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._resolve(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._used(node, self._look_up(node.id))
        else:
            self._bind(node.id, _OTHER)

    def _resolve(self, node) -> Any:
        """(object, name) that an expression stands for, as far as it names things of mindspore; None otherwise."""
        if isinstance(node, ast.Name):
            return self._look_up(node.id)
        if not isinstance(node, ast.Attribute):
            self.visit(node)
            return None
        holder = self._resolve(node.value)
        if holder is None or not isinstance(holder[0], types.ModuleType):
            self._used(node, holder)
            return None
        try:
            found = member(holder[0], holder[1], node.attr), f"{holder[1]}.{node.attr}"
        except MissingName as missing:
            self._report(node, missing)
            return None
        self._used(node, found)
        return found

    def _known(self, node) -> Any:
        """The same of a name or attribute, without a report of what is missing."""
        self.silent += 1
        found = self._resolve(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        self.silent -= 1
        return found

    def _used(self, node, found):
        """Report a placeholder that is used, not only imported."""
        if found is not None and is_placeholder(found[0]):
            self._report(node, MissingName(found[1], found[0].__doc__.partition(": ")[2]))

    # ---- scopes

    def _bind(self, name, value):
        self.scopes[-1][name] = value

    def _look_up(self, name):
        for scope in reversed(self.scopes):
            if name in scope:
                return None if scope[name] is _OTHER else scope[name]
        return None

    def _visit_function(self, node):
        self._visit_all((*getattr(node, "decorator_list", ()), *node.args.defaults, *filter(None, node.args.kw_defaults)))
        if not isinstance(node, ast.Lambda):
            self._bind(node.name, _OTHER)
        arguments = node.args
        names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self.scopes.append({argument.arg: _OTHER for argument in names if argument is not None})
        self._visit_all(node.body if isinstance(node.body, list) else [node.body])
        self.scopes.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all((*node.decorator_list, *node.bases, *node.keywords))
        self._bind(node.name, _OTHER)
        self.scopes.append({})
        self._visit_all(node.body)
        self.scopes.pop()

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            # The value before the names that it is bound to.
            self.visit(node.value)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._assign(target, node.value)
            return
        super().generic_visit(node)

    def _assign(self, target, value):
        """Bind names; one that is assigned a name of mindspore stands for the same."""
        if isinstance(target, ast.Name):
            self._bind(target.id, self._known(value) or _OTHER)
        else:
            self.visit(target)


def _names_of(node) -> Iterator[str]:
    if node is None:
        return
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and hasattr(builtins, child.id):
            yield child.id
