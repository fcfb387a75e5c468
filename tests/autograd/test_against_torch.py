"""Hooks and imperative gradients against what PyTorch 2.13 does: the same scenarios, its results stored as data."""

import json
import pathlib
import warnings

import pytest

import msjax as ms
from msjax import nn, ops
from tests.autograd import scenarios_hooks, scenarios_modules, scenarios_posts, scenarios_tape  # noqa: F401 - each registers its scenarios
from tests.autograd.scenario_kit import SCENARIOS

RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "torch.json").read_text())["scenarios"]


class Module(nn.Cell):
    def construct(self, *args, **kwargs):
        return self.run(*args, **kwargs)


class Msjax:
    Module = Module
    no_grad, enable_grad, set_grad_enabled = ms.no_grad, ms.enable_grad, ms.set_grad_enabled
    saved_tensors_hooks = ms.saved_tensors_hooks
    for_all_forward_pre = staticmethod(nn.register_cell_forward_pre_hook)
    for_all_forward = staticmethod(nn.register_cell_forward_hook)
    for_all_backward_pre = staticmethod(nn.register_cell_backward_pre_hook)
    for_all_backward = staticmethod(nn.register_cell_backward_hook)
    tanh, sigmoid, relu, sequential = nn.Tanh, nn.Sigmoid, nn.ReLU, nn.SequentialCell
    mse_loss, Parameter = nn.MSELoss, ms.Parameter
    clamp, ones = staticmethod(ops.clamp), staticmethod(ops.ones)
    recompute = staticmethod(ms.recompute)

    @staticmethod
    def tensor(data):
        return ms.Tensor(data, ms.float32)

    @staticmethod
    def integers(data):
        return ms.Tensor(data, ms.int32)

    @staticmethod
    def leaf(data):
        return ms.Tensor(data, ms.float32).requires_grad_()

    @staticmethod
    def linear(weight, bias):
        return nn.Dense(len(weight[0]), len(weight), ms.Tensor(weight, ms.float32), ms.Tensor(bias, ms.float32))

    @staticmethod
    def conv2d(in_channels, out_channels, kernel_size, stride):
        return nn.Conv2d(in_channels, out_channels, kernel_size, stride, pad_mode="valid", has_bias=True)

    @staticmethod
    def fill(parameter, value):
        parameter.set_data(value)

    @staticmethod
    def sgd(net, rate):
        parameters = net.trainable_params()
        optimizer = nn.SGD(parameters, rate)
        return lambda: optimizer([p.grad for p in parameters])

    @staticmethod
    def quietly(function):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()


def plain(value):
    """A logged value as the recorded ones are."""
    if isinstance(value, ms.Tensor):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return value


# Where tanh is near 1, its gradient is a difference of two numbers that agree in most digits.
SATURATED = {"recomputed": 2e-4, "hooks_for_all_modules_replace": 3e-4}


def numbers_near(value, tolerance=None):
    """The value with its numbers replaced by such as equal all that are near."""
    if isinstance(value, list):
        return [numbers_near(v, tolerance) for v in value]
    if isinstance(value, float):
        return pytest.approx(value, rel=tolerance or 2e-5, abs=tolerance or 1e-6)
    return value


@pytest.fixture(autouse=True)
def dialect():
    before = ms.get_context("hook_dialect")
    ms.set_context(hook_dialect="mindspore-2.10")  # which has PyTorch's order, too
    yield
    ms.set_context(hook_dialect=before)


@pytest.mark.parametrize("name", SCENARIOS)
def test_as_pytorch(name):
    lines = []
    SCENARIOS[name](Msjax, lambda label, *values: lines.append([label, *map(plain, values)]))
    assert lines == numbers_near(RECORDED[name], SATURATED.get(name))


def test_all_scenarios_are_recorded():
    assert set(RECORDED) == set(SCENARIOS) and len(RECORDED) >= 60
