"""Run the scenarios in PyTorch and write the results to data/torch.json: ``python tests/autograd/record_torch.py``.

Run it with a Python that has PyTorch (2.13.0 wrote the present file), from the root of the repository.
"""

import contextlib
import json
import pathlib
import sys
import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from tests.autograd import scenarios_hooks, scenarios_modules, scenarios_posts, scenarios_tape  # noqa: F401 - each registers its scenarios
from tests.autograd.scenario_kit import SCENARIOS


class Module(nn.Module):
    def forward(self, *args, **kwargs):
        return self.run(*args, **kwargs)


class Torch:
    Module = Module
    no_grad, enable_grad, set_grad_enabled = torch.no_grad, torch.enable_grad, torch.set_grad_enabled
    saved_tensors_hooks = torch.autograd.graph.saved_tensors_hooks
    for_all_forward_pre = staticmethod(nn.modules.module.register_module_forward_pre_hook)
    for_all_forward = staticmethod(nn.modules.module.register_module_forward_hook)
    for_all_backward_pre = staticmethod(nn.modules.module.register_module_full_backward_pre_hook)
    for_all_backward = staticmethod(nn.modules.module.register_module_full_backward_hook)
    tanh, sigmoid, relu, sequential = nn.Tanh, nn.Sigmoid, nn.ReLU, nn.Sequential
    mse_loss, conv2d, Parameter = nn.MSELoss, nn.Conv2d, nn.Parameter
    clamp, ones = staticmethod(torch.clamp), staticmethod(torch.ones)

    @staticmethod
    def tensor(data):
        return torch.tensor(data, dtype=torch.float32)

    @staticmethod
    def integers(data):
        return torch.tensor(data, dtype=torch.int32)

    @staticmethod
    def leaf(data):
        return torch.tensor(data, dtype=torch.float32, requires_grad=True)

    @staticmethod
    def linear(weight, bias):
        layer = nn.Linear(len(weight[0]), len(weight))
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(weight))
            layer.bias.copy_(torch.tensor(bias))
        return layer

    @staticmethod
    def fill(parameter, value):
        parameter.data.copy_(value)

    @staticmethod
    def sgd(net, rate):
        return torch.optim.SGD(net.parameters(), rate).step

    @staticmethod
    def recompute(net, *args):
        return checkpoint(net, *args, use_reentrant=False)

    @staticmethod
    def quietly(function):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()


def plain(value):
    """A logged value as JSON has it."""
    if isinstance(value, torch.Tensor):
        return value.detach().tolist()
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return value


def main():
    recorded = {}
    for name, run in SCENARIOS.items():
        lines = recorded[name] = []
        with contextlib.redirect_stdout(sys.stderr):
            run(Torch, lambda label, *values, lines=lines: lines.append([label, *map(plain, values)]))
    path = pathlib.Path(__file__).parent / "data" / "torch.json"
    path.parent.mkdir(exist_ok=True)
    entries = ",\n".join(f"  {json.dumps(name)}: {json.dumps(lines)}" for name, lines in recorded.items())
    path.write_text(f'{{"torch": {json.dumps(torch.__version__)}, "scenarios": {{\n{entries}\n}}}}\n')
    print(f"{len(recorded)} scenarios, PyTorch {torch.__version__}: {path}")


if __name__ == "__main__":
    main()
