"""Names of MindSpore beside nn and ops that programs import: devices, logging, profiles, sparse tensors, exports, private modules."""

import struct
import sys

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, hal, log, nn, ops, runtime
from msjax.alias import install_as_mindspore
from msjax.processes.groups import PROCESSES


def test_what_mindspore_s_own_hook_tests_import(no_alias_left):
    install_as_mindspore(x64=False)
    import mindspore
    from mindspore import _no_grad, context, log as logger, version  # noqa: F401
    from mindspore._c_expression import MSContext, TensorPy, get_code_extra, typing
    from mindspore._checkparam import Rel, Validator, twice
    from mindspore._extends import cell_attr_register
    from mindspore.common import Parameter, Tensor as CommonTensor, jit, mutable  # noqa: F401
    from mindspore.common.api import _cell_graph_executor, _no_grad as from_api, _pynative_executor
    from mindspore.common.hook_handle import HookHandle, _TensorHookHandle
    from mindspore.common.sparse_tensor import COOTensor
    from mindspore.context import STRICT, ParallelMode  # noqa: F401
    from mindspore.nn.grad.cell_grad import Jvp  # noqa: F401
    from mindspore.ops._primitive_cache import _get_cache_prim
    from mindspore.ops.primitive import constexpr, prim_attr_register  # noqa: F401
    from mindspore.parallel._auto_parallel_context import auto_parallel_context
    from mindspore.parallel._utils import _get_device_num, _get_parallel_mode
    from mindspore.train.callback import SummaryCollector  # noqa: F401
    from mindspore.train.callback._callback import Callback  # noqa: F401
    from mindspore.train.summary.summary_record import SummaryRecord  # noqa: F401

    assert mindspore.__version__ == "2.10.0" and repr(type(Tensor(1))) == "<class 'mindspore.common.tensor.Tensor'>"
    assert CommonTensor is Tensor is TensorPy and from_api is _no_grad is ms.no_grad and COOTensor is ms.COOTensor
    assert isinstance(nn.ReLU().register_forward_hook(lambda *args: None), HookHandle) and _TensorHookHandle is HookHandle
    assert (
        _pynative_executor.enable_grad()
        and typing.Type is type(ms.float32)
        and MSContext.get_instance().get_ascend_soc_version() == ""
    )
    _pynative_executor.sync()
    assert _cell_graph_executor.compile(nn.ReLU(), Tensor([1.0]))[1]
    assert _get_cache_prim(ops.Add)()(Tensor(1.0), Tensor(2.0)).asnumpy() == 3
    assert (_get_device_num(), _get_parallel_mode()) == (1, "stand_alone")
    assert auto_parallel_context().get_device_num() == 1 and PROCESSES.place.size == 1
    with pytest.raises(NotImplementedError, match="MindSpore's C\\+\\+ code"):
        get_code_extra(lambda: None)

    class Layer(nn.Cell):
        @cell_attr_register(attrs=["n"])
        def __init__(self, n):
            super().__init__()
            self.n = Validator.check_positive_int(n, "n", self.cls_name)

    assert Layer(3).n == 3 and twice(2) == (2, 2)
    with pytest.raises(ValueError, match="For 'Layer', 'n' should be greater than 0, but got int 0"):
        Layer(0)
    with pytest.raises(TypeError, match="'n' should be of type int"):
        Validator.check_value_type("n", True, [int])
    with pytest.raises(ValueError, match=r"in \[0, 1\)"):
        Validator.check_float_range(1.0, 0, 1, Rel.INC_LEFT, "p")


def test_runtime_and_devices():
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


def test_log(monkeypatch, caplog):
    monkeypatch.setenv("GLOG_v", "1")
    log.info("rows: %d", 3)
    log.debug("left out")
    log.error("wrong")
    assert [(r.levelname, r.getMessage(), r.filename) for r in caplog.records] == [
        ("INFO", "rows: 3", "test_names.py"),
        ("ERROR", "wrong", "test_names.py"),
    ]
    assert ms.get_log_config()["GLOG_v"] == "1"


def test_attributes_of_cells():
    net = nn.SequentialCell(nn.Dense(1, 1))
    assert (net.phase, net[0].phase, net.param_prefix, net.jit_config_dict, net.has_bprop) == ("train", "train", "", {}, False)
    net.set_train(False)
    assert net[0].phase == "predict"
    net.phase = "export"
    assert net.phase == "export" and net.set_train().phase == "train"


def test_compiled_functions_return_the_items_of_iterators():
    def increased(x):
        return x + 1

    @ms.jit
    def items(x):
        twice = [x, x * 2]
        named = {"a": x}
        return map(increased, twice), zip(twice, [1, 2]), (range(2), enumerate(twice)), filter(None, [0, 3]), named.keys()

    mapped, pairs, (numbers, counted), filtered, keys = items(Tensor(1.0))
    assert [float(v) for v in mapped] == [2, 3] and isinstance(mapped, list) and isinstance(pairs, tuple)
    assert [(float(v), n) for v, n in pairs] == [(1, 1), (2, 2)] and numbers == (0, 1)
    assert [(n, float(v)) for n, v in counted] == [(0, 1), (1, 2)] and filtered == [3] and keys == ("a",)


def test_small_differences():
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert x.take(Tensor([0, 7]), mode="wrap").asnumpy().tolist() == [0, 1]
    assert x.take(Tensor([0, 7]), mode="clip").asnumpy().tolist() == [0, 5]
    assert float(ops.norm(Tensor(-3.0), dim=0)) == 3 == float(Tensor(3.0).norm(dim=-1))
    apply = ops.MultitypeFuncGraph("apply")
    apply.register("Function", "Tensor")(lambda fn, x: fn(x))
    assert float(apply(lambda x: x * 2, Tensor(1.0))) == 2
    accuracy = ms.train.Accuracy()
    accuracy.update(np.array([[0.1, 0.9]]), np.array([1]))
    assert repr(accuracy.eval()) == "1.0"


DENSE = np.array([[0, 5, 0], [0, 0, 2]], np.float32)


def test_sparse_tensors():
    coo = ms.COOTensor(Tensor([[0, 1], [1, 2], [0, 1]]), Tensor([1.0, 2.0, 4.0]), (2, 3))
    np.testing.assert_array_equal(coo.to_dense().asnumpy(), DENSE)
    assert (coo.coalesce().size, coo.size, coo.ndim, coo.dtype) == (2, 3, 2, ms.float32)
    csr = coo.coalesce().to_csr()
    assert csr.indptr.asnumpy().tolist() == [0, 1, 2] and repr(csr).startswith("CSRTensor(shape=[2, 3], dtype=Float32, indptr=")
    matrix = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_allclose(csr.mm(Tensor(matrix)).asnumpy(), DENSE @ matrix)
    np.testing.assert_allclose(csr.sum(1).asnumpy(), DENSE.sum(1, keepdims=True))
    gradient = ms.grad(lambda v: (ms.COOTensor(coo.indices, v, (2, 3)).to_dense() ** 2).sum())(coo.values)
    np.testing.assert_allclose(gradient.asnumpy(), [10, 4, 10])
    with pytest.raises(ValueError, match=r"'indices' should have shape \(3, 2\)"):
        ms.COOTensor(Tensor([[0, 1]]), coo.values, (2, 3))


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_custom_operators(mode):
    ms.set_context(mode=mode)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.sinh = ops.Custom(
                np.sinh, lambda shape: shape, lambda dtype: dtype, "pyfunc", bprop=lambda x, out, dout: (dout * ops.cosh(x),)
            )

        def construct(self, x):
            return self.sinh(x) * 2

    net, x = Net(), Tensor(np.array([0.5, -1.0], np.float32))
    np.testing.assert_allclose(net(x).asnumpy(), 2 * np.sinh(x.asnumpy()), rtol=1e-6)
    np.testing.assert_allclose(ms.grad(net)(x).asnumpy(), 2 * np.cosh(x.asnumpy()), rtol=1e-6)
    both = ops.Custom(lambda a: (a.sum(), a > 0), ((), (2,)), (ms.float32, ms.bool_))
    total, positive = both(x)
    assert float(total) == -0.5 and positive.asnumpy().tolist() == [True, False]
    with pytest.raises(NotImplementedError, match="func_type 'aot'"):
        ops.Custom("./add.so:Add", func_type="aot")


def test_an_operator_class_of_a_program():
    class Scale(ops.PrimitiveWithInfer):
        @ops.prim_attr_register
        def __init__(self, factor=3):
            self.init_prim_io_names = None

        def __call__(self, x):
            return x * self.factor

    assert float(Scale(2)(Tensor(4.0))) == 8 and repr(Scale()) == "Prim[Scale]<factor=3>"


def test_dynamic_rnn_is_an_lstm():
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4), (6, 8), (8,)))
    h, c = np.zeros((3, 2), np.float32), np.ones((3, 2), np.float32)
    outputs = ops.DynamicRNN(forget_bias=1.0)(Tensor(x), Tensor(w), Tensor(b), None, Tensor(h[None]), Tensor(c[None]))
    assert len(outputs) == 8

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    for step in range(2):
        i, j, f, o = np.split(np.concatenate([x[step], h], 1) @ w + b, 4, 1)
        c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
        h = np.tanh(c) * sigmoid(o)
        np.testing.assert_allclose(outputs[0].asnumpy()[step], h, rtol=1e-4)
        np.testing.assert_allclose(outputs[2].asnumpy()[step], c, rtol=1e-4)


def test_summaries(tmp_path, monkeypatch):
    from tensorboardX.proto.event_pb2 import Event

    with ms.SummaryRecord(str(tmp_path / "new"), max_file_size=4000) as record:
        record.add_value("scalar", "loss", Tensor(0.5))
        record.add_value("histogram", "weights", Tensor([1.0, 2.0, np.inf]))
        record.add_value("image", "digit", Tensor(np.arange(12.0, dtype="float32").reshape(1, 3, 2, 2)))
        record.add_value("graph", "net", Tensor(0.5))
        assert record.record(7)
        record.add_value("image", "noise", Tensor(np.random.default_rng(0).random((1, 3, 64, 64), "float32")))
        assert not record.record(8)  # the file would be too large
    (file,) = (tmp_path / "new").iterdir()
    data, events, at = file.read_bytes(), [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        events.append(Event.FromString(data[at + 12 : at + 12 + length]))
        at += length + 16
    assert "tfevents" in file.name and [e.file_version for e in events] == ["brain.Event:2", ""]
    loss, weights, digit = events[1].summary.value
    assert (events[1].step, loss.tag, loss.simple_value, weights.tag) == (7, "loss", 0.5, "weights")
    assert (weights.histo.min, weights.histo.max, weights.histo.num, weights.histo.sum) == (1, 2, 2, 3)
    assert (digit.image.height, digit.image.width, digit.image.colorspace) == (2, 2, 3)
    with pytest.raises(ValueError, match="one element"):
        record.add_value("scalar", "loss", Tensor([1.0, 2.0]))
    with pytest.warns(UserWarning, match="could not be written"):
        assert not record.record(9)
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ModuleNotFoundError, match=r"For 'SummaryRecord', .* pip install 'msjax\[tools\]'"):
        ms.SummaryRecord(str(tmp_path / "other"))


def test_export(tmp_path, monkeypatch):
    net, x = nn.Dense(2, 3), Tensor(np.ones((4, 2), np.float32))
    with pytest.raises(ValueError, match="MINDIR, STABLEHLO, but got 'ONNX'"):
        ms.export(net, x, file_name=str(tmp_path / "net"), file_format="ONNX")
    ms.export(net, x, file_name=str(tmp_path / "net"))
    graph = nn.GraphCell(ms.load(str(tmp_path / "net.mindir")))
    np.testing.assert_allclose(graph(x).asnumpy(), net(x).asnumpy(), rtol=1e-6)
    (tmp_path / "other.mindir").write_bytes(b"\x08\x01")
    with pytest.raises(ValueError, match="MindSpore's own MindIR files can't be read"):
        ms.load(str(tmp_path / "other.mindir"))
    monkeypatch.setitem(sys.modules, "flatbuffers", None)
    with pytest.raises(ImportError, match=r"For 'export', jax needs the package flatbuffers .*: pip install 'msjax\[export\]'"):
        ms.export(net, x, file_name=str(tmp_path / "net"))


def test_a_profile_of_chosen_steps(monkeypatch):
    calls = []
    monkeypatch.setattr(jax.profiler, "start_trace", lambda folder: calls.append(folder))
    monkeypatch.setattr(jax.profiler, "stop_trace", lambda: calls.append("stop"))
    plan = ms.profiler.schedule(wait=1, active=2, repeat=1, skip_first=1)
    with ms.profiler.profile(schedule=plan, on_trace_ready=ms.profiler.tensorboard_trace_handler("traces")) as profile:
        for step in range(6):
            calls.append(step)
            profile.step()
    assert calls == [0, 1, "traces", 2, 3, "stop", 4, 5]
    ms.Profiler(output_path="here").analyse()
    assert calls[-2:] == ["here", "stop"]
