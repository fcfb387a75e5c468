"""Builds rows of the tables."""

from __future__ import annotations

from typing import Any

from tests.kernels.cases import ONE, TWO, Numpy, Row

# What a setting that a kernel calculates with may be.
SCALARS = [Numpy("float32", 0.5), Numpy("float64", 0.25), Numpy("int64", 2), Numpy("float16", 1.5)]
NUMBERS = [
    0,
    -1,
    0.5,
    float("inf"),
    -float("inf"),
    float("nan"),
    1,
    0.25,
    2.0,
    True,
    10**12,
    -3,
    -0.0,
    *SCALARS,
    Numpy("bool_", True),
]
POSITIVE = [0.5, 1, 2.0, 3, 10**6]


def row(
    call: str, torch: str | None = None, shapes: Any = None, *, settings: dict[str, list[Any]] | None = None, **rest: Any
) -> Row:
    """A row; its operands are the keywords whose values are kinds.

    Args:
        torch: by default the call with `torch.` for `ops.`.
        shapes: by default those of elementwise operators; one tuple of shapes stands for all variants.
    """
    own = {name: rest.pop(name) for name in ("dtypes", "loose", "absolute", "second", "traced", "overflows") if name in rest}
    operands = {name: rest.pop(name) for name in list(rest)}
    if shapes is None:
        shapes = ONE if len(operands) == 1 else TWO
    clash = operands.keys() & (settings or {}).keys()
    assert not clash, (call, clash)
    if not isinstance(shapes[0][0], tuple):
        shapes = (shapes,)
    return Row(call, call.replace("ops.", "torch.") if torch is None else torch, operands, shapes, settings or {}, **own)


def rows(names: str, call: str, torch: str, shapes: Any = None, **rest: Any) -> list[Row]:
    """A row for each name; "name:other" where PyTorch calls it otherwise. `{}` in the texts is the name."""
    made = []
    for name in names.split():
        own, _, theirs = name.partition(":")
        made.append(row(call.format(own), torch.format(theirs or own), shapes, **rest))
    return made
