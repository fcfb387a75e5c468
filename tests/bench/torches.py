"""The same networks in PyTorch; only the process that has PyTorch imports this file."""

import functools
import itertools

import torch
from torch import nn

from tests.bench.data import (
    EVERY,
    MOBILENET,
    MOBILENET_SHORT,
    RESNET18,
    RESNET_SHORT,
    UNET,
    UNET_SHORT,
    batch,
    squeezed,
    weight,
)  # fmt: skip


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, bias=False), nn.Conv2d(6, 16, 5, bias=False)
        self.relu1, self.relu2, self.relu3, self.relu4 = nn.ReLU(), nn.ReLU(), nn.ReLU(), nn.ReLU()
        self.pool1, self.pool2, self.flatten = nn.MaxPool2d(2, 2), nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool1(self.relu1(self.conv1(x)))
        x = self.pool2(self.relu2(self.conv2(x)))
        x = self.relu3(self.fc1(self.flatten(x)))
        return self.fc3(self.relu4(self.fc2(x)))


def conv(inputs, outputs, size, stride, groups=1):
    return nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.norm1, self.relu1 = conv(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs), nn.ReLU()
        self.conv2, self.norm2, self.relu2 = conv(outputs, outputs, 3, 1), nn.BatchNorm2d(outputs), nn.ReLU()
        self.changes = stride != 1 or inputs != outputs
        if self.changes:
            self.down, self.down_norm = conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)

    def forward(self, x):
        out = self.norm2(self.conv2(self.relu1(self.norm1(self.conv1(x)))))
        if self.changes:
            x = self.down_norm(self.down(x))
        return self.relu2(out + x)


class ResNet18(nn.Module):
    def __init__(self, blocks=RESNET18):
        super().__init__()
        self.conv1, self.norm1, self.relu1 = conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU()
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.blocks, self.fc = nn.Sequential(*(Block(*block) for block in blocks)), nn.Linear(blocks[-1][1], 10)

    def forward(self, x):
        return self.fc(self.blocks(self.pool(self.relu1(self.norm1(self.conv1(x))))).mean((2, 3)))


class Squeezed(nn.Module):
    """A block of MobileNetV3."""

    def __init__(self, inputs, size, width, outputs, squeezes, hard, stride):
        super().__init__()
        act = nn.Hardswish if hard else nn.ReLU
        self.expands, self.squeezes, self.adds = width != inputs, squeezes, stride == 1 and inputs == outputs
        if self.expands:
            self.expand, self.expand_norm, self.expand_act = conv(inputs, width, 1, 1), nn.BatchNorm2d(width), act()
        self.depth, self.depth_norm = conv(width, width, size, stride, width), nn.BatchNorm2d(width)
        self.depth_act = act()
        if squeezes:
            narrow = squeezed(width)
            self.squeeze, self.relu, self.excite = nn.Linear(width, narrow), nn.ReLU(), nn.Linear(narrow, width)
            self.gate = nn.Hardsigmoid()
        self.project, self.project_norm = conv(width, outputs, 1, 1), nn.BatchNorm2d(outputs)

    def forward(self, x):
        out = self.expand_act(self.expand_norm(self.expand(x))) if self.expands else x
        out = self.depth_act(self.depth_norm(self.depth(out)))
        if self.squeezes:
            out = out * self.gate(self.excite(self.relu(self.squeeze(out.mean((2, 3))))))[:, :, None, None]
        out = self.project_norm(self.project(out))
        return out + x if self.adds else out


class MobileNetV3(nn.Module):
    def __init__(self, blocks=MOBILENET):
        super().__init__()
        self.conv1, self.norm1, self.act1 = conv(3, 16, 3, 2), nn.BatchNorm2d(16), nn.Hardswish()
        inputs = [16, *(block[2] for block in blocks)]
        self.blocks = nn.Sequential(*[Squeezed(n, *block) for n, block in zip(inputs, blocks)])
        self.conv2, self.norm2, self.act2 = conv(inputs[-1], 576, 1, 1), nn.BatchNorm2d(576), nn.Hardswish()
        self.fc1, self.act3, self.fc2 = nn.Linear(576, 1024), nn.Hardswish(), nn.Linear(1024, 10)

    def forward(self, x):
        x = self.blocks(self.act1(self.norm1(self.conv1(x))))
        x = self.act2(self.norm2(self.conv2(x))).mean((2, 3))
        return self.fc2(self.act3(self.fc1(x)))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.softmax, self.out = nn.Softmax(-1), nn.Linear(width, width)
        self.fc1, self.relu, self.fc2 = nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)

    def split(self, x):
        n, t, _ = x.shape
        return x.reshape(n, t, self.heads, self.size).transpose(1, 2)

    def forward(self, x):
        n, t, width = x.shape
        y = self.norm1(x)
        q, k, v = self.split(self.query(y)), self.split(self.key(y)), self.split(self.value(y))
        weights = self.softmax(q @ k.transpose(2, 3) * self.size**-0.5)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(n, t, width))
        return x + self.fc2(self.relu(self.fc1(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, layers=6):
        super().__init__()
        self.embedding = nn.Embedding(1000, 256)
        self.layers = nn.Sequential(*[Layer(256, 8) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(256), nn.Linear(256, 10)

    def forward(self, tokens):
        return self.head(self.norm(self.layers(self.embedding(tokens))).mean(1))


class Recurrent(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


class LSTM(nn.Module):
    def __init__(self, width, layers=2):
        super().__init__()
        self.embedding, self.recurrent, self.head = nn.Embedding(1000, width), Recurrent(width, layers), nn.Linear(width, 10)

    def forward(self, tokens):
        return self.head(self.recurrent(self.embedding(tokens))[:, -1])


class Twice(nn.Module):
    """Two convolutions of a level of U-Net."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv1, self.norm1, self.relu1 = conv(inputs, outputs, 3, 1), nn.BatchNorm2d(outputs), nn.ReLU()
        self.conv2, self.norm2, self.relu2 = conv(outputs, outputs, 3, 1), nn.BatchNorm2d(outputs), nn.ReLU()

    def forward(self, x):
        return self.relu2(self.norm2(self.conv2(self.relu1(self.norm1(self.conv1(x))))))


class UNet(nn.Module):
    def __init__(self, widths=UNET):
        super().__init__()
        pairs = list(itertools.pairwise(widths))
        self.down = nn.ModuleList(Twice(*pair) for pair in zip((3, *widths), widths))
        self.pool = nn.ModuleList(nn.MaxPool2d(2, 2) for _ in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(wide, narrow, 2, 2, bias=False) for narrow, wide in pairs)
        self.join = nn.ModuleList(Twice(2 * narrow, narrow) for narrow, _ in pairs)
        self.head = nn.Conv2d(widths[0], 10, 1, bias=False)

    def forward(self, x):
        levels = [self.down[0](x)]
        for pool, down in zip(self.pool, self.down[1:]):
            levels.append(down(pool(levels[-1])))
        x = levels.pop()
        for up, join in reversed(list(zip(self.up, self.join))):
            x = join(torch.cat((levels.pop(), up(x)), 1))
        return self.head(x).mean((2, 3))


NETWORKS = {
    "lenet": LeNet5,
    "resnet18": ResNet18,
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


def _ms_name(net, name):
    """The name that msjax gives a weight."""
    owner, _, kind = name.rpartition(".")
    module = net.get_submodule(owner)
    if isinstance(module, (nn.BatchNorm2d, nn.LayerNorm)):
        kind = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}.get(
            kind, kind
        )
    if isinstance(module, nn.Embedding):
        kind = "embedding_table"
    return f"{owner}.{kind}"


def observe(module, *values):
    """A hook that only looks."""


def hook(modules):
    """Put a forward and a backward hook on each."""
    for module in modules:
        module.register_forward_hook(observe)
        module.register_full_backward_hook(observe)


def make(case, contender):
    """A function that makes one training step and returns the loss, not waited for."""
    network, _ = EVERY[case]
    net = NETWORKS[network]()
    state = {
        name: torch.from_numpy(weight(_ms_name(net, name), tuple(v.shape))) for name, v in net.state_dict().items() if v.ndim
    }
    net.load_state_dict(state, strict=False)
    if contender == "torch, hooks":
        hook([module for module in net.modules() if not list(module.children())])
    inputs, labels = (torch.from_numpy(a) for a in batch(case))
    labels = labels.long()
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    forward = torch.compile(net) if contender == "torch.compile" else net

    def step():
        optimizer.zero_grad()
        loss = criterion(forward(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step
