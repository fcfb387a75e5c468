"""``mindspore._checkparam``: the checks of arguments that public layers call, as functions and as methods of Validator."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from msjax.common.dtype import as_dtype
from msjax.core.base import checks
from msjax.core.base.errors import describe

EQ, NE, LT, LE, GT, GE, IN = 1, 2, 3, 4, 5, 6, 11
INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = 7, 8, 9, 10

_RELATIONS: dict[int, tuple[str, Callable[..., bool]]] = {
    EQ: ("equal to", operator.eq),
    NE: ("different from", operator.ne),
    LT: ("less than", operator.lt),
    LE: ("at most", operator.le),
    GT: ("greater than", operator.gt),
    GE: ("at least", operator.ge),
    IN: ("in", lambda value, allowed: value in allowed),
}
_RANGES = {
    INC_NEITHER: (operator.gt, operator.lt, "({}, {})"),
    INC_LEFT: (operator.ge, operator.lt, "[{}, {})"),
    INC_RIGHT: (operator.gt, operator.le, "({}, {}]"),
    INC_BOTH: (operator.ge, operator.le, "[{}, {}]"),
}


def _checked(value, fits, error, expected, name, who):
    """The value, if it fits; else the error."""
    if fits:
        return value
    head = f"For '{who}', " if who else ""
    raise error(f"{head}'{name or 'the argument'}' should be {expected}, but got {describe(value)}.")


def _is_number(value, kind):
    return isinstance(value, kind) and not isinstance(value, bool)


def check_number(arg_value: Any, value: Any, rel: int, arg_type: type = int, arg_name: Any = None, prim_name: Any = None) -> Any:
    """A number in a relation (EQ, GT, ...) to another; returns it."""
    text, holds = _RELATIONS[rel]
    _checked(arg_value, _is_number(arg_value, arg_type), TypeError, f"of type {arg_type.__name__}", arg_name, prim_name)
    return _checked(arg_value, holds(arg_value, value), ValueError, f"{text} {value}", arg_name, prim_name)


def check_int(arg_value: Any, value: Any, rel: int, arg_name: Any = None, prim_name: Any = None) -> Any:
    """An int in a relation to another; returns it."""
    return check_number(arg_value, value, rel, int, arg_name, prim_name)


def check(
    arg_name: Any, arg_value: Any, value_name: Any, value: Any, rel: int = EQ, prim_name: Any = None, excp_cls: Any = ValueError
) -> Any:
    """A value in a relation to another one, which has a name, too; returns it."""
    text, holds = _RELATIONS[rel]
    return _checked(arg_value, holds(arg_value, value), excp_cls, f"{text} '{value_name}', {value}", arg_name, prim_name)


def _in_range(kind):
    def check_range(arg_value: Any, lower: Any, upper: Any, rel: int = INC_NEITHER, arg_name: Any = None, prim_name: Any = None):
        """A number between two others; returns it."""
        low, high, text = _RANGES[rel]
        _checked(arg_value, _is_number(arg_value, kind), TypeError, "a number", arg_name, prim_name)
        within = low(arg_value, lower) and high(arg_value, upper)
        return _checked(arg_value, within, ValueError, f"in {text.format(lower, upper)}", arg_name, prim_name)

    return check_range


check_int_range: Final = _in_range(int)
check_float_range: Final = _in_range((int, float))
check_number_range: Final = _in_range((int, float))


def _one_sided(kind, rel):
    def check_sign(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
        """A positive or non-negative number; returns it."""
        return check_number(arg_value, 0, rel, kind, arg_name, prim_name)

    return check_sign


check_positive_int, check_non_negative_int = _one_sided(int, GT), _one_sided(int, GE)
check_positive_float, check_non_negative_float = _one_sided(float, GT), _one_sided(float, GE)


def check_is_int(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
    """An int that is no bool; returns it."""
    return _checked(arg_value, _is_number(arg_value, int), TypeError, "an int", arg_name, prim_name)


def check_is_float(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
    """A float; returns it."""
    return _checked(arg_value, isinstance(arg_value, float), TypeError, "a float", arg_name, prim_name)


def check_equal_int(arg_value: Any, value: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
    """An int with a certain value; returns it."""
    return check_int(arg_value, value, EQ, arg_name, prim_name)


def check_bool(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> bool:
    """A bool; returns it."""
    return checks.check_bool(arg_value, arg_name or "the argument", prim_name)


def check_string(arg_value: Any, valid_values: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
    """One of some strings; returns it."""
    return _checked(arg_value, arg_value in valid_values, ValueError, f"one of {list(valid_values)}", arg_name, prim_name)


def check_value_type(arg_name: str, arg_value: Any, valid_types: Any, prim_name: Any = None) -> Any:
    """A value of one of some Python types; returns it. A bool is no int."""
    types = tuple(valid_types) if isinstance(valid_types, (list, tuple)) else (valid_types,)
    fits = isinstance(arg_value, types) and (bool in types or not isinstance(arg_value, bool))
    return _checked(arg_value, fits, TypeError, "of type " + " or ".join(t.__name__ for t in types), arg_name, prim_name)


def check_isinstance(arg_name: str, arg_value: Any, classes: Any) -> Any:
    """An instance of a class; returns it."""
    return _checked(arg_value, isinstance(arg_value, classes), ValueError, f"an instance of {classes}", arg_name, None)


def check_type_name(arg_name: str, arg_type: Any, valid_types: Any, prim_name: Any = None) -> Any:
    """One of some data types; returns it."""
    types = [as_dtype(t) for t in (valid_types if isinstance(valid_types, (list, tuple, set, frozenset)) else (valid_types,))]
    return _checked(arg_type, as_dtype(arg_type) in types, TypeError, "one of " + ", ".join(map(str, types)), arg_name, prim_name)


check_types_same_and_valid = check_type_name


def check_subclass(
    arg_name: str, type_: Any, template_types: Any, prim_name: Any = None, addition_error_info: Any = None
) -> None:
    """A class or data type among some."""
    types = tuple(template_types) if isinstance(template_types, (list, tuple)) else (template_types,)
    fits = any(type_ == t or (inspect.isclass(type_) and inspect.isclass(t) and issubclass(type_, t)) for t in types)
    _checked(type_, fits, TypeError, f"a subclass of {types}", arg_name, prim_name)


def args_type_check(*types: Any, **named: Any) -> Callable[..., Any]:
    """A decorator: TypeError for an argument that is neither None nor of its type."""

    def decorate(fn):
        signature = inspect.signature(fn)
        expected = signature.bind_partial(*types, **named).arguments

        @wraps(fn)
        def call(*args, **kwargs):
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                if value is not None and name in expected:
                    _checked(value, isinstance(value, expected[name]), TypeError, f"of type {expected[name]}", name, fn.__name__)
            return fn(*args, **kwargs)

        return call

    return decorate


def twice(x: Any) -> tuple[Any, ...] | list[Any]:
    """A number twice; tuples and lists as they are."""
    return x if isinstance(x, (tuple, list)) else (x, x)


class Rel:
    """The relations, as attributes."""

    EQ, NE, LT, LE, GT, GE, IN = EQ, NE, LT, LE, GT, GE, IN
    INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH


Validator: Final = type(
    "Validator",
    (),
    {"__doc__": "The checks, as static methods."}
    | {name: staticmethod(value) for name, value in list(globals().items()) if name.startswith(("check", "args_type"))},
)
