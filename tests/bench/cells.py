"""The networks as MindSpore programs write them: the same source for msjax and for MindSpore."""

import functools
import itertools

from tests.bench.data import MOBILENET, MOBILENET_SHORT, RESNET18, RESNET_SHORT, UNET, UNET_SHORT, squeezed


def networks(ms):
    """{name: function that makes the network} for a module with MindSpore's names."""
    nn, ops = ms.nn, ms.ops

    class LeNet5(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid")
            self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
            self.relu1, self.relu2, self.relu3, self.relu4 = nn.ReLU(), nn.ReLU(), nn.ReLU(), nn.ReLU()
            self.pool1, self.pool2 = nn.MaxPool2d(2, 2), nn.MaxPool2d(2, 2)
            self.flatten = nn.Flatten()
            self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)

        def construct(self, x):
            x = self.pool1(self.relu1(self.conv1(x)))
            x = self.pool2(self.relu2(self.conv2(x)))
            x = self.relu3(self.fc1(self.flatten(x)))
            return self.fc3(self.relu4(self.fc2(x)))

    def conv(inputs, outputs, size, stride, group=1):
        return nn.Conv2d(inputs, outputs, size, stride, pad_mode="pad", padding=size // 2, group=group)

    class Block(nn.Cell):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1, self.norm1, self.relu1 = conv(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs), nn.ReLU()
            self.conv2, self.norm2, self.relu2 = conv(outputs, outputs, 3, 1), nn.BatchNorm2d(outputs), nn.ReLU()
            self.changes = stride != 1 or inputs != outputs
            if self.changes:
                self.down, self.down_norm = conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)

        def construct(self, x):
            out = self.norm2(self.conv2(self.relu1(self.norm1(self.conv1(x)))))
            if self.changes:
                x = self.down_norm(self.down(x))
            return self.relu2(out + x)

    class ResNet18(nn.Cell):
        def __init__(self, blocks=RESNET18):
            super().__init__()
            self.conv1, self.norm1, self.relu1 = conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU()
            self.pool = nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)
            self.blocks = nn.SequentialCell([Block(*block) for block in blocks])
            self.fc = nn.Dense(blocks[-1][1], 10)

        def construct(self, x):
            x = self.blocks(self.pool(self.relu1(self.norm1(self.conv1(x)))))
            return self.fc(x.mean((2, 3)))

    class Bottleneck(nn.Cell):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            width = outputs // 4
            self.conv1, self.norm1, self.relu1 = conv(inputs, width, 1, 1), nn.BatchNorm2d(width), nn.ReLU()
            self.conv2, self.norm2, self.relu2 = conv(width, width, 3, stride), nn.BatchNorm2d(width), nn.ReLU()
            self.conv3, self.norm3, self.relu3 = conv(width, outputs, 1, 1), nn.BatchNorm2d(outputs), nn.ReLU()
            self.changes = stride != 1 or inputs != outputs
            if self.changes:
                self.down, self.down_norm = conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)

        def construct(self, x):
            out = self.relu1(self.norm1(self.conv1(x)))
            out = self.norm3(self.conv3(self.relu2(self.norm2(self.conv2(out)))))
            if self.changes:
                x = self.down_norm(self.down(x))
            return self.relu3(out + x)

    class ResNet50(ResNet18):
        def __init__(self):
            super().__init__()
            blocks = []
            for inputs, outputs, stride, count in ((64, 256, 1, 3), (256, 512, 2, 4), (512, 1024, 2, 6), (1024, 2048, 2, 3)):
                blocks += [Bottleneck(inputs, outputs, stride), *(Bottleneck(outputs, outputs, 1) for _ in range(count - 1))]
            self.blocks, self.fc = nn.SequentialCell(blocks), nn.Dense(2048, 10)

    class Squeezed(nn.Cell):
        """A block of MobileNetV3."""

        def __init__(self, inputs, size, width, outputs, squeezes, hard, stride):
            super().__init__()
            act = nn.HSwish if hard else nn.ReLU
            self.expands, self.squeezes, self.adds = width != inputs, squeezes, stride == 1 and inputs == outputs
            if self.expands:
                self.expand, self.expand_norm, self.expand_act = conv(inputs, width, 1, 1), nn.BatchNorm2d(width), act()
            self.depth, self.depth_norm = conv(width, width, size, stride, width), nn.BatchNorm2d(width)
            self.depth_act = act()
            if squeezes:
                narrow = squeezed(width)
                self.squeeze, self.relu, self.excite = nn.Dense(width, narrow), nn.ReLU(), nn.Dense(narrow, width)
                self.gate = nn.HSigmoid()
            self.project, self.project_norm = conv(width, outputs, 1, 1), nn.BatchNorm2d(outputs)

        def construct(self, x):
            out = self.expand_act(self.expand_norm(self.expand(x))) if self.expands else x
            out = self.depth_act(self.depth_norm(self.depth(out)))
            if self.squeezes:
                scale = self.gate(self.excite(self.relu(self.squeeze(out.mean((2, 3))))))
                out = out * scale.reshape((*scale.shape, 1, 1))
            out = self.project_norm(self.project(out))
            return out + x if self.adds else out

    class MobileNetV3(nn.Cell):
        def __init__(self, blocks=MOBILENET):
            super().__init__()
            self.conv1, self.norm1, self.act1 = conv(3, 16, 3, 2), nn.BatchNorm2d(16), nn.HSwish()
            inputs = [16, *(block[2] for block in blocks)]
            self.blocks = nn.SequentialCell([Squeezed(n, *block) for n, block in zip(inputs, blocks)])
            self.conv2, self.norm2, self.act2 = conv(inputs[-1], 576, 1, 1), nn.BatchNorm2d(576), nn.HSwish()
            self.fc1, self.act3, self.fc2 = nn.Dense(576, 1024), nn.HSwish(), nn.Dense(1024, 10)

        def construct(self, x):
            x = self.blocks(self.act1(self.norm1(self.conv1(x))))
            x = self.act2(self.norm2(self.conv2(x))).mean((2, 3))
            return self.fc2(self.act3(self.fc1(x)))

    class Layer(nn.Cell):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.size = heads, width // heads
            self.norm1, self.norm2 = nn.LayerNorm((width,), epsilon=1e-5), nn.LayerNorm((width,), epsilon=1e-5)
            self.query, self.key, self.value = nn.Dense(width, width), nn.Dense(width, width), nn.Dense(width, width)
            self.softmax, self.out = nn.Softmax(-1), nn.Dense(width, width)
            self.fc1, self.relu, self.fc2 = nn.Dense(width, 4 * width), nn.ReLU(), nn.Dense(4 * width, width)

        def split(self, x):
            n, t, _ = x.shape
            return x.reshape((n, t, self.heads, self.size)).transpose((0, 2, 1, 3))

        def construct(self, x):
            n, t, width = x.shape
            y = self.norm1(x)
            q, k, v = self.split(self.query(y)), self.split(self.key(y)), self.split(self.value(y))
            weights = self.softmax(ops.matmul(q, k.transpose((0, 1, 3, 2))) * (self.size**-0.5))
            y = ops.matmul(weights, v).transpose((0, 2, 1, 3)).reshape((n, t, width))
            x = x + self.out(y)
            return x + self.fc2(self.relu(self.fc1(self.norm2(x))))

    class Transformer(nn.Cell):
        def __init__(self, layers=6):
            super().__init__()
            self.embedding = nn.Embedding(1000, 256)
            self.layers = nn.SequentialCell([Layer(256, 8) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm((256,), epsilon=1e-5), nn.Dense(256, 10)

        def construct(self, tokens):
            return self.head(self.norm(self.layers(self.embedding(tokens))).mean(1))

    class Recurrent(nn.Cell):
        """Layers of LSTM, whose output is that of all steps."""

        is_leaf = True

        def __init__(self, width, layers):
            super().__init__()
            self.lstm = nn.LSTM(width, width, layers, batch_first=True)

        def construct(self, x):
            return self.lstm(x)[0]

    class LSTM(nn.Cell):
        def __init__(self, width, layers=2):
            super().__init__()
            self.embedding, self.recurrent = nn.Embedding(1000, width), Recurrent(width, layers)
            self.head = nn.Dense(width, 10)

        def construct(self, tokens):
            return self.head(self.recurrent(self.embedding(tokens))[:, -1])

    class Twice(nn.Cell):
        """Two convolutions of a level of U-Net."""

        def __init__(self, inputs, outputs):
            super().__init__()
            self.conv1, self.norm1, self.relu1 = conv(inputs, outputs, 3, 1), nn.BatchNorm2d(outputs), nn.ReLU()
            self.conv2, self.norm2, self.relu2 = conv(outputs, outputs, 3, 1), nn.BatchNorm2d(outputs), nn.ReLU()

        def construct(self, x):
            return self.relu2(self.norm2(self.conv2(self.relu1(self.norm1(self.conv1(x))))))

    class UNet(nn.Cell):
        def __init__(self, widths=UNET):
            super().__init__()
            pairs = list(itertools.pairwise(widths))
            self.down = nn.CellList([Twice(*pair) for pair in zip((3, *widths), widths)])
            self.pool = nn.CellList([nn.MaxPool2d(2, 2) for _ in pairs])
            self.up = nn.CellList([nn.Conv2dTranspose(wide, narrow, 2, 2, pad_mode="valid") for narrow, wide in pairs])
            self.join = nn.CellList([Twice(2 * narrow, narrow) for narrow, _ in pairs])
            self.head = nn.Conv2d(widths[0], 10, 1)

        def construct(self, x):
            levels = [self.down[0](x)]
            for pool, down in zip(self.pool, list(self.down)[1:]):
                levels.append(down(pool(levels[-1])))
            x = levels.pop()
            for up, join in reversed(list(zip(self.up, self.join))):
                x = join(ops.concat((levels.pop(), up(x)), 1))
            return self.head(x).mean((2, 3))

    return {
        "lenet": LeNet5,
        "resnet18": ResNet18,
        "resnet50": ResNet50,
        "mobilenet": MobileNetV3,
        "transformer": Transformer,
        "resnet of one block": lambda: ResNet18(RESNET_SHORT),
        "mobilenet of one block": lambda: MobileNetV3(MOBILENET_SHORT),
        "transformer of one layer": lambda: Transformer(1),
        **{f"lstm of {width}": functools.partial(LSTM, width) for width in (64, 256)},
        "lstm of one layer": lambda: LSTM(16, 1),
        "unet": UNet,
        "unet of one level": lambda: UNet(UNET_SHORT),
    }


def observe(cell, *values):
    """A hook that only looks."""


def hook(cell):
    """Put a forward and a backward hook on a cell."""
    cell.register_forward_hook(observe)
    cell.register_backward_hook(observe)


def leaves(net):
    """The cells that have no cells in them, or are leaves by their own word."""
    found = []
    for name, cell in net.cells_and_names():
        within = any(name.startswith(f"{leaf}.") for leaf, _ in found)
        if name and not within and (getattr(cell, "is_leaf", False) or not list(cell.cells())):
            found.append((name, cell))
    return found


def training_step(ms, net):
    """MindSpore's way of training: network, loss and optimizer in one cell."""
    nn = ms.nn
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    return nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer)
