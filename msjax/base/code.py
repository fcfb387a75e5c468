"""What is read of Python's bytecode on every floor."""

import functools
import types


@functools.lru_cache(4096)
def names_in(code: types.CodeType) -> tuple[str, ...]:
    """The names of globals and attributes in a piece of code and in the functions that it defines, in order.

    Example:
        >>> from msjax.base.code import names_in
        >>> names_in((lambda x: (print(x.shape), lambda: len(x))).__code__)
        ('print', 'shape', 'len')
    """
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(dict.fromkeys(names_in(constant)))
    return tuple(names)
