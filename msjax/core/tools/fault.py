"""Fault: where a value first went wrong, as a short report and as an exception; and what counts as wrong."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np

from msjax.core.base.errors import describe
from msjax.core.base.libraries import Line
from msjax.core.hooks.hook import HookSite
from msjax.core.models.hooked import unhooked
from msjax.core.page.viewed import Viewed


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
    def of(cls, value: Any) -> Statistics:
        """The statistics of an array or a number."""
        dtype = getattr(value, "dtype", None) or jnp.result_type(value)
        array = np.asarray(value)
        if array.dtype.kind == "O" or not (jnp.issubdtype(dtype, jnp.number) or array.dtype.kind == "b"):
            return cls(tuple(np.shape(value)), str(dtype), np.nan, np.nan, np.nan, 0, 0)
        array = np.abs(array) if array.dtype.kind == "c" else array.astype(np.float64)
        nan, finite = np.isnan(array), array[np.isfinite(array)]
        low, high, mean = (float(f(finite)) for f in (np.min, np.max, np.mean)) if finite.size else (np.nan,) * 3
        return cls(array.shape, str(dtype), low, high, mean, int(nan.sum()), int(array.size - finite.size - nan.sum()))

    def __str__(self) -> str:
        size = int(np.prod(self.shape))
        parts = [f"{count:,} of {size:,} {name}" for count, name in ((self.nan, "NaN"), (self.inf, "infinite")) if count]
        if not np.isnan(self.min):
            parts.append(f"min {self.min:.4g}, max {self.max:.4g}, mean {self.mean:.4g}")
        return f"{self.dtype}{list(self.shape)}: {', '.join(parts) or 'no values'}"


class Passed(NamedTuple):
    """An operation that a wrong value passed on the way from its origin to the result.

    Attributes:
        phase (str): "forward" or "backward"; "" for the result itself.
        path (str): the cell or module; None outside of all.
        operation (str): what it is, in words; the name of the result.
        line (Line): the user's line; None if it is not known.
        inputs (tuple of Statistics), output (Statistics): of its inputs, and of what was wrong in its result; none of the result itself.
    """

    phase: str
    path: str | None
    operation: str
    line: Line | None
    inputs: tuple[Statistics, ...] = ()
    output: Statistics | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.operation, f"in {self.path}" if self.path else "", str(self.line or ""))))

    def told(self) -> dict[str, Any]:
        """The operation as a page shows it."""
        output = None if self.output is None else str(self.output)
        told = {"phase": self.phase, "path": self.path, "operation": self.operation, "line": _with_code(self.line)}
        return {**told, "inputs": list(map(str, self.inputs)), "output": output}


@dataclass(eq=False, repr=False)
class Fault(Viewed, FloatingPointError):
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
        cause (Fault): of a NaN, the infinite value that it was computed from; None if there was none.
        chain (list of Passed): the way back: the result that was wrong, the operations that it comes from, the origin last.
        derivative (str): the operation whose derivative `operation` is a part of; "" in a backward rule of the user's own; None in the
            forward pass, and if it is not known.
        called_from (Line): the user's line, if `line` is one of a library.
        bundle (str): the path of the file that the step was written to; None if it wasn't.
        device (str): where a shard_map ran the operation: the places along the axes of its mesh; None outside of one.
        message (str): what a check of the user's says; "" for other faults.
        index, axis, bound (int): of an index out of range: it, the axis that it counts, and how long that is; else None.
        element (tuple of int): where in the array of indices, of divisors, or of examples of vmaps the wrong one is; () if it is alone.
        details (list of tuple of str): further lines of the report: (name, text).
    """

    what: str
    phase: str
    path: str | None
    _: KW_ONLY
    cls: str = ""
    operation: str | None = None
    line: Line | None = None
    call: int = 0
    step: tuple[int, ...] = ()
    inputs: Sequence[Statistics] = ()
    output: Statistics | None = None
    note: str = ""
    cause: Fault | None = None
    chain: Sequence[Passed] = ()
    derivative: str | None = None
    called_from: Line | None = None
    device: str | None = None
    message: str = ""
    bundle: str | None = None
    index: int | None = None
    axis: int | None = None
    bound: int | None = None
    element: tuple[int, ...] = ()
    details: list[tuple[str, str]] = field(default_factory=list)
    brief_traceback: ClassVar[bool] = True  # see msjax.core.base.errors.shorten

    def __post_init__(self):
        self.step, self.inputs, self.chain = tuple(self.step), list(self.inputs), list(self.chain)

    def __str__(self) -> str:
        return "\n".join([self.title, *(_folded(f"  {name:<9}  ", text) for name, text in self.rows())])

    @property
    def title(self) -> str:
        return f"The first {self.what} is in the {self.phase} pass"

    def rows(self) -> list[tuple[str, str]]:
        """The lines of the report below its title: (name, text)."""
        of, call = f" ({self.cls})" if self.cls else "", f", call {self.call}" if self.call else ""
        rows: list[tuple[str, Any]] = [
            ("cell", None if self.path is None else f"{self.path or '(the model)'}{of}{call}"),
            ("operation", self.operation and self._what_ran()),
            ("line", _with_code(self.line)),
            ("called by", self.called_from and f"{self.called_from}: {self.called_from.code}"),
            ("step", self.step and f"{', '.join(map(str, self.step))} of the loop around it, from 0"),
            ("device", self.device),
            ("message", self.message),
            *self.details,
            ("chain", " <- ".join(map(str, _shortened(self.chain))) if len(self.chain) > 1 else ""),
            ("result", self.output and str(self.output)),
            *((f"input {i}", str(found)) for i, found in enumerate(self.inputs)),
            ("before", self.cause and self.cause._as_cause()),
            ("note", self.note),
            ("bundle", self.bundle and f"{self.bundle}: tools.replay(file, step) runs the step again"),
        ]
        return [(name, text) for name, text in rows if text]

    def _as_cause(self):
        where = "" if self.path is None else f" in {self.path or '(the model)'}"
        came = f"an infinite value came from {self._what_ran()}{where}, {self.line or 'unknown line'}"
        return came if self.operation else self.note

    def view(self) -> dict[str, Any]:
        """The data of its view on a page: the chain from the result back to the cause."""
        chain = list(self.chain) or [Passed("", None, self.what, None)]
        if len(chain) == 1 or self.operation is None:
            output = () if self.output is None else (self.output,)
            what = self.operation or self.message or self.note
            chain.append(Passed(self.phase, self.path, what, self.line, tuple(self.inputs), *output))
        links = [link.told() for link in chain]
        links[-1]["origin"] = True
        if self.cause is not None:
            what = f"{self.cause.operation or self.cause.note}: before it, an infinite value"
            links.append(Passed(self.cause.phase, self.cause.path, what, self.cause.line).told())
        report = [list(row) for row in self.rows()]
        return {"kind": "fault", "title": f"Fault: {self.what}", "heading": self.title, "report": report, "chain": links}

    def _what_ran(self):
        if self.derivative == "":
            return f"{self.operation}, in a backward rule"
        if self.derivative is not None:
            part = f" ({self.operation})" if self.operation != self.derivative else ""
            return f"derivative of {self.derivative}{part}"
        return f"the gradient of {self.operation}" if self.phase == "backward" else str(self.operation)

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        return Fault, (self.what, self.phase, self.path), dict(vars(self))

    def __rich__(self) -> Any:
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        for name, text in self.rows():
            table.add_row(Text(name, "dim"), Text(text, "bold" if name in ("cell", "operation") else ""))
        return Panel(table, title=Text(self.title, "bold red"), title_align="left", expand=False)


def _with_code(line):
    return None if line is None else f"{line}{f': {line.code}' if getattr(line, 'code', '') else ''}"


def _shortened(chain):
    """A chain with the first operation of each line, and the origin; the middle is left out if it is long."""
    places = [(p.phase, p.path, p.line) for p in chain]
    last = len(chain) - 1
    chain = [p for i, p in enumerate(chain) if not 0 < i < last or p.line is None or places[i] != places[i - 1]]
    return chain if len(chain) <= 8 else [*chain[:3], f"... {len(chain) - 6} more", *chain[-3:]]


def _folded(name, text):
    """A line of a report, folded at 80 columns."""
    lines = textwrap.wrap(text, 80 - len(name), break_on_hyphens=False) or [""]
    return "\n".join([name + lines[0], *(" " * len(name) + line for line in lines[1:])])


def not_hooked(model: object, who: str) -> TypeError:
    """The error for what a tool, whose name is `who`, doesn't take: it takes models with hooks, and functions."""
    framework = unhooked(model)
    if framework is not None:
        return TypeError(f"For '{who}', give hooks.hooked(model), and run that: a model of {framework} takes no hooks by itself.")
    return TypeError(f"For '{who}', the model should be a Cell, a flax nnx module or a function, but got {describe(model)}.")


def path_from(owners: Sequence[Any]) -> tuple[str, str]:
    """(path, class) of the innermost owner of hooks: a module of another framework knows its path; that of a cell starts from the
    outermost cell, or from the module around it."""
    last = owners[-1]
    if isinstance(last, HookSite):
        return last._named_in(())
    cls = type(last).__name__
    around = next((owner for owner in reversed(owners) if isinstance(owner, HookSite)), None)
    within, path = (owners[0], "") if around is None else (around, around.path)
    inside = {id(one): name for name, one in within.cells_and_names()}
    return ".".join(filter(None, (path, inside.get(id(last), cls)))), cls
