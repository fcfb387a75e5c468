"""A step of training that a test and another process make alike."""

import msjax as ms
from msjax import nn, ops


class Normalize(nn.Cell):
    def construct(self, x):
        return x / ops.sqrt((x * x).sum(1, keepdims=True))


LAST: nn.Cell


def make(seed=0):
    """(network, step of training, arguments of a good step, of a bad one); the step's cell is `LAST`."""
    global LAST
    ms.set_seed(seed)
    net = nn.SequentialCell(nn.Dense(2, 4, weight_init="ones"), nn.ReLU(), Normalize(), nn.Dropout(p=0.1))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.01, 0.9))
    LAST = step.set_train()
    target = ms.Tensor([[0.0, 0.0, 0.0, 0.0]], ms.float32)
    return net, step, (ms.Tensor([[1.0, 2.0]], ms.float32), target), (ms.Tensor([[-3.0, -4.0]], ms.float32), target)
