"""monitor: numbers about a model's modules from within a compiled training step."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.arrays import is_float
from msjax.core.base.checks import check_positive_int, check_value
from msjax.core.base.errors import check_function, on_behalf_of
from msjax.core.hooks.delivery import Frame
from msjax.core.hooks.values import ARRAYS
from msjax.core.models.jit import jit
from msjax.core.models.module_hooks import path
from msjax.core.models.where import Where
from msjax.core.tools.hook_set import ModuleHookSet
from msjax.core.tools.model_tools import models_of


class Monitored(NamedTuple):
    """What `monitor` found in one step.

    Attributes:
        step: the number of the step, from 0.
        forward, backward: {path of a module: number}, of its output and of the gradient that arrives there; a list of numbers for a module
            that is called several times, in a scan or under vmap. A module whose gradient jax doesn't compute, as behind stop_gradient or
            before all that is trained, has no number; if none has, a warning says so.
    """

    step: int
    forward: dict[str, Any]
    backward: dict[str, Any]


def rms(value: jax.Array) -> jax.Array:
    """The root mean square of an array's absolute values, in float32, or in float64 if the array is of float64 or complex128."""
    if jnp.issubdtype(value.dtype, jnp.complexfloating):
        value = jnp.abs(value)
    return jnp.sqrt(jnp.mean(jnp.square(value if value.dtype == jnp.float64 else value.astype(jnp.float32))))


def monitor(
    step: Callable[..., Any],
    where: Where = "*",
    *,
    forward: Callable[[jax.Array], Any] | None = rms,
    backward: Callable[[jax.Array], Any] | None = None,
    every: int = 1,
    model: Any = None,
    report: Callable[[Monitored], Any] | None = None,
    **options: Any,
) -> Any:
    """A training step that computes a number of the outputs of modules, and of the gradients that arrive there, at every so many steps.

    The numbers are computed in the compiled program, which hands out nothing else. Two programs are compiled, in the first two steps: one
    with the numbers, and one that is the step without them.

    Args:
        step (callable): the training step, compiled or not. It is compiled as by `hooks.jit`.
        where: which modules; see `register_forward_hook`.
        forward, backward (callable, optional): from an array to a number; None for none. Default: the root mean square of outputs.
        every (int): the numbers come at step 0 and every so many steps. Default: 1.
        model: whose modules. Default: the first nnx module or hooked equinox model among the arguments, or a model that `step` closes over.
        report (callable, optional): called with each `Monitored`.
        options: as for `hooks.jit`.

    Returns:
        A function with the arguments and results of `step`. Its attribute `latest` is the last `Monitored`, `history` a list of all.

    Raises:
        TypeError: no model is found, or something is no function.
        ValueError: no module matches `where`.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Sequential(nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0)))
        >>> step = ms.hooks.monitor(nnx.grad(lambda model, x: model(x).sum() * 2), "layers.*", backward=ms.hooks.rms, every=50)
        >>> _ = step(model, jnp.array([[3.0]]))
        >>> print(step.latest)
        Monitored(step=0, forward={'layers.0': 3.0}, backward={'layers.0': 2.0})
    """
    check_function(step, "monitor")
    for fn, what, argument in ((forward, "forward", "array"), (backward, "backward", "array"), (report, "report", "monitored")):
        if fn is not None:
            check_function(fn, "monitor", what, (argument,))
    check_positive_int(every, "every", "monitor")
    check_value(forward, forward or backward, "be a function where backward is None", "forward", "monitor")
    return _MonitoredStep(step, where, forward, backward, every, model, report, options)


_MISSING = {
    "forward": "no selected module was called: the step calls another model than the one that is monitored",
    "backward": "no gradient arrived at a selected module: none is computed behind stop_gradient, or of what is not trained",
}


class _MonitoredStep:
    def __init__(self, step, where, forward, backward, every, model, report, options):
        functools.update_wrapper(self, step)
        self._fn, self._step = step, jit(step, **options)
        self._statistics = {"forward": forward, "backward": backward}
        self._every, self._model, self._report, self._count = every, model, report, 0
        self._found: dict[str, dict[str, list[Any]]] = {"forward": {}, "backward": {}}
        self._hooks = ModuleHookSet()
        if forward is not None:
            self._hooks.add("forward", self._of_output, where)
        if backward is not None:
            self._hooks.add("backward_pre", self._of_gradient, where)
        self.history: list[Monitored] = []

    @property
    def latest(self) -> Monitored | None:
        """The numbers of the last step that had some."""
        return self.history[-1] if self.history else None

    def __call__(self, *args, **kwargs):
        number, self._count = self._count, self._count + 1
        if number % self._every:
            return self._step(*args, **kwargs)
        model = self._model if self._model is not None else _model_of(self._fn, args, kwargs)
        try:
            with on_behalf_of("monitor"):
                self._hooks.on(model)
            out = self._step(*args, **kwargs)
        finally:
            self._hooks.off()
        found, self._found = self._found, {"forward": {}, "backward": {}}
        for kind, missing in _MISSING.items():
            if self._statistics[kind] is not None and not found[kind]:
                warnings.warn(f"monitor: in step {number}, {missing}", stacklevel=2)
        latest = Monitored(number, *({name: _number(values) for name, values in kind.items()} for kind in found.values()))
        self.history.append(latest)
        if self._report is not None:
            self._report(latest)
        return out

    def _of_output(self, module, args, output):
        self._note("forward", path(module), [leaf for leaf in jax.tree.leaves(output) if is_float(leaf)])

    def _of_gradient(self, module, grad_output):
        self._note("backward", path(module), [gradient for gradient in grad_output if gradient is not None])

    def _note(self, kind, name, arrays):
        def noted(*numbers):
            self._found[kind].setdefault(name, []).extend(np.asarray(number) for number in numbers)

        numbers = tuple(self._statistics[kind](array) for array in arrays)
        if numbers:
            Frame(ARRAYS).observe(noted, numbers, "monitor")


def _number(values):
    numbers = [value.item() if value.ndim == 0 else value for value in values]
    return numbers[0] if len(numbers) == 1 else numbers


def _model_of(fn, args, kwargs):
    model = next(models_of(fn, args, kwargs), None)
    if model is None:
        raise TypeError(
            "For 'monitor', there is no model among the arguments of the step that takes hooks, and none that it closes over: give "
            "model=..., a flax nnx module or what hooks.hooked returned."
        )
    return model
