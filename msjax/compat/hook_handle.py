"""``mindspore.common.hook_handle``."""

from msjax.core.door import RemovableHandle

HookHandle = _TensorHookHandle = RemovableHandle

__all__ = ["HookHandle"]
