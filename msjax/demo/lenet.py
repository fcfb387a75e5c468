"""LeNet-5, as a MindSpore program writes it."""

from __future__ import annotations

from msjax import nn
from msjax.common.initializer import HeUniform
from msjax.common.tensor import Tensor


class LeNet5(nn.Cell):
    """LeNet-5: two convolutions with pooling, three dense layers.

    Args:
        num_class (int): how many classes there are. Default: 10.

    Inputs:
        - **x** (Tensor) - images of shape (N, 1, 32, 32).

    Outputs:
        Tensor of shape (N, num_class), a score for each class.

    Example:
        >>> from msjax import float32, ops
        >>> from msjax.demo.lenet import LeNet5
        >>> LeNet5()(ops.zeros((1, 1, 32, 32), float32)).shape
        (1, 10)
    """

    def __init__(self, num_class: int = 10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", weight_init=HeUniform())
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", weight_init=HeUniform())
        self.fc1 = nn.Dense(16 * 5 * 5, 120, weight_init=HeUniform())
        self.fc2 = nn.Dense(120, 84, weight_init=HeUniform())
        self.fc3 = nn.Dense(84, num_class)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()

    def construct(self, x: Tensor) -> Tensor:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.flatten(x)
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)
