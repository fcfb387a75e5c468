"""No verb selects nothing, or leaves an argument out, without an error; bools are no numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from msjax import hooks, tools

X, KEY = jnp.arange(8.0).reshape(2, 4), jax.random.key(0)
MODEL = nnx.Sequential(nnx.Linear(4, 4, rngs=nnx.Rngs(0)), nnx.Linear(4, 4, rngs=nnx.Rngs(1)))
STREAM = hooks.stream(MODEL, "layers.*")


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm, self.mlp = nnx.RMSNorm(4, rngs=rngs), nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return x + self.mlp(self.norm(x))


BLOCKS = hooks.stream(nnx.Sequential(Block(nnx.Rngs(0)), Block(nnx.Rngs(1))), "layers.*")
NAN = float("nan")


def each(result):
    return result.sum(-1)


class Scores:
    """As `Stream.edges` returns them: three edges, of which one isn't there."""

    senders, readers, values = ("a", "b"), ("x", "y"), jnp.array([[1.0, -3.0], [NAN, 2.0]])


def probe(*batches, **options):
    return hooks.linear_probe(batches, **options)


def batch(rows, features, targets=1):
    return np.ones((rows, features)), np.ones((rows, targets))


LABELS = np.zeros(2, int)
NOTHING = {
    "no edge": (lambda: hooks.Circuit.strongest(Scores, 0), r"'Circuit.strongest', 'count' should be in \[1, 3\], but got 0"),
    "more edges": (lambda: hooks.Circuit.strongest(Scores, 4), r"'Circuit.strongest', 'count' should be in \[1, 3\], but got 4"),
    "no sender": (lambda: hooks.Circuit.of_senders([], Scores), "'Circuit.of_senders', 'kept' should name at least one"),
    "text of edges": (lambda: hooks.Circuit("", ("a",), ("x",)), r"'Circuit', 'edges' should be pairs \(sender, reader\)"),
    "gaps": (
        lambda: hooks.occlusion(MODEL, X, metric=each, window=(2,), strides=(3,)),
        r"'occlusion', window=\(2,\) and strides=\(3,\) should .* no wider, so that each value is covered",
    ),
    "no example": (
        lambda: hooks.integrated_gradients(MODEL, X[:0], metric=each),
        r"'integrated_gradients', the argument wrt=-1 should have an axis of at least one example, but its shape is \(0, 4\)",
    ),
    "dict of places": (lambda: hooks.ablate(MODEL, {"layers.0": 1.0}), "'ablate', 'at' should be a name, or a list of names"),
    "place behind": (
        lambda: hooks.run_with_cache(MODEL, X, where="layers.1", stop_after="layers.0"),
        "'run_with_cache', no place was selected by 'layers.1' up to 'layers.0', where the run stops; there are 'layers.0'",
    ),
    "edit behind": (
        lambda: hooks.capture(MODEL, edit={"layers.1": lambda v, i: v}, stop_after="layers.0")(X),
        "'capture', no place was found for the edit of 'layers.1' up to 'layers.0'",
    ),
    "axis without heads": (lambda: hooks.ablate(MODEL, "layers.0", axis=1), r"'ablate', 'axis' should come with heads=\.\.\."),
    "axis and n_heads": (
        lambda: hooks.ablate(MODEL, "layers.0", heads=0, n_heads=2, axis=1),
        "'ablate', 'axis' should not come with n_heads=",
    ),
    "axis without positions": (
        lambda: hooks.steer(MODEL, {"layers.0": 1.0}, axis=1),
        r"'steer', 'axis' should come with positions=\.\.\., without which it says nothing, but got 1",
    ),
    "axis of a transplant": (lambda: hooks.transplant(MODEL, X, {"layers.0": "layers.0"}, axis=1), "'transplant', 'axis' should"),
    "axis of nothing": (
        lambda: hooks.patch_sweep(MODEL, X, X, "layers.0", metric=jnp.sum, over="layer", head_axis=1),
        "'patch_sweep', 'head_axis' should come with 'head' in over=",
    ),
    "corrupt": (
        lambda: hooks.attribute(MODEL, X, at="layers.0", corrupt=X),
        r"'attribute', 'method' should be another one where other inputs are given: corrupt=\.\.\., but got 'gradient x",
    ),
    "state": (lambda: tools.guard(each, state={0: 0}), "'guard', 'state' should come with policy='skip'"),
    "state of a module": (
        lambda: tools.guard(MODEL, policy="skip", state={0: 0}),
        "'guard', 'state' should come with policy='skip', and with a function",
    ),
    "state of names": (
        lambda: tools.guard(each, policy="skip", state={"a": 0}),
        r"'guard', 'state' should be a dict \{number of a result: number of an argument\}",
    ),
    "numbers of nothing": (
        lambda: hooks.monitor(each, forward=None),
        "'monitor', 'forward' should be a function where backward is None",
    ),
    "loss without gradients": (
        lambda: hooks.compile(MODEL, "layers.0", loss=each),
        "'compile', 'loss' should come with gradients=True, but got function",
    ),
    "type of Python's": (
        lambda: hooks.compile(MODEL, "layers.0", statistic=int),
        "'compile', the statistic must be a function, but got type <class 'int'>",
    ),
    "hook of Python's": (
        lambda: hooks.register_forward_hook(MODEL, list),
        "'register_forward_hook', the hook must be a function, but got type <class 'list'>",
    ),
    "keyword of to": (
        lambda: tools.watch(MODEL, to=lambda data: None),
        r"'watch', the to is called as to\(data, step=\.\.\.\), but .*<lambda> .* takes \(data\)",
    ),
    "condition": (lambda: tools.check(None, "holds"), "'check', 'condition' should be a bool or an array, but got None"),
    "value of a message": (
        lambda: tools.check(True, "is {v}", v="a"),
        "'check', the value 'v' of the message should be one number, but got str 'a'",
    ),
    "no rows": (lambda: probe(batch(0, 3)), r"'linear_probe', a batch should be \(rows, features\) and .*shape=\[0"),
    "no labels": (
        lambda: probe((np.ones((0, 3)), LABELS[:0]), classes=2),
        r"'linear_probe', a batch should be \(rows, features\) and .*shape=\[0",
    ),
    "other features": (lambda: probe(batch(2, 3), batch(2, 4)), r"'linear_probe', a batch should be \(rows, 3\) and \(rows, 1\)"),
    "other targets": (
        lambda: probe(batch(2, 3), batch(2, 3, 2)),
        r"'linear_probe', a batch should be \(rows, 3\) and \(rows, 1\)",
    ),
    "features of labels": (
        lambda: probe(*((np.ones((2, n)), LABELS) for n in (3, 4)), classes=2, optimizer=optax.sgd(0.1)),
        r"'linear_probe', a batch should be \(rows, 3\) and \(rows,\), but got ",
    ),
    "texts": (
        lambda: probe((np.array([["a"]]), np.ones((1, 1)))),
        "'linear_probe', the activations should be an array of numbers",
    ),
    "what a probe gets": (lambda: probe(batch(4, 3))(np.ones((2, 2))), "'Probe', the activations should have 3 features"),
    "what a probe is told": (
        lambda: probe((np.ones((2, 3)), LABELS), classes=2).accuracy(np.ones((2, 3)), np.zeros(3, int)),
        r"'accuracy', 'labels' should be one for each of the rows, \(2,\), but its shape is \(3,\)",
    ),
    "batches without examples": (lambda: BLOCKS.mean([X[:0]]), "'mean', there should be at least one batch with an example"),
    "no batch": (lambda: STREAM.mean(iter(())), "'mean', there should be at least one batch with an example"),
}


@pytest.mark.parametrize("what", NOTHING)
def test_the_error_says_that_nothing_is_selected(what):
    run, message = NOTHING[what]
    with pytest.raises((TypeError, ValueError), match=f"For {message}"):
        run()


BOOLS = {
    "value": lambda: hooks.ablate(MODEL, "layers.0", value=True),
    "axis of heads": lambda: hooks.ablate(MODEL, "layers.0", heads=0, axis=True),
    "heads": lambda: hooks.ablate(MODEL, "layers.0", heads=True)(X),
    "n_heads": lambda: hooks.ablate(MODEL, "layers.0", heads=0, n_heads=True),
    "scale": lambda: hooks.steer(MODEL, {"layers.0": 1.0}, scale=True),
    "positions": lambda: hooks.steer(MODEL, {"layers.0": 1.0}, positions=True)(X),
    "axis of positions": lambda: hooks.steer(MODEL, {"layers.0": 1.0}, positions=0, axis=True),
    "axis of a transplant": lambda: hooks.transplant(MODEL, X, {"layers.0": "layers.0"}, positions=(0, 0), axis=False),
    "axis of a sweep": lambda: hooks.patch_sweep(MODEL, X, X, "layers.0", metric=jnp.sum, position_axis=True),
    "chunk": lambda: hooks.patch_sweep(MODEL, X, X, "layers.0", metric=jnp.sum, chunk=True),
    "memory": lambda: hooks.patch_sweep(MODEL, X, X, "layers.0", metric=jnp.sum, memory=True),
    "steps": lambda: hooks.integrated_gradients(MODEL, X, metric=each, steps=True),
    "baseline": lambda: hooks.integrated_gradients(MODEL, X, metric=each, baseline=True),
    "noise": lambda: hooks.noise_tunnel(MODEL, X, metric=each, key=KEY, noise=True),
    "samples": lambda: hooks.noise_tunnel(MODEL, X, metric=each, key=KEY, samples=True),
    "window": lambda: hooks.occlusion(MODEL, X, metric=each, window=(True,)),
    "strides": lambda: hooks.occlusion(MODEL, X, metric=each, window=(1,), strides=(True,)),
    "wrt": lambda: hooks.conductance(MODEL, X, at="layers.0", metric=each, wrt=True),
    "count": lambda: hooks.Circuit.strongest(Scores, True),
    "classes": lambda: probe((np.ones((2, 3)), LABELS), classes=True),
    "ridge": lambda: probe(batch(2, 3), ridge=True),
    "axis of a split": lambda: STREAM.decompose(X, split={"layers.0:in": True}),
    "pieces of a split": lambda: STREAM.decompose(X, split={"layers.0:in": (0, True)}),
    "max_steps": lambda: hooks.capture(MODEL, max_steps=True),
    "every": lambda: tools.watch(MODEL, every=True),
    "bins": lambda: tools.watch(MODEL, bins=True),
    "every of a monitor": lambda: hooks.monitor(each, every=True),
}


@pytest.mark.parametrize("what", BOOLS)
def test_a_bool_is_no_number(what):
    with pytest.raises(TypeError, match=r"^For '.* should .*, but got .*(True|False)"):
        BOOLS[what]()
