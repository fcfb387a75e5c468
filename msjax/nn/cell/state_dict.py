"""The state of a Cell as a dict: state_dict, load_state_dict and their hooks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_type
from msjax.core.base.errors import describe
from msjax.core.door import HookTable, RemovableHandle
from msjax.nn.cell.tree import CellTree


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """The result of `Cell.load_state_dict`: the lists of missing and of unexpected keys."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class CellState(CellTree):
    """The part of Cell that reads and writes state dicts."""

    def state_dict(
        self, *args: Any, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """The Parameters and persistent buffers of the cell and all cells inside, by path.

        Args:
            destination (dict, optional): a dict to add to.
            prefix (str): put in front of all paths.
            keep_vars (bool): passed to hooks; the values are the Parameters themselves either way.

        Returns:
            An ordered dict with an attribute `_metadata`.

        Raises:
            RuntimeError: a post hook returned something.
        """
        told: Any = (*args[:3], *(destination, prefix, keep_vars)[len(args) :])
        destination, prefix, keep_vars = told
        made: Any = destination
        if made is None:
            made = OrderedDict()
            made._metadata = OrderedDict()
        metadata = {"version": 1}
        if hasattr(made, "_metadata"):
            made._metadata[prefix[:-1]] = metadata
        for hook in self._hooks.state_dict_pre:
            hook.fn(self, prefix, keep_vars)
        for name, value in self._own_state():
            made[prefix + name] = value
        for name, cell in self._children():
            cell.state_dict(destination=made, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._hooks.state_dict_post:
            result = hook.fn(self, made, prefix, metadata)
            if result is not None:
                raise RuntimeError(
                    f"A state_dict post hook should change the dict and return None, but {hook.name} returned {describe(result)}."
                )
        return made

    def _own_state(self):
        yield from self._own_parameters()
        for name, buffer in self.named_buffers(recurse=False):
            if buffer.persistent:
                yield name, buffer

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> _IncompatibleKeys:
        """Set Parameters and buffers from a dict.

        Args:
            state_dict (dict): Tensors or arrays by path, as `state_dict` returns them.
            strict (bool): whether missing and unexpected keys are errors.

        Returns:
            A named tuple of the lists `missing_keys` and `unexpected_keys`.

        Raises:
            TypeError: `state_dict` is not a dict.
            RuntimeError: shapes don't match, or, if strict, keys don't. Nothing is loaded then.
        """
        check_type(state_dict, dict, "the state", "load_state_dict")
        state = OrderedDict(state_dict)
        metadata = getattr(state_dict, "_metadata", None)
        missing, unexpected, errors, writes = [], [], [], []
        self._plan_load(state, "", metadata, missing, unexpected, errors, writes)
        keys = _IncompatibleKeys(missing, unexpected)
        for prefix, cell in reversed(list(self.cells_and_names())):
            for hook in cell._hooks.load_state_dict_post:
                if hook.fn(cell, keys) is not None:
                    raise RuntimeError(
                        f"A load_state_dict post hook should return None, but {hook.name} (of cell {prefix!r}) did not."
                    )
        if strict:
            if unexpected:
                errors.insert(0, f"unexpected key(s): {', '.join(map(repr, unexpected))}")
            if missing:
                errors.insert(0, f"missing key(s): {', '.join(map(repr, missing))}")
        if errors:
            raise RuntimeError(f"For 'load_state_dict' of {type(self).__name__}: " + "; ".join(errors) + ".")
        for target, value in writes:
            target._set_value(Tensor(value)._value.astype(target._value.dtype))
        return keys

    def _plan_load(self, state, prefix, metadata, missing, unexpected, errors, writes):
        local = {} if metadata is None else metadata.get(prefix[:-1], {})
        for hook in self._hooks.load_state_dict_pre:
            # As in MindSpore and PyTorch, hooks always get strict=True.
            hook.fn(self, state, prefix, local, True, missing, unexpected, errors)
        own = dict(self._own_state())
        for name, target in own.items():
            key = prefix + name
            if key not in state:
                missing.append(key)
                continue
            value = state[key]
            if not hasattr(value, "shape"):
                errors.append(f"{key!r} should be a Tensor or array, but is {describe(value)}")
            elif tuple(value.shape) != target.shape:
                errors.append(f"{key!r} has shape {tuple(value.shape)}, but expected is {target.shape}")
            else:
                writes.append((target, value))
        children = dict(self._children())
        for key in state:
            if key.startswith(prefix):
                first, _, rest = key[len(prefix) :].partition(".")
                if first not in own and (first not in children or not rest):
                    unexpected.append(key)
        for name, cell in children.items():
            cell._plan_load(state, f"{prefix}{name}.", metadata, missing, unexpected, errors, writes)

    def register_state_dict_pre_hook(self, hook: Callable[[Any, str, bool], Any]) -> RemovableHandle:
        """Register ``hook(cell, prefix, keep_vars)``, called before `state_dict` adds the cell's state."""
        return HookTable.register(self, "state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable[[Any, dict[str, Any], str, dict[str, Any]], Any]) -> RemovableHandle:
        """Register ``hook(cell, state_dict, prefix, local_metadata)``, called after `state_dict` has added the cell's
        state; it may change the dict."""
        return HookTable.register(self, "state_dict_post", hook)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Any, dict[str, Any], str, dict[str, Any], bool, list[str], list[str], list[str]], Any]
    ) -> RemovableHandle:
        """Register ``hook(cell, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``,
        called before `load_state_dict` reads the cell's state; it may change the dict and the lists."""
        return HookTable.register(self, "load_state_dict_pre", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[[Any, Any], Any]) -> RemovableHandle:
        """Register ``hook(cell, incompatible_keys)``, called at the end of `load_state_dict`; it may change the
        lists of keys."""
        return HookTable.register(self, "load_state_dict_post", hook)
