"""A small regression: network, data, Model, and a callback that notes its calls."""

import numpy as np

from msjax import nn, train


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")

    def construct(self, x):
        return self.fc(x)


def batches():
    rows = np.repeat(np.arange(4, dtype=np.float32)[:, None], 2, 1)
    return [(rows[:2], np.zeros((2, 1), np.float32)), (rows[2:], np.zeros((2, 1), np.float32))]


def make(**kwargs):
    net = Net()
    kwargs.setdefault("metrics", {"loss": train.Loss(), "mae": train.MAE()})
    return train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01), **kwargs)


class Log(train.Callback):
    def __init__(self):
        self.lines = []

    def __getattribute__(self, name):
        if name.startswith("on_"):
            return lambda context: self.lines.append(name[3:])
        return super().__getattribute__(name)
