"""The function of an operator for one combination of settings, of which a program is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Bound:
    """A function of operands: a kernel whose last arguments, the static values, are bound. jax names its programs after the kernel.

    Args:
        fn: the kernel, called with the operands, then the static values. It may have a hand-written gradient, the attribute
            `gradient`; then this function has it, too.
        static: hashable values. Tuples and floats reach the kernel as plain ones.
    """

    def __init__(self, fn: Callable[..., Any], static: tuple[Any, ...]):
        self.fn = fn
        self.static = _thawed(static)
        self.__name__ = getattr(fn, "__name__", "op")

    @property
    def identity(self) -> tuple[Any, ...]:
        """The values that the program depends on; see `programs.description`."""
        return self.fn, self.static

    def __call__(self, *operands: Any) -> Any:
        return self.fn(*operands, *self.static)

    @property
    def gradient(self) -> Callable[..., Any] | None:
        """The hand-written gradient of the kernel with the same static values; None if it has none."""
        rule = getattr(self.fn, "gradient", None)
        return None if rule is None else lambda slots, *operands: rule(slots, *operands, *self.static)


def _thawed(static):
    """Static values as kernels get them: plain floats, since the float class of cache keys never equals an int."""
    return tuple([
        float(v) if isinstance(v, float) else _thawed(v) if v.__class__ is tuple else v for v in static
    ])  # fmt: skip
