"""Networks that were recorded with MindSpore and PyTorch; `tests/tools/data` has the records."""

from msjax import nn, ops


# ---- as MindSpore ran it
class LeNet(nn.Cell):
    def __init__(self, pad_mode="valid", momentum=0.9, flatten="NCHW"):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 2, 3, pad_mode=pad_mode, has_bias=True)
        self.norm = nn.BatchNorm2d(2, momentum=momentum)
        self.conv2 = nn.Conv2d(2, 3, 3, pad_mode="pad", padding=1, has_bias=True)
        self.pool = nn.MaxPool2d(2, 2)
        self.act = nn.ReLU()
        self.fc1 = nn.Dense(12, 5)
        self.fc2 = nn.Dense(5, 3)
        self.order = flatten

    def construct(self, x):
        x = self.pool(self.act(self.norm(self.conv1(x))))
        x = self.act(self.conv2(x))[:, :, :2, :2]
        if self.order == "NHWC":
            x = ops.transpose(x, (0, 2, 3, 1))
        return self.fc2(self.act(self.fc1(ops.reshape(x, (x.shape[0], -1)))))


class Block(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm((width,))
        self.qkv = nn.Dense(width, 3 * width)
        self.softmax = nn.Softmax(-1)
        self.out = nn.Dense(width, width)
        self.act = nn.GELU(approximate=False)

    def construct(self, x):
        q, k, v = ops.split(self.qkv(self.norm(x)), x.shape[-1], axis=-1)
        weights = self.softmax(ops.matmul(q, k.swapaxes(-1, -2)) / 2.0)
        return x + self.out(self.act(ops.matmul(weights, v)))


class Transformer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Block(4), Block(4)])
        self.head = nn.Dense(4, 2)

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
