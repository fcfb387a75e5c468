"""Backward hooks that need concrete values and return some: called on the host, in the middle of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.core
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from msjax.core.base import jax_slots
from msjax.core.base.state import ACTIVITY, STATE, ProgramUnderWay
from msjax.core.base.weak import new_number
from msjax.core.hooks.emit import CallbackSite

if TYPE_CHECKING:
    from msjax.core.hooks.kinds import FrameKind
    from msjax.core.hooks.returns import HookKind, HookLabel


def call_on_host(
    frame: FrameKind, kind: HookKind, fn: Callable[..., Any], args: tuple[Any, ...], carried: Any, what: HookLabel
) -> Any:
    """Call a backward hook that needs concrete values and returns some, within the program, on numpy arrays.

    Args:
        frame: what the hook stands around.
        kind: its kind, which checks what it returns.
        args: its arguments, but for the owner.
        carried: the one that the result replaces: a value, or a tuple of values and None.
        what: names the hook in messages.

    Returns:
        That argument with new values.
    """
    values, carries, head = frame.values, next(i for i, arg in enumerate(args) if arg is carried), frame.head()
    leaves, treedef, at = values.find(args)
    single, owners = values.is_value(carried), frame.owners
    group = (carried,) if single else carried
    there = [i for i, value in enumerate(group) if value is not None]
    # What stays is part of the program, and must not hold tracers.
    rest = [None if i in at else leaf for i, leaf in enumerate(leaves)]

    def on_host(*arrays):
        full = list(rest)
        for i, array in zip(at, arrays):
            full[i] = values.made(np.array(array))
        given = jax.tree.unflatten(treedef, full)
        with _HostOnly(what):
            result = fn(*[get() for get in head], *given)
            result = kind.check(values, fn, kind.text, result, given[carries], owners)  # pyright: ignore[reportOptionalCall]
            result = (result,) if single else result
            return tuple(np.asarray(values.raw(result[i])) for i in there)

    raws: list[Any] = [values.raw(value) if value is not None else None for value in group]
    shapes = tuple(jax.core.ShapedArray(raws[i].shape, raws[i].dtype) for i in there)
    results = _host_p.bind(*[values.raw(leaves[i]) for i in at], on_host=on_host, shapes=shapes, what=what)
    new = list(group)
    for i, array in zip(there, results):
        new[i] = values.made(_shard_like(raws[i], array))
    return new[0] if single else tuple(new)


# Like jax.pure_callback, which computes with jax within the callback, where many devices that wait for one another leave it
# no thread to do so.
_host_p = jax.extend.core.Primitive("msjax_host_hook")
_host_p.multiple_results = True
_host_p.def_abstract_eval(lambda *avals, on_host, shapes, what: shapes)


@_host_p.def_impl
def _call_now(*values, on_host, shapes, what):
    return [jnp.asarray(result) for result in on_host(*map(np.asarray, values))]


def _lower_host(ctx, *operands, on_host, shapes, what):
    return CallbackSite(ctx).emit(on_host, operands, ctx.avals_in, has_side_effect=False)


def _one_after_another(values, axes, **params):
    batched = [jnp.moveaxis(v, a, 0) for v, a in zip(values, axes) if a is not None]

    def one(lane):
        lanes = iter(lane)
        return _host_p.bind(*[v if a is None else next(lanes) for v, a in zip(values, axes)], **params)

    results = jax.lax.map(one, batched)
    return results, [0] * len(results)


def _no_derivative(primals, tangents, *, on_host, shapes, what):
    raise NotImplementedError(
        f"{what} returns a value that it computes on the host with numpy, so that jax can't differentiate through it. "
        "A hook that computes without reading values has second derivatives."
    )


mlir.register_lowering(_host_p, _lower_host, cacheable=False)
batching.primitive_batchers[_host_p] = _one_after_another
ad.primitive_jvps[_host_p] = _no_derivative


def _shard_like(given, value):
    """`value` with the sharding of `given`: in a program for several devices a callback returns it on the first one."""
    # The choice is never `given`, which the compiler does not know: it computes the result where `given` is.
    never = jax.lax.optimization_barrier(jnp.zeros((), bool))
    return _alike_p.bind(given, jax.lax.select(never, given, value))


_alike_p = jax.extend.core.Primitive("msjax_shard_alike")
_alike_p.def_impl(lambda given, value: value)
_alike_p.def_abstract_eval(lambda given, value: value)


def _lower_alike(ctx, given, value):
    if jax_slots.setting("jax_use_shardy_partitioner") and jax_slots.device_count(ctx) > 1:
        jax_slots.emit_sharding_group((given, value), (1 << 32) + new_number())  # jax counts its own groups from 0
    return [value]


def _batch_alike(values, axes):
    size = next(v.shape[a] for v, a in zip(values, axes) if a is not None)
    front = [jnp.broadcast_to(v, (size, *v.shape)) if a is None else jnp.moveaxis(v, a, 0) for v, a in zip(values, axes)]
    return _alike_p.bind(*front), 0


mlir.register_lowering(_alike_p, _lower_alike, cacheable=False)
batching.primitive_batchers[_alike_p] = _batch_alike


class _HostOnly(ProgramUnderWay):
    """Where a hook runs within XLA's callback: computing with jax there could wait forever."""

    on_host = True

    def __init__(self, what: HookLabel):
        super().__init__()
        self.what = what

    def __enter__(self) -> None:
        self._swap = STATE.swap(trace=self)
        self._swap.__enter__()
        ACTIVITY.add(traces=1)

    def __exit__(self, *_exception: Any) -> None:
        self._swap.__exit__()
        ACTIVITY.add(traces=-1)

    def see(self, operands):
        raise RuntimeError(
            f"Under jax.jit, {self.what} runs on the host, since it returns a value for which it "
            "needs concrete ones; operators can't run there. Use numpy on t.asnumpy(), and return ms.Tensor(array)."
        )
