"""Callback, the base of callbacks, and RunContext, their argument."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_kind, check_type

_TIMES = [f"{name}_{when}" for name in ("epoch", "step") for when in ("begin", "end")]


class Parameters(dict):
    """What a run is about, as a dict and by attributes: ``params.cur_step_num``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"The run has no {name!r}; it has {', '.join(sorted(self))}.") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class RunContext:
    """What a callback is given.

    Args:
        original_args: what the run is about.
    """

    def __init__(self, original_args: Parameters):
        self._original_args = check_type(original_args, dict, "original_args", "RunContext")
        self._stop_requested = False

    def original_args(self) -> Any:
        """What the run is about: cur_epoch_num, cur_step_num, batch_num, net_outputs, network, optimizer and others."""
        return self._original_args

    def request_stop(self) -> None:
        """Have the run stop after this step."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Whether the run is to stop."""
        return self._stop_requested


class Callback:
    """Base of callbacks. A subclass defines some of the methods; each is called with a `RunContext`.

    ``on_train_begin``, ``on_train_epoch_begin``, ``on_train_step_begin`` and their ``_end`` are called while training, those
    with ``eval`` instead of ``train`` while evaluating. Unless defined, they call ``begin``, ``epoch_begin``,
    ``step_begin``, ``step_end``, ``epoch_end`` and ``end``.

    Example:
        >>> from msjax import train
        >>> class Stop(train.Callback):
        ...     def on_train_step_end(self, run_context):
        ...         if run_context.original_args().cur_step_num == 10:
        ...             run_context.request_stop()
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    def begin(self, run_context: RunContext) -> None:
        """Called before a run."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Called before an epoch."""

    def epoch_end(self, run_context: RunContext) -> None:
        """Called after an epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Called before a step."""

    def step_end(self, run_context: RunContext) -> None:
        """Called after a step."""

    def end(self, run_context: RunContext) -> None:
        """Called after a run."""


def _redirect(phase, name):
    def method(self, run_context):
        getattr(self, name)(run_context)

    method.__name__ = f"on_{phase}_{name}"
    method.__doc__ = f"Called at the {name.replace('_', ' ')} while the Model runs '{phase}'; calls ``{name}``."
    return method


for _phase in ("train", "eval"):
    for _name in ("begin", "end", *_TIMES):
        setattr(Callback, f"on_{_phase}_{_name}", _redirect(_phase, _name))


class LambdaCallback(Callback):
    """A callback made of functions of the `RunContext`.

    Args:
        on_train_epoch_begin, on_train_epoch_end, on_train_step_begin, on_train_step_end, on_train_begin, on_train_end,
        on_eval_epoch_begin, on_eval_epoch_end, on_eval_step_begin, on_eval_step_end, on_eval_begin, on_eval_end (callable):
            what is called at each time.

    Example:
        >>> from msjax import train
        >>> callback = train.LambdaCallback(on_train_begin=lambda run_context: print("begin"))
    """

    def __init__(
        self, on_train_epoch_begin: Callable[..., Any] | None = None, on_train_epoch_end: Callable[..., Any] | None = None, on_train_step_begin: Callable[..., Any] | None = None,
        on_train_step_end: Callable[..., Any] | None = None, on_train_begin: Callable[..., Any] | None = None, on_train_end: Callable[..., Any] | None = None,
        on_eval_epoch_begin: Callable[..., Any] | None = None, on_eval_epoch_end: Callable[..., Any] | None = None,
        on_eval_step_begin: Callable[..., Any] | None = None, on_eval_step_end: Callable[..., Any] | None = None,
        on_eval_begin: Callable[..., Any] | None = None, on_eval_end: Callable[..., Any] | None = None,
    ):  # fmt: skip
        for name, function in list(locals().items()):
            if name.startswith("on_") and function is not None:
                check_kind(function, callable(function), "be callable", name, "LambdaCallback")
                setattr(self, name, function)


class CallbackList:
    """Calls several callbacks, one after the other.

    Args:
        callbacks: a Callback, a list of them, or None.

    Raises:
        TypeError: something else.
    """

    def __init__(self, callbacks: Callback | Sequence[Callback] | None):
        if callbacks is None:
            callbacks = []
        self.callbacks: list[Any] = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        for callback in self.callbacks:
            check_kind(callback, isinstance(callback, Callback), "be a Callback or a list of them", "callbacks")

    def __call__(self, time: str, run_context: RunContext) -> None:
        for callback in self.callbacks:
            getattr(callback, time)(run_context)

    def __getattr__(self, name: str) -> Callable[[RunContext], None]:
        """Each time as a method, for programs with a loop of their own."""
        if not hasattr(Callback, name):
            raise AttributeError(name)
        return lambda run_context: self(name, run_context)

    def __enter__(self) -> Self:
        self._stack = contextlib.ExitStack().__enter__()
        for callback in self.callbacks:
            self._stack.enter_context(callback)
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)


def loss_of(outputs: Tensor) -> float:
    """The loss as a float, from what a training step returned; the mean of several losses."""
    if isinstance(outputs, (tuple, list)):
        outputs = outputs[0]
    if isinstance(outputs, Tensor):
        outputs = outputs.asnumpy()  # pyright: ignore[reportAssignmentType]
    return float(np.mean(outputs))
