"""Edges of a residual stream and circuits, against the same by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks
from tests.study.transformers import EMBED, HEAD, LAYER, MODELS, POSITIONS, TOKENS, NnxBlock, NnxModel, mixed, norm, project

CORRUPT = jnp.array([[4, 3, 5], [6, 0, 2]])


def metric(logits):
    return (logits[:, -1, 3] - logits[:, -1, 4]).sum()


def by_hand(tokens, read=lambda reader, value, parts: value, enter=lambda x: x):
    """(the logits, {sender: its part}), with what each reader gets."""
    parts = {"embed": jnp.asarray(EMBED)[tokens], "/parameter": jnp.broadcast_to(POSITIONS, (2, 3, 4))}
    x = enter(sum(parts.values()))
    for i, p in enumerate(LAYER):
        parts[f"blocks.{i}.attn"] = project(mixed(norm(read(f"blocks.{i}.n1", x, parts)), p["qkv"]), p["out"], p["bias"])
        x = x + parts[f"blocks.{i}.attn"]
        parts[f"blocks.{i}.mlp"] = jax.nn.relu(norm(read(f"blocks.{i}.n2", x, parts)) @ p["up"]) @ p["down"]
        x = x + parts[f"blocks.{i}.mlp"]
    return norm(read("blocks.1", x, parts)) @ HEAD, parts


PLAIN, PARTS = jax.jit(by_hand)(TOKENS)
OTHER = jax.jit(by_hand)(CORRUPT)[1]
READERS = ["blocks.0.n1", "blocks.0.n2", "blocks.1.n1", "blocks.1.n2", "blocks.1"]


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=5e-4, atol=5e-5)


NOTHING = {reader: jnp.zeros((2, 3, 4)) for reader in READERS}


@jax.jit
def changed(deltas, part=0.0):
    """The logits, if readers get more by `deltas`, on the way from the clean to the corrupt inputs."""
    end = EMBED[CORRUPT] + POSITIONS
    return by_hand(TOKENS, lambda name, value, _: value + deltas[name], lambda x: x + part * (end - x))[0]


slopes = jax.jit(jax.grad(lambda deltas, part=0.0: metric(changed(deltas, part))))


@jax.jit
def ablated(kept, reference):
    """The logits, if edges carry what they do in a reference unless they are kept, a mask of senders and readers."""

    def read(reader, value, parts):
        for sender, part in parts.items():
            value = value + (1 - kept[list(PARTS).index(sender), READERS.index(reader)]) * (reference[sender] - part)
        return value

    return by_hand(TOKENS, read)[0]


@pytest.fixture(scope="module")
def stream():
    return hooks.stream(NnxModel())


@pytest.fixture(scope="module")
def patched(stream):
    return stream.edges(TOKENS, CORRUPT, metric=metric, method="patching", chunk=7)


@pytest.mark.long
def test_path_patching(patched):
    assert list(patched.readers) == READERS and set(patched.senders) == set(PARTS)
    for sender, reader in [
        ("embed", "blocks.0.n1"),
        ("blocks.0.attn", "blocks.1.n2"),
        ("blocks.0.mlp", "blocks.1"),
        ("embed", "blocks.1"),
    ]:
        logits = changed({**NOTHING, reader: OTHER[sender] - PARTS[sender]})
        close(patched[sender, reader], metric(logits) - metric(PLAIN))
    assert np.isnan(patched["blocks.1.attn", "blocks.0.n1"]) and abs(patched["/parameter", "blocks.1"]) < 1e-5


@pytest.mark.long
def test_integrated_gradients_of_edges_in_a_scan():
    model, before = MODELS["linen"][0]()
    stream = hooks.stream(model, "blocks")
    clean, corrupt = (*before, TOKENS), (*before, CORRUPT)
    found = stream.edges(clean, corrupt, metric=metric, method="integrated gradients", steps=4)
    assert found.readers == ("blocks.n1[0]", "blocks.n2[0]", "blocks.n1[1]", "blocks.n2[1]", "blocks[1]")
    points, weights = np.polynomial.legendre.leggauss(4)
    mean = sum(w / 2 * slopes(NOTHING, (p + 1) / 2)["blocks.1.n2"] for p, w in zip(points, weights))
    close(found["blocks.attn[0]", "blocks.n2[1]"], ((OTHER["blocks.0.attn"] - PARTS["blocks.0.attn"]) * mean).sum())


def mask(circuit):
    return jnp.array([[float((sender, reader) in circuit.edges) for reader in READERS] for sender in PARTS])


@pytest.mark.long
def test_a_circuit_runs_alone(stream, patched, tmp_path):
    circuit = hooks.Circuit.strongest(patched, 6)
    assert len(circuit.edges) == 6
    close(circuit.run(stream, TOKENS, CORRUPT), ablated(mask(circuit), OTHER))
    mean = stream.mean([TOKENS, CORRUPT])
    reference = {name: (value + OTHER[name]).mean(0, keepdims=True) / 2 for name, value in PARTS.items()}
    close(mean["blocks.1.mlp"], reference["blocks.1.mlp"])
    low, own, rest = (metric(ablated(kept, reference)) for kept in (0 * mask(circuit), mask(circuit), 1 - mask(circuit)))
    close(circuit.faithfulness(stream, TOKENS, mean, metric), (own - low) / (metric(PLAIN) - low))
    close(circuit.completeness(stream, TOKENS, mean, metric), (rest - low) / (metric(PLAIN) - low))
    circuit.save(tmp_path / "circuit.json")
    again = hooks.Circuit.load(tmp_path / "circuit.json")
    assert again.compare(circuit).share == 1 and again.readers == circuit.readers
    other = hooks.Circuit.strongest(patched, 3).compare(circuit)
    assert other.share == 0.5 and not other.first and len(other.second) == 3
    with pytest.raises(ValueError, match=r"the model has no sender 'embde'; it has .*nearest.*'embed'"):
        hooks.Circuit([("embde", "blocks.1")], circuit.senders, circuit.readers)


@pytest.mark.long
def test_attribution_of_edges_from_heads(stream):
    found = stream.edges(TOKENS, CORRUPT, metric=metric, heads=True)
    kept = hooks.Circuit.of_senders([name for name in found.senders if name != "blocks.0.attn head 1"], found)
    assert kept.heads and kept.complement().heads
    with pytest.raises(KeyError, match=r"'blocks.0.attn head 7'; found are .*nearest to"):
        found["blocks.0.attn head 7", "blocks.1"]
    of_head = jax.jit(
        lambda tokens: mixed(norm(jnp.asarray(EMBED)[tokens] + POSITIONS), LAYER[0]["qkv"])[..., 1, :] @ LAYER[0]["out"][1]
    )
    change = of_head(CORRUPT) - of_head(TOKENS)
    close(found["blocks.0.attn head 1", "blocks.1"], (change * slopes(NOTHING)["blocks.1"]).sum())
    after = {reader: value + change if reader != "blocks.0.n1" else value for reader, value in NOTHING.items()}
    close(kept.run(stream, TOKENS, CORRUPT), changed(after))


@pytest.mark.long
def test_a_sweep_over_neurons_with_recovery_memory_and_progress():
    told = []
    sweep = hooks.patch_sweep(
        NnxModel(),
        TOKENS,
        CORRUPT,
        "blocks.*.mlp.down:in",
        metric=metric,
        over=("layer", "neuron"),
        memory=1,
        progress=lambda done, total: told.append((done, total)),
    )
    assert sweep.values.shape == (2, 6) and told == [(i, 12) for i in range(1, 13)]

    @jax.jit
    def by_neuron():
        read, ends = {}, []
        for tokens in (TOKENS, CORRUPT):
            by_hand(tokens, lambda name, value, _: read.setdefault((name, len(ends)), value))
            ends.append(jax.nn.relu(norm(read["blocks.1.n2", len(ends)]) @ LAYER[1]["up"]))
        mixed_up = OTHER | {"blocks.1.mlp": ends[1].at[..., 4].set(ends[0][..., 4]) @ LAYER[1]["down"]}
        return [metric(norm(sum(parts.values())) @ HEAD) for parts in (OTHER, mixed_up)]

    low, own = by_neuron()
    close(sweep.recovery[1, 4], (own - low) / (metric(PLAIN) - low))


def test_a_reader_is_counted_once_in_a_scan():
    class Inner(nnx.Module):
        def __call__(self, x):
            return jnp.tanh(x)

    class Outer(nnx.Module):
        def __init__(self):
            self.inner = Inner()

        def __call__(self, x):
            return self.inner(x)

    class Block(nnx.Module):
        def __init__(self, rngs):
            self.norm, self.mlp = Outer(), nnx.Linear(4, 4, rngs=rngs)

        def __call__(self, x):
            return x + self.mlp(self.norm(x))

    class Layers(nnx.Module):
        def __init__(self):
            self.blocks = nnx.vmap(lambda key: Block(nnx.Rngs(key)))(jax.random.split(jax.random.key(0), 2))

        def __call__(self, x):
            return nnx.scan(lambda x, block: block(x), in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)(x, self.blocks)

    found = hooks.stream(Layers(), "blocks").edges(jnp.ones((1, 4)), jnp.zeros((1, 4)), metric=jnp.sum)
    assert found.readers == ("blocks.norm[0]", "blocks.norm[1]", "blocks[1]")


class WithDropout(NnxBlock):
    """One with dropout that is off, on what a module adds and on the stream."""

    def __init__(self, p):
        super().__init__(p)
        self.drop, self.out = nnx.Dropout(0.0), nnx.Dropout(0.0)

    def __call__(self, x):
        x = self.out(x + self.drop(self.attn(self.n1(x))))
        return x + self.mlp(self.n2(x))


def test_modules_that_return_what_they_get(stream):
    model = NnxModel()
    for i, p in enumerate(LAYER):
        model.blocks[i] = WithDropout(p)
    kept = [("embed", "blocks.0.n2"), ("blocks.0.attn", "blocks.1.n2"), ("blocks.1.mlp", "blocks.1")]
    circuit = hooks.Circuit(kept, PARTS, READERS)
    close(circuit.run(hooks.stream(model), TOKENS, CORRUPT), circuit.run(stream, TOKENS, CORRUPT))


def test_errors_of_edges(stream, patched):
    with pytest.raises(ValueError, match=r"For 'edges', the metric should return a number, but returned .*\[2\]"):
        stream.edges(TOKENS, CORRUPT, metric=lambda logits: logits[:, -1, 3])
    with pytest.raises(ValueError, match="clean and corrupt inputs should be of one shape"):
        stream.edges(TOKENS, CORRUPT[:1], metric=metric)
    with pytest.raises(ValueError, match="the reference should have '/parameter', as the model has, but are"):
        hooks.Circuit.strongest(patched, 6).run(stream, TOKENS, {"embed": OTHER["embed"]})
    with pytest.raises(ValueError, match=r"'count' should be in .*, but got -3"):
        hooks.Circuit.strongest(patched, -3)


@pytest.mark.long
def test_a_circuit_in_compiled_code(stream, patched):
    circuit = hooks.Circuit.strongest(patched, 3)
    share = jax.jit(lambda tokens: circuit.faithfulness(stream, tokens, CORRUPT, metric))(TOKENS)
    close(share, circuit.faithfulness(stream, TOKENS, CORRUPT, metric))
    assert hooks.Circuit.of_senders("embed", patched).edges == {("embed", reader) for reader in READERS}
    for wrong in (lambda: hooks.Circuit(["embed"], *[()] * 2), lambda: circuit.compare(3)):
        with pytest.raises(TypeError, match=r"should be a (pair|Circuit)"):
            wrong()
    with pytest.raises(ValueError, match=r"reference\['embed'\]' should be of shape \(2, 3, 4\), or 1 .*\(1, 2, 4\)"):
        circuit.run(stream, TOKENS, {**PARTS, "embed": jnp.zeros((1, 2, 4))})


class Adds(nnx.Module):
    def __init__(self):
        self.layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return x + jnp.tanh(self.layer(x))


@pytest.mark.long
def test_attribution_and_patching_where_the_batch_lies_on_devices():
    model = nnx.Sequential(Adds(), Adds())
    stream = hooks.stream(model, "layers.*")
    clean, corrupt = jnp.ones((2, 3, 2)), jnp.linspace(-1.0, 1.0, 12).reshape(2, 3, 2)
    mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))
    laid = [jax.device_put(x, jax.NamedSharding(mesh, jax.P("d"))) for x in (clean, corrupt)]
    found = [stream.edges(*given, metric=jnp.mean).values for given in ((clean, corrupt), laid)]
    np.testing.assert_allclose(found[1], found[0], rtol=5e-4, atol=5e-5)
    swept = hooks.patch_sweep(model, clean, corrupt, "layers.?", metric=jnp.mean).values
    moved = hooks.transplant(model, clean, {"layers.1": "layers.0"}, positions=(0, 1))(corrupt)
    with jax.set_mesh(mesh):
        close(hooks.patch_sweep(model, *laid, "layers.?", metric=jnp.mean).values, swept)
        close(hooks.transplant(model, laid[0], {"layers.1": "layers.0"}, positions=(0, 1))(laid[1]), moved)
