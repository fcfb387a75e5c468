"""Layers that are a function and its settings, and operators that layers offer as attributes, for layers derived from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_type
from msjax.nn.cell.base import Cell
from msjax.ops.dispatch.docs import DerivedDoc
from msjax.ops.primitive import ConstructorSignature, annotated, signature_of


def _parameters(function):
    """The names of the parameters of a function, or of the kernel of an operator, that take arguments by position."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount]


@dataclass_transform(eq_default=False)
class Layer(Cell):
    """The base of layers that call a function with an input, called input, and their settings.

    A subclass annotates its settings, which its constructor takes in this order, with these defaults. The function, if it names one, is
    called with the input and the settings in its own order. A class without a docstring, or with an example only, gets one derived from that
    of its function.

    Args:
        of (callable, optional): the function. A class without one defines `construct`.
        checks (callable): {setting: what checks it}, called with the value, its name and that of the layer.
    """

    __signature__: Any = ConstructorSignature()
    # The name that errors show, {setting: default}, what checks settings, and the settings in the function's order.
    _name: ClassVar[str] = ""
    _defaults: ClassVar[dict[str, Any]] = {}
    _checks: ClassVar[dict[str, Callable[..., Any]]] = {}
    _passed: ClassVar[tuple[str, ...]] = ()
    _function: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls, of: Callable[..., Any] | None = None, pytree: bool = False, **checks: Callable[..., Any]) -> None:
        super().__init_subclass__(pytree=pytree)
        if not cls.__module__.startswith("msjax."):  # a program's subclass has its base's settings
            return
        cls._name, cls._checks, cls._defaults = cls.__name__, cls._checks | checks, cls._defaults | annotated(cls)
        if of is not None:
            cls._function = staticmethod(of)
            own = vars(cls).get("__doc__")
            if own is None or own.startswith("Example:"):
                derived: Any = DerivedDoc(of, cls._defaults, {}, layer=True, example=own)
                cls.__doc__ = derived
        names = [name for name in _parameters(getattr(cls, "_function", None)) if name in cls._defaults]
        cls._passed = tuple(names if len(names) == len(cls._defaults) else cls._defaults)

    if TYPE_CHECKING:

        def __init__(self) -> None: ...

    else:

        def __init__(self, *args, **kwargs):
            Cell.__init__(self)
            signature = signature_of(self._defaults)
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"For '{self._name}': {error}; it takes {signature}.") from None
            bound.apply_defaults()
            for key, value in bound.arguments.items():
                if key in self._checks:
                    self._checks[key](value, key, self._name)
                setattr(self, key, value)
            self._check_settings()

    def _check_settings(self) -> None:
        """Raises for settings that don't go together; for subclasses."""

    def _values(self):
        """The settings, as the function takes them."""
        return [getattr(self, key) for key in self._passed]

    def construct(self, input: TensorLike) -> Tensor:
        return self._function(input, *self._values())


class OfX(Layer):
    """The same, of an input called x."""

    def construct(self, x: TensorLike) -> Tensor:
        return self._function(x, *self._values())


class OfInputX(Layer):
    """The same, of an input called input_x."""

    def construct(self, input_x: TensorLike) -> Tensor:
        return self._function(input_x, *self._values())


class OfAxes(Cell):
    """The base of layers that there are for 1, 2 and 3 axes: ``class Conv3d(_Conv, axes=3)``."""

    axes: ClassVar[int] = 2

    def __init_subclass__(cls, axes: int | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.axes = axes or cls.axes


def of_type(*types: type) -> Callable[..., Any]:
    """A check of a setting: that it is of one of some types."""
    return lambda value, name, who: check_type(value, types, name, who)


class PrimitiveAttribute:
    """An operator made from its layer whenever the attribute is read; a layer may assign another one.

    Layers themselves call the functions, so that no operator is made with a layer.

    Args:
        make (callable): from the layer to the operator.
    """

    def __init__(self, make: Callable[..., Any]):
        self.make = make

    def __get__(self, cell: Cell | None, owner: type[Cell] | None = None) -> Any:
        return self if cell is None else self.make(cell)
