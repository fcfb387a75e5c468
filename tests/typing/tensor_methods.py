"""Writes msjax/common/_tensor_methods.pyi: the types of the methods that msjax.ops and msjax.autograd attach to Tensor.

Run it when a method was added or changed: ``python -m tests.typing.tensor_methods``. A test compares the file with the code.
"""

import ast
import inspect
import re
import sys
from pathlib import Path

import msjax
from msjax.base import typing
from msjax.common.tensor import Tensor

STUB = Path(msjax.__file__).parent / "common" / "_tensor_methods.pyi"

_HEAD = '''"""Written by tests/typing/tensor_methods.py; don't edit. The attributes of Tensor that other packages attach."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from msjax.common.bases import TensorBase
from msjax.common.dtype import Type
from msjax.common.parameter import Parameter
from msjax.common.random import Generator
from msjax.common.tensor import Tensor
from msjax.hooks.handle import RemovableHandle
from msjax.base.typing import {names}

# Methods of these names hide the classes in the body below.
_bool: TypeAlias = bool
_float: TypeAlias = float
_int: TypeAlias = int

class TensorMethods(TensorBase):
'''

# Names of msjax.base.typing that the head has from elsewhere, or that no annotation is to contain.
_IMPORTED = ("Any", "Callable", "Iterable", "Iterator", "JaxArray", "Mapping", "Sequence")
_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor".split()
_COMPARISONS = "eq ne lt le gt ge".split()

# Methods whose code tells too little: they take their arguments apart themselves.
_WRITTEN = {
    "__getitem__": "def __getitem__(self, index: Any, /) -> Tensor: ...",
    "__setitem__": "def __setitem__(self, index: Any, value: TensorLike | Sequence[Any], /) -> None: ...",
    "__iter__": "def __iter__(self) -> Iterator[Tensor]: ...",
    "__contains__": "def __contains__(self, element: object, /) -> _bool: ...",
    "astype": "def astype(self, dtype: DTypeLike, copy: _bool = ...) -> Tensor: ...",
    "type": "@overload\ndef type(self, dtype: None = ...) -> str: ...\n@overload\ndef type(self, dtype: DTypeLike) -> Tensor: ...",
}
for _name in _OPERATORS:
    _WRITTEN[f"__{_name}__"] = f"def __{_name}__(self, other: TensorLike, /) -> Tensor: ..."
    _WRITTEN[f"__r{_name}__"] = f"def __r{_name}__(self, other: TensorLike, /) -> Tensor: ..."
# The lists that sums, differences and floor divisions take.
for _name in ("add", "sub", "floordiv"):
    for _side in ("", "r"):
        _WRITTEN[f"__{_side}{_name}__"] = f"def __{_side}{_name}__(self, other: TensorLike | Sequence[Any], /) -> Tensor: ..."
for _name in _COMPARISONS:
    # object's own == and != give a bool; a Tensor's don't.
    _ignore = "  # type: ignore[override]" if _name in ("eq", "ne") else ""
    _WRITTEN[f"__{_name}__"] = f"def __{_name}__(self, other: TensorLike | None, /) -> Tensor: ...{_ignore}"
for _name in ("max", "min"):
    _WRITTEN[_name] = f"""@overload
def {_name}(self, *, initial: Number | None = ..., where: TensorLike = ...) -> Tensor: ...
@overload
def {_name}(self, dim: _int, keepdim: _bool = ...) -> tuple[Tensor, Tensor]: ...
@overload
def {_name}(self, axis: Any = ..., keepdims: _bool = ..., **kwargs: Any) -> Any: ..."""


def _names_in_class() -> set:
    """The names that Tensor's own body defines."""
    tree = ast.parse(inspect.getsource(sys.modules["msjax.common.tensor"]))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    names = set()
    for node in [*body, *(inner for outer in body if isinstance(outer, ast.If) for inner in outer.body)]:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _annotation(text) -> str:
    if text is inspect.Parameter.empty:
        return "Any"
    text = text if isinstance(text, str) else getattr(text, "__name__", str(text))
    text = re.sub(r"\b(bool|float|int)\b", r"_\1", text)
    # A kernel computes with arrays; its operator is one of Tensors.
    text = re.sub(r"\b(jax\.Array|JaxArray)\b", "Tensor", text)
    return re.sub(
        r"^(tuple|list|dict)$", {"tuple": "tuple[Any, ...]", "list": "list[Any]", "dict": "dict[str, Any]"}.get(text, text), text
    )


def _method(name, function) -> str:
    if name in _WRITTEN:
        return _WRITTEN[name]
    signature = inspect.signature(function)
    renamed = set(getattr(function, "renamed", {}).values())  # other names of parameters, see `method_of`
    parts, positional, optional = ["self"], True, False
    parameters = list(signature.parameters.values())
    own = parameters[1:] if parameters and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL else parameters
    for parameter in own:
        if parameter.kind is parameter.VAR_POSITIONAL:
            parts.append(f"*{parameter.name}: {_annotation(parameter.annotation)}")
            positional = False
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            parts.append(f"**{parameter.name}: {_annotation(parameter.annotation)}")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and positional:
            parts.append("*")
            positional = False
        # One that may come under another name can be left out under this one, and with it those after it.
        optional = optional or parameter.default is not parameter.empty or parameter.name in renamed
        default = " = ..." if optional and (positional or parameter.default is not parameter.empty) else ""
        parts.append(f"{parameter.name}: {_annotation(parameter.annotation)}{default}")
    if renamed and not parts[-1].startswith("**"):
        parts.append("**kwargs: Any")
    return f"def {name}({', '.join(parts)}) -> {_annotation(signature.return_annotation)}: ..."


def _property(name, attribute) -> str:
    returned = _annotation(inspect.signature(attribute.fget).return_annotation)
    text = f"@property\ndef {name}(self) -> {returned}: ..."
    if attribute.fset is not None:
        text += f"\n@{name}.setter\ndef {name}(self, value: {returned}) -> None: ..."
    return text


def stub() -> str:
    """The text of the file."""
    own = _names_in_class() | {"__dict__", "__weakref__", "__module__", "__doc__"}
    lines = []
    for name, attribute in sorted(vars(Tensor).items()):
        if name in own or (name.startswith("_") and not name.startswith("__")):
            continue
        if isinstance(attribute, property):
            lines.append(_property(name, attribute))
        elif callable(attribute):
            lines.append(_method(name, attribute))
    body = "\n".join(lines)
    names = [name for name in typing.__all__ if name not in _IMPORTED and re.search(rf"\b{name}\b", body)]
    return _HEAD.format(names=", ".join(names)) + "\n".join("    " + line for line in body.split("\n")) + "\n"


if __name__ == "__main__":
    STUB.write_text(stub())
    print(f"{STUB}: {len(STUB.read_text().splitlines())} lines")
