"""summary: a table of a network's cells, with output shapes, parameters and hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from flax import nnx

from msjax.core.base.split import Split
from msjax.core.models.capture import capture
from msjax.core.models.frameworks.framework import registry_of
from msjax.core.models.hooked import framework_with_hooks, hooked, paths, unhooked
from msjax.core.page.viewed import Printed
from msjax.core.tools.describing import hooks_in_words
from msjax.core.tools.model_tools import tools_of

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
    return Summary([*_rows(net, inputs, kwargs)], kind)


def _rows(model, inputs, kwargs) -> Iterator[SummaryRow]:
    """The row of each module. If there are arguments (those of `apply`, where a model has one), it is called on shapes only.

    A module stands right behind the one that it is in, and its label is indented. A weight counts for the innermost module that it is in.
    """
    tools = tools_of(model)
    called = (_outputs if tools is None else tools.outputs)(model, inputs, kwargs) if inputs or kwargs else {}
    modules = paths(model)
    trained, others = dict.fromkeys(modules, 0), dict.fromkeys(modules, 0)
    for name, array, is_trained in _weights(model, inputs) if tools is None else tools.weights(model):
        owner = _around(name, modules)
        if owner is not None:
            (trained if is_trained else others)[owner] += np.size(array)  # of an nnx variable that holds a plain number, too
    for name, label in _labels(modules):
        module, calls = modules[name], called.get(name, [])
        hooks, outputs = hooks_in_words(module), calls[0] if calls else None
        yield SummaryRow(name, type(module).__name__, outputs, len(calls), trained[name], others[name], hooks, label)


def _around(name, modules):
    """The path of the innermost module around a module or a weight, or None."""
    while name:
        name = name.rpartition(".")[0]
        if name in modules:
            return name
    return None


def _labels(modules):
    inside = {}
    for name in modules:
        inside.setdefault(_around(name, modules), []).append(name)

    def below(outer, depth):
        for name in inside.get(outer, ()):
            yield name, "  " * depth + (name[len(outer) + 1 if outer else 0 :] or "(network)")
            yield from below(name, depth + 1)

    return below(None, 0)


def _weights(model, inputs):
    registry = registry_of(model)
    if registry is not None:
        return registry.weights(model, inputs)
    flat = nnx.to_flat_state(nnx.state(model, nnx.Not(nnx.RngState)))
    return [
        (".".join(map(str, at)), leaf, isinstance(variable, nnx.Param))
        for at, variable in flat
        for leaf in jax.tree.leaves(variable)
    ]


def _outputs(model, inputs, kwargs):
    graphdef, state = nnx.split(model) if isinstance(model, nnx.Module) else (None, None)

    def run(state, /, *args, **kwargs):
        return capture(model if graphdef is None else nnx.merge(graphdef, state))(*args, **kwargs)

    return shapes_of_calls(run, state, inputs, kwargs)


def shapes_of_calls(captured: Callable[..., Any], state: Any, inputs: Any, kwargs: Any) -> dict[str, list[Any]]:
    """{path: for each call of a module, ((shape, dtype), ...) of its outputs}; the steps of a loop are one call, with a first axis of their own.

    ``captured(state, *inputs, **kwargs)`` returns (result, `Captured`). It runs on shapes only.
    """

    def run(state, given):
        args, named = given.joined()
        return captured(state, *args, **named)[1].activations

    called, given = {}, Split.of((inputs, kwargs), lambda leaf: hasattr(leaf, "shape") and hasattr(leaf, "dtype"))
    for name, value in jax.eval_shape(run, state, given).items():
        shapes = tuple((tuple(leaf.shape), str(leaf.dtype)) for leaf in jax.tree.leaves(value))
        called.setdefault(name.partition("#")[0], []).append(shapes)
    return called
