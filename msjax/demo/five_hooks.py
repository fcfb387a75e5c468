"""Runs the five forms of hooks on one batch and records what each of them got."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.engine.autograd.grad import grad
from msjax.nn.cell.base import Cell

if TYPE_CHECKING:
    from msjax.demo.lenet import LeNet5


@dataclass(frozen=True)
class Seen:
    """One value that a hook got: the method or operator that registered the hook, where, the name of the argument, and its value."""

    hook: str
    place: str
    argument: str
    value: np.ndarray


def watch(net: LeNet5, loss_fn: Cell, images: Tensor, labels: Tensor) -> list[Any]:
    """Run one batch forward and backward with a hook of each form, then remove the hooks.

    The network's cell ``conv2`` gets the four cell hooks; HookBackward is applied to its output.

    Returns:
        list[Seen], in the order in which the hooks ran.
    """
    seen = []

    def note(hook, place, **arguments):
        seen.extend(Seen(hook, place, name, np.array(value.asnumpy())) for name, value in arguments.items())

    def forward_pre(cell, inputs):
        note("register_forward_pre_hook", "conv2", inputs=inputs[0])

    def forward(cell, inputs, output):
        note("register_forward_hook", "conv2", inputs=inputs[0], output=output)

    def backward_pre(cell, grad_output):
        note("register_backward_pre_hook", "conv2", grad_output=grad_output[0])

    def backward(cell, grad_input, grad_output):
        note("register_backward_hook", "conv2", grad_input=grad_input[0], grad_output=grad_output[0])

    tap = ops.HookBackward(lambda grads: note("ops.HookBackward", "the scores", grads=grads[0]))

    def loss_of(images: Tensor):
        return loss_fn(tap(net(images)), labels)

    with (
        net.conv2.register_forward_pre_hook(forward_pre),
        net.conv2.register_forward_hook(forward),
        net.conv2.register_backward_pre_hook(backward_pre),
        net.conv2.register_backward_hook(backward),
    ):
        grad(loss_of)(images)
    return seen


def table_of(seen: Any) -> Any:
    """What the hooks got, as a rich table that fits into 80 columns."""
    from rich import box
    from rich.table import Table

    table = Table(
        title="The first batch: five forms of hooks, in the order in which they ran", title_justify="left", box=box.SIMPLE_HEAD
    )
    for name in ("hook", "argument", "shape", "mean|x|", "max|x|"):
        table.add_column(name, justify="right" if "|x|" in name else "left", no_wrap=True)
    for number, (hook, place) in enumerate(dict.fromkeys((s.hook, s.place) for s in seen), start=1):
        got = [s for s in seen if s.hook == hook]
        table.add_row(
            f"{number} {hook}\n  on {place}",
            "\n".join(s.argument for s in got),
            "\n".join("x".join(map(str, s.value.shape)) for s in got),
            "\n".join(f"{np.abs(s.value).mean():.2g}" for s in got),
            "\n".join(f"{np.abs(s.value).max():.2g}" for s in got),
            end_section=True,
        )
    return table
