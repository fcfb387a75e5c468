"""Settings of cells: training, gradients, flags, mixed precision."""

import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, nn, ops
from tests.nn.cell.trees import Leaf, Root
from tests.x64 import present

# ---- settings


def test_set_train_reaches_all():
    root = Root()
    assert root.training is False
    assert root.set_train() is root
    assert all(c.training is True for _, c in root.cells_and_names())
    root.branch.set_train(False)
    assert (root.training, root.branch.left.training, root.head.training) == (True, False, True)
    assert root.set_train(0).training is False


def test_set_grad():
    leaf = Leaf()
    assert leaf.requires_grad is False
    assert leaf.set_grad() is leaf and leaf.requires_grad is True
    assert leaf.set_grad(False).requires_grad is False
    assert leaf.w.requires_grad is True


def test_apply_is_children_first():
    seen = []
    root = Root()
    assert root.apply(lambda c: seen.append(type(c).__name__)) is root
    assert seen == ["Leaf", "Leaf", "Branch", "Leaf", "Root"]


def test_flags():
    root = Root()
    assert root.get_flags() == {}
    assert root.add_flags(a=1) is root and root.get_flags() == {"a": 1}
    root.add_flags_recursive(b=2)
    assert root.get_flags() == {"a": 1, "b": 2} and root.head.get_flags() == {"b": 2}
    assert nn.Cell(flags={"x": 1}).get_flags() == {"x": 1} and nn.Cell.get_flags(nn.Cell()) == {}
    assert root.cls_name == "Root"


# ---- mixed precision


class Types(nn.Cell):
    """Notes the types in which it computes."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]))

    def construct(self, x, y=None):
        made = Tensor([1.0, 2.0], ms.float64)
        self.seen = {
            "input": x.dtype,
            "keyword": None if y is None else y.dtype,
            "weight": self.w.dtype,
            "product": (self.w * x).dtype,
            "with number": (x * 2.0).dtype,
            "float64": (made + made).dtype,
            "integers": (Tensor([1, 2]) + Tensor([1, 2])).dtype,
            "cast": x.astype(ms.float32).dtype,
            "index": x[0].dtype,
            "ones": ops.ones((2,), ms.float32).dtype,
        }
        return self.w * x


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float32], ids=str)
def test_to_float_computes_in_the_type(dtype):
    net = Types().to_float(dtype)
    out = net(Tensor([3.0, 4.0]), y=Tensor([1.0]))
    assert out.dtype is dtype and net.w.dtype is ms.float32
    assert net.seen == {
        "input": ms.float32,
        "keyword": ms.float32,
        "weight": ms.float32,
        "product": dtype,
        "with number": dtype,
        "float64": dtype,
        "integers": present(ms.int64),
        "cast": ms.float32,
        "index": ms.float32,
        "ones": ms.float32,
    }
    assert (Tensor([1.0]) * 2.0).dtype is ms.float32


@pytest.mark.parametrize(
    "layout, dtype",
    [
        (lambda x: ops.broadcast_to(x, (2, 2, 4)), ms.float32),
        (lambda x: ops.movedim(x, 0, 1), ms.float32),
        (lambda x: ops.meshgrid(x[0], x[1])[0], ms.float32),
        (lambda x: ops.pixel_shuffle(x.reshape(1, 4, 1, 2), 2), ms.float32),
        (lambda x: ops.atleast_3d(x), ms.float32),
        (lambda x: x.copy(), ms.float32),
        (lambda x: ops.flatten(x), ms.float16),
        (lambda x: ops.tile(x, (2, 1)), ms.float16),
    ],
)
def test_to_float_leaves_what_arranges_elements_in_its_type(layout, dtype):
    class Net(nn.Cell):
        def construct(self, x):
            return layout(x)

    assert Net().to_float(ms.float16)(ops.ones((2, 4))).dtype is dtype


def test_to_float_gradients_come_back_in_the_own_type():
    net = Types().to_float(ms.float16)
    dx, dw = ms.grad(net, 0, net.w)(Tensor([3.0, 4.0]))
    assert dx.dtype is ms.float32 and dw.dtype is ms.float32
    assert dx.tolist() == [1.0, 2.0] and dw.tolist() == [3.0, 4.0]


def test_to_float_is_set_for_all_inside_and_the_inner_setting_counts():
    net = nn.SequentialCell(Types(), Types())
    assert net.to_float(ms.float16) is net
    net[1].to_float(ms.float32)
    assert net(Tensor([1.0, 1.0])).dtype is ms.float32
    assert net[0].seen["product"] is ms.float16 and net[1].seen["product"] is ms.float32


def test_to_float_of_a_child_ends_with_the_child():
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.child = Types()

        def construct(self, x):
            before = (x * 2.0).dtype
            inner = self.child(x).dtype
            return before, inner, (x * 2.0).dtype

    net = Outer().to_float(ms.float16)
    net.child.to_float(ms.bfloat16)
    assert net(Tensor([1.0, 1.0])) == (ms.float16, ms.bfloat16, ms.float16)
    ms.set_context(pynative_synchronize=True)
    assert (Tensor([1.0]) * 2.0).dtype is ms.float32


def test_to_float_ends_with_the_call_even_if_it_fails():
    class Fails(nn.Cell):
        def construct(self, x):
            raise KeyError("no")

    with pytest.raises(KeyError):
        Fails().to_float(ms.float16)(Tensor([1.0]))
    assert (Tensor([1.0]) * Tensor([1.0])).dtype is ms.float32


def test_to_float_hooks_see_the_types():
    seen = []
    net = nn.Dense(2, 2).to_float(ms.float16)
    net.register_forward_hook(lambda cell, args, out: seen.append((args[0].dtype, out.dtype)))
    net.register_backward_hook(lambda cell, gi, go: seen.append((gi[0].dtype, go[0].dtype)))
    assert ms.grad(net)(Tensor([[1.0, 2.0]])).dtype is ms.float32
    assert seen == [(ms.float32, ms.float16)] * 2


def test_to_float_keeps_moving_statistics():
    net = nn.BatchNorm1d(2).to_float(ms.float16).set_train()
    x = np.array([[1.0, 2000.0], [3.0, 2001.0]], np.float32)
    assert net(Tensor(x)).dtype is ms.float16
    assert net.moving_mean.dtype is ms.float32 and net.moving_variance.dtype is ms.float32
    np.testing.assert_allclose(net.moving_mean.asnumpy(), 0.1 * x.astype(np.float16).mean(0, dtype=np.float32), rtol=1e-6)


@pytest.mark.parametrize("dtype", [ms.int32, ms.float64, "float16", None], ids=str)
def test_to_float_refuses(dtype):
    with pytest.raises(ValueError, match="to_float"):
        Leaf().to_float(dtype)


def test_attributes_of_cells():
    net = nn.SequentialCell(nn.Dense(1, 1))
    assert (net.phase, net[0].phase, net.param_prefix, net.jit_config_dict, net.has_bprop) == ("train", "train", "", {}, False)
    net.set_train(False)
    assert net[0].phase == "predict"
    net.phase = "export"
    assert net.phase == "export" and net.set_train().phase == "train"
