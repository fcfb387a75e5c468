"""Fault: where a value first went wrong, as a short report and as an exception; and what counts as wrong."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.base.errors import describe
from msjax.common.typing import ArrayLike
from msjax.models.hooked import unhooked

if TYPE_CHECKING:
    from msjax.autograd.monitor import Line


@dataclass(frozen=True)
class Statistics:
    """What is told of an array in a report.

    Attributes:
        shape, dtype: of the array.
        min, max, mean: of its finite values; NaN if there is none.
        nan, inf: how many values are NaN, and infinite.
    """

    shape: tuple[int, ...]
    dtype: str
    min: float
    max: float
    mean: float
    nan: int
    inf: int

    @classmethod
    def of(cls, value: ArrayLike) -> Statistics:
        """Those of an array or a number."""
        return cls.from_values(value, np.asarray(statistics_of(jnp.asarray(value))))

    @classmethod
    def from_values(cls, value: ArrayLike, row: np.ndarray) -> Statistics:
        """Those of an array of which `statistics_of` computed a row."""
        dtype = getattr(value, "dtype", None) or np.result_type(value)
        low, high, mean, nan, inf = (float(v) for v in row)
        return cls(tuple(np.shape(value)), str(dtype), low, high, mean, int(nan), int(inf))

    def __str__(self) -> str:
        size = int(np.prod(self.shape))
        parts = [f"{count:,} of {size:,} {name}" for count, name in ((self.nan, "NaN"), (self.inf, "infinite")) if count]
        if not np.isnan(self.min):
            parts.append(f"min {self.min:.4g}, max {self.max:.4g}, mean {self.mean:.4g}")
        return f"{self.dtype}{list(self.shape)}: {', '.join(parts) or 'no values'}"


def statistics_of(value: jax.Array) -> jax.Array:
    """min, max and mean of the finite values, and the numbers of NaN and infinite ones, as one Float32 array of shape (5,)."""
    if (not jnp.issubdtype(value.dtype, jnp.number) and value.dtype != bool) or not value.size:
        return jnp.array([jnp.nan, jnp.nan, jnp.nan, 0, 0], jnp.float32)
    value = jnp.abs(value) if jnp.issubdtype(value.dtype, jnp.complexfloating) else value
    value = value.astype(jnp.float32)
    finite = jnp.isfinite(value)
    count = finite.sum()
    low = jnp.where(count > 0, jnp.where(finite, value, jnp.inf).min(), jnp.nan)
    high = jnp.where(count > 0, jnp.where(finite, value, -jnp.inf).max(), jnp.nan)
    mean = jnp.where(finite, value, 0).sum() / count
    return jnp.stack([low, high, mean, jnp.isnan(value).sum(), jnp.isinf(value).sum()]).astype(jnp.float32)


class Fault(FloatingPointError):
    """The first value that went wrong, and where; its text is a report, also in a notebook.

    Attributes:
        what (str): what is wrong: "NaN" and the like.
        phase (str): "forward" or "backward".
        path (str): the cell or module, as a dotted path in the model; "" is the model itself. None outside of all.
        operation (str): the operator or primitive; None if it is not known.
        line: the user's line that called it (in a backward pass, the line of the forward pass), with `file`, `number`,
            `function` and `code`; None if it is not known.
        call (int): which call of the cell it was, from 1; 0 if it is not known.
        step (tuple of int): the numbers, from 0, of the iterations of the loops (scan, while_loop) around it.
        inputs (list of Statistics): of the operation's inputs.
        output (Statistics): of the value that went wrong.
        note (str): what else is to be said; may be empty.
        cause (Fault): of a NaN, the first infinite value that was computed before it; None if there was none.
    """

    def __init__(
        self, what: str, phase: str, path: str | None, *, cls: str = "", operation: str | None = None, line: Line | None = None,
        call: int = 0, step: tuple[int, ...] = (), inputs: Iterable[Statistics] = (), output: Statistics | None = None, note: str = "",
        cause: Fault | None = None,
    ):  # fmt: skip
        self.what, self.phase, self.path, self.cls = what, phase, path, cls
        self.operation, self.line, self.call, self.step = operation, line, call, tuple(step)
        self.inputs, self.output, self.note, self.cause = list(inputs), output, note, cause
        super().__init__(self._text())

    @property
    def title(self) -> str:
        return f"The first {self.what} is in the {self.phase} pass"

    def rows(self) -> list[tuple[str, str]]:
        """The lines of the report below its title: (name, text)."""
        rows = []
        if self.path is not None:
            name = self.path or "(the model)"
            of = f" ({self.cls})" if self.cls else ""
            rows.append(("cell", f"{name}{of}{f', call {self.call}' if self.call else ''}"))
        if self.operation:
            rows.append(("operation", self._what_ran()))
        if self.line is not None:
            code = getattr(self.line, "code", "")
            rows.append(("line", f"{self.line}{f': {code}' if code else ''}"))
        if self.step:
            rows.append(("step", ", ".join(map(str, self.step)) + " of the loop around it, from 0"))
        if self.output is not None:
            rows.append(("result", str(self.output)))
        rows += [(f"input {i}", str(found)) for i, found in enumerate(self.inputs)]
        if self.cause is not None:
            where = "" if self.cause.path is None else f" in {self.cause.path or '(the model)'}"
            rows.append(
                ("before", f"an infinite value came from {self.cause._what_ran()}{where}, {self.cause.line or 'unknown line'}")
            )
        if self.note:
            rows.append(("note", self.note))
        return rows

    def _what_ran(self):
        return f"the gradient of {self.operation}" if self.phase == "backward" else str(self.operation)

    def _text(self):
        return "\n".join([self.title, *(f"  {name:<9}  {text}" for name, text in self.rows())])

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_attributes, (dict(vars(self)),)

    def __rich__(self) -> Any:
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        for name, text in self.rows():
            table.add_row(Text(name, "dim"), Text(text, "bold" if name in ("cell", "operation") else ""))
        return Panel(table, title=Text(self.title, "bold red"), title_align="left", expand=False)

    def _repr_html_(self):
        rows = "".join(
            f"<tr><td style='text-align:left;opacity:.6'>{name}</td>"
            f"<td style='text-align:left;font-family:monospace;white-space:pre'>{html.escape(text)}</td></tr>"
            for name, text in self.rows()
        )
        return f"<b style='color:#c22'>{html.escape(self.title)}</b><table>{rows}</table>"


def _from_attributes(attributes):
    names = ("operation", "line", "call", "step", "inputs", "output", "note", "cls", "cause")
    return Fault(attributes["what"], attributes["phase"], attributes["path"], **{n: attributes[n] for n in names})


def not_hooked(model: object, who: str, others: str = "or what hooks.hooked made") -> TypeError:
    """The error for a model that a tool doesn't take.

    Args:
        model: the model.
        who: the name of the tool.
        others: what it takes beside Cells and nnx modules.
    """
    framework = unhooked(model)
    if framework is not None:
        return TypeError(f"For '{who}', give hooks.hooked(model), and run that: a model of {framework} takes no hooks by itself.")
    return TypeError(f"For '{who}', the model should be a Cell, a flax nnx module {others}, but got {describe(model)}.")
