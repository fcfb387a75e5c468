"""Loss scaling: how the scale moves, and steps that are left out."""

import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, nn
from msjax.amp import DynamicLossScaleManager, DynamicLossScaler, FixedLossScaleManager, LossScaler, StaticLossScaler, all_finite


def test_dynamic_update_cell():
    cell = nn.DynamicLossScaleUpdateCell(1024.0, 2, 3)
    scale = Parameter(Tensor(1024.0), name="scale")
    seen = []
    for overflow in (False, False, False, True, False, False, False):
        out = cell(scale, Tensor(overflow))
        assert bool(out) is overflow
        seen.append(float(scale.asnumpy()))
    assert seen == [1024.0, 1024.0, 2048.0, 1024.0, 1024.0, 1024.0, 2048.0]
    assert cell.get_loss_scale() == 1024.0
    assert [p.name for p in cell.get_parameters()] == ["current_iterator_step", "last_overflow_iterator_step"]


def test_the_scale_never_falls_below_one():
    cell = nn.DynamicLossScaleUpdateCell(2.0, 4, 3)
    scale = Parameter(Tensor(2.0), name="scale")
    cell(scale, Tensor(True))
    assert float(scale.asnumpy()) == 1.0


def test_fixed_update_cell():
    cell = nn.FixedLossScaleUpdateCell(512)
    assert bool(cell(Tensor(512.0), Tensor(True))) and cell.get_loss_scale() == 512


def test_scalers():
    static = StaticLossScaler(8.0)
    assert float(static.scale(Tensor(2.0)).asnumpy()) == 16.0
    assert static.unscale((Tensor([8.0]), [Tensor([16.0])]))[1][0].asnumpy().tolist() == [2.0]
    assert static.adjust(Tensor(True)) is False
    dynamic = DynamicLossScaler(8.0, 2, 2)
    seen = []
    for finite in (True, True, False, True, False, False, False, False):
        assert dynamic.adjust(Tensor(finite)) is True
        seen.append((float(dynamic.scale_value.asnumpy()), int(dynamic.counter.asnumpy())))
    assert seen == [(8, 1), (16, 0), (8, 0), (8, 1), (4, 0), (2, 0), (1, 0), (1, 0)]


def test_scaling_is_differentiated():
    scaler = StaticLossScaler(8.0)
    grad = ms.grad(lambda x: scaler.scale(x * x))(Tensor(3.0))
    assert float(scaler.unscale(grad).asnumpy()) == 6.0


def test_all_finite():
    assert bool(all_finite((Tensor([1.0]), Tensor([2.0, 3.0]))))
    assert not bool(all_finite([Tensor([1.0]), Tensor([2.0, float("nan")])]))
    assert not bool(all_finite([Tensor([-float("inf")])]))
    with pytest.raises(TypeError, match="Tensors"):
        all_finite([1.0])


def test_managers():
    manager = DynamicLossScaleManager(16, 2, 2)
    seen = []
    for overflow in (True, False, False, False):
        manager.update_loss_scale(overflow)
        seen.append(manager.get_loss_scale())
    assert seen == [8.0, 8.0, 16.0, 16.0]
    assert isinstance(manager.get_update_cell(), nn.DynamicLossScaleUpdateCell) and manager.get_drop_overflow_update()
    fixed = FixedLossScaleManager(64.0)
    fixed.update_loss_scale(True)
    assert fixed.get_loss_scale() == 64.0 and isinstance(fixed.get_update_cell(), nn.FixedLossScaleUpdateCell)
    assert FixedLossScaleManager(64.0, False).get_update_cell() is None


@pytest.mark.parametrize(
    "make, kind",
    [
        (lambda: StaticLossScaler(0.5), ValueError),
        (lambda: DynamicLossScaler(8.0, 0, 2), ValueError),
        (lambda: DynamicLossScaleManager(0), ValueError),
        (lambda: DynamicLossScaleManager(8, 2.5), ValueError),
        (lambda: FixedLossScaleManager(0.1), ValueError),
        (lambda: LossScaler().scale(Tensor(1.0)), NotImplementedError),
        (lambda: StaticLossScaler(8.0).scale("a"), TypeError),
    ],
)
def test_errors(make, kind):
    with pytest.raises(kind):
        make()


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 1, weight_init="ones", has_bias=False)

    def construct(self, x):
        return self.fc(x)


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_steps_that_overflow_are_left_out(mode):
    net = Net()
    optimizer = nn.Adam(net.trainable_params(), 0.1)
    step = nn.TrainOneStepWithLossScaleCell(
        nn.WithLossCell(net, nn.MSELoss()), optimizer, nn.DynamicLossScaleUpdateCell(2.0**100, 2**50, 1)
    )
    ms.set_context(mode=mode)
    x, y = Tensor([[1e15, 1.0]]), Tensor([[0.0]])
    _, overflow, scale = step(x, y)
    assert bool(overflow) and float(scale.asnumpy()) == 2.0**100
    assert net.fc.weight.asnumpy().tolist() == [[1.0, 1.0]] and int(optimizer.global_step.asnumpy()[0]) == 0
    assert float(step.scale_sense.asnumpy()) == 2.0**50
    _, overflow, _ = step(Tensor([[1.0, 1.0]]), y)
    assert not bool(overflow) and int(optimizer.global_step.asnumpy()[0]) == 1
    np.testing.assert_allclose(net.fc.weight.asnumpy(), [[0.9, 0.9]], rtol=1e-5)


def test_the_scale_keeps_small_gradients_of_half_precision():
    """Without a scale, a gradient of 2e-8 is lost in float16."""
    moves = []
    for scale in (1.0, 2.0**15):
        net = Net()
        net.fc.to_float(ms.float16)
        net.fc.weight.set_data(Tensor([[0.0, 0.0]]))
        step = nn.TrainOneStepWithLossScaleCell(
            nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 1.0), Tensor(scale)
        )
        step(Tensor([[1e-4, 0.0]]), Tensor([[1e-4]]))
        moves.append(float(net.fc.weight.asnumpy()[0, 0]))
    assert moves[0] == 0.0
    np.testing.assert_allclose(moves[1], 2e-8, rtol=2e-2)


def test_the_scale_can_be_set():
    net = Net()
    step = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1), Tensor(2.0))
    step.set_sense_scale(Tensor(4.0))
    _, overflow, scale = step(Tensor([[1.0, 0.0]]), Tensor([[0.0]]))
    assert float(scale.asnumpy()) == 4.0 and not bool(overflow)
    np.testing.assert_allclose(net.fc.weight.asnumpy(), [[0.8, 1.0]], rtol=1e-6)
    for bad, kind in ((1.0, TypeError), (Tensor([1.0, 2.0]), ValueError)):
        with pytest.raises(kind, match="scale_sense"):
            nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.1), bad)
