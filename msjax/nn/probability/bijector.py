"""Bijectors: invertible functions, and the logarithms of their derivatives, by which `TransformedDistribution` changes distributions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike
from msjax.core.base.checks import check_bool, check_kind, check_number, check_type, check_value
from msjax.nn.cell.base import Cell

__all__ = ["Bijector", "Exp", "GumbelCDF", "Invert", "PowerTransform", "ScalarAffine", "Softplus"]


class Bijector(Cell):
    """The base of bijectors. A subclass defines `_forward(value)`, `_inverse(value)` and one of `_forward_log_jacobian` and `_inverse_log_jacobian`.

    Args:
        is_constant_jacobian (bool): whether the derivative is the same everywhere. Default: False.
        is_injective (bool): whether each result has one value. Default: True.
        name (str, optional): the name. Default: that of the class.
        dtype (ms.dtype, optional): the type of values; None for that of the parameters or of the values. Default: None.
        param (dict, optional): the parameters by their names, itself or under the key ``param_dict``. Default: None.

    Raises:
        TypeError: an argument of a wrong type.

    Example:
        >>> import msjax as ms
        >>> from msjax.nn.probability import bijector as msb
        >>> class Double(msb.Bijector):
        ...     def _forward(self, value):
        ...         return value * 2
        >>> print(Double().forward(ms.Tensor([1.0, 2.0])))
        [2. 4.]
    """

    def __init__(
        self, is_constant_jacobian: bool = False, is_injective: bool = True, name: str | None = None, dtype: Type | None = None,
        param: dict[str, Any] | None = None,
    ):  # fmt: skip
        super().__init__()
        who = type(self).__name__
        self.name: str = who if name is None else check_type(name, str, "name", who)
        self.is_constant_jacobian: bool = check_bool(is_constant_jacobian, "is_constant_jacobian", who)
        self.is_injective: bool = check_bool(is_injective, "is_injective", who)
        self.dtype = dtype
        self.parameters: dict[str, Any] = dict((param or {}).get("param_dict", param or {}))

    def _add_parameter(self, value: ArrayLike, name: str) -> Tensor:
        """A parameter as a Tensor of floats."""
        made = value if isinstance(value, Tensor) else Tensor(value, self.dtype or mstype.float32)
        if made.dtype.kind != "f":
            raise TypeError(f"For '{self.name}', '{name}' should have floats, but has {made.dtype}.")
        return made

    def _check_value_dtype(self, value: object) -> Tensor:
        """The value; a TypeError for anything but a Tensor of floats, of the bijector's type if it has one."""
        fits = isinstance(value, Tensor) and value.dtype.kind == "f" and self.dtype in (None, value.dtype)
        check_kind(value, fits, f"be a Tensor of {self.dtype or 'floats'}", "the value", self.name)
        return value

    def cast_param_by_value(self, value: Tensor, para: Tensor) -> Tensor:
        """A parameter in the type of a value."""
        return para.astype(value.dtype)

    def forward(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The function."""
        return self._forward(self._check_value_dtype(value), *args, **kwargs)

    def inverse(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The inverse function."""
        return self._inverse(self._check_value_dtype(value), *args, **kwargs)

    def forward_log_jacobian(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of the function's derivative."""
        return self._forward_log_jacobian(self._check_value_dtype(value), *args, **kwargs)

    def inverse_log_jacobian(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of the inverse function's derivative."""
        return self._inverse_log_jacobian(self._check_value_dtype(value), *args, **kwargs)

    def construct(self, name: str | Any, *args: Any, **kwargs: Any) -> Any:
        """Call a method by its name, ``bijector("forward", value)``; or make the distribution of the values of another one."""
        if isinstance(name, str):
            return getattr(self, name)(*args, **kwargs)
        return self.transformed(self, name)

    # Put here by the file of TransformedDistribution.
    transformed: ClassVar[Callable[..., Any]]

    def _missing(self, name):
        raise NotImplementedError(f"For '{self.name}', there is no '{name}'.")

    def _forward(self, value: Tensor) -> Tensor:
        return self._missing("forward")

    def _inverse(self, value: Tensor) -> Tensor:
        return self._missing("inverse")

    def _forward_log_jacobian(self, value: Tensor) -> Tensor:
        if type(self)._inverse_log_jacobian is Bijector._inverse_log_jacobian:
            return self._missing("forward_log_jacobian")
        return -self._inverse_log_jacobian(self._forward(value))

    def _inverse_log_jacobian(self, value: Tensor) -> Tensor:
        if type(self)._forward_log_jacobian is Bijector._forward_log_jacobian:
            return self._missing("inverse_log_jacobian")
        return -self._forward_log_jacobian(self._inverse(value))


def read_only(attribute: str, doc: str) -> Any:
    """An attribute of a bijector or a distribution that programs may read."""
    return property(operator.attrgetter(attribute), doc=doc)


class PowerTransform(Bijector):
    """(1 + c x) ** (1 / c), and exp(x) for c = 0.

    Args:
        power (number): c, not negative. Default: 0.0.
        name (str): the name. Default: "PowerTransform".
    """

    def __init__(self, power: float = 0.0, name: str = "PowerTransform"):
        value = power if isinstance(power, Tensor) else check_number(power, "power", "PowerTransform")
        check_value(power, bool((Tensor(value) >= 0).all()), "not be negative", "power", "PowerTransform")
        super().__init__(name=name, param={"power": power})
        self._power = self._add_parameter(power, "power")

    power: Tensor = read_only("_power", "c.")

    def _parts(self, value):
        """c; 1 where that is 0; and 0 there in the place of the value, of which the formula for other c would have no slope."""
        power = self.cast_param_by_value(value, self._power)
        return power, ops.where(power == 0, 1.0, power), ops.where(power == 0, 0.0, value)

    def _forward(self, value):
        power, safe, other = self._parts(value)
        return ops.where(power == 0, ops.exp(value), ops.exp(ops.log1p(other * safe) / safe))

    def _inverse(self, value):
        power, safe, _ = self._parts(value)
        return ops.where(power == 0, ops.log(value), ops.expm1(ops.log(value) * safe) / safe)

    def _forward_log_jacobian(self, value):
        power, safe, other = self._parts(value)
        return ops.where(power == 0, value, (1 / safe - 1) * ops.log1p(other * safe))

    def _inverse_log_jacobian(self, value):
        return (self.cast_param_by_value(value, self._power) - 1) * ops.log(value)


class Exp(PowerTransform):
    """exp(x)."""

    def __init__(self, name: str = "Exp"):
        super().__init__(name=name)

    def _forward(self, value):
        return ops.exp(value)

    def _inverse(self, value):
        return ops.log(value)

    def _forward_log_jacobian(self, value):
        return value

    def _inverse_log_jacobian(self, value):
        return -ops.log(value)


class ScalarAffine(Bijector):
    """scale * x + shift.

    Args:
        scale (number or Tensor): Default: 1.0.
        shift (number or Tensor): Default: 0.0.
        name (str): the name. Default: "ScalarAffine".
    """

    def __init__(self, scale: ArrayLike = 1.0, shift: ArrayLike = 0.0, name: str = "ScalarAffine"):
        for each, value in (("scale", scale), ("shift", shift)):
            check_kind(value, not isinstance(value, str), "be a number, an array or a Tensor", each, "ScalarAffine")
        super().__init__(True, name=name, param={"scale": scale, "shift": shift})
        self._scale, self._shift = self._add_parameter(scale, "scale"), self._add_parameter(shift, "shift")

    scale: Tensor = read_only("_scale", "The factor.")
    shift: Tensor = read_only("_shift", "What is added.")

    def _forward(self, value):
        return value * self.cast_param_by_value(value, self._scale) + self.cast_param_by_value(value, self._shift)

    def _inverse(self, value):
        return (value - self.cast_param_by_value(value, self._shift)) / self.cast_param_by_value(value, self._scale)

    def _forward_log_jacobian(self, value):
        return ops.log(ops.abs(self.cast_param_by_value(value, self._scale)))

    def _inverse_log_jacobian(self, value):
        return -self._forward_log_jacobian(value)


class Softplus(Bijector):
    """log(1 + exp(k x)) / k.

    Args:
        sharpness (number or Tensor): k. Default: 1.0.
        name (str): the name. Default: "Softplus".
    """

    def __init__(self, sharpness: ArrayLike = 1.0, name: str = "Softplus"):
        check_kind(sharpness, not isinstance(sharpness, str), "be a number, an array or a Tensor", "sharpness", "Softplus")
        super().__init__(name=name, param={"sharpness": sharpness})
        self._sharpness = self._add_parameter(sharpness, "sharpness")

    sharpness: Tensor = read_only("_sharpness", "k.")

    def _forward(self, value):
        k = self.cast_param_by_value(value, self._sharpness)
        return ops.logaddexp(value * k, ops.zeros_like(value)) / k

    def _inverse(self, value):
        scaled = value * self.cast_param_by_value(value, self._sharpness)
        return (scaled + ops.log(-ops.expm1(-scaled))) / self.cast_param_by_value(value, self._sharpness)

    def _forward_log_jacobian(self, value):
        scaled = value * self.cast_param_by_value(value, self._sharpness)
        return -ops.logaddexp(-scaled, ops.zeros_like(value))

    def _inverse_log_jacobian(self, value):
        return -ops.log(-ops.expm1(-value * self.cast_param_by_value(value, self._sharpness)))


class GumbelCDF(Bijector):
    """exp(-exp(-(x - loc) / scale)).

    Args:
        loc (number or Tensor): Default: 0.0.
        scale (number or Tensor): positive. Default: 1.0.
        name (str): the name. Default: "GumbelCDF".
    """

    def __init__(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, name: str = "GumbelCDF"):
        super().__init__(name=name, param={"loc": loc, "scale": scale})
        self._loc, self._scale = self._add_parameter(loc, "loc"), self._add_parameter(scale, "scale")
        check_value(scale, bool((self._scale > 0).all()), "be positive", "scale", "GumbelCDF")

    loc: Tensor = read_only("_loc", "The location.")
    scale: Tensor = read_only("_scale", "The scale.")

    def _standard(self, value):
        return (value - self.cast_param_by_value(value, self._loc)) / self.cast_param_by_value(value, self._scale)

    def _forward(self, value):
        return ops.exp(-ops.exp(-self._standard(value)))

    def _inverse(self, value):
        turned = -ops.log(-ops.log(value))
        return self.cast_param_by_value(value, self._loc) + self.cast_param_by_value(value, self._scale) * turned

    def _forward_log_jacobian(self, value):
        z = self._standard(value)
        return -z - ops.exp(-z) - ops.log(self.cast_param_by_value(value, self._scale))

    def _inverse_log_jacobian(self, value):
        return ops.log(self.cast_param_by_value(value, self._scale) / (-value * ops.log(value)))


class Invert(Bijector):
    """The inverse of another bijector.

    Args:
        bijector (Bijector): the other one.
        name (str): the name. Default: "invert_" and the other's name.
    """

    def __init__(self, bijector: Bijector, name: str = ""):
        check_type(bijector, Bijector, "bijector", "Invert")
        check_type(name, str, "name", "Invert")
        super().__init__(bijector.is_constant_jacobian, bijector.is_injective, name or f"invert_{bijector.name}", bijector.dtype)
        self._bijector = bijector

    bijector: Bijector = read_only("_bijector", "The other one.")

    def _forward(self, value):
        return self._bijector.inverse(value)

    def _inverse(self, value):
        return self._bijector.forward(value)

    def _forward_log_jacobian(self, value):
        return self._bijector.inverse_log_jacobian(value)

    def _inverse_log_jacobian(self, value):
        return self._bijector.forward_log_jacobian(value)
