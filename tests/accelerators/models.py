"""The model of the tables of scale: an nnx transformer whose layers are one scanned, rematerialized module."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import PartitionSpec as P

WIDTH, HEADS, LAYERS, LENGTH, BATCH = 256, 4, 4, 32, 512


class Dense(nnx.Module):
    """A product; `out` is where its result lies in programs with explicit axes, which don't guess it."""

    def __init__(self, rngs, inputs, outputs, out=None):
        self.kernel = nnx.Param(jax.random.normal(rngs.params(), (inputs, outputs)) * inputs**-0.5)
        self.bias = nnx.Param(jnp.zeros(outputs))
        self.out = out

    def __call__(self, x):
        explicit = is_explicit()
        kernel = jax.sharding.reshard(self.kernel[...], _without_data(self.kernel[...])) if explicit else self.kernel[...]
        return jnp.einsum("btc,cd->btd", x, kernel, out_sharding=self.out if explicit else None) + self.bias[...]


class Attention(nnx.Module):
    def __init__(self, rngs):
        self.up, self.down = Dense(rngs, WIDTH, 3 * WIDTH, P("data", None, "model")), Dense(rngs, WIDTH, WIDTH, P("data"))

    def __call__(self, x):
        out = P("data", None, None, "model", None) if is_explicit() else None
        joint = jax.lax.reshape(self.up(x), (*x.shape[:2], 3, HEADS, WIDTH // HEADS), out_sharding=out) if out else self.up(x)
        q, k, v = jnp.moveaxis(joint.reshape(*x.shape[:2], 3, HEADS, WIDTH // HEADS), 2, 0)
        out = jax.nn.dot_product_attention(q, k, v).reshape(x.shape)
        return self.down(out)


class MLP(nnx.Module):
    def __init__(self, rngs):
        self.up, self.down = Dense(rngs, WIDTH, 4 * WIDTH, P("data", None, "model")), Dense(rngs, 4 * WIDTH, WIDTH, P("data"))

    def __call__(self, x):
        return self.down(nnx.gelu(self.up(x)))


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm1, self.norm2 = nnx.LayerNorm(WIDTH, rngs=rngs), nnx.LayerNorm(WIDTH, rngs=rngs)
        self.attention, self.mlp = Attention(rngs), MLP(rngs)

    def __call__(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.vmap(Block, in_axes=(0,), out_axes=0)(rngs.fork(split=LAYERS))

    def __call__(self, x):
        @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
        @nnx.remat
        def run(block, x):
            return block(x)

        return run(self.layers, x)


def is_explicit():
    mesh = jax.sharding.get_abstract_mesh()
    return not mesh.empty and any(kind == jax.sharding.AxisType.Explicit for kind in mesh.axis_types)


def _without_data(kernel):
    """The sharding of a kernel that is gathered over the data for use, as FSDP does."""
    return P(*[None if axis == "data" else axis for axis in jax.typeof(kernel).sharding.spec])


# How the Parameters lie, without the axis of the layers: {name: a function of (path, number of axes) to a partition}
LAYOUTS = {
    "data parallel": lambda path, axes: (),
    "FSDP": lambda path, axes: ("data", None) if axes == 2 else (),
    "tensor parallel": lambda path, axes: () if axes < 2 else (None, "model") if "up" in path else ("model", None),
    "both": lambda path, axes: () if axes < 2 else ("data", "model") if "up" in path else ("model", "data"),
}


def partition(layout, path, value):
    """That of a Parameter of the scanned layers."""
    own = LAYOUTS[layout](jax.tree_util.keystr(path), value.ndim - 1)
    return (None, *own) if own else ()
