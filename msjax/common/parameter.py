"""Parameter, a Tensor that belongs to a network and a flax nnx.Param; and Buffer, one that is part of a cell's state, but not trained."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import jax
import numpy as np
from flax import nnx

from msjax.common import dtype as mstype
from msjax.common.arrays import as_array
from msjax.common.initializers import InitLike, initial_array
from msjax.common.node import RootLeaf
from msjax.common.tensor import ArrayLike, Tensor, TensorLike, defer_to_tensor, wrap
from msjax.core.base.checks import check_bool, check_str, check_type, check_value, is_int
from msjax.core.base.flax_slots import METADATA, RAW_VALUE
from msjax.core.door import VERSION

_ANONYMOUS = itertools.count(1)


class _LazyLeaf:
    """Creates a Parameter's leaf on first access and stores it in the instance, which then hides this descriptor."""

    def __get__(self, parameter: Parameter | None, owner: type[Parameter]) -> RootLeaf | None:
        if parameter is None:
            return None
        node = RootLeaf(parameter) if parameter.requires_grad else None
        vars(parameter)["_node"] = node
        return node


class Kind(type(nnx.Param)):
    """Metaclass that bypasses nnx's slow `__instancecheck__`."""

    if not TYPE_CHECKING:
        __instancecheck__ = type.__instancecheck__


class _OfTensor(Tensor if TYPE_CHECKING else object):
    """What a Tensor that is one of nnx's variables, too, has as a Tensor has it."""

    if not TYPE_CHECKING:
        # nnx restricts attributes; a Tensor accepts any.
        __setattr__ = object.__setattr__
        __delattr__ = object.__delattr__
        __getattr__ = Tensor.__getattr__
        __hash__ = Tensor.__hash__
        __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = __imatmul__ = defer_to_tensor
        __iand__ = __ior__ = __ixor__ = defer_to_tensor
        __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = __ilshift__ = __irshift__ = defer_to_tensor
        __repr__ = Tensor.__repr__
        __str__ = Tensor.__str__

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        """A copy, as ``copy.copy()`` makes it; with arguments, nnx's ``Variable.copy``."""
        variable: Any = self
        return nnx.Variable.copy(variable, *args, **kwargs) if args or kwargs else self.__copy__()


class Parameter(_OfTensor, Tensor, nnx.Param[Any], metaclass=Kind):
    """A Tensor that a Cell owns and an optimizer updates.

    It is a Tensor for operators and an ``nnx.Param`` for flax, so that nnx.state, nnx.Optimizer or orbax find it.

    Args:
        default_input: a Tensor, number, list, numpy or jax array; the initial data. An int becomes Int32.
        name (str, optional): the name; by default that of the attribute the Parameter is assigned to.
        requires_grad (bool): whether it is trained.
        layerwise_parallel, parallel_optimizer, storage_format, device: accepted for compatibility with MindSpore, without effect.

    Raises:
        TypeError: a wrong type of data.
        ValueError: the name is not a str.

    Example:
        >>> import msjax as ms
        >>> w = ms.Parameter(ms.Tensor([[1.0, 2.0]]), name="w")
        >>> print(w)
        Parameter (name=w, shape=(1, 2), dtype=Float32, requires_grad=True)
        >>> print(w * 2)
        [[2. 4.]]
    """

    _value = RAW_VALUE
    _metadata = METADATA
    _node = _LazyLeaf()  # pyright: ignore[reportAssignmentType]  (it gives a Node or None)

    def __init__(
        self,
        default_input: ArrayLike,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
        storage_format: str = "",
        device: str | None = None,
    ):
        check_value(name, name is None or isinstance(name, str), "be a str", "name", "Parameter")
        check_bool(requires_grad, "requires_grad", "Parameter")
        nnx.Param.__init__(
            self,
            as_array(default_input, mstype.int32 if is_int(default_input) else None),
            name=name or f"Parameter#{next(_ANONYMOUS)}",
            named=bool(name),
            requires_grad=requires_grad,
        )
        if layerwise_parallel or not parallel_optimizer:
            vars(self).update(layerwise_parallel=layerwise_parallel, parallel_optimizer=parallel_optimizer)

    # ---- name and training

    @property
    def name(self) -> str:
        """The name, unique in a network; a Cell puts the path of its attributes in front."""
        return self._metadata["name"]

    @name.setter
    def name(self, value: str | None) -> None:
        if value is not None and not isinstance(value, str):
            raise ValueError(f"The name of a Parameter should be a str, but got {value!r}.")
        self._metadata["name"] = value or f"Parameter#{next(_ANONYMOUS)}"
        self._metadata["named"] = bool(value)

    @property
    def is_named(self) -> bool:
        """False while the name is still the default one."""
        return self._metadata["named"]

    @property
    def requires_grad(self) -> bool:
        """Whether the Parameter is trained."""
        return self._metadata["requires_grad"]

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        check_bool(value, "requires_grad")
        self._metadata["requires_grad"] = value
        VERSION.changed()
        vars(self).pop("_node", None)

    # Settings of MindSpore's distributed training, with the values that they have without it.
    is_init = False
    init_mode = None
    sliced = False
    comm_fusion = 1
    is_param_ps = False
    cache_enable = False
    layerwise_parallel = False
    parallel_optimizer = True
    inited_param = None  # data is there from the start

    # ---- data

    @property
    def data(self) -> Tensor:
        """A plain Tensor that shares the Parameter's data: writing to it in place writes to the Parameter."""
        return Tensor.data.__get__(self)

    @data.setter
    def data(self, data: TensorLike) -> None:
        self.set_data(data if isinstance(data, Tensor) else Tensor(data))

    def value(self) -> Tensor:
        """The current value as a Tensor that later changes of the Parameter don't affect."""
        return wrap(self._value)

    def set_data(self, data: Tensor | float, slice_shape: bool = False) -> Parameter:
        """Replace the data by other data, of any shape, cast to the Parameter's dtype.

        Args:
            data: a Tensor, Parameter or Python number.

        Returns:
            The Parameter itself.

        Raises:
            TypeError: `data` is not a Tensor or number.
        """
        if isinstance(data, (bool, int, float, Tensor)):
            self._replace(as_array(data, self.dtype))
            return self
        raise TypeError(
            f"For 'set_data', the data of Parameter {self.name!r} should be a Tensor or a number, but got {type(data).__name__}."
        )

    def init_data(self, layout: Any = None, set_sliced: bool = False) -> Parameter:
        """The Parameter itself; its data is there from the start. The arguments are without effect."""
        return self

    def clone(self, init: InitLike = "same") -> Parameter:
        """A new Parameter of the same name, dtype and settings.

        Args:
            init: "same" for the same data; a number, an initializer or its name for new data.
        """
        if isinstance(init, str) and init == "same":
            return self._like(wrap(self._value))
        return self._like(init if isinstance(init, Tensor) else wrap(initial_array(init, self.shape, self.dtype)))

    def _like(self, data) -> Parameter:
        other = Parameter(data, name=self.name, requires_grad=self.requires_grad)
        other._metadata["named"] = self.is_named
        return other

    def __copy__(self) -> Parameter:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        return memo.setdefault(id(self), self._like(wrap(self._value)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Parameter, (np.asarray(self._value), self.name, self.requires_grad)

    def __str__(self) -> str:
        return f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, requires_grad={self.requires_grad})"

    __repr__ = __str__


class ParameterTuple(tuple[Parameter, ...]):
    """A tuple of Parameters.

    Args:
        iterable: Parameters, in a list, tuple or generator.

    Raises:
        TypeError: an element is not a Parameter.
        ValueError: two Parameters have the same name.

    Example:
        >>> import msjax as ms
        >>> ws = ms.ParameterTuple([ms.Parameter(1.0, name="a"), ms.Parameter(2.0, name="b")])
        >>> [w.name for w in ws]
        ['a', 'b']
    """

    def __new__(cls, iterable: Iterable[Parameter]) -> Self:
        try:
            data = tuple(iterable)
        except TypeError as error:
            raise TypeError(
                f"For 'ParameterTuple', the argument should hold Parameters, but got {type(iterable).__name__}."
            ) from error
        for parameter in data:
            check_type(parameter, Parameter, "every element", "ParameterTuple")
        by_name = {}
        for parameter in data:
            if by_name.setdefault(parameter.name, parameter) is not parameter:
                raise ValueError(f"For 'ParameterTuple', two different Parameters have the name {parameter.name!r}.")
        return super().__new__(cls, data)

    def clone(self, prefix: str, init: InitLike = "same") -> ParameterTuple:
        """New Parameters, each named ``prefix.name``; `init` as in `Parameter.clone`."""
        check_str(prefix, "prefix", "ParameterTuple.clone")
        clones = [parameter.clone(init) for parameter in self]
        for clone in clones:
            clone.name = f"{prefix}.{clone.name}"
        return ParameterTuple(clones)


# jax and nnx see a tuple of leaves, not one leaf. It is made without checks, since jax.tree functions may replace Parameters by anything.
jax.tree_util.register_pytree_with_keys(
    ParameterTuple,
    lambda t: ([(jax.tree_util.SequenceKey(i), p) for i, p in enumerate(t)], None),
    lambda _, members: tuple.__new__(ParameterTuple, members),
    lambda t: (tuple(t), None),
)


class Buffer(_OfTensor, Tensor, nnx.BatchStat[Any], metaclass=Kind):
    """A Tensor that a cell keeps with `Cell.register_buffer`; for flax, a BatchStat variable."""

    _value = RAW_VALUE
    _node = None
    _metadata = METADATA

    def __init__(self, data: TensorLike, persistent: bool = True):
        nnx.BatchStat.__init__(self, as_array(data), persistent=persistent)

    @property
    def persistent(self) -> bool:
        """Whether it is part of ``state_dict()``."""
        return self._metadata["persistent"]

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        return memo.setdefault(id(self), Buffer(wrap(self._value), self.persistent))

    def __copy__(self) -> Tensor:
        return wrap(self._value)
