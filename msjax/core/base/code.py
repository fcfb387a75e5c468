"""What is read of Python's bytecode on every floor."""

import functools
import types
from collections.abc import Iterator
from typing import Any


@functools.lru_cache(4096)
def names_in(code: types.CodeType) -> tuple[str, ...]:
    """The names of globals and attributes in a piece of code and in the functions that it defines, in order.

    Example:
        >>> from msjax.core.base.code import names_in
        >>> names_in((lambda x: (print(x.shape), lambda: len(x))).__code__)
        ('print', 'shape', 'len')
    """
    return tuple(dict.fromkeys(name for each in codes_in(code) for name in each.co_names))


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """A piece of code, and those of the functions that it defines.

    Example:
        >>> from msjax.core.base.code import codes_in
        >>> [each.co_name for each in codes_in((lambda x: [lambda: x]).__code__)]
        ['<lambda>', '<lambda>']
    """
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def cell_contents(cell: types.CellType) -> Any:
    """What a variable of a closure holds; None before it is assigned.

    Example:
        >>> from msjax.core.base.code import cell_contents
        >>> import types
        >>> cell_contents(types.CellType(1)), cell_contents(types.CellType())
        (1, None)
    """
    try:
        return cell.cell_contents
    except ValueError:
        return None
