"""Optimizer: the base of nn's optimizers, with learning rates and weight decays that may change from step to step."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from msjax.common.parameter import Parameter, ParameterTuple
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import ParametersLike, TensorLike
from msjax.core.base.checks import (
    check_bool,
    check_float,
    check_kind,
    check_number,
    check_one_of,
    check_type,
    check_value,
    is_number,
)
from msjax.nn.cell.base import Cell
from msjax.nn.layer.container import CellList
from msjax.nn.learning_rate_schedule import LearningRate, LearningRateSchedule
from msjax.nn.optim import rates as rate_kinds
from msjax.nn.optim.engine import CompiledOptimizer, GroupSpec, StepInputs, UpdateSpec, centralize, compiled_step
from msjax.nn.optim.groups import members
from msjax.ops.dispatch.operator import freeze


def map_tuples(fn: Callable[..., Any], *sequences: Any) -> Any:
    """Apply fn to the elements of tuples or lists in parallel, also nested ones; returns a tuple."""
    if isinstance(sequences[0], (tuple, list)):
        return tuple(map_tuples(fn, *parts) for parts in zip(*sequences, strict=True))
    return fn(*sequences)


def opt_init_args_register(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of an optimizer's ``__init__`` that records its arguments: `init_params`, `init_learning_rate`, `init_args`.

    Example:
        >>> from msjax import Parameter, nn
        >>> from msjax.nn.optim.optimizer import opt_init_args_register
        >>> class Slow(nn.SGD):
        ...     @opt_init_args_register
        ...     def __init__(self, params, learning_rate=0.1, patience=3):
        ...         super().__init__(params, learning_rate)
        >>> slow = Slow([Parameter(1.0, name="w")], patience=5)
        >>> print(slow.init_learning_rate, slow.init_args)
        0.1 {'patience': 5}
    """
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def __init__(self, *args, **kwargs):
        fn(self, *args, **kwargs)
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        _, *others = given.arguments.items()
        kept = dict(others)
        # Plain attributes: the Parameters are registered with the optimizer already.
        self.__dict__["init_params"] = {"params": kept.pop("params", None)}
        self.__dict__["init_learning_rate"] = kept.pop("learning_rate", None)
        self.__dict__["init_args"] = kept

    return __init__


class Optimizer(CompiledOptimizer):
    """Base of optimizers.

    An optimizer is called with the gradients of its Parameters, in their order. A subclass either defines
    ``construct(gradients)``, as in MindSpore, or makes its state with `add_shared` and `add_state`, names in
    `constants` the attributes that its formula reads, and defines the formula in `begin` and `update`. Then one compiled
    program updates all Parameters.

    Args:
        learning_rate: a number; a Tensor or list with one for each step; or a LearningRateSchedule.
        parameters: a list of Parameters, or of dicts of parameter groups: {"params": [...], "lr": ...,
            "weight_decay": ..., "grad_centralization": bool}, and {"order_params": [...]} for the order of all.
        weight_decay (float or Cell): this share of a Parameter is added to its gradient. Without groups, Parameters with
            "beta" or "gamma" in their name are left out. Default: 0.0.
        loss_scale (float): gradients are divided by it. Default: 1.0.

    Raises:
        TypeError, ValueError, KeyError, RuntimeError: an argument of a wrong type or value.

    Example:
        >>> class Signed(nn.Optimizer):
        ...     def construct(self, gradients):
        ...         for p, g in zip(self.parameters, self.decay_weight(gradients)):
        ...             p.set_data(p - self.get_lr() * ops.sign(g))
        ...         return True
        >>> w = Parameter(Tensor([1.0, 2.0]), name="w")
        >>> _ = Signed(0.5, [w])((Tensor([3.0, -4.0]),))
        >>> print(w.value())
        [0.5 2.5]
    """

    # Attributes that the formula reads. A change of one compiles a new program, unless it is a float (see `CompiledStep`).
    constants: tuple[str, ...] = ()
    # Parameters with one of these in their names have no weight decay, unless in groups.
    spared: tuple[str, ...] = ("beta", "gamma")
    state_requires_grad = True

    def __init__(
        self, learning_rate: LearningRate, parameters: ParametersLike, weight_decay: float | Cell = 0.0, loss_scale: float = 1.0
    ):
        super().__init__()
        who = type(self).__name__
        found = members(parameters)
        self.loss_scale: float = float(check_number(loss_scale, "loss_scale", who, above=0))
        self.reciprocal_scale: float = 1.0 / self.loss_scale
        self.need_scale: bool = self.loss_scale != 1.0
        self.is_group: bool = found[0].group is not None
        self.is_group_lr: bool = any(m.lr is not None for m in found)
        groups = parameters if self.is_group and isinstance(parameters, (list, tuple)) else ()
        self.is_group_params_ordered: bool = any("order_params" in group for group in groups)
        self.global_step: Parameter = Parameter(wrap(jnp.zeros(1, jnp.int32)), name="global_step")
        self.global_step_increase_tensor: Tensor = Tensor([1], self.global_step.dtype)
        self.map_ = map_tuples
        self.hyper_map: Callable[..., Any] = map_tuples
        self._unique = True
        self._set_rates(found, learning_rate, who)
        self._set_decays(found, weight_decay, who)
        self._centralized = tuple(m.centralize for m in found)
        self.parameters: ParameterTuple = ParameterTuple([m.parameter for m in found])
        vars(self)["_parameters"] = self.parameters
        self.param_length: int = len(found)
        # Optimizers written for MindSpore read these; here the optimizer shards nothing, and gradients are dense.
        self.optim_filter: tuple[bool, ...] = (True,) * len(found)
        self.use_parallel = False
        self._shared = ()

    def _set_rates(self, found, learning_rate, who):
        """Make the Parameters and schedules of the learning rates; `_rates` has one for each Parameter."""
        groups = {m.group: rate_kinds.as_rate(m.lr, who) for m in found if m.lr is not None}
        base = rate_kinds.as_rate(learning_rate, who)
        used = [groups.get(m.group, base) for m in found]
        self.dynamic_lr: bool = any(rate_kinds.changes(rate) for rate in used)
        lengths = sorted({len(rate) for rate in used if isinstance(rate, np.ndarray) and rate.ndim})
        check_value(lengths, len(lengths) < 2, "have as many steps in all groups", "the lists of learning rates", who)
        kept = {}
        for m in found:
            key = m.group if m.group in groups else None
            if key not in kept:
                rate, name = (base, "learning_rate") if key is None else (groups[key], f"learning_rate_group_{key}")
                kept[key] = rate_kinds.keep(rate, name, as_schedule=self.is_group_lr and self.dynamic_lr)
        self._rates = tuple(kept[m.group if m.group in groups else None] for m in found)
        self.learning_rate: Any
        if not self.is_group_lr:
            self.learning_rate = self._rates[0]
        elif self.dynamic_lr:
            self.learning_rate = CellList(list(self._rates), auto_prefix=False)
        else:
            self.learning_rate = ParameterTuple(self._rates)

    def _set_decays(self, found, weight_decay, who):
        """`_decays` has a float or a Cell for each Parameter."""
        base = _as_decay(weight_decay, who)
        if self.is_group:
            decays = [base if m.weight_decay is None else _as_decay(m.weight_decay, who) for m in found]
        else:
            decays = [0.0 if any(part in m.parameter.name for part in self.spared) else base for m in found]
        shown = [d if isinstance(d, Cell) else Tensor(d * self.loss_scale) for d in (decays if self.is_group else [base])]
        self.weight_decay: tuple[Cell | Tensor, ...] | Cell | Tensor = tuple(shown) if self.is_group else shown[0]
        self._decays = tuple(decays)
        self.decay_flags: tuple[bool, ...] = tuple(isinstance(d, Cell) or d > 0 for d in decays)
        self.dynamic_weight_decay: bool = any(isinstance(d, Cell) for d in decays)
        self.exec_weight_decay: bool = any(self.decay_flags)
        cells = _distinct(d for d in decays if isinstance(d, Cell))
        if cells:
            self._decay_cells = CellList(cells, auto_prefix=False)

    # ---- the step

    def add_shared(self, name: str, value: Tensor | float) -> None:
        """Make a Parameter of the optimizer that the formula reads and may change, such as a power of beta.

        Args:
            name (str): its name and attribute; `begin` finds its value under this name.
            value: a number or Tensor.
        """
        setattr(self, name, Parameter(value if isinstance(value, Tensor) else Tensor(value), name=name))
        self._shared += (name,)

    def _set_betas(self, beta1, beta2, eps):
        who = type(self).__name__
        self.beta1: float = check_float(beta1, "beta1", who, above=0, below=1)
        self.beta2: float = check_float(beta2, "beta2", who, above=0, below=1)
        self.eps: float = check_float(eps, "eps", who, above=0)

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        super().construct(gradients)
        return (True,) * len(self.parameters)

    def __getstate__(self) -> dict[str, Any]:
        # A compiled program can't be pickled, and the next step finds it anew.
        return {name: value for name, value in super().__getstate__().items() if name != "_prepared"}

    def __setattr__(self, name: str, value: Any) -> None:
        # A setting that the program was compiled for may have changed.
        vars(self).pop("_prepared", None)
        super().__setattr__(name, value)

    def _prepare(self):
        prepared = self.__dict__.get("_prepared")
        if prepared is None:
            rates = _distinct(self._rates)
            cells = _distinct(d for d in self._decays if isinstance(d, Cell))
            at = {id(member): i for each in (rates, cells) for i, member in enumerate(each)}
            specs = tuple(
                UpdateSpec(at[id(rate)], 0.0, at[id(decay)], centralized)
                if isinstance(decay, Cell)
                else UpdateSpec(at[id(rate)], decay, None, centralized)
                for rate, decay, centralized in zip(self._rates, self._decays, self._centralized)
            )
            settings = tuple((name, freeze(getattr(self, name))) for name in self.constants)
            program = compiled_step(type(self), (GroupSpec(settings, 0, specs),), self.loss_scale)
            shared = [{name: getattr(self, name) for name in self._shared}]
            prepared = StepInputs(program, rates, cells, self._states_by_parameter(), shared, self.global_step)
            vars(self)["_prepared"] = prepared
        return prepared

    # ---- for optimizers that define `construct`

    def get_lr(self) -> Tensor | tuple[Tensor, ...]:
        """The learning rate of the next step: a Tensor, or a tuple of one for each Parameter if groups have their own."""
        if not self.is_group_lr:
            return self._lr(self._rates[0])
        return tuple(self._lr(rate) for rate in self._rates)

    def _lr(self, rate):
        if not isinstance(rate, LearningRateSchedule):
            return rate
        rate = rate(self.global_step)
        return rate if rate.shape == () else wrap(rate._value.reshape(()))

    def get_lr_parameter(self, param: Parameter | list[Parameter]) -> list[Any]:
        """The learning rate's Parameter, or schedule, of a Parameter or a list of them.

        Raises:
            TypeError: `param` is neither.
            ValueError: a Parameter isn't optimized here.
        """
        check_type(param, (Parameter, list), "param", "get_lr_parameter")
        by = {id(p): rate for p, rate in zip(self.parameters, self._rates)}
        found = []
        for p in [param] if isinstance(param, Parameter) else param:
            if id(p) not in by:
                raise ValueError(f"For 'get_lr_parameter', {getattr(p, 'name', p)!r} is not optimized here.")
            rate = by[id(p)]
            found.append(rate.learning_rate if isinstance(rate, rate_kinds.KeptRate) else rate)
        return found[0] if isinstance(param, Parameter) else found

    def get_weight_decay(self) -> Tensor | tuple[Tensor, ...]:
        """The weight decay of the next step, times the loss scale: a Tensor; with groups, a tuple of one for each Parameter."""
        if self.is_group:
            return tuple(self._decay(d) for d in self.weight_decay)
        return self._decay(self.weight_decay)

    def _decay(self, decay):
        return decay(self.global_step) * self.loss_scale if isinstance(decay, Cell) else decay

    def decay_weight(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The gradients with the weight decay added, times the loss scale: before `scale_grad`."""
        if not self.exec_weight_decay:
            return gradients
        decay = self.get_weight_decay()
        each = decay if self.is_group else (decay,) * self.param_length
        return tuple(
            g + p * d if decays else g for g, p, d, decays in zip(gradients, self.parameters, each, self.decay_flags, strict=True)
        )

    def scale_grad(self, gradients: Sequence[Tensor]) -> Sequence[Tensor]:
        """The gradients divided by the loss scale."""
        return gradients if self.loss_scale == 1.0 else tuple(g * self.reciprocal_scale for g in gradients)

    def gradients_centralization(self, gradients: Sequence[Tensor]) -> Sequence[Tensor]:
        """The gradients, those of groups with "grad_centralization" less their mean over all but the first axis.

        As in MindSpore, that goes for gradients whose second axis is a multiple of 16 long; others stay as they are.
        """
        if True not in self._centralized:
            return gradients
        return tuple(wrap(centralize(g._value)) if yes else g for g, yes in zip(gradients, self._centralized))

    def _is_dynamic_lr_or_weight_decay(self):
        return self.dynamic_lr or self.dynamic_weight_decay

    def _grad_sparse_indices_deduplicate(self, gradients):
        """Returns the gradients unchanged: they are dense here."""
        return gradients

    def flatten_gradients(self, gradients: Sequence[Tensor]) -> Sequence[Tensor]:
        """Returns the gradients unchanged: they are not fused into one chunk here."""
        return gradients

    def assignadd(self, parameter: Parameter, value: TensorLike) -> Parameter:
        """Add to a Parameter; returns its new value."""
        parameter.set_data(parameter + value)
        return parameter.value()

    def broadcast_params(self, optim_result: Any) -> Any:
        """Returns its argument: jax shards arrays by itself."""
        return optim_result

    @property
    def unique(self) -> bool:
        """Accepted for compatibility with MindSpore, without effect: gradients are dense."""
        return self._unique

    @unique.setter
    def unique(self, value: TensorLike) -> None:
        vars(self)["_unique"] = check_bool(value, "unique", type(self).__name__)

    @property
    def target(self) -> str:
        """Accepted for compatibility with MindSpore, without effect: the update runs where the Parameters are."""
        return self.__dict__.get("_target", "CPU")

    @target.setter
    def target(self, value: TensorLike) -> None:
        vars(self)["_target"] = check_one_of(value, ("CPU", "GPU", "Ascend"), "target", type(self).__name__)


def _distinct(members):
    """The members without repetition, by identity: Parameters compare element by element."""
    return list({id(m): m for m in members}.values())


def _as_decay(value, who):
    if isinstance(value, Cell):
        return value
    check_kind(value, is_number(value), "be a number or a Cell", "weight_decay", who)
    return float(check_number(value, "weight_decay", who, low=0.0))
