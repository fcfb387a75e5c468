"""Runs, a fault, a comparison and a study to look at: what pages of the documentation show, and what the browser is driven through."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from msjax import hooks, tools
from msjax.core.page.page import Page
from msjax.core.page.run import Run
from tests.page.made_runs import row, run_of

HOSTILE = [
    "</script><script>window.hurt = 1</script>",
    '"><img src=x onerror="window.hurt=1">',
    "${window.hurt=1}{{code}}",
    "javascript:window.hurt=1",
    "=HYPERLINK(1)",
    "<!--<script>",
    "\u2028\u2029\0\ud7ff",
]
WORDS = "the keys of this cabinet are on table chair a red is where cat sat mat dog ran fast by house tree sun and".split(" ")


class Block(nnx.Module):
    """A block of a transformer: attention over the positions, and a layer of two products."""

    def __init__(self, width, rngs):
        self.attention = nnx.MultiHeadAttention(2, width, decode=False, rngs=rngs)
        self.up, self.down = nnx.Linear(width, 2 * width, rngs=rngs), nnx.Linear(2 * width, width, rngs=rngs)

    def __call__(self, x):
        x = x + self.attention(x)
        return x + self.down(nnx.relu(self.up(x)))


class Transformer(nnx.Module):
    """Four blocks between an embedding and a head."""

    def __init__(self, width=16, seed=0):
        rngs = nnx.Rngs(seed)
        self.embed = nnx.Embed(32, width, rngs=rngs)
        self.blocks = nnx.List([Block(width, rngs) for _ in range(4)])
        self.head = nnx.Linear(width, 32, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def exploding(path, steps=400, bad=300, every=10):
    """Train a transformer whose learning rate is forty times as large from one step on; `watch` writes the page."""
    model = Transformer()
    optimizer = nnx.Optimizer(model, optax.sgd(lambda step: jnp.where(step < bad, 0.05, 2.0)), wrt=nnx.Param)
    tokens = jax.random.randint(jax.random.key(1), (8, 12), 0, 32)

    @nnx.jit
    def step(model, optimizer):
        def loss_of(model):
            logits = model(tokens[:, :-1])
            return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

        loss, gradients = nnx.value_and_grad(loss_of)(model)
        optimizer.update(model, gradients)
        return loss

    rules = [tools.rules.gradient_norm(then=lambda *said: None)]
    with tools.watch(model, every=every, to=str(path), rules=rules) as watched:
        for _ in range(steps):
            watched.next_step(loss=step(model, optimizer))
    return watched


def made_explosion(path):
    """The page of a run of hand-written numbers, in which all norms are a thousand times as large from step 310 on."""
    parts = ("attention.query", "attention.out", "up", "down")
    run = Run("made")
    for step in range(10, 401, 10):
        norm = 1000.0 if step > 300 else 1.0
        names = [f"blocks.{i}.{part}" for i in range(4) for part in parts]
        run.add(step, [row(step, kind, name, norm) for kind in ("activation", "gradient") for name in names])
        run.note([(step, "loss", norm)])
    Page("made", [{"kind": "run", "title": "Run", "runs": [run.data()]}]).save(path)


class Layer(nnx.Module):
    """A product, and a logarithm that is wrong below -1."""

    def __init__(self, rngs):
        self.mix = nnx.Linear(8, 8, rngs=rngs)

    def __call__(self, x):
        return jnp.log1p(jnp.tanh(self.mix(x)) * 1.00001)


class Scanned(nnx.Module):
    """Five layers in a scan."""

    def __init__(self):
        self.layers = nnx.vmap(Layer)(nnx.Rngs(0).fork(split=5))

    def __call__(self, x):
        return nnx.scan(lambda x, layer: layer(x), in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)(x, self.layers)


def fault_in_a_scan(bundle):
    """A scanned model, the third layer of which takes the logarithm of a number below 0; found by `guard`."""
    model = Scanned()
    model.layers.mix.kernel[...] = model.layers.mix.kernel[...].at[2].multiply(40)
    try:
        tools.guard(nnx.jit(lambda model, x: (model(x) ** 2).mean()), bundle=bundle)(
            model, jax.random.normal(jax.random.key(1), (6, 8))
        )
    except tools.Fault as fault:
        return fault
    raise AssertionError("the scan should compute a NaN")


def comparison():
    """A transformer beside one with a wrong weight in its third block."""
    one, other = Transformer(), Transformer()
    other.blocks[2].up.kernel[...] = other.blocks[2].up.kernel[...].at[0, 0].add(0.5)
    return tools.compare(one, other, jax.random.randint(jax.random.key(2), (2, 8), 0, 32))


class ReaderBlock(nnx.Module):
    """Attention to the words before."""

    def __init__(self, width, rngs):
        self.attention = nnx.MultiHeadAttention(2, width, decode=False, rngs=rngs)

    def __call__(self, x):
        return x + self.attention(x, mask=nnx.make_causal_mask(x[..., 0]))


class Reader(nnx.Module):
    """Two blocks of attention, and nothing else."""

    def __init__(self, width=48):
        rngs = nnx.Rngs(0)
        self.words, self.places = (nnx.Embed(size, width, rngs=rngs) for size in (len(WORDS), 16))
        self.blocks = nnx.List([ReaderBlock(width, rngs) for _ in range(2)])
        self.head = nnx.Linear(width, len(WORDS), rngs=rngs)

    def __call__(self, tokens):
        x = self.words(tokens) + self.places(jnp.arange(tokens.shape[-1]))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@nnx.jit
def read(model, optimizer, keys):
    """Train on phrases of 4 to 8 random words that come again and again."""

    @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))
    def step(carry, key):
        length = jax.random.randint(key, (64, 1), 4, 9)
        words = jax.vmap(lambda key: jax.random.permutation(key, len(WORDS))[:8])(jax.random.split(key, 64))
        tokens = jnp.take_along_axis(words, jnp.arange(16) % length, 1)

        def loss_of(model):
            losses = optax.softmax_cross_entropy_with_integer_labels(model(tokens[:, :-1]), tokens[:, 1:])
            return losses[:, 7:].mean()

        loss, gradients = nnx.value_and_grad(loss_of)(carry[0])
        carry[1].update(carry[0], gradients)
        return carry, loss

    return step((model, optimizer), keys)[1]


def study():
    """Of a model that has learned to repeat a phrase: attention, a patch sweep, an attribution, a step as a graph with an ablated block."""
    model = Reader()
    read(model, nnx.Optimizer(model, optax.adam(3e-3), wrt=nnx.Param), jax.random.split(jax.random.key(0), 600))
    clean = jnp.array([[*range(8), *range(7)]])  # what comes next is "table"
    corrupt = clean.at[0, 7].set(8)

    def metric(out):
        return out[0, -1, 7]

    tokens = [WORDS[i] for i in clean[0].tolist()]
    patterns = hooks.stream(model, "blocks.*").patterns(clean)
    heads = tools.page(
        {"attention": jnp.stack([pattern.reshape(2, 15, 15) for pattern in patterns.values()])},
        axes=("layer", "head", "query", "key"),
        labels={"query": tokens, "key": tokens},
        title="Attention",
    )
    sweep = tools.page(
        hooks.patch_sweep(model, clean, corrupt, ["words", "blocks.?"], metric=metric), labels={"position": tokens}
    )
    found = hooks.attribute(model, clean, at=["words", "blocks.?"], metric=metric)
    amounts = {"attribution": jnp.stack([v[0].sum(-1) for v in found.values()])}
    parts = tools.page(
        amounts, axes=("layer", "position"), labels={"position": tokens, "layer": list(found)}, title="Attribution"
    )
    places = ["words", "blocks.*", "head"]
    _, step = hooks.capture(model, places, gradients=True, loss=metric, edit={"blocks.0": lambda v, i: jnp.zeros_like(v)})(clean)
    return tools.page(heads, sweep, parts, tools.page(step, edited=["blocks.0"]), title="Study")


def large(name="large", seed=0, modules=1000, columns=2000):
    """The data of a run of so many modules and 10,000 steps; random, which nothing makes smaller."""
    rng, parts = np.random.default_rng(seed), ("attn", "attn.q", "attn.k", "attn.v", "mlp", "mlp.up", "mlp.down")
    run = run_of([f"blocks.{i // 7}.{parts[i % 7]}" for i in range(modules)], 1, kinds=("activation", "gradient")).data()
    each = 10_000 // columns
    for kind in run["kinds"].values():
        kind["first"] = 1 + each * np.arange(columns, dtype=np.int32)
        kind["last"] = kind["first"] + np.int32(each - 1)
        walk = np.exp(np.cumsum(rng.normal(size=(modules, columns)) * 0.05, 1))
        planes = {
            "norm": walk * 1.1,
            "norm_min": walk,
            "norm_max": walk * (1.1 + rng.random((modules, columns))),
            "mean": rng.normal(size=walk.shape),
            "zeros": rng.random(walk.shape),
        }
        kind["planes"] = {plane: values.astype(np.float32) for plane, values in planes.items()}
    return {**run, "name": name}


def page_of(*runs):
    """A page of the data of some runs."""
    return Page(", ".join(run["name"] for run in runs), [{"kind": "run", "title": "Runs", "runs": list(runs)}])


def hostile():
    """A page in which every name and text would be code, if it were not text."""
    run = run_of([*HOSTILE, *(f"{name}.{name}" for name in HOSTILE)], 12)
    for name in HOSTILE:
        run.name = name
        run.warn(name, "activation", name, 3, name)
        run.note([(1, name, 1.0)])
    fault = tools.Fault(HOSTILE[0], "forward", HOSTILE[1], operation=HOSTILE[2], note=HOSTILE[4])
    maps = tools.page({name: np.eye(2) for name in HOSTILE}, axes=HOSTILE[:2], labels=dict.fromkeys(HOSTILE[:2], HOSTILE[:2]))
    return tools.page(
        Page(HOSTILE[0], [{"kind": "run", "title": HOSTILE[1], "runs": [run.data()]}]), fault, maps, title=HOSTILE[0]
    )
