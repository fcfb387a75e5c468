"""Wrong arguments of studies and tools: each error names what was called and the argument, what came and what was expected."""

import jax
import jax.numpy as jnp
import pytest
from flax import linen, nnx

from msjax import hooks, tools

X, KEY = jnp.ones((2, 2), "float32"), jax.random.key(0)
MODEL = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.Linear(2, 2, rngs=nnx.Rngs(1)))
STREAM = hooks.stream(MODEL, "layers.*")
CIRCUIT = hooks.Circuit([("a", "b")], ("a",), ("b",))


def each(result):
    return result.sum(-1)


WRONG = {
    "edges": (lambda: hooks.Circuit(3, (), ()), r"'Circuit', 'edges' should be pairs \(sender, reader\), but got int 3"),
    "senders": (lambda: hooks.Circuit([], 3, ()), "'Circuit', 'senders' should be a name, or a list of names, but got int 3"),
    "heads": (lambda: hooks.Circuit([], (), (), heads=3), "'Circuit', 'heads' should be a bool"),
    "scores": (lambda: hooks.Circuit.strongest(None, 1), "'Circuit.strongest', 'scores' should be what Stream.edges returns"),
    "kept": (lambda: hooks.Circuit.of_senders(1, None), "'Circuit.of_senders', 'kept' should be a name"),
    "stream": (lambda: CIRCUIT.run(MODEL, X, X), r"'Circuit.run', 'stream' should be what hooks.stream\(model, ...\) returns"),
    "metric": (lambda: CIRCUIT.faithfulness(STREAM, X, X, None), "'faithfulness', the metric must be callable, but got None"),
    "direct": (lambda: STREAM.direct(X, at=[]), "'direct', 'at' should name at least one place"),
    "optimizer": (lambda: STREAM.tune([X], {}), "'tune', 'optimizer' should be one of optax"),
    "translators": (lambda: STREAM.lens(X, translators=3), "'lens', translators should be what tune returns for 2 blocks"),
    "probe's optimizer": (
        lambda: hooks.linear_probe([], classes=2, optimizer={}),
        "'linear_probe', 'optimizer' should be one of optax",
    ),
    "key": (
        lambda: hooks.noise_tunnel(MODEL, X, metric=each, key=3),
        "'noise_tunnel', 'key' should be one of jax.random, such as",
    ),
    "baselines": (
        lambda: hooks.gradient_shap(MODEL, X, metric=each, key=KEY, baselines=None),
        "'gradient_shap', 'baselines' should be an array",
    ),
    "places": (
        lambda: hooks.transplant(MODEL, X, {"layers.0": 3})(X),
        "'transplant', 'places' should be a dict of at least one place, to names of places",
    ),
    "gradient hook": (
        lambda: hooks.hook_gradient(lambda: None),
        r"'hook_gradient', the hook is called as hook\(gradient\), but .* takes \(\)",
    ),
    "backward": (
        lambda: hooks.with_hooks(each, backward=each),
        r"'with_hooks', the hook is called as hook\(grad_input, grad_output\), but each",
    ),
    "p": (lambda: hooks.probe(X, None), "'probe', 'p' should be an array, but got None"),
    "with_kwargs": (
        lambda: hooks.register_forward_hook(MODEL, lambda m, a, o: None, with_kwargs=X),
        "'register_forward_hook', 'with_kwargs' should be a bool",
    ),
    "prepend": (
        lambda: hooks.register_backward_hook(MODEL, lambda m, a, o: None, prepend=1),
        "'register_backward_hook', 'prepend' should be a bool, but got int 1",
    ),
    "where": (
        lambda: hooks.register_forward_hook(MODEL, lambda m, a, o: None, where=each),
        r"'register_forward_hook', the where is called as where\(path, module\), but each",
    ),
    "select": (
        lambda: hooks.capture(MODEL, lambda: True)(X),
        r"'capture', the select is called as select\(name\), but .* takes \(\)",
    ),
    "on": (lambda: tools.find_nan(MODEL, X, on=lambda: None), r"'find_nan', the predicate is called as predicate\(array\), but"),
    "hooks_of": (lambda: tools.hooks_of(3), "'hooks_of', the model should be a Cell, a flax nnx module or a function"),
    "rtol": (lambda: tools.compare(MODEL, MODEL, X, rtol=-1), "'compare', 'rtol' should not be negative, but got -1"),
    "names": (lambda: tools.compare(MODEL, MODEL, X, names="a"), "'compare', 'names' should be a dict of names"),
    "guard": (lambda: tools.guard(each, eager=3), "'guard', 'eager' should be a bool, but got int 3"),
    "bundle": (lambda: tools.guard(each, bundle=3), "'guard', 'bundle' should be a path, but got int 3"),
    "what": (lambda: tools.watch(MODEL, what=3), "'watch', 'what' should be a name, or a list of names, but got int 3"),
    "rules": (lambda: tools.watch(MODEL, rules=3), "'watch', 'rules' should be a list of rules, but got int 3"),
    "steps": (
        lambda: hooks.integrated_gradients(MODEL, X, metric=each, steps=10**6),
        r"'integrated_gradients', 'steps' should be in \[1, 1000\], but got 1000000",
    ),
    "steps of attribute": (lambda: hooks.attribute(MODEL, X, at="layers.0", steps=10**6), "'attribute', 'steps' should be in"),
    "steps of edges": (lambda: STREAM.edges(X, X, metric=jnp.sum, steps=10**6), "'edges', 'steps' should be in"),
    "negative noise": (
        lambda: hooks.noise_tunnel(MODEL, X, metric=each, key=KEY, noise=-0.1),
        "'noise_tunnel', 'noise' should be a standard deviation, not negative, but got -0.1",
    ),
    "noise of nan": (
        lambda: hooks.gradient_shap(MODEL, X, metric=each, key=KEY, baselines=X, noise=float("nan")),
        "'gradient_shap', 'noise' should be a standard deviation",
    ),
    "shape of noise": (
        lambda: hooks.noise_tunnel(MODEL, X, metric=each, key=KEY, noise=jnp.ones(3)),
        r"'noise_tunnel', 'noise' should broadcast to the input, of shape \(2, 2\), but its shape is \(3,\)",
    ),
    "wrt": (
        lambda: hooks.occlusion(MODEL, X, metric=each, window=(1,), wrt=True),
        "'occlusion', 'wrt' should be the number or the",
    ),
    "no examples": (
        lambda: hooks.integrated_gradients(jnp.sin, 1.0, metric=each),
        "'integrated_gradients', the argument wrt=-1 should have an axis of at least one example, but got 1.0",
    ),
    "value": (
        lambda: hooks.ablate(MODEL, "layers.0", value=jnp.ones(3))(X),
        r"'ablate', 'value' should broadcast to what it replaces, of shape \(2, 2\), but its shape is \(3,\)",
    ),
    "vector": (
        lambda: hooks.steer(MODEL, {"layers.0": jnp.ones(3)})(X),
        r"'steer', 'vectors\['layers.0'\]' should broadcast to the value, of shape \(2, 2\), but its shape is \(3,\)",
    ),
    "scale": (
        lambda: hooks.steer(MODEL, {"layers.0": jnp.ones(2)}, scale=jnp.ones(3))(X),
        r"'steer', 'scale' should broadcast to the value, of shape \(2, 2\), but its shape is \(3,\)",
    ),
    "inputs of mean": (lambda: STREAM.mean([None]), "'mean', what a run is called with should be an array, a tuple of arguments"),
    "reference": (lambda: CIRCUIT.run(STREAM, X, "mean"), "'Circuit.run', what a run is called with should be an array"),
    "path": (lambda: CIRCUIT.save(3), "'Circuit.save', 'path' should be a path, but got int 3"),
    "to": (lambda: hooks.collect(MODEL, "layers.0", [X], to=""), "'collect', 'to' should be a path, but got ''"),
    "folder": (lambda: hooks.Shards(None), "'Shards', 'folder' should be a path, but got None"),
    "empty bundle": (lambda: tools.guard(each, bundle=""), "'guard', 'bundle' should be a path, but got ''"),
    "path of a record": (lambda: tools.record(MODEL, X, path=""), "'record', 'path' should be a path, but got ''"),
    "empty to": (lambda: tools.watch(MODEL, to=""), "'watch', 'to' should be a path, but got ''"),
    "rules in a dict": (lambda: tools.watch(MODEL, rules={}), r"'watch', 'rules' should be a list of rules, but got dict {}"),
    "statistic": (
        lambda: hooks.probe(X, 0.0, lambda gradient: gradient),
        r"'probe', 'p' should be of the shape of the statistic, ShapeDtypeStruct\(shape=\[2, 2\], dtype=float32\), but its shape is \(\)",
    ),
    "page": (lambda: tools.page({}), "'page', a dict of arrays should hold at least one array, but got dict {}"),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_error_names_the_argument(what):
    run, message = WRONG[what]
    with pytest.raises((TypeError, ValueError), match=f"For {message}"):
        run()


class Net(linen.Module):
    @linen.compact
    def __call__(self, x):
        for i in range(2):
            x = linen.Dense(2, name=f"blocks_{i}")(x)
        return x


@pytest.mark.parametrize("verb", ["stream", "patch_sweep", "capture"])
def test_a_linen_module_without_its_variables(verb):
    model = hooks.hooked(Net())
    run = {
        "stream": lambda: hooks.stream(model, "blocks_*").mean([X]),
        "patch_sweep": lambda: hooks.patch_sweep(model, X, X, "blocks_0", metric=each),
        "capture": lambda: hooks.capture(model)(X),
    }
    with pytest.raises(TypeError, match="the first argument of the linen module Net should be its variables, as"):
        run[verb]()
