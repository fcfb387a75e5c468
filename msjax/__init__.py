"""msjax: MindSpore's hook programming and PyNative debugging, on JAX.

Use it under its own name (``import msjax as ms``), or run a MindSpore script as it is:
``msjax run script.py``.
"""

import importlib
import sys

import msjax.autograd.imperative
import msjax.autograd.tensor_api

# Each of these attaches methods to Tensor.
import msjax.compile.graph_mode
import msjax.ops.methods.operators
from msjax import common, context, nn, ops
from msjax.autograd.grad import get_grad, grad, value_and_grad
from msjax.autograd.vjp import jvp, vjp
from msjax.common import dtype
from msjax.common.dtype import *
from msjax.common.initializer import Initializer, initializer
from msjax.common.parameter import Parameter, ParameterTuple
from msjax.common.random import Generator, default_generator, get_seed, manual_seed, set_seed
from msjax.common.tensor import Tensor, from_numpy, is_tensor, tensor
from msjax.compile.jit import jit, ms_function
from msjax.context import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    ParallelMode,
    get_auto_parallel_context,
    get_context,
    get_current_device,
    reset_auto_parallel_context,
    set_auto_parallel_context,
    set_context,
    set_device,
)
from msjax.lazy import NO_SUMMARY, lazy_function, placeholder_or_error
from msjax.ops.function.control.from_jax import from_jax
from msjax.version import __version__

# Imported when first used: `import msjax` stays light.
_SUBMODULES = (
    "alias", "amp", "boost", "cli", "dataset", "experimental", "hooks", "mint", "numpy", "scipy", "serialization", "tools", "train",
)  # fmt: skip
_LATER = {"install_as_mindspore": "msjax.alias"}
_LATER |= dict.fromkeys(
    (
        "async_ckpt_thread_status", "ckpt_to_safetensors", "load_checkpoint", "load_checkpoint_async", "load_param_into_net",
        "safetensors_to_ckpt", "save_checkpoint",
    ),
    "msjax.serialization",
)  # fmt: skip
_LATER |= dict.fromkeys(("functionalize", "write_back"), "msjax.functional.functionalize")
_LATER |= dict.fromkeys(("enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"), "msjax.autograd.modes")
_LATER |= {"recompute": "msjax.autograd.recompute", "saved_tensors_hooks": "msjax.autograd.saved"}
_LATER |= dict.fromkeys(
    (
        "Accuracy", "BleuScore", "Callback", "CheckpointConfig", "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity",
        "Dice", "DynamicLossScaleManager", "EarlyStopping", "F1", "Fbeta", "FixedLossScaleManager", "HausdorffDistance",
        "History", "LambdaCallback", "LearningRateScheduler", "Loss", "LossMonitor", "LossScaleManager", "MAE", "MSE",
        "MeanSurfaceDistance", "Metric", "Model", "ModelCheckpoint", "OcclusionSensitivity", "Perplexity", "Precision", "ROC",
        "Recall", "ReduceLROnPlateau", "RootMeanSquareDistance", "RunContext", "TimeMonitor", "Top1CategoricalAccuracy",
        "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "auc", "build_train_network", "get_metric_fn", "names",
        "rearrange_inputs",
    ),
    "msjax.train",
)  # fmt: skip
_LATER |= dict.fromkeys(("JitConfig", "jit_class", "lazy_inline", "mutable", "no_inline"), "msjax.compile.noop")
_LATER |= dict.fromkeys(("get_rng_state", "initial_seed", "seed", "set_rng_state"), "msjax.common.random")
_LATER |= {"run_check": "msjax.check", "synchronize": "msjax.hooks.worker"}
_LATER |= {"constexpr": "msjax.ops.function.control.functions"} | dict.fromkeys(
    ("jacfwd", "jacrev", "vmap"), "msjax.ops.function.control.transforms"
)


# Only a notebook asks for it; what draws a cell stands above it and is imported then.
nn.Cell._repr_html_ = lazy_function("msjax.tools.display", "cell_html")

_STAND_INS = {"RowTensor": "gradients are dense Tensors here.", "SummaryRecord": NO_SUMMARY}


def __getattr__(name):
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    if name in _SUBMODULES:
        return importlib.import_module(f"msjax.{name}")
    return placeholder_or_error(__name__, name, _STAND_INS, sys._getframe(1))


def __dir__():
    return sorted([*globals(), *_LATER, *_SUBMODULES])
