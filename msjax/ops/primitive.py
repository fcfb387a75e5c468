"""Primitive: the class form of operators, ``ops.Add()(x, y)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar, cast, dataclass_transform

from msjax.common.tensor import Tensor
from msjax.common.typing import MethodOfManyNames, TensorLike
from msjax.core.base.libraries import of_library
from msjax.core.base.typing import Attribute
from msjax.ops.dispatch.docs import DerivedDoc


class Primitive:
    """An operator as an object: created once with its attributes, then called on Tensors.

    Args:
        name (str): the operator's name.

    Example:
        >>> from msjax import Tensor, ops
        >>> add = ops.Add()
        >>> print(add.name, add(Tensor(1.0), Tensor(2.0)))
        Add 3.0
    """

    # The names of the constructor's arguments, which `repr` shows.
    _arguments: tuple[str, ...] = ()

    def __init__(self, name: str | None = None):
        self.name: str = name or type(self).__name__
        self.attrs: dict[str, Any] = {}
        self.init_attrs: dict[str, Any] = {}

    def add_prim_attr(self, name: str, value: object) -> Self:
        """Sets an attribute, of `attrs`, too; returns the operator itself."""
        self.attrs[name] = self.__dict__[name] = value
        return self

    def init_prim_io_names(self, inputs: list[str], outputs: list[str]) -> None:
        """Stores the names of inputs and outputs as attributes, which `repr` leaves out."""
        self.add_prim_attr("input_names", inputs)
        self.add_prim_attr("output_names", outputs)

    def _store(self, name: str, value: object) -> Self:
        self.attrs[name] = value
        return self

    def set_device(self, device_target: str) -> Self:
        """Stored as an attribute, without effect; returns the operator itself."""
        return self._store("primitive_target", device_target)

    def shard(self, *strategies: Any) -> Self:
        """Stored as an attribute, without effect: pass shardings to jax for a functionalized network. Returns the operator itself."""
        return self._store("strategies", strategies)

    def recompute(self, mode: bool = True) -> Self:
        """Stored as an attribute, without effect; returns the operator itself."""
        return self._store("recompute", mode)

    def _without_function(self, *args: Any) -> Any:
        raise NotImplementedError(f"Primitive {self.name} has no function of its own.")

    # Assigned, since type checkers would hold the calls of class forms to the parameters of a method.
    __call__ = _without_function

    def __repr__(self) -> str:
        shown = {key: getattr(self, key) for key in self._arguments} | self.attrs
        shown = {key: value for key, value in shown.items() if key not in ("input_names", "output_names")}
        return f"Prim[{self.name}]" + (f"<{', '.join(f'{k}={v}' for k, v in shown.items())}>" if shown else "")


_P = ParamSpec("_P")
_R = TypeVar("_R")
REQUIRED = inspect.Parameter.empty
_PACKAGE = "msjax.ops.operations"


def annotated(cls: type) -> dict[str, Any]:
    """{name: default} of the attributes that a class itself annotates, in their order; `REQUIRED` for those without a default."""
    body = vars(cls)
    return {key: body.get(key, REQUIRED) for key, kind in body.get("__annotations__", {}).items() if "ClassVar" not in kind}


def signature_of(defaults: dict[str, Any]) -> inspect.Signature:
    """The signature of a constructor that takes what is named in {name: default}."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(key, kind, default=value) for key, value in defaults.items()])


class ConstructorSignature:
    """The signature of a constructor that takes what `_defaults` of its class names, built on first use: building hundreds of them would
    slow the import."""

    def __get__(self, made: Any, cls: type[Any]) -> inspect.Signature:
        if made is not None:
            raise AttributeError("__signature__")  # the signature of an instance is that of its __call__
        if not of_library(cls.__init__):
            return inspect.signature(partial(cls.__init__, None))  # a program's subclass that defines one
        return signature_of(cls._defaults)


@dataclass_transform(eq_default=False)
class Form(Primitive):
    """The base of class forms.

    A subclass annotates its attributes, which its constructor takes in this order, with these defaults. `__call__` takes the inputs.
    A class that has no docstring gets one that is derived from that of its function; to one of a sentence, what follows the first
    sentence of its private base's is added.

    Args:
        of (callable, optional): the function, which stands in `_function`. By default the one that `__call__`, a staticmethod, is.
        renamed (str): {attribute: the function's name for it}, where it has another.
    """

    __signature__: Any = ConstructorSignature()
    # The name that `repr` shows, {attribute: default}, and how many attributes have no default.
    _operator = ""
    _defaults: dict[str, Any] = {}
    _required = 0
    _function: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls, of: Callable[..., Any] | None = None, **renamed: str) -> None:
        body = vars(cls)
        if of is not None:
            cls._function = staticmethod(of)
        if cls.__module__.startswith(_PACKAGE):  # a program's subclass keeps the operator's name and attributes
            cls.__module__, cls._operator = _PACKAGE, cls.__name__
            cls._defaults = cls._defaults | annotated(cls)
            cls._arguments = tuple(cls._defaults)
            cls._required = sum(value is REQUIRED for value in cls._defaults.values())
        if body["__doc__"] is None:
            call = body.get("__call__")
            function = of or (call.__func__ if isinstance(call, staticmethod) else None)
            if function is not None:
                cls.__doc__ = DerivedDoc(function, cls._defaults, renamed)
        elif (shared := cls.__mro__[1].__doc__) and cls.__mro__[1].__name__.startswith("_") and "\n\n" not in body["__doc__"]:
            cls.__doc__ = body["__doc__"] + shared[shared.find("\n\n") :]

    if TYPE_CHECKING:

        def __init__(self) -> None: ...

    else:

        def __init__(self, *args, **kwargs):
            super().__init__(self._operator)
            names, required = self._arguments, self._required
            values = self.__dict__
            values.update(self._defaults)
            values.update(zip(names, args))
            values.update(kwargs)
            # Only a call with arguments can have unknown, repeated or missing ones.
            if (args or kwargs or required) and (len(args) > len(names) or not _fits(names, required, args, kwargs)):
                signature = signature_of(self._defaults)
                try:
                    signature.bind(*args, **kwargs)
                except TypeError as error:
                    raise TypeError(f"For '{self._operator}': {error}; it takes {signature}.") from None

    def _attributes(self) -> Iterator[Any]:
        """The attributes, in their order."""
        return map(self.__dict__.__getitem__, self._arguments)


class OfInput(Form):
    """The base of forms whose function takes one operand, called input, and the attributes in their order."""

    def __call__(self, input: TensorLike) -> Tensor:
        return self._function(input, *self._attributes())


class OfX(Form):
    """The same, of an operand called x."""

    def __call__(self, x: TensorLike) -> Tensor:
        return self._function(x, *self._attributes())


class OfInputX(Form):
    """The same, of an operand called input_x."""

    def __call__(self, input_x: TensorLike) -> Tensor:
        return self._function(input_x, *self._attributes())


class OfX1X2(Form):
    """The same, of two operands called x1 and x2."""

    def __call__(self, x1: TensorLike, x2: TensorLike) -> Tensor:
        return self._function(x1, x2, *self._attributes())


def _fits(names, required, args, kwargs):
    """Whether all arguments are known, and none is repeated or missing; required ones come first."""
    given = len(args)
    return all(key in names[given:] for key in kwargs) and all(key in kwargs for key in names[given:required])


def method_of(function: Callable[Concatenate[Any, _P], _R], **renamed: str) -> Attribute[MethodOfManyNames[_P, _R]]:
    """A method that also accepts some arguments under the names that MindSpore's method uses."""

    def method(self, *args, **kwargs):
        for name, own in renamed.items():
            if name in kwargs:
                kwargs[own] = kwargs.pop(name)
        return function(self, *args, **kwargs)

    method.__doc__ = function.__doc__
    method.__wrapped__, method.renamed = function, renamed  # for what shows signatures
    return cast(Any, method)
