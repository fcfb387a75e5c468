"""Faults where a weight or a label is wrong from the start: which one they name, and the module that has it."""

import equinox as eqx
import haiku as hk
import jax
import jax.numpy as jnp
import pytest
from flax import linen, nnx

import msjax as ms
from msjax import hooks, nn
from msjax.tools import Fault, find_nan, guard

X = jnp.ones((1, 2), "float32")


def spoiled(weight):
    return jnp.full_like(weight, jnp.nan)


@pytest.mark.parametrize("hook", [True, False])
@pytest.mark.parametrize("name", ["weight", "bias"])
def test_equinox(name, hook):
    model = eqx.nn.MLP(2, 2, 3, 1, key=jax.random.key(0), dtype="float32")
    model = eqx.tree_at(lambda m: getattr(m.layers[1], name), model, replace_fn=spoiled)
    fault = find_nan(hooks.hooked(model) if hook else model, X[0], show=False)
    assert fault.note == f"the model.layers[1].{name} was wrong before anything was computed"
    assert (fault.path, fault.cls) == ("layers.1", "Linear")


@pytest.mark.parametrize("name", ["kernel", "bias"])
def test_nnx(name):
    model = nnx.Sequential(nnx.Linear(2, 3, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(3, 2, rngs=nnx.Rngs(1)))
    weight = getattr(model.layers[2], name)
    weight[...] = spoiled(weight[...])
    fault = find_nan(model, X, show=False)
    assert fault.note == f"the Param layers.2.{name} was wrong before anything was computed"
    assert (fault.path, fault.cls) == ("layers.2", "Linear")


@pytest.mark.parametrize("name", ["kernel", "bias"])
def test_linen(name):
    model = linen.Sequential([linen.Dense(3), linen.relu, linen.Dense(2)])
    variables = model.init(jax.random.key(0), X)
    variables["params"]["layers_2"][name] = spoiled(variables["params"]["layers_2"][name])
    fault = find_nan(model, variables, X, show=False)
    assert fault.note == f"argument 0['params']['layers_2']['{name}'] was wrong before anything was computed"
    assert (fault.path, fault.cls) == ("layers_2", "Dense")


@pytest.mark.parametrize("name", ["w", "b"])
def test_haiku(name):
    model = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([3, 2])(x)))
    params = model.init(jax.random.key(0), X)
    params["mlp/~/linear_1"][name] = spoiled(params["mlp/~/linear_1"][name])
    fault = find_nan(model, params, X, show=False)
    assert fault.note == f"argument 0['mlp/~/linear_1']['{name}'] was wrong before anything was computed"
    assert (fault.path, fault.cls) == ("mlp.~.linear_1", "Linear")


def test_the_chain_has_operations_only():
    model = hooks.hooked(eqx.nn.MLP(2, 2, 3, 2, key=jax.random.key(0), dtype="float32"))
    fault = find_nan(lambda x: model(x) / 0 * 0, X[0], show=False)
    assert fault.operation == "mul" and not any("msjax" in passed.operation for passed in fault.chain)
    assert "msjax_place" not in str(fault)


def test_an_argument_belongs_to_no_module():
    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    fault = find_nan(model, X * jnp.nan, show=False)
    assert fault.path is None and fault.note == "argument 0 was wrong before anything was computed"


def test_labels_of_a_guarded_network_whose_loss_is_outside():
    net = nn.SequentialCell(nn.Dense(1, 1, "ones", "zeros"))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
    with guard(net), pytest.raises(Fault) as raised:
        step(ms.Tensor([[1.0]], ms.float32), ms.Tensor([[float("nan")]], ms.float32))
    fault = raised.value
    assert (fault.phase, fault.cls, fault.note) == ("forward", "MSELoss", "input 1, an argument or constant, was wrong before")
