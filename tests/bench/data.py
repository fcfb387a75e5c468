"""What all frameworks start from: the same weights and the same batch, as numpy arrays."""

import numpy as np

# Name of a case: (network, shape of the batch).
CASES = {
    "LeNet-5, batch 1": ("lenet", (1, 1, 32, 32)),
    "LeNet-5, batch 32": ("lenet", (32, 1, 32, 32)),
    "ResNet-18, 8x3x64x64": ("resnet18", (8, 3, 64, 64)),
    "Transformer, 4x128 tokens": ("transformer", (4, 128)),
}
# Other sizes, which are run where `--cases` names them.
NAMED = {
    **{f"LeNet-5, batch {n}": ("lenet", (n, 1, 32, 32)) for n in (8, 256)},
    **{f"ResNet-18, {n}x3x64x64": ("resnet18", (n, 3, 64, 64)) for n in (1, 32, 256)},
    **{f"MobileNetV3-small, {n}x3x64x64": ("mobilenet", (n, 3, 64, 64)) for n in (1, 4, 8, 32, 256)},
    **{f"Transformer, {n}x128 tokens": ("transformer", (n, 128)) for n in (1, 8, 32)},
    **{f"LSTM of {width}, {n}x64 tokens": (f"lstm of {width}", (n, 64)) for width in (64, 256) for n in (1, 8, 32, 256)},
    **{f"U-Net, {n}x3x64x64": ("unet", (n, 3, 64, 64)) for n in (1, 8, 32)},
}
# Those that tests/accelerators compiles only.
COMPILED = {
    "ResNet-18, 32x3x128x128": ("resnet18", (32, 3, 128, 128)),
    "ResNet-50, 16x3x128x128": ("resnet50", (16, 3, 128, 128)),
}
# What `--quick` runs: each kind of block once, in each way to run it.
SHORT = {
    "LeNet-5, 2x1x32x32": ("lenet", (2, 1, 32, 32)),
    "ResNet of one block, 2x3x32x32": ("resnet of one block", (2, 3, 32, 32)),
    "MobileNetV3 of one block, 2x3x32x32": ("mobilenet of one block", (2, 3, 32, 32)),
    "Transformer of one layer, 2x8 tokens": ("transformer of one layer", (2, 8)),
    "LSTM of one layer, 2x8 tokens": ("lstm of one layer", (2, 8)),
}
# Its blocks are those of the others, so that one row, which a test runs, says what all of them would.
TESTED = {"U-Net of one level, 2x3x16x16": ("unet of one level", (2, 3, 16, 16))}
EVERY = {**CASES, **NAMED, **COMPILED, **SHORT, **TESTED}

# The blocks of ResNet-18: (input channels, output channels, stride).
RESNET18 = tuple(
    block
    for inputs, outputs, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))
    for block in ((inputs, outputs, stride), (outputs, outputs, 1))
)
RESNET_SHORT = RESNET18[2:3]
# The blocks of MobileNetV3-small: (kernel, width, output channels, whether it squeezes, whether its activation is hard swish, stride).
MOBILENET = (
    (3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1), (5, 96, 40, True, True, 2),
    (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1), (5, 120, 48, True, True, 1), (5, 144, 48, True, True, 1),
    (5, 288, 96, True, True, 2), (5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1),
)  # fmt: skip
MOBILENET_SHORT = ((3, 24, 16, True, True, 1),)

# The channels of U-Net on its levels, of which the last has the smallest images.
UNET = (16, 32, 64)
UNET_SHORT = (8, 16)


def squeezed(width):
    """How many channels a block of MobileNetV3 squeezes so many to."""
    return max(8, (width // 4 + 4) // 8 * 8)


def batch(case):
    """(inputs, labels) of a case."""
    network, shape = EVERY[case]
    rng = np.random.default_rng(1)
    inputs = (
        rng.integers(0, 1000, shape).astype(np.int32)
        if network.startswith(("transformer", "lstm"))
        else rng.normal(size=shape).astype(np.float32)
    )
    return inputs, rng.integers(0, 10, shape[0]).astype(np.int32)


def weight(name, shape):
    """The initial value of one weight, told from its name and shape."""
    kind = name.rpartition(".")[2]
    if kind in ("gamma", "moving_variance"):
        return np.ones(shape, np.float32)
    if kind in ("beta", "moving_mean") or kind.startswith("bias"):
        return np.zeros(shape, np.float32)
    rng = np.random.default_rng(list(name.encode()))
    fan_in = 1 if kind == "embedding_table" else int(np.prod(shape[1:]))
    return (rng.normal(size=shape) * fan_in**-0.5).astype(np.float32)
