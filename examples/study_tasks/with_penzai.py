"""With penzai 0.2.5: the same model of penzai's own layers, since it has no GPT-2. Values have named axes; results are unwrapped by `plain`."""

import functools
import itertools

import jax
import jax.numpy as jnp
from penzai import pz
from penzai.models.transformer.model_parts import TransformerBlock
from penzai.toolshed.save_intermediates import SaveIntermediate
from weights import given, weights

# What says which number is meant, or brings values into one form, is none of a task's lines.
SHARED = ("run", "plain", "logits", "given")
NO = {
    "parts": "by hand",
    "heads": "by hand",
    "direct": "by hand",
    "tune": "no lenses",
    "paths": "no paths",
    "edges": "no paths",
    "edges_integrated": "no paths",
    "circuit": "no circuits",
    "faithfulness": "no circuits",
    "collect": "no store",
    "probe": "no probes",
    "integrated": "attributions by hand",
    "occlusion": "attributions by hand",
    "conductance": "attributions by hand",
    "shap": "attributions by hand",
    "smoothed": "attributions by hand",
}
SEQ = pz.nx.wrap(jnp.arange(16)).tag("seq")


@pz.pytree_dataclass
class Positions(pz.nn.Layer):
    table: object

    def __call__(self, value, **_):
        return value + self.table


@pz.pytree_dataclass
class Changed(pz.nn.Layer):
    by: object

    def __call__(self, value, **_):
        return self.by(value)


def setup():
    found = {name: jnp.asarray(value) for name, value in weights().items()}

    def linear(value, into, out):
        return pz.nn.Linear(
            pz.Parameter(value=pz.nx.wrap(value).tag(*into, *out), label=f"weights {next(numbers)}"), tuple(into), tuple(out)
        )

    def norm():
        return pz.nn.LayerNorm.from_config(f"norm {next(numbers)}", jax.random.key(0), {"embedding": 64}, epsilon=1e-5)

    made, numbers = [], itertools.count()
    for layer in range(4):
        kernels = {name: found[f"h.{layer}.{name}.weight"] for name in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")}
        q, k, v = (each.reshape(64, 4, 16) for each in jnp.split(kernels["attn.c_attn"], 3, -1))
        inner = ("heads", "projection")
        to_pattern = [
            pz.nn.NamedEinsum(
                ({"seq": "t", "heads": "h", "projection": "p"}, {"seq": "s", "heads": "h", "projection": "p"}),
                {"seq": "t", "heads": "h", "kv_seq": "s"},
            ),
            pz.nn.ApplyCausalAttentionMask(masked_out_value=-1e30),
            pz.nn.Softmax("kv_seq"),
        ]
        to_output = [
            pz.nn.NamedEinsum(
                ({"seq": "t", "heads": "h", "kv_seq": "s"}, {"seq": "s", "heads": "h", "projection": "p"}),
                {"seq": "t", "heads": "h", "projection": "p"},
            ),
            linear(kernels["attn.c_proj"].reshape(4, 16, 64), inner, ("embedding",)),
        ]
        attention = pz.nn.Attention(
            input_to_query=linear(q / 4, ("embedding",), inner),
            input_to_key=linear(k, ("embedding",), inner),
            input_to_value=linear(v, ("embedding",), inner),
            query_key_to_attn=pz.nn.Sequential(to_pattern),
            attn_value_to_output=pz.nn.Sequential(to_output),
        )
        up, down = (
            linear(kernels["mlp.c_fc"], ("embedding",), ("neurons",)),
            linear(kernels["mlp.c_proj"], ("neurons",), ("embedding",)),
        )
        mlp = pz.nn.Sequential([up, pz.nn.Elementwise(functools.partial(jax.nn.gelu, approximate=True)), down])
        made.append(
            TransformerBlock(
                [pz.nn.Residual(pz.nn.Sequential([norm(), attention])), pz.nn.Residual(pz.nn.Sequential([norm(), mlp]))]
            )
        )
    table = pz.nn.EmbeddingTable(
        pz.Parameter(value=pz.nx.wrap(found["wte.weight"]).tag("vocabulary", "embedding"), label="wte"), "vocabulary"
    )
    positions = Positions(pz.nx.wrap(found["wpe.weight"]).tag("seq", "embedding"))
    model = pz.nn.Sequential([pz.nn.EmbeddingLookup(table), positions, *made, norm(), pz.nn.EmbeddingDecode(table)])
    return model, tuple(map(jnp.asarray, given()))


def run(model, tokens):
    return model(pz.nx.wrap(tokens).tag("batch", "seq"), token_positions=SEQ)


def plain(value, *axes):
    return value.unwrap("batch", *(axes or ("seq", "embedding")))


def blocks(model):
    return pz.select(model).at_instances_of(TransformerBlock)


def saved(model):
    return [layer.saved.value for layer in pz.select(model).at_instances_of(SaveIntermediate).get_sequence()]


def behind(selected, fn):
    """The model with a function of the value behind each layer that is selected."""
    return selected.apply(lambda layer: pz.nn.Sequential([layer, Changed(fn)]))


def logits(model, tokens):
    return plain(run(model, tokens), "seq", "vocabulary")


def read(model, tokens):
    watched = blocks(model).apply(lambda block: pz.nn.Sequential([block, SaveIntermediate()]))
    run(watched, tokens)
    return saved(watched)


def cache(model, tokens, encoder, decoder):
    return [plain(value) for value in read(model, tokens)]


@functools.cache
def compiling():
    return pz.variable_jit(read)


def compiled(model, tokens, encoder, decoder):
    return [plain(value) for value in compiling()(model, tokens)]


def slopes(model, tokens):
    def number(added):
        layers = iter(added)
        changed = blocks(model).apply(lambda block: pz.nn.Sequential([block, Positions(next(layers))]))
        return logits(changed, tokens)[:, -1, 3].sum()

    values = read(model, tokens)
    return values, jax.grad(number)([pz.nx.nmap(jnp.zeros_like)(value) for value in values])


def gradients(model, tokens, encoder, decoder):
    return [plain(slope) for slope in slopes(model, tokens)[1]]


def attribute(model, tokens, encoder, decoder):
    return [plain(value * slope) for value, slope in zip(*slopes(model, tokens))]


def patterns(model, tokens, encoder, decoder):
    inside = pz.select(model).at_instances_of(pz.nn.Attention).at(lambda layer: layer.query_key_to_attn)
    watched = inside.apply(lambda layer: pz.nn.Sequential([layer, SaveIntermediate()]))
    run(watched, tokens)
    return [plain(value, "heads", "seq", "kv_seq") for value in saved(watched)]


def lens(model, tokens, encoder, decoder):
    _, _, *_, norm, decode = model.sublayers
    first = pz.nn.Sequential(model.sublayers[:2])
    values = [run(first, tokens), *read(model, tokens)]
    return jnp.stack([plain(decode(norm(value)), "seq", "vocabulary") for value in values])


def steer(model, tokens, encoder, decoder):
    vector = pz.nx.wrap(decoder[0]).tag("embedding")
    return logits(behind(blocks(model).pick_nth_selected(1), lambda value: value + vector), tokens)


def ablate(model, tokens, encoder, decoder):
    inside = (
        pz.select(model)
        .at_instances_of(pz.nn.Attention)
        .pick_nth_selected(1)
        .at(lambda layer: layer.attn_value_to_output.sublayers[0])
    )
    third = pz.nx.wrap(jnp.arange(4) == 2).tag("heads")

    def edit(z):
        mean = z.untag("batch", "seq").mean()
        return pz.nx.nmap(jnp.where)(third, mean, z)

    return logits(behind(inside, edit), tokens)


def splice(model, tokens, encoder, decoder):
    def edit(value):
        features = jax.nn.relu(plain(value) @ encoder)
        return value + pz.nx.wrap((features.at[..., 5].set(2) - features) @ decoder).tag("batch", "seq", "embedding")

    return logits(behind(blocks(model).pick_nth_selected(1), edit), tokens)


def transcoder(model, tokens, encoder, decoder):
    def coded(value):
        features = jax.nn.relu(plain(value) @ encoder).at[..., 5].set(2)
        return pz.nx.wrap(features @ decoder).tag("batch", "seq", "embedding")

    inside = blocks(model).pick_nth_selected(1).at(lambda block: block.sublayers[1].delta.sublayers[1])
    return logits(inside.set(Changed(coded)), tokens)


def transplant(model, tokens, encoder, decoder):
    moved, last = read(model, tokens[::-1])[1][{"seq": 3}], SEQ == 15
    edit = lambda value: pz.nx.nmap(jnp.where)(last, moved, value)  # noqa: E731
    return logits(behind(blocks(model).pick_nth_selected(2), edit), tokens)


@functools.cache
def swept():
    def sweep(model, tokens):
        first = lambda block: pz.nn.Sequential([SaveIntermediate(), block])  # noqa: E731
        watched = blocks(model).apply(first)
        run(watched, tokens)
        clean = saved(watched)

        def patched(layer, position):
            numbered = iter(enumerate(clean))

            def patch(block):
                number, value = next(numbered)
                edit = lambda now: pz.nx.nmap(jnp.where)((SEQ == position) & (layer == number), value, now)  # noqa: E731
                return pz.nn.Sequential([Changed(edit), block])

            return logits(blocks(model).apply(patch), tokens[::-1])[0, -1, 3]

        return jax.vmap(jax.vmap(patched, (None, 0)), (0, None))(jnp.arange(4), jnp.arange(16))

    return pz.variable_jit(sweep)


def sweep(model, tokens, encoder, decoder):
    return swept()(model, tokens)


@functools.cache
def training():
    @jax.jit
    def step(parameters, frozen, tokens):
        found = slopes(pz.bind_variables(frozen, parameters), tokens)[1]  # a second run of the model
        number = lambda parameters: logits(pz.bind_variables(frozen, parameters), tokens)[:, -1, 3].sum()  # noqa: E731
        sizes = [jnp.sqrt((plain(value) ** 2).mean()) for value in found]
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, jax.grad(number)(parameters)), sizes

    return step


def monitor(model, tokens, encoder, decoder):
    frozen, parameters = pz.unbind_params(model, freeze=True)
    parameters, sizes = training()(parameters, frozen, tokens)
    return sizes
