"""runtime and hal: devices, streams, events, memory."""

import pickle

import jax
import pytest

import msjax as ms
from msjax import hal, runtime
from msjax.device_context import ascend, cpu


def test_runtime_and_devices():
    ms.synchronize()
    runtime.launch_blocking()
    assert ms.get_context("pynative_synchronize")
    ms.set_context(pynative_synchronize=False)
    first, last = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
    with runtime.StreamCtx(runtime.Stream()):
        first.record()
        last.record()
    assert first.elapsed_time(last) >= 0 and runtime.memory_allocated() >= 0 and runtime.current_stream().query()
    with pytest.raises(RuntimeError, match="enable_timing=True"):
        first.elapsed_time(runtime.Event())
    assert hal.device_count("CPU") == len(jax.local_devices()) and hal.get_device_name(0, "CPU") and not hal.is_available("TPU")
    with pytest.raises(ValueError, match="no CPU device 99"):
        hal.get_device_properties(99, "CPU")


@pytest.mark.parametrize(
    "setting", [runtime.empty_cache, runtime.set_memory, ascend.conv_allow_hf32, ascend.op_precision_mode, cpu.threads_num]
)
def test_functions_without_effect_belong_to_their_module(setting):
    assert pickle.loads(pickle.dumps(setting)) is setting


def test_functions_without_effect_name_themselves_in_errors():
    with pytest.raises(TypeError, match=r"For 'op_precision_mode': missing a required argument: 'path'; it takes \(path\)\."):
        ascend.op_precision_mode()
    with pytest.raises(TypeError, match=r"For 'empty_cache': too many positional arguments; it takes \(\)\."):
        runtime.empty_cache(1)
