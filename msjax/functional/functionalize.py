"""functionalize: a network as a pure function of pytrees of jax arrays, for any jax transformation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

from msjax.common.arrays import is_tracer
from msjax.common.bases import is_cell
from msjax.common.buffer import Buffer
from msjax.common.parameter import Parameter
from msjax.common.random import default_generator
from msjax.common.tensor import Tensor, is_leaf, wrap
from msjax.errors import describe
from msjax.hooks.batching import CallbackBatch
from msjax.hooks.nodes import through_custom_vjp
from msjax.hooks.worker import raise_pending
from msjax.state import LOCK, STATE, Scope, swap

if TYPE_CHECKING:
    from msjax.nn.cell.base import Cell


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
        buffers and the state of the random operators. Arguments and results are jax arrays, in pytrees; what is no array
        goes through unchanged. ``ms.write_back(net, params, buffers)`` puts values back into the network.

    Raises:
        TypeError: `net` is no Cell.

    Example:
        >>> import jax
        >>> import msjax as ms
        >>> from msjax import nn
        >>> net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        >>> apply, params, buffers = ms.functionalize(net)
        >>> out, buffers = jax.jit(apply)(params, buffers, jax.numpy.array([[1.0, 2.0]], "float32"))
        >>> print(out)
        [[3.]]
    """
    if not is_cell(net):
        raise TypeError(f"For 'functionalize', the network should be a Cell, but got {describe(net)}.")

    def apply(params, buffers, *args, **kwargs):
        raise_pending()
        trained, rest = state_of(net)
        params = _matched(params, trained, "params")
        buffers = _matched(buffers, rest, "buffers")
        with _Installed([*trained.values(), *rest.values()], [*params.values(), *buffers.values()]):
            with CallbackBatch() as calls:
                out = calls.add_dependency(net(*map_arrays(_to_tensor, args), **map_arrays(_to_tensor, kwargs)))
            return map_tensors(_to_array, out), {name: variable._value for name, variable in rest.items()}

    trained, rest = state_of(net)
    return apply, {n: v._value for n, v in trained.items()}, {n: v._value for n, v in rest.items()}


def write_back(net: Cell, params: dict[str, Any] | None = None, buffers: dict[str, Any] | None = None) -> None:
    """Put values back into a network.

    Args:
        net (Cell): the network that was functionalized.
        params, buffers (dict, optional): values as `functionalize` names them.

    Raises:
        ValueError: other names or shapes than the network's.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> net = nn.Dense(1, 1, weight_init="ones")
        >>> apply, params, buffers = ms.functionalize(net)
        >>> ms.write_back(net, {name: value * 2 for name, value in params.items()})
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
            variables[name]._value = jax.numpy.asarray(value, variables[name]._value.dtype)


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
        raise TypeError(f"For a functionalized network, '{what}' should be a dict of arrays, but got {describe(given)}.")
    if given.keys() != variables.keys():
        lacking, unknown = sorted(variables.keys() - given.keys()), sorted(given.keys() - variables.keys())
        raise ValueError(
            f"For a functionalized network, '{what}' should have the network's names"
            + (f"; lacking: {', '.join(lacking[:5])}" if lacking else "")
            + (f"; unknown: {', '.join(unknown[:5])}" if unknown else "")
            + "."
        )
    return {name: given[name]._value if isinstance(given[name], Tensor) else given[name] for name in variables}


class _Installed:
    """Variables with other values, in a world of its own without a tape; afterwards they are what they were."""

    def __init__(self, variables, values):
        self.variables = variables
        self.values = values

    def __enter__(self):
        LOCK.acquire()
        self.held = [v._value for v in self.variables]
        # A program that msjax compiles keeps its tape; elsewhere jax differentiates.
        self._swap = swap(scope=Scope(None), recording=True, functional=True)
        self._swap.__enter__()
        for variable, value in zip(self.variables, self.values):
            variable._value = value
            hooks = variable._hooks
            if hooks and isinstance(variable, Parameter) and is_tracer(value):
                variable._value = through_custom_vjp([wrap(value)], hooks.run_each)[0]._value

    def __exit__(self, *_exception):
        for variable, value in zip(self.variables, self.held):
            variable._value = value
        STATE.scope.open = False
        self._swap.__exit__()
        LOCK.release()


def _to_tensor(array):
    return wrap(jax.numpy.asarray(array))


def _to_array(tensor):
    return tensor._value


def map_arrays(fn: Callable[..., Any], value: Any) -> Any:
    """`fn` of all arrays in nested containers; Tensors are taken for their arrays."""
    return jax.tree.map(
        lambda leaf: (
            wrap(leaf._value)
            if isinstance(leaf, Tensor)
            else fn(leaf)
            if hasattr(leaf, "shape") and hasattr(leaf, "dtype")
            else leaf
        ),
        value,
        is_leaf=is_leaf,
    )


def map_tensors(fn: Callable[..., Any], value: Tensor) -> Any:
    """`fn` of all Tensors in nested containers."""
    return jax.tree.map(lambda leaf: fn(leaf) if isinstance(leaf, Tensor) else leaf, value, is_leaf=is_leaf)
