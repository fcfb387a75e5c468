"""Primitive: the class form of operators, ``ops.Add()(x, y)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msjax.ops.dispatch.docs import DerivedDoc


class Primitive:
    """An operator as an object: created once with its attributes, then called on Tensors.

    Args:
        name (str): the operator's name.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> add = ops.Add()
        >>> print(add.name, add(ms.Tensor(1.0), ms.Tensor(2.0)))
        Add 3.0
    """

    # The names of the constructor's arguments, which `repr` shows.
    _arguments = ()

    def __init__(self, name: str | None = None):
        self.name: str = name or type(self).__name__
        self.attrs: dict[str, Any] = {}

    def add_prim_attr(self, name: str, value: object) -> Self:
        """Sets an attribute; returns the operator itself."""
        self.attrs[name] = value
        return self

    def set_device(self, device_target: str) -> Self:
        """Stored as an attribute, without effect; returns the operator itself."""
        return self.add_prim_attr("primitive_target", device_target)

    def shard(self, *strategies: Any) -> Self:
        """Stored as an attribute, without effect: pass shardings to jax for a functionalized network. Returns the operator itself."""
        return self.add_prim_attr("strategies", strategies)

    def recompute(self, mode: bool = True) -> Self:
        """Stored as an attribute, without effect; returns the operator itself."""
        return self.add_prim_attr("recompute", mode)

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError(f"Primitive {self.name} has no function of its own.")

    def __repr__(self) -> str:
        shown = {key: getattr(self, key) for key in self._arguments} | self.attrs
        return f"Prim[{self.name}]" + (f"<{', '.join(f'{k}={v}' for k, v in shown.items())}>" if shown else "")


if TYPE_CHECKING:

    class PrimitiveSelf(Primitive):
        """`self` of a function under `operator_class`: a Primitive with the attributes that the decorator names."""

        def __getattr__(self, name: str) -> Any: ...


REQUIRED = inspect.Parameter.empty


class Setting(NamedTuple):
    """An attribute of a class form that its function does not take under the same name."""

    default: object
    # The function's parameter; None where the attribute has no effect.
    parameter: str | None


def unused(default: object) -> Setting:
    """An attribute that MindSpore's programs may set and that has no effect."""
    return Setting(default, None)


def given_as(parameter: str, default: object = REQUIRED) -> Setting:
    """An attribute that the function takes as `parameter`."""
    return Setting(default, parameter)


def class_form(function: Callable[..., Any], /, **attributes: Any) -> type[Primitive]:
    """The class form of an operator: a Primitive that calls a function with its inputs and its attributes.

    The module that assigns it to a name calls `name_classes` at its end. The docstring is derived from the function's.

    Args:
        function (callable): called as ``function(*inputs, **attributes)``.
        attributes: what the constructor takes, in this order, with defaults; `REQUIRED` for none. A `Setting` where the
            function has another name for an attribute, or none.
    """
    settings = {key: value if isinstance(value, Setting) else Setting(value, key) for key, value in attributes.items()}
    given = {key: setting.parameter for key, setting in settings.items() if setting.parameter is not None}
    if given:

        def __call__(self, *args, **kwargs):
            return function(*args, **{parameter: getattr(self, key) for key, parameter in given.items()}, **kwargs)

    else:

        def __call__(self, *args, **kwargs):
            return function(*args, **kwargs)

    return _primitive_class("", {key: s.default for key, s in settings.items()}, __call__, DerivedDoc(function, settings))


def operator_class(**attributes: Any) -> Callable[[Callable[..., Any]], type[Primitive]]:
    """Decorator: a Primitive of a function's name and docstring that calls it as ``function(self, *inputs)``.

    Args:
        attributes: what the constructor takes, in this order, with defaults; `REQUIRED` for none.
    """

    def decorate(function):
        return _primitive_class(function.__name__, attributes, function, function.__doc__)

    return decorate


def name_classes(names: dict[str, Any], *others: str) -> None:
    """Gives class forms the names that they have in a module's globals, and lists its operator classes in its ``__all__``.

    Type checkers read the names in the module's stub, which tests/typing/class_forms.py writes.

    Args:
        names (dict): the module's globals.
        others (str): names that ``__all__`` lists, too.
    """
    found = {name: value for name, value in names.items() if isinstance(value, type) and issubclass(value, Primitive)}
    for name, made in found.items():
        if names.get(made.__name__) is not made:
            made.__name__ = made.__qualname__ = name
    names["__all__"] = [*(name for name, made in found.items() if made is not Primitive), *others]


def _primitive_class(name, attributes, call, doc):
    names = tuple(attributes)
    defaults = tuple(attributes.values())
    required = defaults.count(REQUIRED)

    def __init__(self, *args, **kwargs):
        Primitive.__init__(self, made.__name__)
        values = self.__dict__
        values.update(zip(names, defaults))
        values.update(zip(names, args))
        values.update(kwargs)
        # Only a call with arguments can have unknown, repeated or missing ones.
        if (args or kwargs or required) and (len(args) > len(names) or not _fits(names, required, args, kwargs)):
            signature = type(self).__signature__
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"For '{made.__name__}': {error}; it takes {signature}.") from None

    made = type(
        name,
        (Primitive,),
        {
            "__init__": __init__,
            "__call__": call,
            "__doc__": doc,
            "__module__": "msjax.ops.operations",
            "__signature__": _Signature(attributes),
            "_arguments": names,
        },
    )
    return made


def _fits(names, required, args, kwargs):
    """Whether all arguments are known, and none is repeated or missing; required ones come first."""
    given = len(args)
    return all(key in names[given:] for key in kwargs) and all(key in kwargs for key in names[given:required])


class _Signature:
    """A class's signature, built on first use: building hundreds of them would slow the import."""

    def __init__(self, attributes: Any):
        self.attributes = attributes

    def __get__(self, operator: Any, owner: Any = None) -> Any:
        if operator is not None:
            # The signature of an instance is that of its __call__.
            raise AttributeError("__signature__")
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(key, kind, default=value) for key, value in self.attributes.items()])


def method_of(function: Callable[..., Any], **renamed: Any) -> Callable[..., Any]:
    """A method that also accepts some arguments under the names that MindSpore's method uses."""

    def method(self, *args, **kwargs):
        for name, own in renamed.items():
            if name in kwargs:
                kwargs[own] = kwargs.pop(name)
        return function(self, *args, **kwargs)

    method.__doc__ = function.__doc__
    method.__wrapped__, method.renamed = function, renamed  # for what shows signatures
    return method


def same_named(functions: dict[ModuleType, str]) -> dict[str, Callable[..., Any]]:
    """Methods that are functions of the same name, from {module: names separated by spaces}."""
    return {name: getattr(module, name) for module, names in functions.items() for name in names.split()}
