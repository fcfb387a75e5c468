"""Writes the stub of msjax/mint/nn/layers.py, whose classes are built from functions.

Run it when a class or its function was added or changed: ``python -m tests.typing.class_forms``. A test compares the files
with the code.
"""

import inspect
import re
from pathlib import Path

import msjax
from msjax.common.dtype import Type
from msjax.mint.nn import layers

PACKAGE = Path(msjax.__file__).parent

_HEAD = '"""Written by tests/typing/class_forms.py; don\'t edit. The classes of {name}.py with their types."""\n'
_IMPORTS = {
    "collections.abc": ("Callable", "Iterable", "Sequence"),
    "typing": ("Any", "Literal"),
    "msjax.common.dtype": ("Type",),
    "msjax.common.parameter": ("Parameter",),
    "msjax.common.tensor": ("Tensor",),
    "msjax.nn.cell.base": ("Cell",),
    "msjax.ops.primitive": ("Primitive",),
    "msjax.base.typing": ("ArrayLike", "Axes", "DTypeLike", "Number", "Shape as _Shape", "TensorLike"),
}
_EMPTY = inspect.Parameter.empty
# Types that docstrings name, and those of defaults.
_DOCUMENTED = {
    "bool": "bool", "float": "float", "int": "int", "str": "str", "int or tuple": "Axes", "int, tuple or list": "Axes",
    "list": "Sequence[Any]", "list or tuple of int": "Sequence[int]", "tuple": "Sequence[Any]", "ms.dtype": "DTypeLike",
}  # fmt: skip
# Types of attributes by name, where the default says too little.
_PER_AXIS = (
    "kernel_size ksize ksizes stride strides dilation dilations pad pads pad_list padding rates size output_size output_shape"
)
_BY_NAME = (
    dict.fromkeys(_PER_AXIS.split(), "Axes")
    | dict.fromkeys(("in_channel", "out_channel"), "int")
    | dict.fromkeys(("epsilon", "threshold", "value"), "float")
    | {"scale_factor": "float | Sequence[float]"}
)
_OF_DEFAULT = {bool: "bool", float: "float", int: "int", str: "str", tuple: "Sequence[Any]", Type: "DTypeLike"}


def _annotation(text) -> str:
    if text is _EMPTY:
        return "Any"
    text = text if isinstance(text, str) else getattr(text, "__name__", str(text))
    # A kernel computes with arrays; its operator is one of Tensors.
    text = re.sub(r"\b(jax\.Array|JaxArray)\b", "Tensor", text)
    # ops.Shape is a class, too.
    return re.sub(r"\bShape\b", "_Shape", re.sub(r"^tuple$", "tuple[Any, ...]", text))


def _documented(doc, name) -> str | None:
    found = re.search(rf"^ +(?:\w+, )*{name}(?:, \w+)* \(([^)]*?)(, optional)?\)", doc or "", re.M)
    kind = found and _DOCUMENTED.get(found[1])
    return f"{kind} | None" if kind and found and found[2] else kind or None


def _attribute(name, default, annotation, doc) -> str:
    """The type of an attribute: that of the function's parameter, of the docstring, or of the default."""
    if annotation is not None and annotation != "Any":
        return annotation
    if name in _BY_NAME and not isinstance(default, str):
        return f"{_BY_NAME[name]} | None" if default is None else _BY_NAME[name]
    return _documented(doc, name) or _OF_DEFAULT.get(type(default), "Any")


def _parameters(parameters) -> str:
    parts, keyword_only = ["self"], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
        keyword_only = keyword_only or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        parts.append(f"{stars}{p.name}: {_annotation(p.annotation)}{'' if p.default is _EMPTY else ' = ...'}")
    return ", ".join(parts)


def _layer(name, made) -> str:
    if "_settings" not in vars(made):
        return f"class {name}(Cell):\n    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."
    signature = inspect.signature(made._function)
    parameters = {p.name: p for p in signature.parameters.values()}
    types = {
        key: _attribute(key, default, _annotation(parameters[key].annotation) if key in parameters else None, "")
        for key, default in made._settings.items()
    }
    given = "".join(f", {key}: {types[key]}{'' if d is _EMPTY else ' = ...'}" for key, d in made._settings.items())
    # Inputs without an annotation are those of a lambda.
    inputs = [
        p.replace(annotation="Tensor") if p.annotation is _EMPTY else p
        for p in parameters.values()
        if p.name not in types and p.name not in ("self", "training")
    ]
    returned = "Tensor" if signature.return_annotation is _EMPTY else _annotation(signature.return_annotation)
    lines = [f"class {name}(Cell):", *(f"    {key}: {kind}" for key, kind in types.items())]
    lines += [f"    def __init__(self{given}) -> None: ...", f"    def construct({_parameters(inputs)}) -> {returned}: ..."]
    return "\n".join(lines)


def stubs() -> dict[Path, str]:
    """{file: its text} for each file with such classes."""
    path = PACKAGE / "mint" / "nn" / "layers.pyi"
    found = {path: _text("layers", [_layer(name, getattr(layers, name)) for name in layers.__all__])}
    return found


def _text(name, parts) -> str:
    body = "\n\n".join(parts)
    used = {module: [n for n in names if re.search(rf"\b{n.split()[-1]}\b", body)] for module, names in _IMPORTS.items()}
    imports = [f"from {module} import {', '.join(names)}" for module, names in used.items() if names]
    return "\n".join([_HEAD.format(name=name), *imports, "", body, ""])


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
        print(f"{path}: {len(text.splitlines())} lines")
