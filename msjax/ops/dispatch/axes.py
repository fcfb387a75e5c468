"""Checks of axes."""

from msjax.errors import describe


def check_axis(axis, rank, *, bools=False):
    """Raise unless there is such an axis.

    Args:
        axis: what was given.
        rank (int): how many axes there are.
        bools (bool): whether True and False pass as 1 and 0, with which compiled programs share a key.

    Raises:
        TypeError: no int.
        ValueError: out of range.
    """
    if not isinstance(axis, int) or (isinstance(axis, bool) and not bools):
        raise TypeError(f"an axis should be an int, but got {describe(axis)}.")
    if not -rank <= axis < rank:
        raise ValueError(f"the axis should be in [{-rank}, {rank}), but got {axis}.")
