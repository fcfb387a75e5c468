"""The one file that touches slots of flax nnx that are not public.

flax's own accessors cost 5 to 11 microseconds a read; the raw slot costs 0.1. Checked with flax
0.12.8 and 0.12.12 (tests/nn/cell/test_flax.py names them).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from flax import nnx
from flax.nnx import graphlib

_Module = TypeVar("_Module", bound=nnx.Module)

# Member descriptors: reading one as an attribute of a Parameter takes no Python call.
RAW_VALUE = nnx.Variable.__dict__["_raw_value"]
METADATA = nnx.Variable.__dict__["_var_metadata"]

# Attributes that nnx keeps on every module; they are no members of a cell.
MODULE_STATE = ("_pytree__state", "_pytree__nodes")

# An attribute of msjax's that nnx shows as little as these. It takes it for a part of the module's definition, so that it goes through split and
# merge; flax's nnx.bridge.ToNNX leaves out what has the prefix where it takes a module's attributes for variables.
HIDDEN_PATH = "_pytree__msjax_path"


# What makes data of an attribute that holds it.
DATA = (jax.Array, np.ndarray, nnx.Pytree, nnx.Variable)


def is_module_state(name: str) -> bool:
    """Whether an attribute of a module is nnx's own bookkeeping."""
    return name.startswith("_pytree__")


def plain_attributes(module: Any) -> dict[str, Any]:
    """The attributes of a module that are part of its definition, such as numbers and texts; lists as they are now.

    A module that jax doesn't know as a pytree has no list of what is data: there, they are what holds no arrays.
    """
    data = vars(module).get(MODULE_STATE[1]) or {}
    found = {name: value for name, value in vars(module).items() if not is_module_state(name)}
    holds_data = {name: any(isinstance(leaf, DATA) for leaf in jax.tree.leaves(value)) for name, value in found.items()}
    plain = {name: value for name, value in found.items() if not data.get(name, holds_data[name])}
    return {name: [*value] if type(value) is list else value for name, value in plain.items()}


def blank_like(module: _Module) -> _Module:
    """A module of the same class with none of its attributes, as nnx makes it before ``__init__``."""
    blank = object.__new__(type(module))
    state, nodes = (vars(module)[name] for name in MODULE_STATE)
    vars(blank).update(zip(MODULE_STATE, (type(state)(), nodes)))
    return blank


def set_static(module: Any, name: str, value: Any) -> Any:
    """Give an nnx module an attribute that is part of its definition; returns what `delete_static` needs to undo it.

    What nnx checks of a value takes longer than all the rest.
    """
    own = vars(module)
    before = after = own.get(MODULE_STATE[1])
    if before is not None and name not in before:
        after = own[MODULE_STATE[1]] = before.update({name: False})
    own[name] = value
    return before, after


def delete_static(module: Any, name: str, given: Any) -> None:
    """Undo a `set_static`, which has returned `given`."""
    own, (before, after) = vars(module), given
    if own.get(MODULE_STATE[1]) is after:
        if before is not None:
            own[MODULE_STATE[1]] = before
    else:
        own.update(without_attribute(own, name))
    del own[name]


def without_attribute(attributes: dict[str, Any], name: str) -> dict[str, Any]:
    """A module's attributes without one of them, which nnx's list of what is data no longer names either."""
    kept = {key: value for key, value in attributes.items() if key != name}
    nodes = kept.get(MODULE_STATE[1])
    if nodes is not None:
        kept[MODULE_STATE[1]] = type(nodes)({key: value for key, value in nodes.items() if key != name})
    return kept


def transformation_of(module: Any) -> Any:
    """What goes when the transformation of flax in this thread is over that runs a copy of a module and writes it back; None if there is none.

    flax refuses to write back to a module whose class has changed meanwhile, when it has taken the attributes of others already.
    """
    for contexts in graphlib.GRAPH_CONTEXT.update_context_stacks.values():
        for context in contexts:
            if module in (context.outer_ref_outer_index or ()):
                return context
    return None


class ToldOfWrites:
    """A base of classes of modules: `written_by_nnx` is called when nnx has made one, or has written all of its attributes anew."""

    def _graph_node_init(self, attributes: Any) -> None:
        super()._graph_node_init(attributes)  # pyright: ignore[reportAttributeAccessIssue]
        self.written_by_nnx()

    def written_by_nnx(self) -> None:
        raise NotImplementedError


def when_made(cls: type, seen: Callable[[Any], None]) -> dict[str, Any]:
    """The namespace of a subclass of a module's class: `seen` is called with each that nnx.merge, nnx.update and the like, or jax.tree.map made."""

    def init(self, attributes):
        cls._graph_node_init(self, attributes)
        seen(self)

    namespace: dict[str, Any] = {"_graph_node_init": init}
    if hasattr(cls, "_pytree__unflatten"):

        @classmethod
        def unflatten(own, *args):
            module = cls._pytree__unflatten.__func__(own, *args)
            seen(module)
            return module

        namespace["_pytree__unflatten"] = unflatten
    return namespace


def when_copied(cls: type, seen: Callable[[Any], None]) -> None:
    """Call a function with each object of a class of Variables that nnx or jax makes of another one's metadata."""
    made = cls._new.__func__

    @classmethod
    def new(own, value, metadata):
        variable = made(own, value, metadata)
        seen(variable)
        return variable

    cls._new = new
