"""Cells that wrap a network for training."""

import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, nn, ops


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 2, weight_init="ones", bias_init="zeros")

    def construct(self, x):
        return self.fc(x)


X, Y = Tensor([[1.0, 2.0]]), Tensor([[1.0, 1.0]])
GRAD_W, GRAD_B = [[2.0, 4.0], [2.0, 4.0]], [2.0, 2.0]


def numbers(value):
    if isinstance(value, Tensor):
        return value.asnumpy().tolist()
    return [numbers(v) for v in value]


def with_loss():
    net = Net()
    return net, nn.WithLossCell(net, nn.MSELoss())


def test_with_loss_cell():
    net, cell = with_loss()
    assert numbers(cell(X, Y)) == 4.0 and cell.backbone_network is net
    assert [p.name for p in cell.get_parameters()] == ["fc.weight", "fc.bias"]
    with pytest.raises(TypeError, match="label"):
        cell(X)


def test_with_eval_cell():
    assert numbers(nn.WithEvalCell(Net(), nn.MSELoss())(X, Y)) == [4.0, [[3.0, 3.0]], [[1.0, 1.0]]]
    half = nn.WithEvalCell(Net().to_float(ms.float16), nn.MSELoss(), add_cast_fp32=True)
    assert half(X, Y)[1].dtype == ms.float32
    with pytest.raises(TypeError, match="add_cast_fp32"):
        nn.WithEvalCell(Net(), nn.MSELoss(), 1)


def test_with_grad_cell():
    assert numbers(nn.WithGradCell(Net(), nn.MSELoss())(X, Y)) == [GRAD_W, GRAD_B]
    assert numbers(nn.WithGradCell(with_loss()[1])(X, Y)) == [GRAD_W, GRAD_B]
    assert numbers(nn.WithGradCell(Net(), nn.MSELoss(), Tensor(2.0))(X, Y))[1] == [4.0, 4.0]


def test_forward_value_and_grad():
    net, cell = with_loss()
    dx, dy = [[4.0, 4.0]], [[-2.0, -2.0]]
    weights = net.trainable_params()
    assert numbers(nn.ForwardValueAndGrad(cell)(X, Y)) == [4.0, dx]
    assert numbers(nn.ForwardValueAndGrad(cell, get_all=True)(X, Y)) == [4.0, [dx, dy]]
    assert numbers(nn.ForwardValueAndGrad(cell, weights, get_by_list=True)(X, Y)) == [4.0, [GRAD_W, GRAD_B]]
    assert numbers(nn.ForwardValueAndGrad(cell, get_by_list=True)(X, Y)) == [4.0, [GRAD_W, GRAD_B]]
    both = nn.ForwardValueAndGrad(cell, weights, get_all=True, get_by_list=True)
    assert numbers(both(X, Y)) == [4.0, [[dx, dy], [GRAD_W, GRAD_B]]]
    weighted = nn.ForwardValueAndGrad(cell, get_all=True, sens_param=True)
    assert numbers(weighted(X, Y, Tensor(3.0))) == [4.0, [[[12.0, 12.0]], [[-6.0, -6.0]]]]
    assert numbers(nn.ForwardValueAndGrad(lambda x: x * x)(Tensor(3.0))) == [9.0, 6.0]
    for make in (lambda: nn.ForwardValueAndGrad(1), lambda: nn.ForwardValueAndGrad(net, get_all=1)):
        with pytest.raises(TypeError, match="ForwardValueAndGrad"):
            make()


def train_cell(**kwargs):
    net, cell = with_loss()
    return net, nn.TrainOneStepCell(cell, nn.SGD(net.trainable_params(), 0.1), **kwargs)


def test_train_one_step_cell():
    net, cell = train_cell()
    assert numbers(cell(X, Y)) == 4.0
    np.testing.assert_allclose(net.fc.weight.asnumpy(), 1 - 0.1 * np.array(GRAD_W), rtol=1e-6)
    names = ["fc.weight", "fc.bias", "global_step", "learning_rate", "momentum", "accum.fc.weight", "accum.fc.bias"]
    assert [p.name for p in cell.get_parameters()][:7] == names
    net, cell = train_cell(sens=2.0)
    assert numbers(cell(X, Y)) == 4.0
    np.testing.assert_allclose(net.fc.bias.asnumpy(), [-0.4, -0.4], rtol=1e-6)
    net, cell = train_cell(return_grad=True)
    loss, grads = cell(X, Y)
    assert numbers(loss) == 4.0 and list(grads) == ["fc.weight", "fc.bias"] and numbers(grads["fc.bias"]) == GRAD_B


def test_train_step_of_ones_own():
    """MindSpore's programs use `grad`, `grad_reducer`, `weights` and `sens` of the base class."""

    class Clipped(nn.TrainOneStepCell):
        def construct(self, *inputs):
            loss = self.network(*inputs)
            sens = ops.ones_like(loss) * self.sens
            grads = self.grad(self.network, self.weights)(*inputs, sens)
            grads = ops.clip_by_global_norm(self.grad_reducer(grads), 1.0)
            self.optimizer(grads)
            return loss

    net, cell = with_loss()
    step = Clipped(cell, nn.SGD(net.trainable_params(), 1.0))
    assert numbers(step(X, Y)) == 4.0
    norm = np.sqrt(np.square(GRAD_W).sum() + np.square(GRAD_B).sum())
    np.testing.assert_allclose(net.fc.weight.asnumpy(), 1 - np.array(GRAD_W) / norm, rtol=1e-5)


def test_hooks_fire_in_training_steps():
    net, cell = train_cell()
    seen = []
    net.fc.register_forward_hook(lambda cell, args, out: seen.append("forward"))
    net.fc.register_backward_hook(lambda cell, grad_in, grad_out: seen.append(grad_out[0].asnumpy().tolist()))
    cell(X, Y)
    assert seen == ["forward", [[2.0, 2.0]]]


def test_parameter_update():
    p = Parameter(Tensor([1.0]), name="p")
    assert numbers(nn.ParameterUpdate(p)(Tensor([3.0]))) == [3.0] and p.asnumpy().tolist() == [3.0]
    with pytest.raises(TypeError, match="Parameter"):
        nn.ParameterUpdate(1)


def test_parts_of_batches():
    x = Tensor(np.arange(8, dtype=np.float32).reshape(4, 2))
    y = Tensor(np.zeros((4, 2), np.float32))
    cell = nn.WithLossCell(Net(), nn.MSELoss())
    parts = [float(cell(x[i : i + 2], y[i : i + 2]).asnumpy()) for i in (0, 2)]
    for wrapped in (nn.MicroBatchInterleaved(cell, 2), nn.GradAccumulationCell(cell, 2), nn.PipelineCell(cell, 2)):
        np.testing.assert_allclose(wrapped(x, y).asnumpy(), sum(parts), rtol=1e-6)
    with pytest.raises(ValueError, match="multiple of 3"):
        nn.MicroBatchInterleaved(cell, 3)(x, y)
    with pytest.raises(ValueError, match="positive"):
        nn.GradAccumulationCell(cell, 0)
    with pytest.raises(TypeError, match="int"):
        nn.MicroBatchInterleaved(cell, 2.0)


def test_distributed_grad_reducer_returns_gradients():
    assert numbers(nn.DistributedGradReducer([])((X,))) == [[[1.0, 2.0]]]


def test_clip_by_norm():
    x = np.array([[3.0, 4.0], [0.3, 0.4]], np.float32)
    clip = nn.ClipByNorm()
    norm = np.linalg.norm(x)
    np.testing.assert_allclose(clip(Tensor(x), Tensor([1.0])).asnumpy(), x / norm, rtol=1e-6)
    np.testing.assert_allclose(clip(Tensor(x), Tensor(10.0)).asnumpy(), x, rtol=1e-6)
    rows = nn.ClipByNorm(axis=1)(Tensor(x), Tensor(1.0)).asnumpy()
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
    grad = ms.grad(lambda x: nn.ClipByNorm()(x, Tensor(1.0)).sum())(Tensor([0.0, 0.0]))
    assert grad.asnumpy().tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="axis"):
        nn.ClipByNorm("a")
    with pytest.raises(TypeError, match="floats"):
        clip(Tensor([1]), Tensor(1.0))
