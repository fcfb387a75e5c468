"""A hooked training step of a sharded nnx model on many chips: what each delivery of hooks adds to it."""

import jax
import jax.numpy as jnp
from flax import nnx

from msjax import hooks
from tests.accelerators.targets import on

WIDTH, BLOCKS = 256, 2


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.up, self.down = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs), nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x):
        return x + self.down(nnx.gelu(self.up(self.norm(x))))


def size(value):
    return jnp.sqrt((value.astype(jnp.float32) ** 2).mean())


def _clip(module, grad_input, grad_output):
    return (None if grad_input[0] is None else jnp.clip(grad_input[0], -1, 1),)


def _bare(model, x):
    return model(x), {}


def _statistics(model, x):
    out, found = hooks.capture(model, "layers.*", statistic=size)(x)
    return out, found.activations


def _activations(model, x):
    out, found = hooks.capture(model, "layers.*")(x)
    return out, found.activations


def _backward_modifier(model, x):
    hooks.register_backward_hook(model, _clip, "layers.*")
    return model(x), {}


def _forward_modifier(model, x):
    hooks.register_forward_hook(model, lambda module, args, output: output * 0.5, "layers.*")
    return model(x), {}


def _edit(model, x):
    return hooks.capture(model, "layers.0", edit={"layers.0": lambda value, index: value * 0.5})(x)[0], {}


# {delivery: a function of (model, inputs) to (output, what hooks found)}
DELIVERIES = {
    "bare": _bare,
    "statistics": _statistics,
    "activations": _activations,
    "forward modifier": _forward_modifier,
    "backward modifier": _backward_modifier,
    "edit": _edit,
}
# How the Parameters lie: {name: a function of (path, shape) to a partition}
LAYOUTS = {
    "data parallel": lambda path, value: (),
    "FSDP": lambda path, value: ("data",) if value.ndim == 2 else (),
    "tensor parallel": lambda path, value: () if value.ndim < 2 else (None, "model") if "up" in str(path) else ("model", None),
    "both": lambda path, value: () if value.ndim < 2 else ("data", "model") if "up" in str(path) else ("model", "data"),
}


def compiled(target, delivery, layout, model_axis=2):
    """The Program of a training step on all chips of a target."""
    mesh = target.mesh(-1, model_axis if layout in ("tensor parallel", "both") else 1)
    graph, state = nnx.split(nnx.Sequential(*[Block(nnx.Rngs(i)) for i in range(BLOCKS)]))
    state = target.placed(state, lambda path, value: on(mesh, *LAYOUTS[layout](path, value)))
    x = jax.ShapeDtypeStruct((512, 32, WIDTH), jnp.float32, sharding=on(mesh, "data"))
    run = DELIVERIES[delivery]

    def step(state, x):
        def loss(state):
            out, found = run(nnx.merge(graph, state), x)
            return (out**2).mean(), found

        (value, found), gradients = jax.value_and_grad(loss, has_aux=True)(state)
        return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients), value, found

    return target.compile(step, state, x, donate=(0,))
