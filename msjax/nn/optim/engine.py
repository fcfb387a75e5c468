"""The engine under all optimizers: one compiled program updates every Parameter and its state."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax.numpy as jnp

from msjax.common.parameter import Parameter, ParameterTuple
from msjax.common.run_state import LOCK
from msjax.common.tensor import Tensor, filled_like, wrap
from msjax.core.base.arrays import of_dtype
from msjax.core.base.checks import check_type
from msjax.core.base.errors import describe
from msjax.core.base.typing import JaxArray, JaxArrays, JaxNumber
from msjax.nn.cell.base import Cell
from msjax.nn.learning_rate_schedule import LearningRateSchedule
from msjax.nn.optim.settings import CompiledStep


class UpdateSpec(NamedTuple):
    """How one Parameter is updated, as far as the program is compiled for it.

    Attributes:
        rate: the index of its learning rate among the optimizer's.
        decay: its weight decay; not read where a Cell computes it.
        decay_cell: the index of that Cell among the optimizer's.
        centralize: whether the mean of its gradient is subtracted.
    """

    rate: int
    decay: float = 0.0
    decay_cell: int | None = None
    centralize: bool = False


class GroupSpec(NamedTuple):
    """A group of Parameters whose formula reads the same settings.

    Attributes:
        settings: pairs of name and hashable value.
        rate: the index of the group's learning rate, which `begin` is given.
        members: an UpdateSpec for each Parameter.
    """

    settings: tuple[Any, ...]
    rate: int
    members: tuple[Any, ...]


class StepInputs(NamedTuple):
    """The compiled program of a step, and the objects whose values it reads and writes.

    Attributes:
        program: what `compiled_step` returned.
        rates: the learning rates: Tensors or schedules.
        decays: the Cells that compute a weight decay.
        states: for each Parameter, a tuple of its state.
        shared: for each group, a dict of the Parameters or Buffers that its formula shares.
        step: the Parameter that counts steps, or None.
    """

    program: object
    rates: list[Any]
    decays: list[Any]
    states: list[Any]
    shared: list[Any]
    step: Parameter | None


class Update(NamedTuple):
    """What `update` computes one Parameter's step from.

    Attributes:
        value: the Parameter's value.
        grad: its gradient; the weight decay is in it unless `decays_gradient` is False.
        slots: its state, a tuple in the order of `add_state`.
        rate: the learning rate, 0-d.
        decay: the weight decay, a float or 0-d array.
        context: what `begin` returned.
        shared: the values of the state that its group shares.
    """

    value: JaxArray
    grad: JaxArray
    slots: JaxArrays
    rate: JaxArray
    decay: JaxNumber
    context: Any
    shared: dict[str, JaxArray]


class CompiledOptimizer(Cell):
    """Base of all optimizers: the state, the formula and the compiled step.

    A subclass makes its state with `add_state`, defines the formula in `begin` and `update`, and says in `_prepare`
    which settings, learning rates and state each Parameter has.
    """

    # Whether the engine adds the weight decay to the gradients; False where the formula has its own.
    decays_gradient = True
    state_requires_grad = False
    parameters: ParameterTuple
    # {attribute: (prefix, start, form)} of what `add_state` was told.
    _states: dict[str, tuple[str, float | Callable[..., Any], str]]
    _prepare: Callable[[], StepInputs]

    def __init__(self):
        super().__init__(auto_prefix=False)
        vars(self)["_states"] = {}

    def add_state(
        self, *prefixes: str, start: float | Callable[..., Any] = 0, form: str = "{}.{}", attribute: str | None = None
    ) -> None:
        """Make a Parameter of state for each Parameter; several prefixes make several states that start alike.

        Args:
            prefixes (str): the first part of the state's names, and the attribute that holds it as a ParameterTuple.
            start (float or callable): the number that the state is full of at first, or a function from a Parameter's value, a
                jax array, to the state's first value.
            form (str): how a name is formatted from the prefix and the Parameter's name.
            attribute (str, optional): another name for the attribute.
        """
        for prefix in prefixes:
            self._states[attribute or prefix] = prefix, start, form
            self._extend_state(attribute or prefix, self.parameters)

    def _extend_state(self, name, parameters):
        """Append the state of some more Parameters."""
        prefix, start, form = self._states[name]
        made = [
            Parameter(
                wrap(start(p._value)) if callable(start) else filled_like(p._value, start),
                name=form.format(prefix, p.name),
                requires_grad=self.state_requires_grad,
            )
            for p in parameters
        ]
        setattr(self, name, ParameterTuple([*self.__dict__.get(name, ()), *made]))

    def _states_by_parameter(self):
        return list(zip(*(getattr(self, name) for name in self._states))) or [()] * len(self.parameters)

    @staticmethod
    def begin(
        c: SimpleNamespace, shared: dict[str, JaxArray], step: JaxArray | None, rate: JaxArray
    ) -> tuple[Any, dict[str, JaxArray]]:
        """What a step has in common for all Parameters of a group, on jax arrays.

        Args:
            c: has the group's settings as attributes.
            shared (dict): the values of the state that the group shares.
            step: the number of this step, from 1, 0-d; None if steps are not counted.
            rate: the group's learning rate, 0-d.

        Returns:
            (anything that `update` needs, dict of the new values of `shared`; those left out stay).
        """
        return step, {}

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        """One Parameter's step, on jax arrays.

        Args:
            c: has the group's settings as attributes.
            u: the Parameter's value, gradient and state, and what the step is to take them with.

        Returns:
            (new value, *new state), the state in the order of `u.slots`.
        """
        raise NotImplementedError("The optimizer defines neither 'construct' nor 'update'.")

    def construct(self, gradients: Sequence[Tensor]) -> Any:
        """One step.

        Args:
            gradients (tuple or list of Tensor): one for each of `parameters`, in their order.

        Raises:
            TypeError, ValueError: the gradients do not fit the Parameters.
        """
        parameters = self.parameters
        grads = _arrays(gradients, parameters, type(self).__name__)
        with LOCK:  # no thread traces the network meanwhile
            program, rates, decays, states, shared, step = self._prepare()
            values, new_states, new_shared, now = program(
                [p._value for p in parameters],
                grads,
                [[s._value for s in state] for state in states],
                [r(step)._value.reshape(()) if isinstance(r, LearningRateSchedule) else r._value for r in rates],
                [decay(step)._value for decay in decays],
                [{name: p._value for name, p in group.items()} for group in shared],
                None if step is None else step._value,
            )
            for p, value in zip(parameters, values):
                p._set_value(value)
            for state, new in zip(states, new_states):
                for s, value in zip(state, new):
                    if value is not None:
                        s._set_value(value)
            for group, new in zip(shared, new_shared):
                for name, value in new.items():
                    group[name]._set_value(value)
            if step is not None:
                step._set_value(now)
        return True


def _arrays(gradients, parameters, who):
    """The gradients' arrays, checked."""
    if not isinstance(gradients, (tuple, list)) or len(gradients) != len(parameters):
        raise ValueError(
            f"For '{who}', a tuple of {len(parameters)} gradients is expected, but got "
            f"{len(gradients) if isinstance(gradients, (tuple, list)) else describe(gradients)}."
        )
    arrays = []
    for i, (grad, parameter) in enumerate(zip(gradients, parameters)):
        array = grad._value if isinstance(grad, Tensor) else check_type(grad, Tensor, "every gradient", who)
        if array.shape != parameter._value.shape:
            raise ValueError(
                f"For '{who}', gradient {i} has shape {array.shape}, but its Parameter {parameter.name!r} has shape {parameter.shape}."
            )
        arrays.append(array)
    return arrays


@functools.lru_cache(maxsize=256)
def compiled_step(cls: type[Any], groups: tuple[GroupSpec, ...], loss_scale: float = 1.0) -> Callable[..., Any]:
    """The compiled step of an optimizer class; optimizers whose groups have the same settings share it."""
    numbers = [float(loss_scale)]

    def at_place(value):
        """The value with each float replaced by its place in `numbers`."""
        if isinstance(value, float):
            numbers.append(float(value))
            return _Place(len(numbers) - 1)
        return tuple(map(at_place, value)) if isinstance(value, tuple) else value

    decays = {member.decay: at_place(float(member.decay)) for group in groups for member in group.members}
    groups = tuple(
        group._replace(
            settings=at_place(group.settings),
            members=tuple([member._replace(decay=decays[member.decay]) for member in group.members]),
        )
        for group in groups
    )
    return _step_of(cls, groups).with_settings(tuple(numbers))


class _Place(int):
    """The place of a float among the numbers of a step."""


def _at_places(value, numbers):
    if value.__class__ is _Place:
        return numbers[value]
    return tuple([_at_places(v, numbers) for v in value]) if value.__class__ is tuple else value


@functools.lru_cache(maxsize=256)
def _step_of(cls, groups):
    """The step of an optimizer class for groups whose floats were replaced by their places."""

    def step(numbers, values, grads, states, rates, decays, shared, count):
        count = None if count is None else count + 1
        number = None if count is None else count.reshape(-1)[0]
        rest = zip(values, grads, states)
        new_values, new_states, new_shared = [], [], []
        loss_scale = numbers[0]
        for group, kept in zip(groups, shared):
            c = types.SimpleNamespace(**{name: _at_places(v, numbers) for name, v in group.settings})
            context, changed = cls.begin(c, kept, number, rates[group.rate])
            new_shared.append({name: changed[name].astype(old.dtype) for name, old in kept.items() if name in changed})
            for spec, (value, grad, slots) in zip(group.members, rest):
                kind = jnp.promote_types(value.dtype, jnp.float32)
                wide, grad = of_dtype(value, kind), of_dtype(grad, kind)
                if loss_scale != 1.0:
                    grad = grad * (1.0 / loss_scale)
                if getattr(c, "maximize", False):
                    grad = -grad
                decay = numbers[spec.decay] if spec.decay_cell is None else decays[spec.decay_cell].reshape(()).astype(kind)
                if cls.decays_gradient and (spec.decay_cell is not None or decay):
                    grad = grad + decay * wide
                if spec.centralize:
                    grad = centralize(grad)
                rate = of_dtype(rates[spec.rate], kind)
                given = Update(wide, grad, tuple([of_dtype(s, kind) for s in slots]), rate, decay, context, kept)
                new, *slots_now = cls.update(c, given)
                new_values.append(of_dtype(new, value.dtype))
                # What the formula leaves as it is would be copied.
                pairs = zip(slots_now, given.slots, slots)
                new_states.append([None if new is wide else of_dtype(new, old.dtype) for new, wide, old in pairs])
        return new_values, new_states, new_shared, count

    step.__name__ = f"{cls.__name__}_step"
    return CompiledStep(step)


def centralize(grad: JaxArray) -> JaxArray:
    """The gradient less its mean over all but the first axis, where MindSpore does so: the second axis a multiple of 16."""
    if grad.ndim < 2 or grad.shape[1] % 16:
        return grad
    return grad - jnp.mean(grad, axis=tuple(range(1, grad.ndim)), keepdims=True)
