"""Hooks of modules that compute on jax arrays: the protocol of hooks, which passes Tensors, around a call of such a module."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from msjax.base.calls import calling
from msjax.common.tensor import Tensor, wrap
from msjax.hooks.protocol import call_with_hooks

# The attribute of a module that has hooks; it names the module by its `path` and `hook_path`.
SITE = "msjax_hooks"


def call_with_array_hooks(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    subject: object,
    site: object,
    table: Callable[[], Any],
    during: object = None,
) -> Any:
    """Call a function of arrays with the hooks of a module around it.

    Args:
        function (callable): called with the arguments after the forward pre hooks.
        args (tuple), kwargs (dict): the arguments of the call; jax arrays, in pytrees.
        subject: what hooks get as their module, or a method that returns it: compiled programs keep what they give to observers.
        site: names the module in errors, by its attribute `hook_path`.
        table (callable): returns the module's present HookTable, whose hooks are `OnArrays`.
        during: what hooks that run during the call get instead of `subject`; not kept beyond it.
    """

    def on_tensors(*args, **kwargs):
        return _to_tensors(function(*_to_arrays(args), **_to_arrays(kwargs)))

    owner = _Subject(subject, during)
    try:
        with calling(site):
            return _to_arrays(call_with_hooks(on_tensors, _to_tensors(args), _to_tensors(kwargs), owner, lambda _: table()))
    finally:
        owner.during = None


class _Subject:
    """A module as the first argument of hooks; opaque, since jax would take a module apart and make another of it."""

    __slots__ = ("during", "module")

    def __init__(self, module, during):
        self.module = module
        self.during = during

    @property
    def hooked_module(self):
        if self.during is not None:
            return self.during
        return self.module() if isinstance(self.module, types.MethodType) else self.module


class OnArrays:
    """A hook on arrays as one on Tensors."""

    def __init__(self, fn: Callable[..., Any]):
        self.__wrapped__: Callable[..., Any] = fn

    def __call__(self, subject: Any, *given: Any) -> Any:
        module = subject.hooked_module if isinstance(subject, _Subject) else subject
        result = self.__wrapped__(module, *map(_to_arrays, given))
        return None if result is None else _to_tensors(result)


def _is_opaque(value):
    # Modules, variables and the like go through as they are.
    return value is None or isinstance(value, (Tensor, nnx.Module, nnx.Variable, nnx.Rngs, nnx.RngStream))


def _to_tensors(value):
    return jax.tree.map(lambda v: wrap(v) if isinstance(v, jax.Array) and not _is_key(v) else v, value, is_leaf=_is_opaque)


def _is_key(value):
    return jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def _to_arrays(value):
    return jax.tree.map(lambda v: v._value if isinstance(v, Tensor) else v, value, is_leaf=_is_opaque)
