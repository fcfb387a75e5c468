"""Hooks for plain jax code: functions of jax arrays and pytrees, with no Cell and no Tensor in sight."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from msjax.core.base.checks import check_kind, check_value
from msjax.core.base.errors import check_arity, check_function, check_hook, describe
from msjax.core.hooks.delivery import Frame
from msjax.core.hooks.hook import EMPTY, Adapter, Hook, HookTable
from msjax.core.hooks.kinds import HookKind, HookPlace, check_forward_result
from msjax.core.hooks.places import Measure, is_array_or_number, tap_p
from msjax.core.hooks.protocol import CallFrame
from msjax.core.hooks.values import ARRAYS, ModuleSubject
from msjax.core.models.frameworks.framework import framework_of
from msjax.core.models.hooked import unhooked


def hook_gradient(fn: Callable[..., Any], *, observe: bool | None = None, traced: bool | None = None) -> Callable[..., Any]:
    """An identity whose gradient passes through a function.

    Args:
        fn (callable): called as ``fn(gradient)`` with the gradient of what the identity was given: an array, or a pytree of
            them. None keeps it; a pytree of arrays of the same shapes and dtypes replaces it.
        observe, traced (bool, optional): True says that `fn` only observes (it is called outside of the program, with
            concrete arrays), or that it is part of the program; by default its code tells.

    Returns:
        A function from a pytree of arrays to an equal one.

    Raises:
        TypeError: `fn` is not callable; in the backward pass, it returned another structure.
        ValueError: in the backward pass, it returned an array of another shape or dtype.

    Example:
        >>> import jax
        >>> import msjax as ms
        >>> halve = ms.hooks.hook_gradient(lambda gradient: gradient / 2)
        >>> print(jax.jit(jax.grad(lambda x: halve(x) ** 2))(3.0))
        3.0
    """
    check_hook(fn, "hook_gradient", observe, traced)
    check_arity(fn, "hook_gradient", ("gradient",))

    def identity(value):
        leaves, treedef = jax.tree.flatten(value)
        arrays = [jnp.asarray(leaf) for leaf in leaves]
        avals = [(a.shape, a.dtype) for a in arrays]
        hook = Hook(_OnLeaves(fn, (treedef,)), observe=observe, traced=traced)

        def back(grads):
            # jax has no gradient where none arrives; the function sees zeros there.
            grads = tuple(jnp.zeros(*aval) if g is None else g for g, aval in zip(grads, avals))
            return list(Frame(ARRAYS).run_backward(_GRADIENT, hook, (grads,)))

        return jax.tree.unflatten(treedef, ARRAYS.through_custom_vjp(arrays, back))

    return identity


class _OnLeaves(Adapter):
    """A hook that takes pytrees of gradients, as one that takes flat tuples of them.

    Args:
        treedefs: of each argument, how the gradients of its tuple fit together; the first is that of what it may return.
    """

    def __init__(self, fn: Callable[..., Any], treedefs: tuple[Any, ...], skip: int = 0):
        super().__init__(fn, skip)
        self.treedefs = treedefs

    def __call__(self, *args: Any) -> Any:
        given = [_joined(a, t) for a, t in zip(args[self.skip :], self.treedefs)]
        result = self.fn(*given)
        if ARRAYS.is_nothing(result):
            return None
        leaves, treedef = jax.tree.flatten(result)
        if treedef != self.treedefs[0] or not all(map(is_array_or_number, leaves)):
            who = HookPlace.within("hook of gradients").sentence(self.fn)
            raise TypeError(f"{who} should return None or {describe(given[0])}, but returned {describe(result)}.")
        return tuple(jnp.asarray(leaf) for leaf in leaves)


def _joined(arrays, treedef):
    return jax.tree.unflatten(treedef, [None if a is None else jnp.asarray(a) for a in arrays])


def with_hooks(
    fn: Callable[..., Any],
    *,
    pre: Callable[..., Any] | None = None,
    post: Callable[..., Any] | None = None,
    backward_pre: Callable[..., Any] | None = None,
    backward: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """A function with hooks on its call and on its backward pass.

    Each hook may return None, to keep the values that it got, or a replacement of the same structure.

    Args:
        fn (callable): from jax arrays, in pytrees, to jax arrays, in a pytree.
        pre (callable, optional): ``pre(args)``, before the function, with the tuple of its positional arguments.
        post (callable, optional): ``post(args, output)``, after it; replaces the output.
        backward_pre (callable, optional): ``backward_pre(grad_output)``, before its backward pass.
        backward (callable, optional): ``backward(grad_input, grad_output)``, after it; replaces grad_input, which is a tuple of
            one gradient for each positional argument. Where no gradient flows, it has None.

    Returns:
        A function with the arguments and results of `fn`, for any jax transformation.

    Raises:
        TypeError: one of them is not callable; `fn` is a module, whose weights a function would hide.

    Example:
        >>> import jax
        >>> import msjax as ms
        >>> square = ms.hooks.with_hooks(lambda x: x**2, backward=lambda gi, go: (gi[0] * 10,))
        >>> print(jax.grad(square)(3.0))
        60.0
    """
    check_function(fn, "with_hooks")
    if framework_of(fn) is not None or unhooked(fn) is not None:
        raise TypeError(
            f"For 'with_hooks', fn should be a function, but got the module {type(fn).__name__}: a function in its place would hide "
            "its weights from the model. Use hooks.register_forward_hook(model, ...) and the like, and hooks.hooked(model) for "
            "models of other frameworks than nnx."
        )
    arguments = ("args",), ("args", "output"), ("grad_output",), ("grad_input", "grad_output")
    for hook, given in zip((pre, post, backward_pre, backward), arguments):
        if hook is not None:
            check_hook(hook, "with_hooks")
            check_arity(hook, "with_hooks", given)

    @functools.wraps(fn, updated=())
    def hooked(*args, **kwargs):
        if pre is not None:
            args = _forward(pre, _PRE, (), args)
        flat, treedef = jax.tree.flatten(args)
        arrays = tuple(jnp.asarray(v) for v in flat)
        tables = [EMPTY]
        taps = CallFrame(ModuleSubject(fn, lambda: fn), lambda _: tables[0], ARRAYS)
        if backward is not None:
            arrays = ARRAYS.on_inputs(taps, arrays)
        out = fn(*jax.tree.unflatten(treedef, arrays), **kwargs)
        if post is not None:
            out = _forward(post, _POST, (args,), out)
        leaves, out_tree = jax.tree.flatten(out)
        outputs = tuple(jnp.asarray(v) for v in leaves)
        tables[0] = HookTable(backward_pre=_hooks(backward_pre, (out_tree,)), backward=_hooks(backward, (treedef, out_tree)))
        if backward is not None:
            outputs = ARRAYS.on_outputs(taps, outputs, pre=False)
        if backward_pre is not None:
            outputs = ARRAYS.on_outputs(taps, outputs, pre=True)
        return jax.tree.unflatten(out_tree, outputs)

    return hooked


def _hooks(fn, treedefs):
    return () if fn is None else (Hook(_OnLeaves(fn, treedefs, skip=1)),)


def _forward(fn, kind, before, value):
    """`value` after a forward hook, which gets it as its last argument."""
    frame, given = Frame(ARRAYS), (*before, value)
    result, value = frame.delivery(given).run(frame, kind, Hook(fn), given, value)
    if ARRAYS.is_nothing(result):
        return value
    if kind is _POST:
        check_forward_result(fn, result, value, ())
    return result


def _as_it_is(_values, _fn, _text, result, _given, _owners):
    return result


_GRADIENT = HookKind("", "gradient hook", HookKind.check_gradients)
_PRE = HookKind("", "pre hook", _as_it_is)
_POST = HookKind("", "post hook", _as_it_is)


def probe(x: Any, p: Any, statistic: Callable[..., Any] | None = None) -> Any:
    """An identity that leaves a statistic of the gradient of `x` as the gradient of `p`.

    Nothing is called back: the statistic is an ordinary output of the gradient function, under any transformation.

    Args:
        x: an array, of any shape.
        p: an array of the statistic's shape and dtype, of any value; differentiate with respect to it. One for each place.
        statistic (callable, optional): from the gradient, an array, to an array. Default: the sum of squares.

    Returns:
        An array equal to `x`.

    Example:
        >>> import jax
        >>> import msjax as ms
        >>> def loss(x, p):
        ...     return (ms.hooks.probe(x * 2, p) ** 2).sum()
        >>> print(jax.jit(jax.grad(loss, 1))(jax.numpy.array([1.0, 2.0]), 0.0))
        80.0
    """
    if statistic is not None:
        check_function(statistic, "probe", "statistic", ("gradient",))
    for value, name in ((x, "x"), (p, "p")):
        check_kind(value, is_array_or_number(value), "be an array", name, "probe")
    statistic = (lambda gradient: jnp.sum(gradient * gradient)) if statistic is None else statistic
    x, p = jnp.asarray(x), jnp.asarray(p)
    found = jax.eval_shape(statistic, jax.typeof(x))
    check_value(
        p,
        [p.shape] == [jnp.shape(leaf) for leaf in jax.tree.leaves(found)],
        f"be of the shape of the statistic, {describe(found)}",
        "p",
        "probe",
    )
    return tap_p.bind(x, p, measure=Measure(statistic))
