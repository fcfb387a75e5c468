"""What `import msjax` brings, and what comes when it is first used."""

import subprocess
import sys

import pytest

from msjax import nn, ops


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.long
def test_layers_and_operator_classes_are_imported_when_first_used():
    code = """
import sys, msjax as ms
def loaded(*names): return [n in sys.modules for n in names]
ms.Tensor
print(loaded("msjax.nn.layer.basic", "msjax.nn.optim", "msjax.ops.operations.math_ops", "msjax.nn.cell.base"))
from msjax import nn, ops
nn.Dense, ops.Add
print(loaded("msjax.nn.layer.basic", "msjax.ops.operations.math_ops"))
from msjax.nn import *
print(Dense is nn.Dense, "Adam" in dir(nn), "Add" in dir(ops), nn.optim.Adam is Adam)
"""
    assert run(code).splitlines() == ["[False, False, False, True]", "[True, True]", "True True True True"]


HOOKS = """
import sys
import jax, jax.numpy as jnp
from msjax import hooks
there = {name for name in sys.modules if name.startswith("msjax")}
print(len(there) <= 40, "flax" in sys.modules)

import equinox
model = hooks.hooked(equinox.nn.MLP(2, 2, 4, 1, key=jax.random.key(0)))
with hooks.register_backward_hook(model, lambda module, grad_input, grad_output: print(hooks.path(module)), "layers.*"):
    hooks.jit(jax.grad(lambda x: model(x).sum()))(jnp.ones(2))
print(list(hooks.run_with_cache(model, jnp.ones(2))[1]), len(hooks.ops(model)(jnp.ones(2))) > 0)
print(jax.grad(hooks.with_hooks(lambda x: x**2, backward=lambda gi, go: (gi[0] * 10,)))(3.0))
print("flax" in sys.modules)

from flax import nnx
model = nnx.Sequential(nnx.Linear(2, 1, rngs=nnx.Rngs(0)))
with hooks.register_forward_hook(model, lambda module, args, output: print(hooks.path(module)), "layers.*"):
    hooks.jit(nnx.grad(lambda model: model(jnp.ones(2)).sum()))(model)
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("msjax.")}
print(sorted(rooms))
"""


@pytest.mark.long
def test_hooks_of_jax_models_need_neither_tensors_nor_cells_nor_flax():
    assert run(HOOKS).splitlines() == [
        "True False", "layers.1", "layers.0", "['layers.0', 'layers.1', ''] True", "60.0", "False", "layers.0",
        "['core', 'hooks', 'version']",
    ]  # fmt: skip


@pytest.mark.long
def test_a_module_that_is_imported_first_finds_the_rest_in_order():
    code = """
from msjax.engine.autograd.op import apply
from msjax.common import Tensor
import msjax
print(Tensor([1.0]) + 1, Tensor is msjax.Tensor, msjax.engine.autograd.op.apply is apply, msjax.engine.autograd.__spec__.name)
"""
    assert run(code).split("\n")[0] == "[2.] True True msjax.engine.autograd"


@pytest.mark.long
def test_python_without_docstrings_can_import_it():
    code = "import msjax\nprint(msjax.Tensor([1.0]).max(axis=0, return_indices=True)[0], __debug__)"
    assert subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True).stdout == "1.0 False\n"


@pytest.mark.long
def test_cells_are_compiled_without_what_only_unix_has():
    code = """
import signal, sys
import jax, flax.nnx
import os
for name in ("register_at_fork", "fork", "getuid"):
    delattr(os, name)
del signal.SIGUSR1, signal.SIGKILL
sys.modules.update(dict.fromkeys(("fcntl", "resource", "pwd", "termios")))
import msjax as ms
net = ms.nn.Dense(2, 3)
net.register_forward_hook(lambda cell, inputs, output: print("hook"))
print(ms.jit(net)(ms.ops.ones((1, 2))).shape)
"""
    assert run(code).split() == ["hook", "(1,", "3)"]


@pytest.mark.parametrize("module", [nn, ops])
def test_what_isnt_offered_is_said_in_both_ways_of_asking(module):
    name = module.__name__.replace("msjax", "mindspore")
    with pytest.raises(AttributeError, match=f"msjax doesn't offer {name}.NoSuchThing"):
        module.NoSuchThing  # noqa: B018
    with pytest.raises(ImportError, match=f"msjax doesn't offer {name}.NoSuchThing"):
        exec(f"from {module.__name__} import NoSuchThing")
    assert not hasattr(module, "_no_such_thing")
