"""One tracing of a program: what it reads and writes, whom it calls, what it prints.

While a program is compiled, its Python code runs once, on values that are not known yet. What has to happen
at every run is written down here in order: calls of observers and printed text. The values that these need
become outputs of the program.
"""

from __future__ import annotations

import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

import jax
import jax.extend.core
from flax import nnx

from msjax.common.arrays import is_tracer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, is_leaf
from msjax.state import ACTIVITY, LOCK, STATE, Scope, Tracing, swap
from msjax.typing import TensorLike

if TYPE_CHECKING:
    from msjax.common.buffer import Buffer


_MARK = re.compile("\x02(\\d+):(str|repr|format):([^\x03]*)\x03")


class NeedsPyNative(Exception):
    """The program can't be compiled as it stands; run in PyNative mode, it may work.

    Attributes:
        why: a sentence.
    """

    def __init__(self, why: Any):
        super().__init__(why)
        self.why = why


class Call:
    """A hook to be called after each run, with values that the program hands out."""

    __slots__ = ("fn", "args", "what")

    def __init__(self, fn: Callable[..., Any], args: Any, what: str, trace: Any):
        self.fn = fn
        self.args = trace.keep(tuple(args))
        self.what: str = what


class Text:
    """Text to be written after each run: strings, and (kept Tensor, kind, format) where that of a Tensor belongs."""

    __slots__ = ("parts",)

    def __init__(self, text: str, marks: Any):
        self.parts, end = [], 0
        for found in _MARK.finditer(text):
            self.parts += [text[end : found.start()], (marks[int(found[1])], found[2], found[3])]
            end = found.end()
        self.parts.append(text[end:])


class OutputRef:
    """Something to be given out after each run.

    Attributes:
        kind: "output" (a Tensor around an output of the program), "constant", "cell" (held weakly), or "tree".
        value: the number of the output; the constant; the weak reference; (the members, how they fit together).
    """

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: int):
        self.kind: str = kind
        self.value: int = value


class Trace(Tracing):
    """A program while it is being compiled.

    Args:
        variables: the Tensors that it is known to read or write from outside.

    Attributes:
        events: what has to happen after each run, in order.
        outputs: the values that events need, and what the program returns and writes.
        given: all that hands out outputs, as Tensors or arrays, by their numbers.
        cells: {id: (cell, {name: Tensor} of its attributes before the call)} of those that were called.
        missing: {id: (Tensor, its value)} of those that it used, but was not known to use.
        silent: True while what happens is no part of the program's doings (a forward that is computed again).
        forward_args: weak references to the Tensors that traced forward hooks were given, with their names.
    """

    falls_back = True

    def __init__(self, variables: list[Buffer]):
        super().__init__()
        self.variables = {id(v): v for v in variables}
        self.events = []
        self.outputs = []
        self.given = []
        self._index = {}
        self.missing = {}
        self.silent = False
        self._marks = []
        self._text = []
        self.cells = {}
        self._swap = self._stdout = None
        self.world = None

    # ---- the world in which it runs

    def __enter__(self) -> Self:
        LOCK.acquire()
        ACTIVITY.add(traces=1)
        self._swap = swap(scope=Scope(None), recording=True, trace=self, cells=_SeenCells(self, STATE.cells))
        self._swap.__enter__()
        self._stdout = sys.stdout
        self.world = jax.extend.core.get_opaque_trace_state()
        sys.stdout = _Capture(self, sys.stdout)
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.flush_text()
        STATE.scope.open = False
        self._swap.__exit__()  # pyright: ignore[reportOptionalMemberAccess]
        sys.stdout = self._stdout
        ACTIVITY.add(traces=-1)
        LOCK.release()

    def here(self) -> bool:
        """True where values are this program's, not those of a loop or a transformation within it."""
        return jax.extend.core.get_opaque_trace_state() == self.world

    # ---- variables

    def see(self, operands: Any) -> None:
        """Operands of an operator: a Tensor whose value is known came from outside."""
        for operand in operands:
            if isinstance(operand, Tensor) and id(operand) not in self.variables and not is_tracer(operand._value):
                self.missing[id(operand)] = operand, operand._value

    def see_cell(self, cell: Any) -> None:
        """A cell that is called: all its Tensors are the program's variables."""
        if id(cell) in self.cells:
            return
        self.cells[id(cell)] = cell, {name: value for name, value in vars(cell).items() if isinstance(value, Tensor)}
        for tensor in cell_tensors(cell):
            if id(tensor) not in self.variables and not is_tracer(tensor._value):
                self.missing[id(tensor)] = tensor, tensor._value

    # ---- events

    def keep(self, value: Tensor) -> OutputRef:
        """Something to be given out after each run, with the values of that run in the place of Tensors."""
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            return self.keep_output(value._value)
        if value.__class__ in (tuple, list):
            return OutputRef("tree", ([self.keep(v) for v in value], value.__class__))
        if value.__class__ is dict:
            return OutputRef("tree", ([self.keep(v) for v in value.values()], tuple(value)))
        if isinstance(value, nnx.Module):
            return OutputRef("cell", weakref.ref(value))
        if is_tracer(value):
            kept = self.keep_output(value)
            kept.kind = "array"
            return kept
        leaves, treedef = jax.tree.flatten(value, is_leaf=is_leaf)
        if len(leaves) == 1 and leaves[0] is value:
            return OutputRef("constant", value)
        return OutputRef("tree", ([self.keep(v) for v in leaves], treedef))

    def keep_output(self, value: TensorLike) -> OutputRef:
        """A value of the program, to be given out as a Tensor."""
        kept = OutputRef("output", self.output(value))
        self.given.append(kept)
        return kept

    def output(self, value: TensorLike) -> int:
        """The number of a value among the outputs."""
        index = self._index.get(id(value))
        if index is None:
            index = self._index[id(value)] = len(self.outputs)
            self.outputs.append(value)
        return index

    def call(self, fn: Callable[..., Any], args: Any, what: str) -> None:
        """Call the observer `fn(*args)` after each run."""
        self.flush_text()
        if not self.silent:
            self.events.append(Call(fn, args, what, self))

    def mark(self, tensor: TensorLike, kind: Any, spec: Any) -> str:
        """What stands in a text for that of a Tensor."""
        self._marks.append(self.keep_output(tensor._value))
        return f"\x02{len(self._marks) - 1}:{kind}:{spec}\x03"

    def write(self, text: str) -> None:
        self._text.append(text)

    def flush_text(self) -> None:
        if self._text:
            text, self._text = "".join(self._text), []
            if not self.silent:
                self.events.append(Text(text, self._marks))


class _SeenCells(list):
    """The cells whose call is under way; each tells the trace of itself."""

    def __init__(self, trace: Any, cells: Any):
        super().__init__(cells)
        self.trace = trace

    def append(self, cell):
        self.trace.see_cell(cell)
        list.append(self, cell)


class _Capture:
    """Stands for sys.stdout while a program is compiled; other threads write through."""

    def __init__(self, trace: Any, stream: Any):
        self._trace = trace
        self._stream = stream
        self._thread = threading.get_ident()

    def write(self, text):
        if threading.get_ident() == self._thread:
            self._trace.write(text)
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def cell_tensors(cell: Any) -> Iterator[Any]:
    """The Tensors that are attributes of one cell, in lists, tuples and dicts, too."""
    for value in vars(cell).values():
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (v for v in value if isinstance(v, Tensor))
        elif isinstance(value, dict):
            yield from (v for v in value.values() if isinstance(v, Tensor))
