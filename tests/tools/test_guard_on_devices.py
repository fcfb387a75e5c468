"""Guards and watches of modules in a program for several devices: reports come in the order of the program, not of arrival."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from msjax import hooks
from msjax.tools import Fault, guard, watch

HALF = jnp.bfloat16


class Norm(nnx.Module):
    def __init__(self, wrong, rngs):
        self.wrong, self.inner = wrong, nnx.LayerNorm(16, dtype=HALF, param_dtype=HALF, rngs=rngs)

    def __call__(self, x):
        return (x - x) / (x - x) if self.wrong else self.inner(x)


class Block(nnx.Module):
    def __init__(self, wrong, rngs):
        self.norm = Norm(wrong, rngs)
        self.attention = nnx.MultiHeadAttention(2, 16, decode=False, dtype=HALF, param_dtype=HALF, rngs=rngs)
        self.mlp = nnx.Linear(16, 16, dtype=HALF, param_dtype=HALF, rngs=rngs)

    def __call__(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.mlp(x)


class Network(nnx.Module):
    def __init__(self, wrong=None):
        rngs = nnx.Rngs(0)
        self.embed = nnx.Embed(20, 16, dtype=HALF, param_dtype=HALF, rngs=rngs)
        self.blocks = nnx.List([Block(i == wrong, rngs) for i in range(2)])
        self.head = nnx.Linear(16, 20, dtype=HALF, param_dtype=HALF, rngs=rngs)

    def __call__(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def training(wrong, n_devices):
    model = Network(wrong)
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    ids = jnp.arange(8 * 4).reshape(8, 4) % 20
    mesh = Mesh(np.array(jax.devices()[:n_devices]), ("data",))
    ids = jax.device_put(ids, NamedSharding(mesh, PartitionSpec("data")))
    for module in (model, optimizer):
        nnx.update(module, jax.device_put(nnx.state(module), NamedSharding(mesh, PartitionSpec())))

    @nnx.jit
    def step(model, optimizer, ids):
        def loss(model):
            return optax.softmax_cross_entropy_with_integer_labels(model(ids).astype("float32"), ids).mean()

        value, gradients = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradients)
        return value

    return model, lambda: step(model, optimizer, ids)


@pytest.mark.parametrize("n_devices", [1, 4])
@pytest.mark.parametrize("wrong", [0, 1])
def test_the_first_wrong_module(wrong, n_devices):
    model, step = training(wrong, n_devices)
    with pytest.raises(Fault) as raised, guard(model):
        step()
        hooks.barrier()
    assert (raised.value.phase, raised.value.path) == ("forward", f"blocks.{wrong}.norm")


@pytest.mark.long
@pytest.mark.parametrize("n_devices", [1, 4])
def test_rows_in_the_order_of_the_program(n_devices):
    model, step = training(None, n_devices)
    with watch(model, every=1, what=("activation", "gradient"), statistics="norm") as watched:
        step()
        watched.next_step()
    names = [row.name for row in watched.rows if row.kind == "activation"]
    block = ["norm.inner", "norm", "attention.query", "attention.key", "attention.value", "attention.out", "attention", "mlp"]
    inside = [[*(f"blocks.{i}.{name}" for name in block), f"blocks.{i}"] for i in range(2)]
    assert names == ["embed", *inside[0], *inside[1], "head", ""]
    kinds = [row.kind for row in watched.rows]
    assert kinds == sorted(kinds)
