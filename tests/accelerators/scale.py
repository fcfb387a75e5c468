"""A hooked training step of a sharded nnx transformer on many chips: what each delivery of hooks adds to it."""

import contextlib

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import AxisType, Mesh

import msjax as ms
from msjax import hooks
from msjax.core.jaxprs.observers import with_observed
from tests.accelerators.models import BATCH, LENGTH, WIDTH, Transformer, partition
from tests.accelerators.targets import on

PLACES = ["layers.attention", "layers.mlp"]
# How many collectives of all kinds a delivery may add to the bare step: the statistics of two modules are one all-reduce or two; a
# guard's flags and watch's statistics, of all modules or with histograms, are several.
ADDED = {
    "bare": 0,
    "statistics": 2,
    "activations": 0,
    "forward modifier": 0,
    "backward modifier": 0,
    "edit": 0,
    "observers": 0,
    "guard": 5,
    "watch": 16,
}
# Those of --quick.
QUICK = ("bare", "statistics", "backward modifier", "observers")


def size(value):
    return jnp.sqrt((value.astype(jnp.float32) ** 2).mean())


def _clip(module, grad_input, grad_output):
    return (None if grad_input[0] is None else jnp.clip(grad_input[0], -1, 1),)


def _halve(module, args, output):
    return output * 0.5


def _look(module, args, output):
    """A hook that only looks."""


def _run(delivery, model, x):
    """(output, what hooks found) of the model with the hooks of a delivery."""
    if delivery in ("statistics", "activations"):
        out, found = hooks.capture(model, PLACES, statistic=size if delivery == "statistics" else None)(x)
        return out, found.activations
    if delivery == "edit":
        return hooks.capture(model, [], edit={"layers.mlp": lambda value, index: value * 0.5})(x)[0], {}
    if delivery == "backward modifier":
        hooks.register_backward_hook(model, _clip, PLACES)
    elif delivery == "forward modifier":
        hooks.register_forward_hook(model, _halve, PLACES)
    elif delivery == "observers":
        hooks.register_forward_hook(model, _look, PLACES, observe=True)
    return model(x), {}


def _around(delivery, model):
    if delivery == "guard":
        return ms.tools.guard(model)
    if delivery == "watch":
        return ms.tools.watch(model, 1, "activation", where=PLACES)
    return contextlib.nullcontext()


def compiled(target, delivery, layout, explicit=False, model_axis=2):
    """The Program of a training step on all chips of a target."""
    size = model_axis if layout in ("tensor parallel", "both") else 1
    kind = AxisType.Explicit if explicit else AxisType.Auto
    mesh = Mesh(target.devices.reshape(-1, size), ("data", "model"), axis_types=(kind, kind))
    graph, state = nnx.split(nnx.eval_shape(lambda: Transformer(nnx.Rngs(0))))
    state = target.placed(state, lambda path, value: on(mesh, *partition(layout, path, value)))
    x = jax.ShapeDtypeStruct((BATCH, LENGTH, WIDTH), jnp.float32, sharding=on(mesh, "data"))

    def step(state, x):
        def loss(state):
            model = nnx.merge(graph, state)
            with _around(delivery, model):
                out, found = _run(delivery, model, x)
            return (out**2).mean(), found

        (value, found), gradients = jax.value_and_grad(loss, has_aux=True)(state)
        return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients), value, found

    def observed(state, x):
        """What `hooks.jit` compiles."""
        out, events = with_observed(step, (state, x), {})
        return out, events.values

    with jax.set_mesh(mesh):
        return target.compile(step if delivery == "bare" else observed, state, x, donate=(0,))
