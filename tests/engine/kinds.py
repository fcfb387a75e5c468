"""The columns of kinds: each puts hooks on a network, which write into a log or change values."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np

import msjax as ms
from tests.engine.owners import PATHS


@dataclass(frozen=True)
class Kind:
    """What is put on a network.

    Attributes:
        on: from an owner and a log to a context manager, or to a list of handles.
        takes: from an owner's class to the reason why it makes no sense for it, or None.
    """

    on: Callable
    takes: Callable = lambda owner: None

    @contextlib.contextmanager
    def __call__(self, owner, log):
        given = self.on(owner, log)
        if hasattr(given, "__enter__"):
            with given:
                yield
            return
        try:
            yield
        finally:
            for handle in given:
                handle.remove()


def shown(value):
    """A hook's argument, as lists of arrays."""
    return jax.tree.map(
        lambda v: np.asarray(v._value) if isinstance(v, ms.Tensor) else np.asarray(v),
        value,
        is_leaf=lambda v: isinstance(v, ms.Tensor),
    )


FACTORS = {"body": 3.0, "body.inner": 0.5}


def _observing(kind):
    def on(owner, log):
        def hook(module, *values):
            log.append((kind, owner.who(module), *map(shown, values)))

        return [owner.register(kind, path, hook) for path in PATHS]

    return Kind(on)


def _modifying(kind):
    def on(owner, log):
        handles = []
        for path, factor in FACTORS.items():
            if kind == "forward_pre":
                hook = lambda module, args, f=factor: (args[0] * f,)  # noqa: E731
            elif kind == "forward":
                hook = lambda module, args, output, f=factor: output * f  # noqa: E731
            elif kind == "backward_pre":
                hook = lambda module, grad_output, f=factor: (grad_output[0] * f,)  # noqa: E731
            else:
                hook = lambda module, grad_input, grad_output, f=factor: (grad_input[0] * f,)  # noqa: E731
            handles.append(owner.register(kind, path, hook))
        return handles

    return Kind(on)


def _guard(owner, log):
    return ms.tools.guard(owner.net or owner.module or owner.model)


KINDS = {
    **{kind: _observing(kind) for kind in ("forward_pre", "forward", "backward_pre", "backward")},
    **{f"{kind}_modify": _modifying(kind) for kind in ("forward_pre", "forward", "backward_pre", "backward")},
    "guard": Kind(_guard),
}
