"""The types that an editor or a type checker shows are those of the code."""

import ast
import importlib
import importlib.util
import inspect

import pytest

from tests.typing import tensor_methods


def test_the_stub_of_tensor_methods_is_current():
    message = "run `python -m tests.typing.tensor_methods` after changing Tensor's methods"
    assert tensor_methods.STUB.read_text() == tensor_methods.stub(), message


def _names_for_checkers(source) -> set:
    """The names that a module imports under `if TYPE_CHECKING`."""
    blocks = [
        node.body
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {
        alias.asname or alias.name for body in blocks for node in body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


@pytest.mark.parametrize("name", ["msjax", "msjax.hooks", "msjax.tools"])
def test_lazy_names_are_listed_for_type_checkers(name):
    module = importlib.import_module(name)
    submodules = {n for n in getattr(module, "_SUBMODULES", ()) if importlib.util.find_spec(f"{name}.{n}")}
    assert _names_for_checkers(inspect.getsource(module)) == set(module._LATER) | submodules
