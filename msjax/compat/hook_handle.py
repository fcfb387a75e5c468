"""``mindspore.common.hook_handle``."""

from msjax.core.hooks.handle import RemovableHandle

HookHandle = _TensorHookHandle = RemovableHandle

__all__ = ["HookHandle"]
