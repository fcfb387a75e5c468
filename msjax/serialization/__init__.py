"""Checkpoints: MindSpore's own files (.ckpt), and safetensors.

Reading a file never runs code from it, and a file that is cut off, damaged or forged gives a ValueError.
"""

from msjax.core.base.lazy import on_first_use
from msjax.serialization.convert import ckpt_to_safetensors, safetensors_to_ckpt
from msjax.serialization.loading import load_checkpoint, load_checkpoint_async, load_param_into_net
from msjax.serialization.save import async_ckpt_thread_status, save_checkpoint
from msjax.serialization.stablehlo import export, load

__all__ = [
    "async_ckpt_thread_status", "ckpt_to_safetensors", "export", "load", "load_checkpoint", "load_checkpoint_async", "load_param_into_net",
    "safetensors_to_ckpt", "save_checkpoint",
]  # fmt: skip

__getattr__, __dir__ = on_first_use(__name__, {"_save_graph": "ms.export writes a network's program, in StableHLO."})
