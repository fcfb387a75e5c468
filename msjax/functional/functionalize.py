"""functionalize: a network as a pure function of pytrees of jax arrays, for any jax transformation.

A functionalized network whose gradient passes hooks is one `jax.custom_vjp`: its forward rule records the network on the
tape, as PyNative mode does, and its backward rule goes back over the recorded nodes. So hooks are called in PyNative
mode's order and with its arguments, whichever transformation jax applies. What the nodes keep of the forward pass leaves
the forward rule as residuals, and is put back into the nodes in the backward rule.
"""

from __future__ import annotations

import contextlib
import functools
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from msjax.common.bases import is_cell
from msjax.common.parameter import Buffer, Parameter
from msjax.common.random import default_generator
from msjax.common.run_state import LOCK, STATE, Scope
from msjax.common.tensor import Tensor, is_leaf, wrap
from msjax.common.tensor_hooks import LateHookError
from msjax.common.tensor_values import TENSORS
from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer, staged
from msjax.core.base.checks import check_kind
from msjax.core.base.code import globals_in, names_in
from msjax.core.base.errors import describe
from msjax.core.base.libraries import is_library, of_library
from msjax.core.base.split import Split
from msjax.core.door import ACTIVITY, VERSION, WORKER, CallbackBatch, ProgramUnderWay
from msjax.engine.autograd.memory import Held
from msjax.engine.autograd.recording import GradientScope, TracedTape
from msjax.nn.cell.base import Cell
from msjax.nn.cell.hooks import hooks_of
from msjax.ops.function.control.gradient import HookBackward, InsertGradientOf


class FunctionalRun(ProgramUnderWay):
    """A functionalized network while it runs.

    Args:
        on_tape (bool): whether its gradient comes from the tape; if not, nodes that call hooks with gradients are identities of jax.

    Attributes:
        hooks_gradients: whether there were such nodes.
    """

    functional = True

    def __init__(self, on_tape: bool):
        super().__init__()
        self.on_tape = on_tape
        self.hooks_gradients = False
        self.outer = STATE.trace
        self.world = jax_slots.trace_state()
        # Not under jax.jit: loops run at once, and what jax traces otherwise has its values.
        self.eager = not staged()

    def see(self, operands: Sequence[Any]) -> None:
        if self.outer is not None:
            self.outer.see(operands)

    def entered(self, owner: Any) -> None:
        if self.outer is not None:
            self.outer.entered(owner)

    def differentiated_by_jax(self) -> bool:
        return not self.on_tape

    def comes_to_node(self) -> None:
        self.hooks_gradients = True

    def comes_to_event(self) -> None:
        if self.outer is not None:
            self.outer.comes_to_event()
        elif self.eager:
            ACTIVITY.callbacks = True


@contextlib.contextmanager
def installed(variables: Sequence[Tensor], values: Sequence[jax.Array], on_tape: bool) -> Iterator[FunctionalRun]:
    """A context in which variables have other values, in a world of its own; afterwards they are what they were."""
    run = FunctionalRun(on_tape)
    with LOCK, STATE.swap(scope=Scope(None), recording=True, trace=run):
        for variable in variables:
            if "_views" in variable.__dict__:
                variable.__dict__["_views"].remain_outside()
        try:
            with Held(variables, values):
                yield run
        finally:
            STATE.scope.open = False


def run_taped(
    variables: Sequence[Tensor],
    values: Sequence[jax.Array],
    arguments: Sequence[jax.Array],
    body: Callable[[list[Tensor]], tuple[list[Tensor], list[Tensor]]],
) -> list[jax.Array]:
    """Run a body, for which Tensors from outside hold other values, so that its gradient comes from the tape.

    It takes a Tensor for each of the arguments, and returns two lists of Tensors, whose values are the result: what waits for the hook
    calls of a compiled program, and what doesn't.
    """
    n = len(variables)

    @jax.custom_vjp
    def call(*arrays):
        with installed(variables, arrays[:n], True), CallbackBatch() as calls:
            outputs, state = body([wrap(a) for a in arrays[n:]])
            return [t._value for t in (*calls.add_dependency(TENSORS, outputs), *state)]

    def forward(*primals):
        arrays = [p.value for p in primals]
        wanted = [p.perturbed and jnp.issubdtype(p.value.dtype, jnp.inexact) for p in primals]
        with installed(variables, arrays[:n], True), GradientScope() as scope, CallbackBatch() as calls:
            inputs = [*variables, *map(wrap, arrays[n:])]
            weights = scope.weights([t for t, w in zip(variables, wanted) if w])
            # As in ms.grad, an argument whose gradient nobody asks for has one all the same where hooks look at it.
            marked = [scope.mark(t, w) for t, w in zip(inputs[n:], wanted[n:]) if w or t.is_floating_point()]
            outputs, state = body(inputs[n:])
            outputs = [*calls.add_dependency(TENSORS, outputs), *state]
            tape = TracedTape(scope, outputs, [*weights, *(leaf for leaf in marked if leaf.requested)], marked, weights)
            results = [t._value for t in outputs]
        done = [] if calls.done is None or not is_tracer(calls.done) else [calls.done]
        numbers = [i for i, w in enumerate(wanted) if w]
        return results, (_Recorded(tape, numbers), tape.take_values(), list(arrays[:n]), done)

    def backward(residuals, cts):
        recorded, kept, held, done = residuals
        tape = recorded.tape
        grads: list[Any] = [None] * (n + len(arguments))
        tape.put_back(kept)
        try:
            with installed(variables, held, True), STATE.swap(recording=False), CallbackBatch() as calls:
                calls.done = done[0] if done else None
                found = tape.run_backward([None if isinstance(ct, SymbolicZero) else ct for ct in cts])
                calls.flush()
                if calls.done is not None:
                    # Calls of the forward pass, too: jax.grad drops its outputs, and gradients may need none of its values.
                    if found and all(grad is None for grad in found):
                        # No gradient arrives, but jax drops calls that no result depends on.
                        found[0] = tape.zeros(0)
                    found = calls.add_dependency(TENSORS, found)
        finally:
            tape.forget_values()
        for i, grad in zip(recorded.numbers, found):
            grads[i] = None if grad is None else grad._value
        return tuple(grads)

    call.defvjp(forward, backward, symbolic_zeros=True)
    return call(*values, *arguments)


@jax.tree_util.register_static
class _Recorded:
    """What the forward rule hands to the backward rule beside arrays: the tape that they belong to, and the numbers of the inputs whose gradients
    are asked for."""

    def __init__(self, tape: TracedTape, numbers: list[int]):
        self.tape, self.numbers = tape, numbers


# The entry of the buffers that holds the state of the random operators.
RANDOM = "random_state"


def functionalize(
    net: Cell,
) -> tuple[Callable[..., tuple[Any, dict[str, jax.Array]]], dict[str, jax.Array], dict[str, jax.Array]]:
    """A pure function that computes what a network computes, with its hooks, and the values that it starts from.

    Args:
        net (Cell): the network. Its own objects run, so that hooks may be registered and removed at any time; a function
            that jax has compiled already keeps the hooks that were there then.

    Returns:
        (apply, params, buffers). ``apply(params, buffers, *args, **kwargs)`` returns ``(out, new_buffers)``. `params` is a
        dict of jax arrays: the Parameters that require a gradient, by their paths; `buffers` one of the other Parameters,
        buffers and the state of the random operators, as the run leaves them; what the network writes to one of `params` stays inside the
        call. Arguments and results are jax arrays, in pytrees; what is no array
        goes through unchanged. ``ms.write_back(net, params, buffers)`` puts values back into the network.

    Raises:
        TypeError: `net` is no Cell.

    Example:
        >>> import jax
        >>> from msjax import functionalize, nn
        >>> net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        >>> apply, params, buffers = functionalize(net)
        >>> out, buffers = jax.jit(apply)(params, buffers, jax.numpy.array([[1.0, 2.0]], "float32"))
        >>> print(out)
        [[3.]]
    """
    check_kind(net, is_cell(net), "be a Cell", "the network", "functionalize")

    trained, rest = state_of(net)
    # Copies: whoever donates them to a program leaves the network its own.
    return (
        pure_apply(net, net),
        {n: jnp.copy(v._value) for n, v in trained.items()},
        {n: jnp.copy(v._value) for n, v in rest.items()},
    )


def pure_apply(net: Cell, forward: Callable[..., Any], on_tape: bool = True) -> Callable[..., Any]:
    """The function `apply` of `functionalize`.

    Args:
        net (Cell): the network whose values are replaced.
        forward (callable): what runs with them; the network, or a function that calls it. It runs again when jax differentiates.
        on_tape (bool): False leaves hooks of gradients in identities of jax: a network on the tape is one `jax.custom_vjp`, into which
            no gradient from outside goes.
    """

    def apply(params=None, buffers=None, *args, **kwargs):
        WORKER.raise_pending()
        trained, rest = state_of(net)
        values = [*_matched(params, trained, "params").values(), *_matched(buffers, rest, "buffers").values()]
        given = Split.of((args, kwargs), _is_array, is_leaf)
        rest_of_result: Any = None

        def body(tensors):
            nonlocal rest_of_result
            args, kwargs = Split(tensors, given.rest).joined()
            result = Split.of(forward(*args, **kwargs), _is_array, is_leaf)
            rest_of_result = result.rest
            return [leaf if isinstance(leaf, Tensor) else wrap(leaf) for leaf in result.arrays], [*rest.values()]

        results = _run(net, body, [*trained.values(), *rest.values()], values, [*map(_raw, given.arrays)], on_tape)
        n = len(results) - len(rest)
        return Split(results[:n], rest_of_result).joined(), dict(zip(rest, results[n:]))

    return apply


def write_back(net: Cell, params: dict[str, Any] | None = None, buffers: dict[str, Any] | None = None) -> None:
    """Put values back into a network.

    Args:
        net (Cell): the network that was functionalized.
        params, buffers (dict, optional): values as `functionalize` names them.

    Raises:
        ValueError: other names or shapes than the network's.

    Example:
        >>> from msjax import functionalize, nn, write_back
        >>> net = nn.Dense(1, 1, weight_init="ones")
        >>> apply, params, buffers = functionalize(net)
        >>> write_back(net, {name: value * 2 for name, value in params.items()})
        >>> print(net.weight.asnumpy())
        [[2.]]
    """
    for given, variables, what in zip((params, buffers), state_of(net), ("params", "buffers")):
        if given is None:
            continue
        for name, value in _matched(given, variables, what).items():
            if value.shape != variables[name].shape:
                raise ValueError(
                    f"For 'write_back', {name!r} should have shape {variables[name].shape}, but got {tuple(value.shape)}."
                )
            variables[name]._set_value(jnp.array(value, variables[name]._value.dtype))


def state_of(net: Cell) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """({path: Parameter that requires a gradient}, {path: other Parameter, Buffer or random state})."""
    trained, rest = {}, {}
    for name, parameter in net.parameters_and_names():
        (trained if parameter.requires_grad else rest)[name] = parameter
    for prefix, cell in net.cells_and_names():
        for name, value in vars(cell).items():
            if isinstance(value, Buffer):
                rest[f"{prefix}.{name}" if prefix else name] = value
    rest[RANDOM] = default_generator.state
    return trained, rest


def _matched(given, variables, what):
    if not isinstance(given, dict):
        raise TypeError(f"A functionalized network takes '{what}', a dict, before its inputs, but got {describe(given)}.")
    if given.keys() != variables.keys():
        lacking, unknown = sorted(variables.keys() - given.keys()), sorted(given.keys() - variables.keys())
        raise ValueError(
            f"For a functionalized network, '{what}' should have the network's names"
            + (f"; lacking: {', '.join(lacking[:5])}" if lacking else "")
            + (f"; unknown: {', '.join(unknown[:5])}" if unknown else "")
            + "."
        )
    return {name: given[name]._value if isinstance(given[name], Tensor) else given[name] for name in variables}


# Networks whose own code puts hooks on gradients, found when they ran.
_HOOKED_WITHIN: weakref.WeakSet[Any] = weakref.WeakSet()


def _run(net, body, variables, values, arguments, on_tape):
    """The values of the result and the state; on the tape where gradients pass hooks. The arguments are those of `run_taped`."""
    if on_tape and _needs_tape(net, variables):
        return run_taped(variables, values, arguments, body)
    try:
        with installed(variables, values, False) as run, CallbackBatch() as calls:
            outputs, state = body([wrap(a) for a in arguments])
            results = [t._value for t in (*calls.add_dependency(TENSORS, outputs), *state)]
    except LateHookError:
        if not on_tape:
            raise
        _HOOKED_WITHIN.add(net)
        return run_taped(variables, values, arguments, body)
    if run.hooks_gradients:
        # This time, the hooks are in identities of jax; from now on, they come in the order of PyNative mode.
        _HOOKED_WITHIN.add(net)
    return results


def _needs_tape(net, variables):
    if net in _HOOKED_WITHIN or any(isinstance(v, Parameter) and v._hooks for v in variables):
        return True
    for _, cell in net.cells_and_names():
        table = hooks_of(cell)
        if table.backward or table.backward_pre or getattr(cell, "bprop", None) is not None:
            return True
        if _registers_hooks(type(cell), VERSION.classes) or any(isinstance(v, _GRADIENT_HOOKS) for v in vars(cell).values()):
            return True
    return False


_GRADIENT_HOOKS = HookBackward, InsertGradientOf
_NAMES = {"register_hook", "HookBackward", "InsertGradientOf"}


@functools.lru_cache(256)
def _registers_hooks(cls, _version):
    """Whether the code of a class of cells says that it puts hooks on gradients. An identity at that place would not see all of the
    gradient of a Tensor that was used before, and none where only the tape has one."""
    methods = [value for base in cls.__mro__ if not of_library(base) for value in vars(base).values()]
    return _name_register_hook(list(filter(_is_users, methods)))


def _name_register_hook(functions):
    """Whether the code of one of the functions, or of the users' functions that they call, names it."""
    for function in functions:
        names = names_in(function.__code__)
        found = list(map(function.__globals__.get, globals_in(function.__code__)))
        if not _NAMES.isdisjoint(names) or any(isinstance(value, _GRADIENT_HOOKS) for value in found):
            return True
        functions += [value for value in filter(_is_users, found) if value not in functions]
    return False


def _is_users(value):
    return isinstance(value, types.FunctionType) and not is_library(value.__module__ or "")


def _is_array(leaf):
    return isinstance(leaf, Tensor) or (hasattr(leaf, "shape") and hasattr(leaf, "dtype"))


def _raw(leaf):
    return leaf._value if isinstance(leaf, Tensor) else jnp.asarray(leaf)
