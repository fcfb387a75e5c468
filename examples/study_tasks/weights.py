"""Weights of a small GPT-2, tokens, and the matrices of an autoencoder, from numpy alone: the same for every tool."""

import numpy as np

KERNELS = {"attn.c_attn": (64, 192), "attn.c_proj": (64, 64), "mlp.c_fc": (64, 256), "mlp.c_proj": (256, 64)}


def weights():
    """{name in transformers' GPT-2: array}: normal, of standard deviation 0.2; biases are 0."""
    draw, found = np.random.default_rng(0), {"ln_f.weight": np.ones(64), "ln_f.bias": np.zeros(64)}
    found |= {name: 0.2 * draw.normal(size=shape) for name, shape in {"wte.weight": (100, 64), "wpe.weight": (16, 64)}.items()}
    for layer in range(4):
        for name, shape in KERNELS.items():
            found[f"h.{layer}.{name}.weight"], found[f"h.{layer}.{name}.bias"] = 0.2 * draw.normal(size=shape), np.zeros(shape[1])
        for name in ("ln_1", "ln_2"):
            found[f"h.{layer}.{name}.weight"], found[f"h.{layer}.{name}.bias"] = np.ones(64), np.zeros(64)
    return {name: value.astype("float32") for name, value in found.items()}


def given():
    """The tokens, an encoder and a decoder."""
    draw = np.random.default_rng(1)
    coders = (draw.normal(size=shape).astype("float32") / 8 for shape in ((64, 256), (256, 64)))
    return np.arange(32).reshape(2, 16) * 7 % 100, *coders


def batches(tokens):
    return [(tokens * k + k) % 100 for k in range(1, 9)]


def relu():
    """The matrices of a network with a ReLU, and inputs."""
    draw = np.random.default_rng(2)
    return [draw.normal(size=shape).astype("float32") / np.float32(2) for shape in ((6, 16), (16, 16), (16, 1), (5, 6))]
