"""LeNet with seeds, shuffling, dropout and Adam: the losses are those of MindSpore 2.10 in graph mode on a CPU.

MindSpore's dropout runs in several threads from its sixth call on, which may take numbers from one generator in another order. So its losses
after the fifth step differ between runs; those here are of runs in which the threads kept the order, and agree with one another.
"""

import numpy as np
import pytest

import msjax as ms
from msjax import dataset as ds, nn

LOSSES = [
    2.408021, 2.222480, 2.321767, 2.179422, 2.550615, 2.459869, 2.313496, 2.237578, 2.332955, 2.355577, 2.299612, 2.242295,
    2.278044, 2.441926, 2.182462, 2.245811, 2.373440, 2.339784, 2.334085, 2.333367,
]  # fmt: skip


class LeNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", weight_init="normal")
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc1 = nn.Dense(256, 60, weight_init="xavier_uniform")
        self.fc2 = nn.Dense(60, 12, weight_init=ms.common.initializer.TruncatedNormal(0.1))
        self.fc3 = nn.Dense(12, 10, weight_init="he_normal")
        self.dropout = nn.Dropout(p=0.3)
        self.late = nn.Dropout(p=0.1)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.fc1(self.flatten(x)))
        return self.fc3(self.late(self.dropout(self.relu(self.fc2(x)))))


@pytest.mark.long
@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_losses_of_twenty_steps(mode):
    ms.set_context(mode=mode)
    ms.set_seed(2024)
    ds.config.set_seed(7)
    images = np.random.rand(64, 1, 28, 28).astype(np.float32)
    labels = np.random.randint(0, 10, 64).astype(np.int32)
    images += labels[:, None, None, None] * 0.1
    data = ds.NumpySlicesDataset((images, labels), ["image", "label"], shuffle=True).shuffle(20).batch(4, drop_remainder=True)
    net = LeNet()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), nn.Adam(net.trainable_params(), 0.005))
    step.set_train()
    rows = data.repeat(3).create_tuple_iterator(num_epochs=1)
    np.testing.assert_allclose([float(step(*next(rows)).asnumpy()) for _ in LOSSES], LOSSES, atol=1e-4, rtol=0)
