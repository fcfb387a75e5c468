"""The epilogue of a program: one Python function that runs after it, calls hooks, prints text and assembles the result.

It runs after every training step, so its source code is generated, not interpreted from a list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

from msjax.common._format import value_text
from msjax.common.tensor import wrap
from msjax.compile.trace import Arrivals, Call, Pending
from msjax.hooks.protocol import call_after_failure
from msjax.hooks.returns import check_observer_result

if TYPE_CHECKING:
    from msjax.compile.trace import Mailbox, OutputRef


class _Writer:
    """Collects the lines of the epilogue's source, and the objects that they refer to."""

    def __init__(self):
        self.lines = []
        self.guards = {}  # their numbers
        self.names = {
            "after_failure": call_after_failure,
            "wrap": wrap,
            "text": value_text,
            "sys": sys,
            "nothing": check_observer_result,
            "unflatten": jax.tree.unflatten,
        }

    def pending(self, event):
        """From here on, other calls are made if an observer fails."""
        number = self.guards.setdefault(event.guard, len(self.guards))
        if event.calls is None:
            self.lines.append(f"del failed[{number}]")
        else:
            calls = [f"after_failure({self.name(fn)}, {self.expression(args)}, {who!r})" for fn, args, who in event.calls]
            self.lines.append(f"failed[{number}] = lambda: [{', '.join(calls)}]")

    def name(self, value) -> str:
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def expression(self, kept) -> str:
        """Source code that evaluates to a value of the result."""
        if kept.kind == "output":
            return f"wrap(o[{kept.value}])"
        if kept.kind == "array":
            return f"o[{kept.value}]"
        if kept.kind == "cell":
            return self.name(kept.value) + "()"
        if kept.kind == "constant":
            return repr(kept.value) if kept.value is None or isinstance(kept.value, bool) else self.name(kept.value)
        members, how = kept.value
        inner = "".join(self.expression(member) + ", " for member in members)
        if how is tuple:
            return f"({inner})"
        if how is list:
            return f"[{inner}]"
        if isinstance(how, tuple):
            return "{" + "".join(f"{self.name(k)}: {self.expression(m)}, " for k, m in zip(how, members)) + "}"
        return f"unflatten({self.name(how)}, [{inner}])"


def build_epilogue(events: list[Any], result: OutputRef, mailbox: Mailbox) -> Callable[..., Any]:
    """The function that makes a program's events happen after a run, and returns its result.

    Args:
        events: Call, Text, Arrivals and Pending objects, in order.
        result: what it returns.
        mailbox: delivers what callbacks brought.

    Returns:
        A function of the program's outputs, and of the calls that callbacks brought (see `Mailbox.deliver`).
    """
    writer = _Writer()
    for event in events:
        if isinstance(event, Call):
            arguments = writer.expression(event.args)
            writer.lines.append(f"r = {writer.name(event.fn)}(*{arguments})")
            writer.lines.append(f"if r is not None: nothing(r, {writer.name(event.what)})")
        elif isinstance(event, Pending):
            writer.pending(event)
        elif isinstance(event, Arrivals):
            writer.lines.append(f"if c: {writer.name(mailbox.deliver)}(c, {writer.name(event.sites)})")
        else:
            parts = [
                repr(part) if isinstance(part, str) else f"text(o[{part[0].value}], {part[1]!r}, {part[2]!r})"
                for part in event.parts
                if part != ""
            ]
            writer.lines.append(f"sys.stdout.write({' + '.join(parts)})")
    if any(isinstance(event, Arrivals) for event in events):
        writer.lines.append(f"if c: {writer.name(mailbox.deliver)}(c)")
    writer.lines.append(f"return {writer.expression(result)}")
    lines = writer.lines
    if writer.guards:
        # The innermost call fails first.
        failed = ["except Exception:", "    for call in reversed(failed.values()): call()", "    raise"]
        lines = ["failed = {}", "try:", *[f"    {line}" for line in lines], *failed]
    source = "def after_run(o, c=()):\n" + "".join(f"    {line}\n" for line in lines)
    exec(compile(source, "<after a compiled program>", "exec"), writer.names)
    return writer.names["after_run"]
