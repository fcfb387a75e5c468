"""What counts as a wrong value: NaN, an infinite value, or what a function of the user's finds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.arrays import is_at_hand, is_float
from msjax.core.base.checks import check_value
from msjax.core.base.errors import check_function
from msjax.core.base.typing import JaxArray
from msjax.core.base.weak import identity

On = str | Callable[[Any], Any]


@contextlib.contextmanager
def unraised(infinite: bool = True) -> Iterator[None]:
    """A context in which `jax_debug_nans`, and with `infinite` `jax_debug_infs`, are off: they raise an error that doesn't say where NaN comes from."""
    with jax.debug_nans(False), jax.debug_infs(False) if infinite else contextlib.nullcontext():
        yield


# For floats of so many bytes, integers that order them by size when the sign is off: NaN is above infinity.
_ORDERED = {2: jnp.int16, 4: jnp.int32, 8: jnp.int64}


def _greatest(value):
    """The maximum of integers. On CPUs it takes a third of the time of `isnan(value).any()`."""
    if value.ndim > 1 and value.size > 4096:
        # XLA splits this among threads, unlike a maximum of all axes.
        value = value.max(tuple(range(value.ndim - 1)))
    return value.max()


class Check:
    """What counts as wrong.

    Args:
        on: "nan", "inf" (which includes NaN), or a function from an array to an array of bools.
        who: the name of the function whose argument it is.

    Raises:
        ValueError, TypeError: `on` is something else.
    """

    def __init__(self, on: On, who: str):
        if isinstance(on, str):
            check_value(on, on in ("nan", "inf"), "be 'nan', 'inf' or a function", "on", who)
            self.what = "NaN" if on == "nan" else "value that isn't finite"
        else:
            check_function(on, who, "predicate", ("array",))
            self.what = f"value for which {getattr(on, '__name__', 'the predicate')} holds"
        self.on = on

    @property
    def key(self) -> Hashable:
        """Equal for what looks for the same."""
        return self.on if isinstance(self.on, str) else identity(self.on)

    def applies(self, value: Any) -> bool:
        """Whether a value is an array that can be wrong: one of floating-point or complex numbers."""
        return is_float(value)

    def traced(self, value: jax.Array) -> jax.Array:
        """Whether an array is wrong, as a scalar inside of a program."""
        return self.raised(self.measured(value)[None])

    def measured(self, value: jax.Array) -> jax.Array:
        """A number of an array, inside of a program, of which `raised` tells whether the array is wrong."""
        if callable(self.on):
            return jnp.any(self.on(value))
        if not value.size:
            return jnp.array(False)
        if jnp.issubdtype(value.dtype, jnp.complexfloating) or value.dtype.itemsize not in _ORDERED:
            return jnp.isnan(value).any() if self.on == "nan" else ~jnp.isfinite(value).all()
        # Not the maximum of the floats: where devices take it together, they lose NaN, as does XLA's on CPUs, of large arrays as well.
        kind = _ORDERED[value.dtype.itemsize]
        greatest = _greatest(jax.lax.bitcast_convert_type(value, kind) & jnp.iinfo(kind).max)
        # Two kinds of floats have two bytes.
        return self._beyond(greatest, value.dtype) if value.dtype.itemsize == 2 else greatest

    def _beyond(self, greatest, dtype):
        infinity = np.array(np.inf, dtype)
        return greatest >= int(infinity.view(f"int{8 * infinity.itemsize}")) + (self.on == "nan")

    def raised(self, measured: jax.Array) -> jax.Array:
        """Whether any of the arrays that were measured is wrong; the numbers have one dtype."""
        if measured.dtype == bool:
            return measured.any()
        return self._beyond(measured, f"float{8 * measured.dtype.itemsize}").any()

    def mask(self, value: Any) -> np.ndarray:
        """Which elements of a concrete array are wrong."""
        if callable(self.on):
            found = np.asarray(self.on(jnp.asarray(value)))
            return np.broadcast_to(found, np.shape(value)).astype(bool)
        value = np.asarray(value)
        return np.isnan(value) if self.on == "nan" else ~np.isfinite(value)

    def masks(self, values: Iterable[Any]) -> dict[int, np.ndarray]:
        """{number of a value: which of its elements are wrong}, of those concrete values that are wrong."""
        return {i: mask for i, v in enumerate(values) if self.applies(v) and (mask := self.mask(v)).any()}

    def fine(self, value: Any) -> bool:
        """Whether a concrete array is seen at once to have neither NaN nor infinite values, and so nothing that is looked for by name."""
        return isinstance(self.on, str) and self.applies(value) and is_at_hand(value) and bool(np.isfinite(value).all())

    def __call__(self, values: Iterable[JaxArray]) -> bool:
        """Whether one of several concrete arrays is wrong."""
        return any(self._wrong(value) for value in values if self.applies(value))

    def _wrong(self, value):
        if callable(self.on):
            return bool(jnp.any(self.on(value)))
        # numpy sees an array on the CPU without a copy, and needs no program for its shape.
        value, library = (np.asarray(value), np) if is_at_hand(value) else (value, jnp)
        return bool(library.isnan(value).any() if self.on == "nan" else not library.isfinite(value).all())
