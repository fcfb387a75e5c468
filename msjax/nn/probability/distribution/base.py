"""What all distributions have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_int, check_kind, check_type
from msjax.nn.cell.base import Cell

__all__ = ["Distribution"]


class Distribution(Cell):
    """The base of distributions. Each call takes the parameters that the constructor has not been given.

    A subclass names its parameters in `parameters`, and defines `_log_prob(value, *parameters)`, `_cdf`, `_mean`, `_var`, `_mode`,
    `_entropy`, `_kl(*other, *own)` and `_sample(shape, *parameters)`. One that names no parameters gets in them what each call is given.
    Those that need no `self` may stand in `_formulas` instead, by their names without the "_".

    Args:
        seed (int, optional): of the samples.
        dtype (ms.dtype): of the parameters and of samples.
        name (str): the name.
        param (dict): the parameters by their names, itself or under the key ``param_dict``; None for one that each call is given.

    Attributes:
        parameters: {name: how the text of the distribution calls it}. Each is an attribute, too: a Tensor, or None if it was not given.
    """

    parameters: dict[str, str] = {}
    _formulas: ClassVar[dict[str, Callable[..., Tensor]]] = {}
    # Whether numbers of another type than floats are possible.
    _counts: ClassVar[bool] = True

    def __init__(self, seed: int | None, dtype: Type, name: str, param: dict[str, Any]):
        super().__init__()
        who = type(self).__name__
        self.name: str = check_type(name, str, "name", who)
        check_type(dtype, Type, "dtype", who)
        fits = dtype.kind in ("iuf" if self._counts else "f")
        check_kind(dtype, fits, f"be a type of {'numbers' if self._counts else 'floats'}", "dtype", who)
        if seed is not None:
            check_int(seed, "seed", who, low=0)
        self.seed: int = 0 if seed is None else seed
        self.dtype = dtype
        self.parameter_type: Type = dtype if dtype.kind == "f" else mstype.float32
        given = param.get("param_dict", param)
        self._given = {key: None if value is None else self._tensor(value) for key, value in given.items()}

    def __getattr__(self, name: str) -> Any:
        """A parameter, if it was given."""
        if name in type(self).parameters:
            return self._given[name]
        return super().__getattr__(name)  # pyright: ignore[reportAttributeAccessIssue]

    def _tensor(self, value):
        return value.astype(self.parameter_type) if isinstance(value, Tensor) else Tensor(value, self.parameter_type)

    def _all(self, args, kwargs):
        """The parameters of a call, as Tensors in their order."""
        names = list(self.parameters)
        if not names:
            return list(args)
        values = {**self._given, **{k: v for k, v in zip(names, args) if v is not None}, **kwargs}
        for name in names:
            if values.get(name) is None:
                raise TypeError(f"For '{type(self).__name__}', '{name}' was given neither to the constructor nor to the call.")
        return [self._tensor(values[name]) for name in names]

    def extend_repr(self) -> str:
        return ", ".join(f"{shown} = {self._given[name]}" for name, shown in self.parameters.items())

    def log_prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of the probability, or of its density, at `value`."""
        return self._formula("log_prob", self._tensor(value), *self._all(args, kwargs))

    def prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The probability, or its density, at `value`."""
        return ops.exp(self.log_prob(value, *args, **kwargs))

    def cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The probability of a number that is not greater than `value`."""
        return self._formula("cdf", self._tensor(value), *self._all(args, kwargs))

    def log_cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of `cdf`."""
        return ops.log(self.cdf(value, *args, **kwargs))

    def survival_function(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The probability of a number that is greater than `value`."""
        return 1.0 - self.cdf(value, *args, **kwargs)

    def log_survival(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of `survival_function`."""
        return ops.log(self.survival_function(value, *args, **kwargs))

    def mean(self, *args: Any, **kwargs: Any) -> Tensor:
        """The mean."""
        return self._formula("mean", *self._all(args, kwargs))

    def var(self, *args: Any, **kwargs: Any) -> Tensor:
        """The variance."""
        return self._formula("var", *self._all(args, kwargs))

    def sd(self, *args: Any, **kwargs: Any) -> Tensor:
        """The standard deviation."""
        return ops.sqrt(self.var(*args, **kwargs))

    def mode(self, *args: Any, **kwargs: Any) -> Tensor:
        """The most probable number.

        Raises:
            NotImplementedError: there is none.
        """
        return self._formula("mode", *self._all(args, kwargs))

    def entropy(self, *args: Any, **kwargs: Any) -> Tensor:
        """The entropy."""
        return self._formula("entropy", *self._all(args, kwargs))

    def kl_loss(self, dist: str, *args: Any, **kwargs: Any) -> Tensor:
        """The Kullback-Leibler divergence of another distribution of this kind from this one.

        Args:
            dist: the kind of the other one, such as "Normal".
            args: its parameters, and after them those of this one.

        Raises:
            ValueError: it is of another kind.
        """
        if not hasattr(self, "_kl") and "kl" not in self._formulas:
            return self._missing("kl_loss")
        if dist != type(self).__name__:
            raise ValueError(
                f"For '{type(self).__name__}', the other distribution should be of the same kind, but it is {dist!r}."
            )
        n = len(self.parameters)
        other = [kwargs.pop(f"{name}_b", None) for name in list(self.parameters)[len(args) :]]
        other = [self._tensor(value) for value in (*args[:n], *other)]
        own = self._all(args[n:], {name.removesuffix("_a"): value for name, value in kwargs.items()})
        return self._formula("kl", *other, *own)

    def cross_entropy(self, dist: str, *args: Any, **kwargs: Any) -> Tensor:
        """The entropy and the divergence of another distribution; the arguments are those of `kl_loss`."""
        own = {name: kwargs[f"{name}_a"] for name in self.parameters if f"{name}_a" in kwargs}
        return self.entropy(*args[len(self.parameters) :], **own) + self.kl_loss(dist, *args, **kwargs)

    def sample(self, shape: tuple[int, ...] = (), *args: Any, **kwargs: Any) -> Tensor:
        """Random numbers: `shape`, and behind it the shape of the parameters."""
        return self._formula("sample", tuple(shape), *self._all(args, kwargs)).astype(self.dtype)

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method by its name: ``distribution("log_prob", value)``."""
        return getattr(self, name)(*args, **kwargs)

    def _missing(self, name):
        raise NotImplementedError(f"For '{type(self).__name__}', there is no '{name}'.")

    def _formula(self, name: str, *values: Any) -> Tensor:
        formula = getattr(self, f"_{name}", None) or self._formulas.get(name)
        return self._missing(name) if formula is None else formula(*values)


def shape_of(*parameters: Tensor) -> tuple[int, ...]:
    """The shape to which parameters are broadcast."""
    return np.broadcast_shapes(*[p.shape for p in parameters])


def unit_uniform(shape: tuple[int, ...], of: Distribution) -> Tensor:
    """Uniform numbers between 0 and 1, for a distribution's samples."""
    bounds = [Tensor(bound, of.parameter_type) for bound in (0.0, 1.0)]
    return ops.uniform(shape, *bounds, of.seed)
