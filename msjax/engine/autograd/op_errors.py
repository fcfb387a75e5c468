"""Errors of operators: re-raised with the operator, the cell and the operands in the message."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import jax

from msjax.common.arrays import left_behind
from msjax.common.tensor import Tensor
from msjax.core.base.arrays import TracedValueError
from msjax.core.base.errors import describe, where


class Operator(Protocol):
    """An operator, as errors and monitors see it; see `msjax.engine.autograd.op.Op`."""

    name: str
    shape_error: type[Exception]


def raise_op_error(error: Exception, op: Operator, operands: Sequence[Any]) -> NoReturn:
    """Re-raise an error of an operator with the operator, the cell and the operands in the message."""
    if isinstance(error, (TracedValueError, IndexError, NotImplementedError, FloatingPointError, OpError)):
        raise error
    if isinstance(error, jax.errors.UnexpectedTracerError):
        raise left_behind(next(o for o in operands if isinstance(o, Tensor)), error) from None
    bad = [o for o in operands if not (o is None or isinstance(o, (Tensor, bool, int, float, complex)) or hasattr(o, "dtype"))]
    if isinstance(error, AttributeError) and not bad:
        bad = [o for o in operands if o is None]
    elif not isinstance(error, (*_EXPECTED, AttributeError)) and "unbound axis name" not in str(error):
        raise error  # a text as an axis is to jax the name of one
    if bad and (isinstance(error, AttributeError) or not _raised_here(error)):
        message = f"For '{op.name}'{where()}, an operand should be a Tensor, an array or a number, but got {describe(bad[0])}."
        raise _error_class(TypeError)(message) from error
    if isinstance(error, AttributeError):
        raise error
    if _raised_here(error):
        kind = next(k for k in _EXPECTED if isinstance(error, k))
    elif "accept dtype" in str(error) or isinstance(error, NameError):
        kind = TypeError
    else:
        kind = op.shape_error if isinstance(error, (TypeError, ValueError)) else RuntimeError
    came = ", ".join(describe(o) for o in operands)
    made = _error_class(kind)(f"For '{op.name}'{where()}: {_first_lines(error)}\n  The operands were: {came}")
    raise made from error


class OpError(Exception):
    """An operator refused its operands; the class raised is also the exception that MindSpore raises."""


@functools.cache
def _error_class(kind):
    return type(kind.__name__, (OpError, kind), {"__module__": "builtins"})


_EXPECTED = (TypeError, ValueError, RuntimeError, OverflowError, ZeroDivisionError, AssertionError)


def _raised_here(error) -> bool:
    """True if one of msjax's kernels raised, and so chose the exception; False if jax did."""
    traceback = error.__traceback__
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_globals.get("__name__", "").startswith(("msjax.ops", "msjax.core.base.checks"))


def _first_lines(error) -> str:
    text = str(error).split("\n\nThe error occurred while tracing")[0].strip()
    return text if len(text) <= 600 else text[:600] + " ..."
