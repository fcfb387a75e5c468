"""Faults where a weight or a label is wrong from the start: which one they name, and the module that has it."""

import equinox as eqx
import haiku as hk
import jax
import jax.numpy as jnp
import optax
import pytest
from flax import linen, nnx
from flax.training.train_state import TrainState

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
    assert fault.note == f"argument variables['params']['layers_2']['{name}'] was wrong before anything was computed"
    assert (fault.path, fault.cls) == ("layers_2", "Dense")


@pytest.mark.parametrize("name", ["w", "b"])
def test_haiku(name):
    model = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([3, 2])(x)))
    params = model.init(jax.random.key(0), X)
    params["mlp/~/linear_1"][name] = spoiled(params["mlp/~/linear_1"][name])
    fault = find_nan(model, params, X, show=False)
    assert fault.note == f"argument params['mlp/~/linear_1']['{name}'] was wrong before anything was computed"
    assert (fault.path, fault.cls) == ("mlp.~.linear_1", "Linear")


def test_the_chain_has_operations_only():
    model = hooks.hooked(eqx.nn.MLP(2, 2, 3, 2, key=jax.random.key(0), dtype="float32"))
    fault = find_nan(lambda x: model(x) / 0 * 0, X[0], show=False)
    assert fault.operation == "mul" and not any("msjax" in passed.operation for passed in fault.chain)
    assert "msjax_place" not in str(fault)


def test_an_argument_belongs_to_no_module():
    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    fault = find_nan(model, X * jnp.nan, show=False)
    assert fault.path is None and fault.note == "argument inputs was wrong before anything was computed"


def test_labels_of_a_guarded_network_whose_loss_is_outside():
    net = nn.SequentialCell(nn.Dense(1, 1, "ones", "zeros"))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
    with guard(net), pytest.raises(Fault) as raised:
        step(ms.Tensor([[1.0]], ms.float32), ms.Tensor([[float("nan")]], ms.float32))
    fault = raised.value
    assert (fault.phase, fault.cls, fault.note) == ("forward", "MSELoss", "input 1, an argument or constant, was wrong before")


def wrong_at(tree, part):
    """A pytree whose arrays with this part in their path are NaN."""
    return jax.tree_util.tree_map_with_path(lambda path, v: spoiled(v) if part in jax.tree_util.keystr(path) else v, tree)


def stepped(loss):
    """A step of training by plain gradient descent: (loss, new weights)."""

    def step(weights, x):
        value, slopes = eqx.filter_value_and_grad(loss)(weights, x)
        return value, eqx.apply_updates(weights, jax.tree.map(lambda g: -0.1 * g, slopes))

    return step


def test_a_guarded_step_of_equinox_gets_the_model_with_its_functions():
    model = hooks.hooked(eqx.nn.MLP(2, 2, 3, 1, key=jax.random.key(0), dtype="float32"))
    step = guard(stepped(lambda model, x: (jax.vmap(model)(x) ** 2).sum()))
    value, trained = step(model, X)
    assert jnp.isfinite(value) and trained.activation is model.activation
    spoiled_model = eqx.tree_at(lambda m: m.layers[1].bias, trained, replace_fn=spoiled)
    with pytest.raises(Fault) as raised:
        step(spoiled_model, X)
    assert raised.value.note == "argument weights.layers[1].bias was wrong before anything was computed"
    assert (raised.value.path, raised.value.cls) == ("layers.1", "Linear")


def test_a_weight_of_a_state_of_training():
    model = hooks.hooked(linen.Sequential([linen.Dense(3), linen.relu, linen.Dense(2)]))
    state = TrainState.create(apply_fn=model.apply, params=model.init(jax.random.key(0), X)["params"], tx=optax.adam(0.1))

    def step(state, x):
        slopes = jax.grad(lambda params: (model.apply({"params": params}, x) ** 2).sum())(state.params)
        return state.apply_gradients(grads=slopes)

    guarded = guard(step)
    for part in (".params['layers_2']['bias']", ".mu['layers_2']['bias']"):
        with pytest.raises(Fault) as raised:
            guarded(wrong_at(guarded(state, X), part), X)
        assert raised.value.note.startswith("argument state.") and f"{part} was wrong" in raised.value.note
        assert (raised.value.path, raised.value.cls) == ("layers_2", "Dense")


def test_a_weight_of_haiku_in_a_step():
    model = hooks.hooked(hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([3, 2])(x))))
    params = model.init(jax.random.key(0), X)
    with pytest.raises(Fault) as raised:
        guard(stepped(lambda params, x: (model.apply(params, x) ** 2).sum()))(wrong_at(params, "['mlp/~/linear_1']['b']"), X)
    assert (raised.value.path, raised.value.cls) == ("mlp.~.linear_1", "Linear")
    assert raised.value.note == "argument weights['mlp/~/linear_1']['b'] was wrong before anything was computed"


class UsesTheKernel(nnx.Module):
    """One that never calls the layer whose weights it multiplies with."""

    def __init__(self):
        self.layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return x @ self.layer.kernel[...]


def test_a_weight_of_a_layer_that_is_not_called():
    model = UsesTheKernel()
    model.layer.kernel[...] *= jnp.nan
    fault = find_nan(model, X, show=False)
    assert (fault.path, fault.cls) == ("layer", "Linear")


class Opaque(nnx.Module, pytree=False):
    def __init__(self):
        self.norm, self.layers = nnx.BatchNorm(2, rngs=nnx.Rngs(0)), [nnx.Linear(2, 2, rngs=nnx.Rngs(0))]

    def __call__(self, x):
        return self.layers[0](self.norm(x))


@pytest.mark.parametrize("how", ["model", "argument", "closure"])
def test_weights_that_a_program_has_as_constants(how):
    model = Opaque()
    model.layers[0].kernel[...] = spoiled(model.layers[0].kernel[...])
    if how == "model":
        fault = find_nan(model, X, show=False)
    else:
        model.eval()
        given = (model, X) if how == "argument" else (X,)
        fault = find_nan(lambda *given: (model if how == "closure" else given[0])(given[-1]).sum(), *given, show=False)
    what = "Param layers.0.kernel of argument 0" if how == "argument" else "the Param layers.0.kernel"
    assert fault.note == f"{what} was wrong before anything was computed"
    assert (fault.path, fault.cls) == ("layers.0", "Linear")
    assert any(passed.path == "layers.0" for passed in fault.chain)


def test_an_argument_of_linen_has_the_name_that_the_module_gives_it():
    model = linen.Dense(2)
    fault = find_nan(model, model.init(jax.random.key(0), X), X * jnp.nan, show=False)
    assert fault.note == "argument inputs was wrong before anything was computed"
