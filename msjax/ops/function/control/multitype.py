"""HyperMap, Map and functions dispatched on the types of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.core.base.errors import describe
from msjax.engine.autograd.recording import check_function_or_cell

__all__ = ["HyperMap", "Map", "MultitypeFuncGraph"]

_CLASSES = {
    "Tensor": Tensor,
    "Number": (bool, int, float, complex),
    "Bool": bool,
    "Int": int,
    "Float": float,
    "String": str,
    "Tuple": tuple,
    "List": list,
    "Dictionary": dict,
    "None": type(None),
    "Type": Type,
    "Function": Callable,
}
# Types that msjax doesn't have: functions can be registered for them, but no value has such a type.
_ABSENT = frozenset(("COOTensor", "CSRTensor", "MapTensor", "RowTensor"))


class MultitypeFuncGraph:
    """A function that is chosen by the types of its arguments.

    Args:
        name (str): its name.
        read_value (bool): accepted for compatibility with MindSpore, without effect.

    Raises:
        ValueError: when called, if no registered function fits the arguments.

    Example:
        >>> from msjax import Tensor, ops
        >>> half = ops.MultitypeFuncGraph("half")
        >>> @half.register("Tensor")
        ... def half_tensor(x):
        ...     return x / 2
        >>> @half.register("Number")
        ... def half_number(x):
        ...     return x // 2
        >>> print(half(Tensor([3.0])), half(3))
        [1.5] 1
    """

    def __init__(self, name: str, read_value: bool = False):
        self.name = name
        self.read_value = read_value
        self.entries = []
        self._default = None

    def register(self, *type_names: Any) -> Callable[..., Any]:
        """Decorator: the function for arguments of these types, given by names such as "Tensor" or "Number"."""
        names = tuple(str(t) if str(t) in _CLASSES else t for t in type_names)
        for name in names:
            if name not in _CLASSES and name not in _ABSENT and name not in mstype._BY_NAME and not isinstance(name, Type):
                raise TypeError(f"For 'MultitypeFuncGraph.register', there is no type {name!r}; there are {', '.join(_CLASSES)}.")

        def decorate(fn):
            self.entries.append((names, fn))
            return fn

        return decorate

    def register_default(self) -> Callable[..., Any]:
        """Decorator: the function for arguments that no other one fits."""

        def decorate(fn):
            self._default = fn
            return fn

        return decorate

    def set_doc_url(self, doc_url: str) -> None:
        """Accepted for compatibility with MindSpore, without effect."""

    def __call__(self, *args: Any) -> Any:
        for names, fn in self.entries:
            if len(names) == len(args) and all(map(_fits, names, args)):
                return fn(*args)
        if self._default is not None:
            return self._default(*args)
        offered = ", ".join(f"({', '.join(map(str, names))})" for names, _ in self.entries)
        raise ValueError(
            f"For 'MultitypeFuncGraph' {self.name!r}, no function fits ({', '.join(describe(a) for a in args)}); there are: {offered}."
        )


def _fits(name, value) -> bool:
    kind = _CLASSES.get(name)
    if kind is not None:
        return isinstance(value, kind) and not (name in ("Int", "Float") and isinstance(value, bool))
    if name in _ABSENT:
        return False
    wanted = name if isinstance(name, Type) else mstype.as_dtype(name)
    return isinstance(value, Tensor) and value.dtype is wanted


class _Mapper:
    """What HyperMap and Map have in common."""

    deep = False

    def __init__(self, ops: Any = None, reverse: Any = False):
        if ops is not None:
            check_function_or_cell(ops, type(self).__name__)
        self.ops = ops
        self.reverse = reverse

    def __call__(self, *args: Any) -> Any:
        if self.ops is None:
            if not args:
                raise TypeError(f"'{type(self).__name__}' needs a function and sequences.")
            fn, *sequences = args
            check_function_or_cell(fn, type(self).__name__)
        else:
            fn, sequences = self.ops, list(args)
        if not sequences:
            raise ValueError(f"'{type(self).__name__}' needs at least one sequence.")
        return self._map(fn, sequences)

    def _map(self, fn, sequences):
        first = sequences[0]
        if not isinstance(first, (tuple, list)):
            return fn(*sequences)
        for other in sequences:
            if not isinstance(other, (tuple, list)) or len(other) != len(first):
                raise ValueError(
                    f"For '{type(self).__name__}', the sequences should have one length, but got {', '.join(describe(s) for s in sequences)}."
                )
        step = -1 if self.reverse else 1
        out = [self._map(fn, row) if self.deep else fn(*row) for row in [*zip(*sequences)][::step]]
        return tuple(out[::step])


class HyperMap(_Mapper):
    """Applies a function to the elements of sequences, also in nested tuples and lists.

    Args:
        ops (callable, optional): the function; without one it is the first input.
        reverse (bool): whether the last elements come first. Default: False.

    Inputs:
        - **args** (tuple or list) - one or more sequences of one structure.

    Outputs:
        A tuple, nested like the sequences.

    Raises:
        ValueError: the sequences differ in length.

    Example:
        >>> from msjax import ops
        >>> print(ops.HyperMap()(lambda x, y: x + y, (1, (2, 3)), (10, (20, 30))))
        (11, (22, 33))
    """

    deep = True


class Map(_Mapper):
    """Applies a function to the elements of sequences.

    Args:
        ops (callable, optional): the function; without one it is the first input.
        reverse (bool): whether the last elements come first. Default: False.

    Inputs:
        - **args** (tuple or list) - one or more sequences of one length.

    Outputs:
        A tuple.

    Example:
        >>> from msjax import ops
        >>> print(ops.Map()(lambda x, y: x + y, (1, 2), (10, 20)))
        (11, 22)
    """
