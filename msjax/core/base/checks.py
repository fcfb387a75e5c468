"""Checks of arguments, shared by operators, layers and optimizers.

Each `check_` function returns the value it was given, or raises TypeError for a wrong type and ValueError for a value out
of range. The message names the caller (`who`, such as "Conv2d"), the argument, what was expected and what came. An
operator leaves out `who` where the operator's name is added to its errors anyway.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypedDict, TypeGuard, Unpack

import numpy as np

from msjax.core.base.errors import describe


def is_int(value: object) -> TypeGuard[int]:
    """True for an int that is not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """True for an int or a float, also one of numpy's, that is not a bool."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_numeric(value: Any) -> bool:
    """True for a number that is no bool, and for an array, traced or not; one with named axes, whose shape is no tuple, is none."""
    is_array = isinstance(getattr(value, "shape", None), tuple) and hasattr(value, "dtype")
    return is_array or is_number(value) or isinstance(value, complex)


def check_numeric(value: Any, name: str, who: str | None = None) -> Any:
    """The value, if it is a number (no bool) or an array."""
    return check_kind(value, is_numeric(value), "be a number or an array", name, who)


def check_axis_number(value: Any, name: str, who: str | None = None) -> Any:
    """The value, if it can be the number of an axis: an int, also one of numpy's, and no bool; ranks are not known yet."""
    fits = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return check_kind(value, fits, "be the number of an axis", name, who)


def check_bool(value: object, name: str, who: str | None = None) -> bool:
    """The value, if it is a bool."""
    return check_kind(value, isinstance(value, bool), "be a bool", name, who)


def check_str(value: object, name: str, who: str | None = None) -> str:
    """The value, if it is a str."""
    return check_kind(value, isinstance(value, str), "be a str", name, who)


def check_int(value: object, name: str, who: str | None = None, *, low: float | None = None, high: float | None = None) -> int:
    """The value, if it is an int (no bool) from `low` to `high`, both included; None leaves a side open."""
    return check_in_range(check_kind(value, is_int(value), "be an int", name, who), name, who, low=low, high=high)


def check_positive_int(value: object, name: str, who: str | None = None) -> int:
    """The value, if it is an int (no bool) above zero."""
    return check_in_range(check_kind(value, is_int(value), "be an int", name, who), name, who, above=0)


class Bounds(TypedDict, total=False):
    """The range of a number: `low` and `high` are allowed themselves; `above` and `below`, used instead, are not."""

    low: float | None
    above: float | None
    high: float | None
    below: float | None


def check_number(value: object, name: str, who: str | None = None, **bounds: Unpack[Bounds]) -> float:
    """The value, if it is an int or a float (no bool) in the range, and not NaN."""
    return check_in_range(check_kind(value, is_number(value), "be a number", name, who), name, who, **bounds)


def check_float(value: object, name: str, who: str | None = None, **bounds: Unpack[Bounds]) -> float:
    """The value, if it is a float in the range, and not NaN."""
    return check_in_range(check_kind(value, isinstance(value, float), "be a float", name, who), name, who, **bounds)


def check_one_of(value: object, options: Iterable[object], name: str, who: str | None = None) -> Any:
    """The value, if it is one of the options (strings, mostly); ValueError if it is not, whatever its type."""
    options = tuple(options)
    fits = value in options if isinstance(value, str) else any(isinstance(value, type(o)) and value == o for o in options)
    if not fits:
        *most, last = map(repr, options)
        expected = f"{', '.join(most)} or {last}" if most else last
        came = repr(value) if isinstance(value, str) else describe(value)
        raise ValueError(f"{_named(name, who)} should be {expected}, but got {came}.")
    return value


def check_type(value: object, types: type[Any] | tuple[type[Any], ...], name: str, who: str | None = None) -> Any:
    """The value, if it is of one of the types; a bool is no int here, unless bool is one of the types."""
    types = types if isinstance(types, tuple) else (types,)
    if isinstance(value, types) and (bool in types or not isinstance(value, bool)):
        return value
    names = [f"{'an' if t.__name__[0] in 'aeiouAEIOU' else 'a'} {t.__name__}" for t in types]
    return check_kind(value, False, f"be {' or '.join(names)}", name, who)


def check_kind(value: Any, fits: object, should: str, name: str, who: str | None = None) -> Any:
    """The value, if `fits` says that it is of the right type; else TypeError.

    Args:
        should (str): the message's words for that, from the verb on, such as "be a tuple or list".
        name (str): the argument; one that contains a blank, such as "the input", stands in the message without quotes.
    """
    if not fits:
        raise TypeError(f"{_named(name, who)} should {should}, but got {describe(value)}.")
    return value


def check_value(value: Any, fits: object, should: str, name: str, who: str | None = None) -> Any:
    """The value, if `fits` says that it, or its shape, is right; else ValueError. The arguments are those of `check_kind`."""
    if not fits:
        raise ValueError(f"{_named(name, who)} should {should}, but {_came(value)}.")
    return value


def check_path(value: Any, name: str, who: str | None = None) -> Any:
    """The value, if it is a path, as a text or an object; an empty one would be the folder in which the program runs."""
    check_kind(value, isinstance(value, (str, os.PathLike)), "be a path", name, who)
    return check_value(value, os.fspath(value), "be a path", name, who)


def check_pair(value: Any, of: str, name: str, who: str | None = None) -> Any:
    """The value, if it is a tuple or list of two, which messages call `of`, such as "(encode, decode)"."""
    return check_kind(value, isinstance(value, (tuple, list)) and len(value) == 2, f"be a pair {of}", name, who)


def check_callable(value: Any, name: str, who: str | None = None) -> Callable[..., Any]:
    """The value, if it can be called."""
    return check_kind(value, callable(value), "be a function", name, who)


def check_optimizer(value: Any, who: str) -> Any:
    """The value, if it is an optimizer of optax."""
    fits = all(callable(getattr(value, name, None)) for name in ("init", "update"))
    return check_kind(value, fits, "be one of optax, such as optax.adam(1e-3)", "optimizer", who)


def check_in_range(
    value: Any,
    name: str,
    who: str | None = None,
    *,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    below: float | None = None,
) -> Any:
    """The value, a number, if it is in the range."""
    # NaN is not equal to itself: it is in no range.
    if (
        value == value
        and (low is None or value >= low)
        and (above is None or value > above)
        and (high is None or value <= high)
        and (below is None or value < below)
    ):
        return value
    raise ValueError(f"{_named(name, who)} should {_range(low, above, high, below)}, but got {value}.")


def check_rank(x: Any, ranks: int | Collection[int], name: str, who: str | None = None) -> Any:
    """The Tensor or array, if it has this number of axes, or one of these numbers."""
    ranks = (ranks,) if isinstance(ranks, int) else ranks
    if x.ndim not in ranks:
        raise ValueError(
            f"{_named(name, who)} should have {' or '.join(map(str, ranks))} axes, but its shape is {tuple(x.shape)}."
        )
    return x


def check_shape(x: Any, shape: tuple[int, ...], name: str, who: str | None = None) -> Any:
    """The Tensor or array, if it has this shape."""
    if x.shape != shape:
        raise ValueError(f"{_named(name, who)} should have shape {tuple(shape)}, but its shape is {tuple(x.shape)}.")
    return x


def check_same_shape(x: Any, y: Any, what: str, who: str | None = None) -> None:
    """Raise ValueError if two Tensors or arrays, which messages call `what`, such as "both inputs", have different shapes."""
    if x.shape != y.shape:
        raise ValueError(f"{_named(what, who)} should have one shape, but they have {tuple(x.shape)} and {tuple(y.shape)}.")


def check_order(low: Any, high: Any, names: tuple[str, str], who: str | None = None, *, equal: bool = False) -> None:
    """Raise ValueError unless the first of two numbers is below the second, or equal to it where that is allowed."""
    if not (low <= high if equal else low < high):
        should = "not be above" if equal else "be below"
        raise ValueError(f"{_named(names[0], who)} should {should} '{names[1]}', but got {low} and {high}.")


def check_one_given(names: tuple[str, str], values: tuple[Any, Any], who: str) -> None:
    """Raise ValueError unless exactly one of two arguments is given, the other being None."""
    if (values[0] is None) == (values[1] is None):
        raise ValueError(f"For '{who}', give one of '{names[0]}' and '{names[1]}'.")


def check_ints(value: Any, n: int, name: str, who: str | None = None, *, low: float | None = None) -> tuple[int, ...]:
    """A tuple of n ints, none of which is below `low`, from one int, which counts for all of them, or from a tuple, list or Tensor of n."""
    values = value.tolist() if hasattr(value, "tolist") else value
    values = (values,) * n if is_int(values) else values
    should = "be an int" if n == 1 else f"be an int or {n} ints"
    check_kind(value, isinstance(values, (tuple, list)) and all(map(is_int, values)), should, name, who)
    if len(values) != n:
        raise ValueError(f"{_named(name, who)} should {should}, but got {describe(value)}.")
    for one in values:
        check_in_range(one, name, who, low=low)
    return tuple(values)


def check_options(
    options: Iterable[str], known: Collection[str], who: str, *, what: str = "option", error: type[Exception] = TypeError
) -> None:
    """Raise `error` if a name that was given, as a function that takes ``**options`` was, is not known.

    Args:
        options: the names that were given, or a dict of the options.
        known: the names of all options, also of those that are parameters of their own: one that is misspelt may be meant. The message
            names those that are close to the one that was given; all, if none is.
        what: what the names are of.

    Example:
        >>> from msjax.core.base.checks import check_options
        >>> check_options({"colour": "red"}, ["color", "size"], "paint")
        Traceback (most recent call last):
        TypeError: For 'paint', there is no option 'colour'; did you mean 'color'?
    """
    for name in options:
        if name not in known:
            close = difflib.get_close_matches(str(name), known)
            hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"there are {', '.join(known)}."
            raise error(f"For '{who}', there is no {what} {name!r}; {hint}")


def check_axis(axis: object, rank: int, *, bools: bool = False) -> None:
    """TypeError unless an axis is an int, ValueError unless there is such an axis; with `bools`, True and False pass as 1 and 0, with which compiled
    programs share a key."""
    if not isinstance(axis, int) or (isinstance(axis, bool) and not bools):
        raise TypeError(f"an axis should be an int, but got {describe(axis)}.")
    if not -rank <= axis < rank:
        raise ValueError(f"the axis should be in [{-rank}, {rank}), but got {axis}.")


def check_axis_of(x: Any, axis: int, who: str | None = None) -> int:
    """The axis of a Tensor or array, from 0 on; ValueError if there is no such axis."""
    if not -x.ndim <= axis < x.ndim:
        head = "" if who is None else f"For '{who}', "
        raise ValueError(f"{head}axis {axis} is out of range for an input of shape {tuple(x.shape)}.")
    return axis % x.ndim


def check_no_cycle(values: Iterable[Any]) -> None:
    """Raise RuntimeError if one of the values is a list or dict that is found within itself."""
    for value in values:
        if _holds_itself(value):
            raise RuntimeError(f"a {type(value).__name__} among the arguments holds itself, so there is no end of what is in it.")


def _named(name, who):
    argument = name if " " in name else f"'{name}'"
    return argument if who is None else f"For '{who}', {argument}"


def _came(value):
    """What came, for a value of the right type: short where that is short, and only the shape of an array."""
    if isinstance(getattr(value, "shape", None), tuple) and not isinstance(value, np.generic):
        return f"its shape is {tuple(value.shape)}"
    parts = value if isinstance(value, (tuple, list)) else (value,)
    plain = all(part is None or isinstance(part, (bool, str)) or is_number(part) for part in parts)
    return f"got {repr(value) if isinstance(value, str) else value if plain else describe(value)}"


def _range(low: float | None, above: float | None, high: float | None, below: float | None):
    """The range as messages put it: "be positive", "be in [0, 1)"."""
    lowest, highest = (low if above is None else above), (high if below is None else below)
    if lowest is not None and highest is not None:
        return f"be in {'[' if above is None else '('}{lowest}, {highest}{']' if below is None else ')'}"
    if above is not None:
        return "be positive" if above == 0 else f"be greater than {above}"
    if low is not None:
        return "not be negative" if low == 0 else f"be at least {low}"
    if below is not None:
        return f"be less than {below}"
    return "be a number" if high is None else f"be at most {high}"


def check_index_fits(x: Any, axis: Any, dtype: Any, who: str) -> None:
    """OverflowError if the elements of an array along an axis, or all, are more than an index of a data type can tell: jax's would be another one."""
    count = x.shape[axis] if isinstance(axis, int) and x.ndim else x.size
    if count - 1 > np.iinfo(dtype).max:
        raise OverflowError(
            f"For '{who}', the index of one of {count} elements does not fit {np.dtype(dtype).name}: ask for that of a part, or along an axis with "
            "fewer elements; Int64 holds it where jax's 64-bit types are on."
        )


def _holds_itself(value, above=()):
    if not isinstance(value, (list, tuple, dict)):
        return False
    items = value.values() if isinstance(value, dict) else value
    return any(value is each for each in above) or any(_holds_itself(item, (*above, value)) for item in items)
