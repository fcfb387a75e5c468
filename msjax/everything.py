"""The names that `msjax` offers, and what has to be imported for them; `msjax` imports it on first use of one of them."""

import importlib
from typing import TYPE_CHECKING

import msjax.bridge.cell_models
import msjax.bridge.cell_tools
import msjax.engine.autograd.imperative

# Each of these attaches methods to Tensor, or Cells to what is below them.
import msjax.engine.compile.jit
import msjax.ops.methods.tensor_methods
from msjax import common as common, context as context, nn as nn, ops as ops
from msjax.common import dtype as dtype
from msjax.common.dtype import *
from msjax.common.initializer import Initializer as Initializer, initializer as initializer
from msjax.common.parameter import Parameter as Parameter, ParameterTuple as ParameterTuple
from msjax.common.random import (
    Generator as Generator,
    default_generator as default_generator,
    get_seed as get_seed,
    manual_seed as manual_seed,
    set_seed as set_seed,
)
from msjax.common.tensor import Tensor as Tensor, from_numpy as from_numpy, is_tensor as is_tensor, tensor as tensor
from msjax.core.base.lazy import on_first_use
from msjax.engine.autograd.grad import get_grad as get_grad, grad as grad, value_and_grad as value_and_grad
from msjax.engine.compile.jit import jit as jit, ms_function as ms_function
from msjax.engine.programs.allocator import keep_freed_memory
from msjax.engine.settings.context import *
from msjax.ops.function.control.from_jax import from_jax as from_jax
from msjax.ops.function.control.vjp import jvp as jvp, vjp as vjp

# Programs with Cells; `from msjax import hooks` alone leaves the allocator as it is.
keep_freed_memory()

# Only notebooks call it; the drawing code is on a higher floor, and is imported then.
nn.Cell._repr_html_ = lambda cell: importlib.import_module("msjax.core.tools.display").tree(cell)._repr_html_()

_PLACEHOLDERS = {
    **dict.fromkeys(
        "transform_checkpoint* load_distributed_checkpoint merge_*strategy* merge_sliced_parameter rank_list_for_transform "
        "build_searched_strategy restore_group_info_list unified_safetensors get_ckpt_path_with_strategy "
        "sync_pipeline_shared_parameters".split(),
        "each process has the whole network here, and a checkpoint of one has all Parameters.",
    ),
    "Symbol": "a program is compiled for each shape.",
    "*sdc_detect*": "it looks for faults of Ascend's chips.",
}


if TYPE_CHECKING:
    # Imported when first used: `import msjax` stays light.
    from msjax import (
        alias as alias,
        amp as amp,
        boost as boost,
        cli as cli,
        communication as communication,
        dataset as dataset,
        device_context as device_context,
        experimental as experimental,
        hal as hal,
        hooks as hooks,
        log as log,
        mindrecord as mindrecord,
        mint as mint,
        numpy as numpy,
        parallel as parallel,
        profiler as profiler,
        runtime as runtime,
        scipy as scipy,
        serialization as serialization,
        tools as tools,
        train as train,
    )
    from msjax.alias import install_as_mindspore as install_as_mindspore
    from msjax.check import run_check as run_check
    from msjax.common.containers import mutable as mutable
    from msjax.common.random import (
        get_rng_state as get_rng_state,
        initial_seed as initial_seed,
        seed as seed,
        set_rng_state as set_rng_state,
    )
    from msjax.compat.api import _no_grad as _no_grad, ms_memory_recycle as ms_memory_recycle
    from msjax.engine.autograd.modes import *
    from msjax.engine.autograd.recompute import recompute as recompute, saved_tensors_hooks as saved_tensors_hooks
    from msjax.engine.settings.compiler import (
        JitConfig as JitConfig,
        jit_class as jit_class,
        lazy_inline as lazy_inline,
        no_inline as no_inline,
        set_recursion_limit as set_recursion_limit,
    )
    from msjax.functional.functionalize import functionalize as functionalize, write_back as write_back
    from msjax.log import get_level as get_level, get_log_config as get_log_config
    from msjax.ops.function.control.functions import constexpr as constexpr
    from msjax.ops.function.control.transforms import jacfwd as jacfwd, jacrev as jacrev, vmap as vmap
    from msjax.ops.sparse_tensor import *
    from msjax.parallel import parameter_broadcast as parameter_broadcast
    from msjax.parallel.kept_settings import *
    from msjax.parallel.layouts import Layout as Layout, shard as shard
    from msjax.profiler import Profiler as Profiler
    from msjax.runtime import *
    from msjax.serialization import (
        async_ckpt_thread_status as async_ckpt_thread_status,
        ckpt_to_safetensors as ckpt_to_safetensors,
        load_checkpoint as load_checkpoint,
        load_checkpoint_async as load_checkpoint_async,
        load_param_into_net as load_param_into_net,
        safetensors_to_ckpt as safetensors_to_ckpt,
        save_checkpoint as save_checkpoint,
    )
    from msjax.serialization.stablehlo import export as export, load as load
    from msjax.train import *
    from msjax.train.dataset_helper import (
        DatasetHelper as DatasetHelper,
        connect_network_with_dataset as connect_network_with_dataset,
        data_sink as data_sink,
    )
else:
    __getattr__, __dir__ = on_first_use(__name__, _PLACEHOLDERS, door="msjax")
