"""Mixed precision: types inside and outside of networks, numbers, training."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, amp, nn, ops


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 4)
        self.bn = nn.BatchNorm1d(4)
        self.relu = nn.ReLU()
        self.out = nn.Dense(4, 2)
        self.types = None

    def construct(self, x):
        a = self.fc(x)
        b = self.bn(a)
        c = self.relu(b)
        d = self.out(c)
        self.__dict__["types"] = [t.dtype for t in (a, b, c, d)]
        return d


X = Tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
HALF, FULL, BRAIN = ms.float16, ms.float32, ms.bfloat16


@pytest.mark.parametrize(
    "make, types",
    [
        (lambda n: amp.auto_mixed_precision(n, "O0"), [FULL, FULL, FULL, FULL]),
        (lambda n: amp.auto_mixed_precision(n, "O1"), [FULL, FULL, FULL, FULL]),
        (lambda n: amp.auto_mixed_precision(n, "O2"), [HALF, FULL, HALF, HALF]),
        (lambda n: amp.auto_mixed_precision(n, "O2", BRAIN), [BRAIN, FULL, BRAIN, BRAIN]),
        (lambda n: amp.auto_mixed_precision(n, "O3"), [HALF, HALF, HALF, HALF]),
        (lambda n: amp.custom_mixed_precision(n, white_list=[nn.Dense]), [FULL, FULL, FULL, FULL]),
        (lambda n: amp.custom_mixed_precision(n, black_list=[nn.Dense]), [FULL, HALF, HALF, FULL]),
    ],
)
def test_types(make, types):
    net = Net()
    exact = net(X).asnumpy()
    mixed = make(net)
    out = mixed(X)
    assert out.dtype == FULL and net.types == types
    assert all(p.dtype == FULL for p in mixed.get_parameters())
    assert [p.name for p in mixed.get_parameters()] == [p.name for p in net.get_parameters()]
    np.testing.assert_allclose(out.asnumpy(), exact, atol=2e-2)


def test_o1_computes_in_half_precision():
    net = nn.Dense(1, 1, weight_init="ones", bias_init="zeros")
    out = amp.auto_mixed_precision(net, "O1")(Tensor([[1.0 + 2.0**-12]]))
    assert out.dtype == FULL and float(out.asnumpy()[0, 0]) == 1.0


def test_lists():
    assert nn.Conv2d in amp.get_white_list() and nn.Dense in amp.get_white_list()
    assert nn.BatchNorm2d in amp.get_black_list() and nn.LayerNorm in amp.get_black_list()


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
@pytest.mark.parametrize("manager", [None, amp.FixedLossScaleManager(1024.0), amp.DynamicLossScaleManager(2**10)])
def test_networks_train(level, manager):
    net = Net()
    y = Tensor(np.array([[1, 0], [0, 1], [1, 1]], np.float32))
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    step = amp.build_train_network(net, optimizer, nn.MSELoss(), level, loss_scale_manager=manager)
    kind = nn.TrainOneStepCell if manager is None else nn.TrainOneStepWithLossScaleCell
    assert type(step) is kind
    losses = [step(X, y) for _ in range(8)]
    losses = [float((loss if manager is None else loss[0]).asnumpy()) for loss in losses]
    assert losses[-1] < 0.8 * losses[0]


def test_a_scale_without_leaving_out_steps_is_the_optimizers_to_undo():
    moves = []
    for manager, scale in ((None, 1.0), (amp.FixedLossScaleManager(64.0, drop_overflow_update=False), 64.0)):
        net = nn.Dense(2, 1, weight_init="ones", has_bias=False)
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9, loss_scale=scale)
        step = amp.build_train_network(net, optimizer, nn.MSELoss(), loss_scale_manager=manager)
        assert type(step) is nn.TrainOneStepCell
        step(Tensor([[1.0, 2.0]]), Tensor([[0.0]]))
        moves.append(net.weight.asnumpy())
    np.testing.assert_allclose(*moves, rtol=1e-6)


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda n: amp.auto_mixed_precision(n, "O9"), ValueError, "amp_level"),
        (lambda n: amp.auto_mixed_precision(n, "O2", ms.float64), ValueError, "dtype"),
        (lambda n: amp.auto_mixed_precision(1, "O2"), TypeError, "network"),
        (lambda n: amp.auto_mixed_precision(lambda x: x, "O2"), TypeError, "network"),
        (lambda n: amp.custom_mixed_precision(n), ValueError, "one of"),
        (lambda n: amp.custom_mixed_precision(n, white_list=[nn.Dense], black_list=[nn.Dense]), ValueError, "one of"),
        (lambda n: amp.custom_mixed_precision(n, white_list=nn.Dense), TypeError, "list"),
        (lambda n: amp.custom_mixed_precision(n, white_list=[ms.ops.MatMul]), NotImplementedError, "MatMul"),
        (lambda n: amp.build_train_network(n, 1), TypeError, "optimizer"),
        (lambda n: amp.build_train_network(n, n, level="x"), ValueError, "level"),
        (lambda n: amp.build_train_network(n, n, boost_level="O1"), NotImplementedError, "boost_level"),
        (lambda n: amp.build_train_network(n, n, foo=1), ValueError, "foo"),
    ],
)
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call(Net())


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_level_auto_chooses_for_each_operator(mode):
    # Recorded from MindSpore but for the bias of Dense, which it adds in Float32.
    ms.set_context(mode=mode)
    types = {}

    def compute(x):
        product = x @ x
        found = {"product": product, "relu": ops.relu(product), "exp": ops.exp(product), "both": ops.concat((product, x))}
        types.update({name: value.dtype for name, value in found.items()})
        return product.sum()

    x = Tensor([[1.0, 2.0**-12], [0.0, 1.0]])
    assert amp.auto_mixed_precision(compute, "auto")(x).dtype == FULL
    assert types == {"product": HALF, "relu": HALF, "exp": FULL, "both": FULL}
    np.testing.assert_array_equal(ms.grad(amp.auto_mixed_precision(lambda x: (x @ x).sum(), "auto", BRAIN))(x).dtype, FULL)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.half, self.full = nn.Dense(2, 2, has_bias=False), nn.Dense(2, 2, has_bias=False).to_float(FULL)
            self.dense, self.norm = nn.Dense(2, 2), nn.BatchNorm1d(2)

        def construct(self, x):
            return self.half(x), self.full(x), self.dense(x), self.norm(self.half(x))

    net = Net()
    assert amp.auto_mixed_precision(net, "auto") is net
    assert [out.dtype for out in net(x)] == [HALF, FULL, HALF, FULL]


def test_training_with_level_auto_chooses_for_each_operator():
    net, types = nn.Dense(1, 1), []
    net.construct = lambda x: types.append((ops.matmul(x, x).dtype, ops.exp(x.astype(HALF)).dtype)) or ops.matmul(x, net.weight)
    loss = lambda out, y: types.append(out.dtype) or out.sum()  # noqa: E731
    amp.build_train_network(net, nn.SGD(net.trainable_params()), loss, "auto")(Tensor([[1.0]]), Tensor([[1.0]]))
    assert types == [(HALF, FULL), FULL]
