"""Checks of the arguments of optimizers and schedules: what is wrong is named with the class and the argument."""

from msjax.errors import describe


def real(value, name, who, *, low=None, high=None, low_open=False, high_open=False, ints=False) -> float:
    """The value as a float, if it is one in the range.

    Args:
        low, high: bounds; None for none. `low_open` and `high_open` exclude them.
        ints: True if ints are taken, too.

    Raises:
        TypeError: no float.
        ValueError: out of range.
    """
    if not (isinstance(value, float) or (ints and isinstance(value, int))):
        raise TypeError(f"For '{who}', '{name}' should be a float, but got {describe(value)}.")
    below = low is not None and (value <= low if low_open else value < low)
    above = high is not None and (value >= high if high_open else value > high)
    if below or above or value != value:
        bounds = []
        if low is not None:
            bounds.append(f"{'greater than' if low_open else 'at least'} {low}")
        if high is not None:
            bounds.append(f"{'less than' if high_open else 'at most'} {high}")
        raise ValueError(f"For '{who}', '{name}' should be {' and '.join(bounds) or 'a number'}, but got {value}.")
    return float(value)


def positive(value, name, who, ints=False) -> float:
    """A float above zero."""
    return real(value, name, who, low=0.0, low_open=True, ints=ints)


def not_negative(value, name, who, ints=False) -> float:
    """A float that is zero or more."""
    return real(value, name, who, low=0.0, ints=ints)


def fraction(value, name, who) -> float:
    """A float between zero and one, without both."""
    return real(value, name, who, low=0.0, high=1.0, low_open=True, high_open=True)


def flag(value, name, who) -> bool:
    """A bool."""
    if not isinstance(value, bool):
        raise TypeError(f"For '{who}', '{name}' should be a bool, but got {describe(value)}.")
    return value


def count(value, name, who) -> int:
    """An int above zero."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"For '{who}', '{name}' should be an int, but got {describe(value)}.")
    if value <= 0:
        raise ValueError(f"For '{who}', '{name}' should be greater than 0, but got {value}.")
    return value
