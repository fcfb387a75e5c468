"""Cases of the differential run: rows of the tables, each with shapes, dtypes, settings and values drawn from its number.

It imports numpy only, so that each library's own Python can make the same cases.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Each row has so many variants (shapes, dtype, settings, way), which are compiled for, and each variant so many draws of values.
VARIANTS, DRAWS = 4, 3
PER_ROW = VARIANTS * DRAWS
FLOATS = ("float32", "float64", "float32", "float16", "float32", "float64", "bfloat16", "float32")
ANY = ("float32", "int32", "float64", "int64", "float16", "uint8", "bfloat16", "int8")
INTS = ("int32", "int64", "uint8", "int8", "int32", "int64", "int16", "int32")
EDGES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e4, -1e4, 1e-40, -1e-40, 0.5, -2.0, 3.0, 6.0)
# Shapes of one elementwise operand, and of two.
ONE = (((8,),), ((2, 4),), ((8,),), ((0, 3),), ((2, 1, 3),), ((8,),), ((),), ((5,),))
TWO = (
    ((8,), (8,)), ((2, 4), (4,)), ((2, 1), (1, 4)), ((0, 3), (3,)), ((), (8,)), ((8,), (8,)), ((3, 1, 2), (2, 2)), ((6,), (1,)),
)  # fmt: skip
NAMES = re.compile(r"\b((?:mint\.nn\.functional|mint\.nn|mint\.linalg|mint\.special|mint|ops|nn)\.\w+)\s*\(")


@dataclass(frozen=True)
class Numpy:
    """A setting that is a scalar of numpy's, shown in the same way by each version of numpy."""

    kind: str
    value: float

    def __call__(self):
        return getattr(np, self.kind)(self.value)

    def __repr__(self) -> str:
        return f"np.{self.kind}({self.value})"


@dataclass(frozen=True)
class Row:
    """One call of the tables.

    Attributes:
        call: its text for msjax and MindSpore: an expression of `ops`, `nn`, `mint`, of operands and settings.
        torch: its text for PyTorch: an expression of `torch`, `F`, `tnn`; "" where PyTorch has nothing like it.
        operands: {name: kind}, see `_draw`. Those of a kind "const:KIND" have no gradient and are never traced.
        shapes: for each variant, in turn, the shapes of the operands.
        settings: {name: values}, of which each variant has one each.
        dtypes: for each variant, in turn, that of the floating operands (of kind "any": of those).
        loose: the tolerance in units of the usual one.
        absolute: what results may differ by at least, where they are differences of larger numbers.
        second: whether there is a second derivative to compare.
        traced: whether the call can be traced: not where shapes depend on values.
        overflows: whether gradients may be numbers where the record has NaN: PyTorch's formula overflows there.
    """

    call: str
    torch: str
    operands: dict[str, str]
    shapes: tuple[Any, ...]
    settings: dict[str, list[Any]] = field(default_factory=dict)
    dtypes: tuple[str, ...] = FLOATS
    loose: float = 1.0
    absolute: float = 0.0
    second: bool = True
    traced: bool = True
    overflows: bool = False

    @property
    def names(self) -> list[str]:
        """The public names that the row calls."""
        return NAMES.findall(self.call)

    @property
    def text(self) -> str:
        """The call and the kinds of its operands, from which values are drawn."""
        kinds = ", ".join(f"{name}: {kind}" for name, kind in self.operands.items())
        return f"{self.call} [{kinds}]"

    @property
    def key(self) -> str:
        """What the records of the row are found by: all that its cases depend on."""
        rest = zlib.crc32(repr((self.torch, self.shapes, self.settings, self.dtypes, self.second)).encode())
        return f"{self.text} {rest:08x}"


@dataclass
class Case:
    """One case: `arrays` has the operands as float64 or int64, `dtypes` what each library makes of them."""

    row: Row
    number: int
    arrays: dict[str, np.ndarray]
    dtypes: dict[str, str]
    settings: dict[str, Any]
    way: str

    @property
    def differentiated(self) -> list[str]:
        """The operands with a gradient."""
        return [n for n, d in self.dtypes.items() if "float" in d and not self.row.operands[n].startswith("const:")]

    @property
    def flushed(self) -> dict[str, np.ndarray]:
        """The arrays as XLA's programs for CPUs see them: denormal numbers are zeros. The other libraries compute with these."""
        least = {n: 2.0**-126 if "float" in d and d != "float64" else 0.0 for n, d in self.dtypes.items()}
        return {n: np.where(np.abs(a) < least[n], np.copysign(0.0, a), a) if least[n] else a for n, a in self.arrays.items()}

    @property
    def second(self) -> bool:
        return self.row.second and all(self.dtypes[n] in ("float32", "float64") for n in self.differentiated)

    def __str__(self) -> str:
        lines = [f"{self.row.call}    # case {self.number} of its row, {self.way}"]
        lines += [f"{n} = {self.arrays[n].tolist()}  # {self.dtypes[n]}, shape {self.arrays[n].shape}" for n in self.arrays]
        return "\n".join([*lines, *(f"{n} = {v!r}" for n, v in self.settings.items())])


def make(row: Row, number: int) -> Case:
    """Case `number` (0 to PER_ROW - 1) of a row."""
    variant, draw = divmod(number, DRAWS)
    drawn = np.random.RandomState(zlib.crc32(f"{row.text} {variant}".encode()))
    offset = zlib.crc32(row.call.encode())
    shapes = row.shapes[(variant + offset) % len(row.shapes)]
    dtype = row.dtypes[(variant + offset // 8) % len(row.dtypes)]
    settings = {name: values[drawn.randint(len(values))] for name, values in row.settings.items()}
    settings = {name: v() if isinstance(v, Numpy) else v for name, v in settings.items()}
    way = ("pynative", "jit", "pynative", "vmap")[drawn.randint(4)] if row.traced else "pynative"
    if way == "vmap" and 0 in [n for shape in shapes for n in shape]:
        way = "jit"
    values = np.random.RandomState(zlib.crc32(f"{row.text} {variant} {draw}".encode()))
    arrays, dtypes = {}, {}
    for (name, kind), shape in zip(row.operands.items(), shapes, strict=True):
        arrays[name], dtypes[name] = _draw(values, kind.removeprefix("const:"), shape, dtype, draw)
    return Case(row, number, arrays, dtypes, settings, way)


def _draw(rng, kind, shape, dtype, draw):
    """(array, dtype) of an operand.

    Kinds: "edge" and "any" (floats, or whatever the row's dtype is) with many infinities, NaN, zeros, ties; "mild", mostly ordinary
    floats, in which a draw has a few of them; "finite", the same without infinities and NaN; "normal", ordinary floats only; "pos", "prob" positive ones; "int<N" integers
    from 0 on; "ints" small ones of both signs; "bool"; "order<N" different ones. "edge-nan" and "edge-tiny" are "edge" without NaN
    and without denormal numbers.
    """
    kind, _, without = kind.partition("-")
    name, _, high = kind.partition("<")
    if name == "int":
        return rng.randint(0, int(high), shape), "int32"
    if name == "order":
        return np.stack([rng.permutation(int(high))[: shape[-1]] for _ in range(int(np.prod(shape[:-1])))]).reshape(
            shape
        ), "int32"
    if name == "ints" or (name == "any" and "int" in dtype):
        low = 0 if dtype.startswith("u") else -4
        return rng.randint(low, 5, shape), dtype if "int" in dtype else "int32"
    if name == "bool":
        return rng.randint(0, 2, shape), "bool"
    x = rng.normal(size=shape) * 2
    if name in ("pos", "prob"):
        x = rng.uniform(0.1, 0.9, shape) * (1 if name == "prob" else 3)
    elif name in ("edge", "any") or (name in ("mild", "finite") and draw):
        edges = EDGES if "32" in dtype or "64" in dtype else tuple(100.0 * np.sign(e) if abs(e) == 1e4 else e for e in EDGES)
        picked = np.array([edges[i] for i in rng.randint(0, len(edges), shape).ravel()]).reshape(shape)
        if without:
            excluded = np.isnan(picked) if without == "nan" else (np.abs(picked) < 1e-30) & (picked != 0)
            picked = np.where(excluded, 0.25, picked)
        picked = np.where(np.isfinite(picked) | (name != "finite"), picked, 0.0)
        share = 0.15 if name in ("mild", "finite") else 0.7
        if share < 0.7 and draw == 1:
            picked = np.round(x)  # ties and zeros
            share = 0.7
        x = np.where(rng.uniform(size=shape) < share, picked, x)
    if dtype == "bfloat16":
        # XLA's comparisons see denormal numbers of this dtype, its arithmetic doesn't.
        x = np.where(np.abs(x) < 2.0**-126, np.copysign(0.0, x), x)
    # What float32 has: the halves are made of it by each library.
    return x.astype(np.float32).astype(np.float64), dtype if "float" in dtype else "float32"


def weights(shape: tuple[int, ...], which: int) -> np.ndarray:
    """The gradient that output (or gradient) number `which` gets: other for each element, so that no error cancels out."""
    return np.cos(np.arange(int(np.prod(shape))) * 1.3 + 0.7 + which).reshape(shape)
