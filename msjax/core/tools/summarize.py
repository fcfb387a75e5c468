"""summary: a table of a network's cells, with output shapes, parameters and hooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msjax.core.models.hooked import framework_with_hooks, hooked, unhooked
from msjax.core.page.texts import Printed
from msjax.core.tools.model_tools import tools_of
from msjax.core.tools.modules import described

_COLUMNS = ("class", "output", "parameters", "hooks")


@dataclass(frozen=True)
class SummaryRow:
    """One row of the table: a cell or a module.

    Attributes:
        path (str): its path in the network; empty for the network itself.
        cls_name (str): its class.
        outputs (tuple): (shape, dtype) of each Tensor that the first call returned; None if it was not called.
        calls (int): how often it was called.
        trainable, other (int): elements of its own Parameters that require a gradient, and of the others.
        hooks (str): the kinds and names of its hooks.
        label (str): how the table names it: by the last part of its path, indented.
    """

    path: str
    cls_name: str
    outputs: tuple[Any, ...] | None
    calls: int
    trainable: int
    other: int
    hooks: str
    label: str

    def texts(self) -> tuple[str, str, str, str, str]:
        """The row's cells as text."""
        shown = "not called" if self.outputs is None else ", ".join(f"{dtype} {list(shape)}" for shape, dtype in self.outputs)
        output = f"{shown} x{self.calls}" if self.calls > 1 else shown
        return self.label, self.cls_name, output, _count(self.trainable, self.other), self.hooks


@dataclass(frozen=True, repr=False)
class Summary(Printed):
    """The result of `summary`: rows that print as a table, also in a notebook.

    Attributes:
        rows (list of SummaryRow): the network, then each cell in it.
        kind (str): what the rows are: "cell" or "module".
    """

    rows: list[Any] = field(default_factory=list)
    kind: str = "cell"

    @property
    def trainable(self) -> int:
        """Elements of all Parameters that require a gradient."""
        return sum(row.trainable for row in self.rows)

    @property
    def other(self) -> int:
        """Elements of all other Parameters."""
        return sum(row.other for row in self.rows)

    def __rich__(self):
        from rich import box
        from rich.table import Table
        from rich.text import Text

        hooks = any(row.hooks for row in self.rows)
        table = Table(box=box.SIMPLE, show_footer=True)
        total = _count(self.trainable, self.other)
        table.add_column(self.kind, "in all", no_wrap=True)
        for name in _COLUMNS if hooks else _COLUMNS[:-1]:
            right = name == "parameters"
            table.add_column(name, total if right else "", justify="right" if right else "left")
        for row in self.rows:
            table.add_row(*[Text(text) for text in row.texts()[: len(table.columns)]])
        return table


def _count(trainable, other):
    if not other:
        return f"{trainable:,}" if trainable else ""
    return f"{trainable:,} (+{other:,} not trained)"


def summary(net: Any, *inputs: Any, **kwargs: Any) -> Summary:
    """Make a table of a network's cells or modules: path, class, shapes and dtypes of the outputs, Parameters, hooks.

    The network runs on shapes only: nothing is computed, no Parameter changes, and observers are not called.

    Args:
        net: a Cell, a flax nnx module, or another model as for `hooks.hooked`, or what that made of one.
        inputs, kwargs: the network's arguments (of a linen module or a haiku transform, those of `apply`): Tensors, arrays, or `jax.ShapeDtypeStruct` to give only a shape and dtype;
            other values are passed unchanged. Without arguments, the table has no outputs.

    Returns:
        A `Summary`, which prints as a table, also in a notebook.

    Raises:
        TypeError: `net` is none of these.
        RuntimeError: the network reads the values of Tensors, which are not known here.

    Example:
        >>> from msjax import float32, nn, ops, tools
        >>> net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU())
        >>> handle = net[1].register_forward_hook(print)
        >>> print(tools.summary(net, ops.zeros((2, 4), float32)))
         cell        class            output           parameters   hooks
        ───────────────────────────────────────────────────────────────────────────
         (network)   SequentialCell   Float32 [2, 8]
           0         Dense            Float32 [2, 8]           40
           1         ReLU             Float32 [2, 8]                forward: print
        ───────────────────────────────────────────────────────────────────────────
         in all                                                40
    """
    net = hooked(net) if unhooked(net) is not None else net
    framework_with_hooks(net, "summary")
    kind = "module" if tools_of(net) is None else "cell"
    return Summary([SummaryRow(*fields) for fields in described(net, inputs, kwargs)], kind)
