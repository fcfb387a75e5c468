"""What flax linen itself offers for the six tasks: `capture_intermediates` and `intercept_methods`, with the model as it is."""

import flax.linen as linen
import jax
import jax.numpy as jnp
import optax
from jax_models import KEY, TOKENS, LinenBlock, LinenModel, loss_of, rms


def read(model, params, tokens):
    _, state = model.apply(params, tokens, capture_intermediates=lambda module, _: isinstance(module, LinenBlock))
    return {name: found["__call__"][0] for name, found in state["intermediates"].items()}


def gradients(model, params, tokens):
    def loss(added):
        def add(call, args, kwargs, context):
            out = call(*args, **kwargs)
            return out + added[context.module.name] if isinstance(context.module, LinenBlock) else out

        with linen.intercept_methods(add):
            return loss_of(model.apply(params, tokens), tokens)

    return jax.grad(loss)(jax.tree.map(jnp.zeros_like, read(model, params, tokens)))


def ablate(model, params, tokens):
    def off(call, args, kwargs, context):
        out = call(*args, **kwargs)
        return out * 0 if context.module.path == ("blocks_0", "attention") else out

    with linen.intercept_methods(off):
        return model.apply(params, tokens)


pattern = None  # in MultiHeadDotProductAttention, `sow_weights=True`; what another function computes is out of reach


def sweep(model, params, clean, corrupt, metric):
    kept = read(model, params, clean)

    def run(layer, position):
        def patch(call, args, kwargs, context):
            out = call(*args, **kwargs)
            if not isinstance(context.module, LinenBlock):
                return out
            name = context.module.name
            here = (layer == list(kept).index(name)) & (jnp.arange(clean.shape[1]) == position)
            return jnp.where(here[:, None], kept[name], out)

        with linen.intercept_methods(patch):
            return metric(model.apply(params, corrupt))

    every = jax.vmap(jax.vmap(run, (None, 0)), (0, None))
    return jax.jit(every)(jnp.arange(len(kept)), jnp.arange(clean.shape[1]))


def train(model, params, optimizer, tokens, steps):
    @jax.jit
    def step(params, state):
        grads = jax.grad(lambda params: loss_of(model.apply(params, tokens), tokens))(params)
        updates, state = optimizer.update(grads, state)
        sizes = jax.tree.map(rms, gradients(model, params, tokens))  # a second run of the model
        return optax.apply_updates(params, updates), state, sizes

    state, sizes = optimizer.init(params), []
    for _ in range(steps):
        params, state, size = step(params, state)
        sizes.append(size)
    return sizes


if __name__ == "__main__":
    model = LinenModel()
    params = model.init(KEY, TOKENS)
    print({n: out.shape for n, out in read(model, params, TOKENS).items()}, len(gradients(model, params, TOKENS)))
    print(ablate(model, params, TOKENS).shape)
    print(sweep(model, params, TOKENS, (TOKENS + 1) % 16, lambda out: out[0, -1, 0]).shape)
    print(len(train(model, params, optax.sgd(0.1), TOKENS, 3)))
