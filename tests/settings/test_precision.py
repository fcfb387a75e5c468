"""How products and convolutions of float32 are rounded on accelerators, as the programs say that are lowered for them."""

import re

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import nn
from msjax.engine.settings import precision
from msjax.engine.settings.current import SETTINGS


@pytest.fixture(autouse=True)
def as_jax_has_it():
    """No precision is set at the start; what a test sets of jax's and msjax's is taken back for all tests (conftest.py)."""
    jax.config.update("jax_default_matmul_precision", None)
    yield
    if SETTINGS.conv_tf32 is not None:
        jax.clear_caches()
    ms.set_context(gpu_config={})


def precisions(network, *inputs):
    """The precisions of products and convolutions in a network's program and its gradient's, lowered for a GPU."""
    apply, params, state = ms.functionalize(network)

    def loss(params, *inputs):
        return (apply(params, state, *inputs)[0] ** 2).sum()

    text = jax.jit(jax.grad(loss)).trace(params, *inputs).lower(lowering_platforms=("cuda",)).as_text()
    found = {}
    for kind in ("dot_general", "convolution"):
        lines = [line for line in text.splitlines() if f"stablehlo.{kind}" in line]
        found[kind] = {
            "HIGHEST" if re.search("precision.*HIGHEST", line) else "DEFAULT" if "DEFAULT" in line else None for line in lines
        }
    return found


def network():
    return nn.SequentialCell(nn.Conv2d(4, 4, 3, pad_mode="valid"), nn.Flatten(), nn.Dense(16, 2))


X = np.ones((1, 4, 4, 4), np.float32)
ALL = [
    (None, {"dot_general": {"DEFAULT"}, "convolution": {"DEFAULT"}}),
    ({"matmul_allow_tf32": False}, {"dot_general": {"HIGHEST"}, "convolution": {"HIGHEST"}}),
    ({"matmul_allow_tf32": False, "conv_allow_tf32": True}, {"dot_general": {"HIGHEST"}, "convolution": {"DEFAULT"}}),
    ({"matmul_allow_tf32": True, "conv_allow_tf32": False}, {"dot_general": {"DEFAULT"}, "convolution": {"HIGHEST"}}),
]


@pytest.mark.parametrize("config, expected", ALL, ids=str)
def test_settings_are_those_of_the_lowered_program(config, expected):
    if config is not None:
        ms.set_context(gpu_config=config)
        assert ms.get_context("gpu_config") == config
    assert precisions(network(), X) == expected


def test_programs_of_mindspore_round_convolutions_only():
    precision.follow_mindspore()
    assert precisions(network(), X) == {"dot_general": {"HIGHEST"}, "convolution": {"DEFAULT"}}
    assert precision.described() == "products highest, convolutions default (default: TF32 on GPUs, bfloat16 on TPUs)"


def test_a_precision_that_the_user_has_set_stays():
    with jax.default_matmul_precision("bfloat16"):
        precision.follow_mindspore()
        assert SETTINGS.conv_tf32 is None and precision.described() == "products bfloat16, convolutions bfloat16"


def test_the_functions_of_device_context_are_the_settings():
    ms.device_context.gpu.op_precision.matmul_allow_tf32(False)
    assert jax.config.jax_default_matmul_precision == "highest"
    ms.device_context.gpu.op_precision.conv_allow_tf32(True)
    assert precisions(network(), X) == {"dot_general": {"HIGHEST"}, "convolution": {"DEFAULT"}}


def test_a_compiled_function_is_compiled_again_under_other_settings_of_jax():
    traced = []

    @ms.jit
    def shown(x):
        traced.append(1)
        return x * {None: 1, "highest": 2}[jax.config.jax_default_matmul_precision]

    x = ms.Tensor([1.0])
    assert float(shown(x)) == 1.0
    with jax.default_matmul_precision("highest"):
        assert float(shown(x)) == float(shown(x)) == 2.0
    assert float(shown(x)) == 1.0
    ms.device_context.gpu.op_precision.matmul_allow_tf32(False)
    assert float(shown(x)) == 2.0


@pytest.mark.parametrize(
    "config, error, words",
    [
        ({"matmul_allow_tf32": 1}, TypeError, "matmul_allow_tf32.*bool"),
        ({"conv_allow_tf23": True}, ValueError, "conv_allow_tf32"),
        ("highest", TypeError, "gpu_config.*dict"),
    ],
)
def test_errors(config, error, words):
    with pytest.raises(error, match=words):
        ms.set_context(gpu_config=config)


def test_the_number_of_threads_is_xlas():
    ms.device_context.cpu.op_tuning.threads_num(1)
    with pytest.raises(ValueError, match="'threads_num'"):
        ms.device_context.cpu.op_tuning.threads_num(0)
