"""Six tasks with penzai, on a model of its own of the same size, which is a tree of layers that is edited by selection."""

import jax
import jax.numpy as jnp
from penzai import pz
from penzai.models.transformer import model_parts
from penzai.models.transformer.variants.llamalike_common import LlamalikeTransformerConfig, build_llamalike_transformer
from penzai.toolshed.save_intermediates import SaveIntermediate

BLOCK = model_parts.TransformerBlock


@pz.pytree_dataclass
class Add(pz.nn.Layer):
    by: object

    def __call__(self, value, **_):
        return value + self.by


@pz.pytree_dataclass
class Put(pz.nn.Layer):
    where: object
    kept: object

    def __call__(self, value, **_):
        return pz.nx.nmap(jnp.where)(self.where, self.kept, value)


def loss_of(logits):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits[:-1]), jnp.arange(1, 8)[:, None], 1).mean()


def saved(model):
    return [layer.saved.value for layer in pz.select(model).at_instances_of(SaveIntermediate).get_sequence()]


def run(model, tokens):
    return model(tokens, token_positions=pz.nx.wrap(jnp.arange(8)).tag("seq")).untag("seq", "vocabulary").unwrap()


def read(model, tokens):
    blocks = pz.select(model).at_instances_of(BLOCK)
    watched = blocks.apply(lambda block: pz.nn.Sequential([block, SaveIntermediate()]))
    run(watched, tokens)
    return saved(watched)


def gradients(model, tokens):
    def loss(added):
        layers = iter(added)
        blocks = pz.select(model).at_instances_of(BLOCK)
        return loss_of(run(blocks.apply(lambda block: pz.nn.Sequential([block, Add(next(layers))])), tokens))

    return jax.grad(loss)([pz.nx.nmap(jnp.zeros_like)(value) for value in read(model, tokens)])


def ablate(model, tokens):
    first = pz.select(model).at_instances_of(pz.nn.Attention).pick_nth_selected(0)
    return run(first.apply(lambda layer: pz.nn.Sequential([layer, pz.nn.ConstantRescale(by=0.0)])), tokens)


def pattern(model, tokens):
    first = pz.select(model).at_instances_of(pz.nn.Attention).pick_nth_selected(0)
    inside = first.at(lambda layer: layer.query_key_to_attn)
    watched = inside.apply(lambda layer: pz.nn.Sequential([layer, SaveIntermediate()]))
    run(watched, tokens)
    return saved(watched)[0]


def sweep(model, clean, corrupt, metric):
    kept = read(model, clean)

    def patched(layer, position):
        at = pz.nx.wrap(jnp.arange(8) == position).tag("seq")
        layers = iter(enumerate(kept))

        def patch(block):
            n, value = next(layers)
            return pz.nn.Sequential([block, Put(at & (layer == n), value)])

        return metric(run(pz.select(model).at_instances_of(BLOCK).apply(patch), corrupt))

    return jax.jit(jax.vmap(jax.vmap(patched, (None, 0)), (0, None)))(jnp.arange(len(kept)), jnp.arange(8))


def train(model, tokens, steps):
    @jax.jit
    def step(parameters):
        def loss(parameters):
            return loss_of(run(pz.bind_variables(frozen, parameters), tokens))

        found = gradients(pz.bind_variables(frozen, parameters), tokens)  # a second run of the model
        sizes = [jnp.sqrt((value.unwrap(*value.named_axes) ** 2).mean()) for value in found]
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, jax.grad(loss)(parameters)), sizes

    frozen, parameters = pz.unbind_params(model, freeze=True)
    sizes = []
    for _ in range(steps):
        parameters, size = step(parameters)
        sizes.append(size)
    return sizes


if __name__ == "__main__":
    config = LlamalikeTransformerConfig(
        num_kv_heads=2, query_head_multiplier=1, embedding_dim=16, projection_dim=8, mlp_hidden_dim=32, num_decoder_blocks=2,
        vocab_size=16, mlp_variant="swiglu", tie_embedder_and_logits=False,
    )  # fmt: skip
    model = build_llamalike_transformer(config, jax.random.key(0))
    tokens, other = (pz.nx.wrap(jnp.arange(8) + n).tag("seq") for n in (0, 1))
    print([value.named_shape for value in read(model, tokens)], len(gradients(model, tokens)))
    print(ablate(model, tokens).shape, pattern(model, tokens).named_shape)
    print(sweep(model, tokens, other, lambda out: out[-1, 0]).shape)
    print(len(train(model, tokens, 3)))
