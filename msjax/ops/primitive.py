"""Primitive: the class form of operators, ``ops.Add()(x, y)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self

from msjax.typing import TensorLike


class Primitive:
    """An operator as an object: made once with its attributes, then called on Tensors.

    Args:
        name (str): the operator's name.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> add = ops.Add()
        >>> print(add.name, add(ms.Tensor(1.0), ms.Tensor(2.0)))
        Add 3.0
    """

    # What the constructor takes, which `repr` shows.
    _arguments = ()

    def __init__(self, name: str | None = None):
        self.name = name or type(self).__name__
        self.attrs = {}

    def add_prim_attr(self, name: str, value: TensorLike) -> Self:
        """Keep an attribute; returns the operator itself."""
        self.attrs[name] = value
        return self

    def set_device(self, device_target: Any):
        """Kept as an attribute, without effect; returns the operator itself."""
        return self.add_prim_attr("primitive_target", device_target)

    def shard(self, *strategies: Any):
        """Without effect here: shardings are given to jax, on a functionalized network; returns the operator itself."""
        return self.add_prim_attr("strategies", strategies)

    def recompute(self, mode: bool = True):
        """Kept as an attribute, without effect; returns the operator itself."""
        return self.add_prim_attr("recompute", mode)

    def __call__(self, *args: Any):
        raise NotImplementedError(f"Primitive {self.name} has no function of its own.")

    def __repr__(self):
        shown = {key: getattr(self, key) for key in self._arguments} | self.attrs
        return f"Prim[{self.name}]" + (f"<{', '.join(f'{k}={v}' for k, v in shown.items())}>" if shown else "")


REQUIRED = inspect.Parameter.empty


def primitive_class(name: str, attributes: dict[str, Any], call: Callable[..., Any], doc: str):
    """A Primitive class with attributes.

    Args:
        name (str): the operator's name.
        attributes (dict): what its constructor takes, with defaults; `REQUIRED` for none.
        call (callable): called as ``call(self, *inputs)``.
        doc (str): the class's docstring.
    """
    names = tuple(attributes)
    defaults = tuple(attributes.values())
    required = defaults.count(REQUIRED)

    def __init__(self, *args, **kwargs):
        Primitive.__init__(self, name)
        values = self.__dict__
        values.update(zip(names, defaults))
        values.update(zip(names, args))
        values.update(kwargs)
        # Only a call with arguments is worth a closer look, which finds what is too much, double or missing.
        if (args or kwargs or required) and (len(args) > len(names) or not _fits(names, required, args, kwargs)):
            signature = type(self).__signature__
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"For '{name}': {error}; it takes {signature}.") from None

    def __call__(self, *args, **kwargs):
        return call(self, *args, **kwargs)

    body = {
        "__init__": __init__,
        "__call__": __call__,
        "__doc__": doc,
        "__module__": "msjax.ops.operations",
        "__signature__": _Signature(attributes),
        "_arguments": names,
    }
    return type(name, (Primitive,), body)


def _fits(names, required, args, kwargs):
    """Whether arguments are all known, none given twice, none missing; required ones come first."""
    given = len(args)
    return all(key in names[given:] for key in kwargs) and all(key in kwargs for key in names[given:required])


class _Signature:
    """A class's signature, made when somebody asks: hundreds of them would slow the import."""

    def __init__(self, attributes):
        self.attributes = attributes

    def __get__(self, operator, owner=None):
        if operator is not None:
            # That of an operator is its __call__'s.
            raise AttributeError("__signature__")
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(key, kind, default=value) for key, value in self.attributes.items()])


def plain_primitives(functions: dict) -> dict:
    """Primitive classes without attributes, from {name: function}."""
    return {name: _plain(name, function) for name, function in functions.items()}


def _plain(name, function):
    def __init__(self):
        Primitive.__init__(self, name)

    def __call__(self, *args, **kwargs):
        return function(*args, **kwargs)

    doc = f"{(function.__doc__ or name).strip()}\n\n    The class form of an operator: ``ops.{name}()(...)``."
    return type(
        name, (Primitive,), {"__init__": __init__, "__call__": __call__, "__doc__": doc, "__module__": "msjax.ops.operations"}
    )


def method_of(function: Callable[..., Any], **renamed: Any):
    """A method that takes some arguments under MindSpore's method's names, too."""

    def method(self, *args, **kwargs):
        for name, own in renamed.items():
            if name in kwargs:
                kwargs[own] = kwargs.pop(name)
        return function(self, *args, **kwargs)

    method.__doc__ = function.__doc__
    return method
