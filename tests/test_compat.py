"""Names of MindSpore's private modules that programs import."""

import pytest

import msjax as ms
from msjax import Tensor, nn, ops
from msjax.alias import install_as_mindspore
from msjax.engine.processes.groups import PROCESSES


def test_what_mindspore_s_own_hook_tests_import(no_alias_left, monkeypatch):
    monkeypatch.setattr(PROCESSES, "initialized", False)  # as at the start
    install_as_mindspore(x64=False)
    import mindspore
    from mindspore import _no_grad, context, log as logger, version  # noqa: F401
    from mindspore._c_expression import MSContext, TensorPy, get_code_extra, typing
    from mindspore._checkparam import Rel, Validator, twice
    from mindspore._extends import cell_attr_register
    from mindspore._extends.parse import compile_config  # noqa: F401
    from mindspore.common import Parameter, Tensor as CommonTensor, jit, mutable  # noqa: F401
    from mindspore.common.api import _cell_graph_executor, _no_grad as from_api, _pynative_executor
    from mindspore.common.hook_handle import HookHandle, _TensorHookHandle
    from mindspore.common.sparse_tensor import COOTensor, RowTensorInner  # noqa: F401
    from mindspore.communication.management import GlobalComm
    from mindspore.context import STRICT, ParallelMode  # noqa: F401
    from mindspore.nn.grad.cell_grad import Jvp  # noqa: F401
    from mindspore.ops._primitive_cache import _get_cache_prim
    from mindspore.ops.operations import TransposeView
    from mindspore.ops.primitive import constexpr, prim_attr_register  # noqa: F401
    from mindspore.parallel import set_algo_parameters  # noqa: F401
    from mindspore.parallel._auto_parallel_context import auto_parallel_context
    from mindspore.parallel._utils import _get_device_num, _get_parallel_mode
    from mindspore.parallel.auto_parallel import AutoParallel  # noqa: F401
    from mindspore.train._utils import check_value_type
    from mindspore.train.callback import SummaryCollector  # noqa: F401
    from mindspore.train.callback._callback import Callback  # noqa: F401
    from mindspore.train.summary.summary_record import SummaryRecord  # noqa: F401
    from mindspore.train.train_thor import ConvertModelUtils

    assert check_value_type("rate", 0.5, (int, float)) == 0.5
    assert not GlobalComm.INITED and TransposeView()(Tensor([[1, 2]]), (1, 0)).shape == (2, 1)
    with pytest.raises(NotImplementedError, match="msjax has no second-order optimizer"):
        ConvertModelUtils()

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


def test_settings_of_strategies_are_kept_and_checked():
    from msjax import parallel

    parallel.set_algo_parameters(tensor_slice_align_size=32, algo_approxi_epsilon=0.5)
    assert parallel.get_algo_parameters("tensor_slice_align_size") == 32
    parallel.reset_algo_parameters()
    assert parallel.get_algo_parameters("algo_approxi_epsilon") == 0.1
    for settings, kind, text in [
        ({"fully_use_devices": 1}, TypeError, "'fully_use_devices' should be a bool, but got int 1"),
        ({"tensor_slice_align_size": 0}, ValueError, r"should be in \[1, 1024\], but got 0"),
        ({"algo_approxi_epsilon": 0.0}, ValueError, "'algo_approxi_epsilon' should be in"),
        ({"size": 1}, ValueError, "there is no setting 'size'"),
    ]:
        with pytest.raises(kind, match=text):
            parallel.set_algo_parameters(**settings)


def test_what_libraries_with_loops_of_their_own_import(no_alias_left):
    install_as_mindspore(x64=False)
    import numpy as np
    from mindspore.common._stub_tensor import StubTensor
    from mindspore.common.initializer import _assignment
    from mindspore.common.seed import _get_graph_seed
    from mindspore.context import _get_mode
    from mindspore.ops._utils import get_broadcast_shape
    from mindspore.ops.primitive import _primexpr
    from mindspore.parallel._ps_context import _is_role_worker
    from mindspore.train.callback import RunContext, _InternalCallbackParam
    from mindspore.train.callback._callback import InternalCallbackParam, _handle_loss
    from mindspore.train.callback._checkpoint import ModelCheckpoint  # noqa: F401

    params = _InternalCallbackParam(cur_step_num=1)
    params.cur_epoch_num = 2
    assert RunContext(params).original_args().cur_epoch_num == 2 and InternalCallbackParam is _InternalCallbackParam
    assert _handle_loss((Tensor(2.0), 1)) == 2 and _handle_loss(Tensor([1.0, 3.0])) == 2
    assert get_broadcast_shape([2, 1], (3,), "op") == [2, 3] and _primexpr(lambda n: n + 1)(1) == 2
    with pytest.raises(ValueError, match="For 'op', x and y should have shapes that broadcast"):
        get_broadcast_shape((2, 2), (3,), "op")
    ms.set_seed(5)
    assert [_get_graph_seed(n, "x") for n in (0, 3, None)] == [(5, 0), (5, 3), (5, 533697028)]
    assert _assignment(np.zeros(2), 3).tolist() == [3, 3] and not isinstance(Tensor(1), StubTensor)
    assert _get_mode() == ms.get_context("mode") and not _is_role_worker()


def test_names_that_programs_import_most(no_alias_left):
    install_as_mindspore(x64=False)
    from mindspore import QuantDtype, set_deterministic, set_ps_context
    from mindspore.common.dtype import BFloat, Float, Int, qint4x2
    from mindspore.common.initializer import _INITIALIZER_ALIAS, One, _register, initializer
    from mindspore.communication._comm_helper import _get_group_ranks
    from mindspore.context import get_ps_context, reset_ps_context
    from mindspore.device_context.ascend import device_count, op_precision
    from mindspore.nn.layer.activation import _activation
    from mindspore.nn.loss.loss import _Loss
    from mindspore.nn.wrap.cell_wrapper import VirtualDatasetCellTriple
    from mindspore.nn.wrap.loss_scale import grad_scale
    from mindspore.ops import functional as F, operations as P
    from mindspore.ops.auto_generate import AddExt, Mul, OneHotExt, PagedAttention, SplitWithSize, StackExt
    from mindspore.ops.auto_generate.gen_ops_prim import SortExt, SumExt
    from mindspore.ops.operations._quant_ops import FakeQuantPerLayer
    from mindspore.parallel._cost_model_context import _get_multi_subgraphs, _set_multi_subgraphs
    from mindspore.parallel.nn import Pipeline
    from mindspore.rewrite import SymbolTree

    x = Tensor([[3.0, 1.0, 2.0]])
    assert AddExt()(x, x, 2).asnumpy().tolist() == [[9, 3, 6]] and Mul()(x, x).shape == x.shape == StackExt(0)((x,))[0].shape
    assert [part.shape for part in SplitWithSize()(x, (1, 2), 1)] == [(1, 1), (1, 2)] and repr(
        StackExt()
    ) == "Prim[StackExt]<dim=0>"
    assert SumExt()(x, 1).asnumpy() == [6] and SortExt()(x, 1, True)[1].asnumpy().tolist() == [[0, 2, 1]]
    assert OneHotExt()(Tensor([1]), 3, Tensor(1.0), Tensor(0.0)).asnumpy().tolist() == [[0, 1, 0]]
    assert F.make_range(3) == (0, 1, 2)
    assert [P.FloatStatus()(Tensor([1.0, value])).asnumpy().tolist() for value in (2.0, float("inf"))] == [[0], [1]]
    with pytest.raises(TypeError, match="should be a str"):
        P.ScalarSummary()(1, Tensor(1.0))

    for name in (P.NPUGetFloatStatus, PagedAttention, FakeQuantPerLayer, SymbolTree, nn.AdaSumByGradWrapCell, ms.Symbol):
        with pytest.raises(NotImplementedError, match=f"doesn't offer mindspore[a-z_.]*{name.__name__}: "):
            name()
    assert str(QuantDtype.INT8) == "INT8" and QuantDtype.UINT4.value() == 103 and repr(qint4x2) == "mindspore.int4"
    assert isinstance(ms.float32, Float) and not isinstance(ms.bfloat16, Float) and isinstance(ms.bfloat16, BFloat)
    assert Int(8) is ms.int8 and not isinstance(ms.uint8, Int)
    set_deterministic(True)
    set_ps_context(enable_ps=True)
    assert get_ps_context("enable_ps") and reset_ps_context() is None and not get_ps_context("enable_ps")
    _set_multi_subgraphs(True)
    op_precision.precision_mode("force_fp32")
    assert _get_multi_subgraphs() and device_count() == 0 and _get_group_ranks("hccl_world_group") == [0] and Pipeline
    assert issubclass(_Loss, nn.LossBase) and _activation["relu"] is nn.ReLU
    assert VirtualDatasetCellTriple(nn.Dense(1, 1))._backbone.in_channels == 1

    total = ms.Parameter(Tensor([4.0]))
    assert grad_scale(Tensor(2.0), Tensor([1.0]), total).asnumpy() == [2] and total.asnumpy() == [0]

    @_register("all_ones")
    class OfThisTest(One):
        pass

    try:
        assert initializer("all_ones", 2).asnumpy().tolist() == initializer("ofthistest", 2).asnumpy().tolist() == [1, 1]
    finally:
        del _INITIALIZER_ALIAS["all_ones"], _INITIALIZER_ALIAS["ofthistest"]


def test_layouts_are_shardings():
    import jax

    import msjax as ms
    from msjax.parallel import AutoParallel

    grid = ms.Layout((2, 1), ("data", "model"))
    layout = grid("None", ("data", "model"))
    assert layout.to_dict() == {
        "device_matrix": (2, 1), "tensor_map": (-1, (1, 0)), "interleaved_parallel": False, "alias_name": ("data", "model"), "rank_list": [0, 1],
    }  # fmt: skip
    placed = jax.device_put(jax.numpy.arange(8.0).reshape(2, 4), layout.sharding())
    assert sorted(part.data.shape for part in placed.addressable_shards) == [(2, 2), (2, 2)]
    x = ms.Tensor([1.0, 2.0])
    assert ms.shard(lambda v: v * 2, ((1,),))(x).asnumpy().tolist() == [2, 4]
    assert ms.ops.Add().shard((grid("data"), grid("data")))(x, x).asnumpy().tolist() == [2, 4]
    net = AutoParallel(ms.nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), "semi_auto")
    net.dataset_strategy("full_batch")
    assert net(x.reshape(1, 2)).asnumpy().tolist() == [[3]] and [*net.parameters_dict()] == ["weight", "bias"]
    for wrong in (
        lambda: grid("rows"),
        lambda: grid("data", "data"),
        lambda: ms.Layout((2,), ("a", "b")),
        lambda: ms.Layout((9,), ("a",))("a").sharding(),
    ):
        with pytest.raises(ValueError, match="For 'Layout'"):
            wrong()
    with pytest.raises(NotImplementedError, match="2 stages"):
        net.pipeline(2)
