"""Text of Tensors whose values are not known yet.

Such a text is a placeholder, which the run fills in. That is right only where the text goes straight to `print`: whoever cuts,
pads, measures or keeps a placeholder would get something else than the text. So the code that asks for a text is looked at
first, from its bytecode: what becomes of it until it is printed.
"""

from __future__ import annotations

import dis
import re
import sys
from types import FrameType
from typing import Any

from msjax.core.base.state import STATE
from msjax.core.hooks.classify import UNKNOWN, called

TEXT_IS_USED = "it uses the text of a Tensor for something else than printing it at once"

_SKIPPED = ("KW_NAMES", "NOP", "EXTENDED_ARG", "PRECALL", "RESUME")

# %s and its kin with a width or precision, or by name.
_FITTED = re.compile(r"%(\(|[^%a-zA-Z]+[sra])")


class Placeholder(str):
    """The text of a Tensor whose value is not known yet; nothing can fit it to a width."""

    __slots__ = ()

    def __format__(self, spec):
        if spec and STATE.trace is not None:
            STATE.trace.refuse(TEXT_IS_USED)
        return str.__format__(self, spec)


def goes_to_print(frame: FrameType | None) -> bool:
    """True if the text that the running instruction of a frame asks for goes into `print` or ``sys.stdout.write`` as it is.

    On the way there may be `str`, `repr`, an f-string, ``+``, ``%`` and `str.format`.
    """
    if frame is None:
        return False
    instructions = list(dis.get_instructions(frame.f_code))
    at = next((i for i, instruction in enumerate(instructions) if instruction.offset == frame.f_lasti), None)
    if at is None:
        return False
    names = _NamesInFrame(frame)
    if instructions[at].opname == "PRECALL":
        at += 1  # Python 3.11, once it has specialized the call to a builtin
    now = instructions[at]
    if now.opname.startswith("CALL"):
        callee = called(instructions[: at + 1], names)[0]
        if callee is print:
            return _to_stdout(instructions, at, names)
        if callee is not str and callee is not repr and not _is_format(callee):
            return False
    elif now.opname == "BINARY_OP" and now.argrepr == "%":
        if not _plain_percent(instructions, at):
            return False
    elif not now.opname.startswith(("FORMAT_", "CONVERT_VALUE")):
        return False
    return _is_printed(instructions, at, names)


def _is_printed(instructions, at, names):
    """Follow the value that instruction `at` leaves on the stack to where it is used."""
    while True:
        at = _user(instructions, at)
        if at is None:
            return False
        now = instructions[at]
        if now.opname == "BUILD_STRING" or now.opname == "FORMAT_SIMPLE":
            continue
        if now.opname == "FORMAT_VALUE" and not now.arg & 6:  # neither repr or ascii of it nor a width
            continue
        if now.opname == "BINARY_OP" and now.argrepr == "+":
            continue
        if not now.opname.startswith("CALL"):
            return False
        callee = called(instructions[: at + 1], names)[0]
        if callee is print:
            return _to_stdout(instructions, at, names)
        return getattr(callee, "__name__", None) == "write" and getattr(callee, "__self__", None) is sys.stdout


def _user(instructions, at):
    """The number of the instruction that takes from the stack what instruction `at` left there."""
    height = 1
    for i in range(at + 1, len(instructions)):
        now = instructions[i]
        if now.opname in _SKIPPED:
            if now.opname == "PRECALL":  # with CALL, one step in two
                height += dis.stack_effect(now.opcode, now.arg)
            continue
        if now.opcode in dis.hasjrel or now.opcode in dis.hasjabs:
            return None
        height += dis.stack_effect(now.opcode, now.arg if now.opcode >= dis.HAVE_ARGUMENT else None)
        if height <= 1:
            return i
    return None


def _to_stdout(instructions, at, names):
    """True if a call of print names no file."""
    now = instructions[at]
    if now.opname == "CALL_FUNCTION_EX":
        return not (now.arg or 0) & 1
    for before in reversed(instructions[:at]):
        if before.opname == "KW_NAMES" or (now.opname == "CALL_KW" and before.opname == "LOAD_CONST"):
            return "file" not in names.constants[before.arg]
        if before.opname not in _SKIPPED:
            return True
    return True


def _is_format(callee):
    return isinstance(getattr(callee, "__self__", None), str) and callee.__name__ == "format"


def _plain_percent(instructions, at):
    """True if the left operand of ``%`` is a constant that asks for no widths of texts."""
    start = instructions[at].positions
    for before in reversed(instructions[:at]):
        where = before.positions
        if (where.lineno, where.col_offset) == (start.lineno, start.col_offset):
            return before.opname == "LOAD_CONST" and isinstance(before.argval, str) and not _FITTED.search(before.argval)
    return False


class _NamesInFrame:
    """What the names in a running function stand for."""

    def __init__(self, frame):
        self._frame = frame
        self.constants = frame.f_code.co_consts

    def globally(self, name: str) -> Any:
        for names in (self._frame.f_globals, self._frame.f_builtins):
            if name in names:
                return names[name]
        return UNKNOWN

    def local(self, name: str) -> Any:
        return self._frame.f_locals.get(name, UNKNOWN)

    closed = local
