"""Tracers of jax, and the concrete values behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec, SingleDeviceSharding

# Classes known not to be tracers: looking a class up here takes a third of the time of isinstance, and every operator asks.
CONCRETE: set[type[Any]] = set()


def is_tracer(value: object) -> bool:
    """Whether `value` is a JAX tracer."""
    if value.__class__ in CONCRETE:
        return False
    if isinstance(value, jax.core.Tracer):
        return True
    CONCRETE.add(value.__class__)
    return False


def huge_ints_as_floats(values: list[Any]) -> list[Any]:
    """Operands, in which ints that jax has no dtype for are floats, where they meet arrays of floats: those they become anyway.

    Beside arrays of integers they stay, so that jax refuses them: they would wrap around.
    """
    dtypes = [jnp.result_type(value) for value in values if hasattr(value, "dtype")]
    if not any(jnp.issubdtype(dtype, jnp.inexact) for dtype in dtypes) or any(jnp.issubdtype(d, jnp.integer) for d in dtypes):
        return values
    bits = jnp.iinfo(jnp.result_type(int)).bits - 1
    return [float(v) if v.__class__ is int and v.bit_length() > bits else v for v in values]


def is_float(value: Any) -> bool:
    """Whether a value is an array of floating-point or complex numbers."""
    return hasattr(value, "dtype") and jnp.issubdtype(value.dtype, jnp.inexact)


def known_value(value: Any) -> Any:
    """The concrete array behind a value, also behind a tracer of jax.grad or jax.jvp; None if there is none yet."""
    if not is_tracer(value):
        return value
    value = jax.lax.stop_gradient(value)
    return None if isinstance(value, jax.core.Tracer) else value


def is_at_hand(value: Any) -> bool:
    """Whether numpy can read a concrete array without waiting for a device: CPUs have it, and this process has all of it."""
    if not isinstance(value, jax.Array):
        return True
    return value.is_fully_addressable and next(iter(value.devices())).platform == "cpu"


def staged() -> bool:
    """Whether jax records what is computed here, to run it later."""
    return known_value(jnp.zeros(())) is None


class TracedValueError(TypeError):
    """Code asked for the value of a Tensor while the program was being compiled."""


def check_at_hand(given: Any, who: str) -> None:
    """Raise where a tool that reads values is given those of a program that jax traces."""
    if any(map(is_tracer, jax.tree.leaves(given))):
        raise TracedValueError(
            f"For '{who}', the values should be known, but it is called in what jax traces (jax.jit, jax.grad, jax.vmap and so on). "
            "Call it outside, with the function that is traced."
        )


def of_dtype(value: Any, dtype: Any) -> Any:
    """A jax array in a dtype: itself where it has that, for `astype` takes time to trace even where it changes nothing."""
    return value if value.dtype == dtype else value.astype(dtype)


def on_auto_axes(fn: Callable[[Any], Any], values: Sequence[Any]) -> Any:
    """``fn(values)``, where jax may guess how operations along explicit axes of a mesh are sharded; then the result is whole on each device.

    A sum of values along such axes is one over devices, which jax asks for by name elsewhere.
    """
    meshes = [jax.typeof(value).sharding.mesh for value in values]
    explicit = [mesh for mesh in meshes if AxisType.Explicit in mesh.axis_types]
    if not explicit:
        return fn(values)
    return jax.sharding.auto_axes(fn, out_sharding=NamedSharding(explicit[0], PartitionSpec()))(list(values))


def rows_of(array: Any) -> Iterator[Any]:
    """The slices of an array along its first axis. jax itself fails where that is explicit, of a mesh with one device."""
    sharding = getattr(array, "sharding", None)
    if isinstance(sharding, NamedSharding) and len(sharding.device_set) == 1:
        array = jax.device_put(array, SingleDeviceSharding(*sharding.device_set))
    return iter(array)
