"""Errors of hooks and captures on models say what came, what was expected, and what else to do."""

import re
import warnings

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from msjax import hooks, nn, tools

X = jnp.ones((1, 2), "float32")


@pytest.fixture
def model():
    return nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), jax.nn.softmax)


def test_the_arguments_of_a_hook(model):
    def takes_two(module, output):
        pass

    with pytest.raises(
        TypeError,
        match=r"'register_forward_hook', the hook is called as hook\(module, args, output\), but .*takes_two .* takes \(module, output\)",
    ):
        hooks.register_forward_hook(model, takes_two)
    with pytest.raises(TypeError, match=r"hook\(module, args, kwargs, output\)"):
        hooks.register_forward_hook(model, lambda module, args, output: None, with_kwargs=True)
    with pytest.raises(
        TypeError, match=r"'register_backward_hook', the hook is called as hook\(module, grad_input, grad_output\)"
    ):
        hooks.register_backward_hook(model, takes_two)
    assert hooks.registered(model) == []
    with hooks.register_forward_pre_hook(model, print):
        pass


def test_the_arguments_of_an_edit(model):
    with pytest.raises(TypeError, match=r"'capture', the edit is called as edit\(value, index\), but .* takes \(value\)"):
        hooks.capture(model, [], edit={"layers.0": lambda value: value})
    with pytest.raises(ZeroDivisionError) as caught:
        hooks.capture(model, [], edit={"layers.0": lambda value, index: value / (1 // 0)})(X)
    assert caught.value.__notes__[0].startswith("raised by the edit") and "of the place 'layers.0'" in caught.value.__notes__[0]


def test_a_hook_at_a_place_that_is_no_module(model):
    for where in ("layers.0:in", "layers.0/dot_general"):
        with pytest.raises(ValueError, match=rf"where='{where}'.*; hooks are on modules: .*hooks.capture, whose edit= changes"):
            hooks.register_forward_hook(model, print, where)


def test_an_operation_by_its_name_alone(model):
    with pytest.raises(
        ValueError, match=r"selected by 'softmax'.*; results of softmax are places named '\*/softmax', as hooks.ops"
    ):
        hooks.capture(model, "softmax")(X)
    assert list(hooks.capture(model, "*/softmax")(X)[1].activations) == ["/softmax"]
    with pytest.raises(ValueError, match=r"selected by 'layers.0'; there is none: .*give a model itself"):
        hooks.capture(lambda x: model(x), "layers.0")(X)


@pytest.mark.parametrize(
    "metric, kind",
    [
        (lambda out: out.sum(0), r"shape=\[2\]"),
        (lambda out: out.argmax(), "dtype=int"),
        (lambda out: (out * 1j).sum(), "dtype=complex"),
    ],
)
def test_a_metric_that_is_no_number(model, metric, kind):
    words = rf"For 'attribute', what is differentiated should be a real floating-point number, but .*{kind}"
    with pytest.raises(ValueError, match=words):
        hooks.attribute(model, X, at="layers.0", metric=metric)


@pytest.mark.parametrize(
    "ending, words",
    [
        (lambda out: out.argmax(), "the result has no floating-point values to differentiate: give a loss="),
        (lambda out: out * 1j, "what is differentiated should be a real floating-point number, but .*complex"),
    ],
)
def test_gradients_of_a_result_that_is_no_real_number(model, ending, words):
    """jax's error spoke of `grad`, and of no function of the user's."""
    model = nnx.Sequential(*model.layers, ending)
    for name, call in (
        ("capture", lambda: hooks.capture(model, "*", gradients=True)(X)),
        ("record", lambda: tools.record(model, X)),
    ):
        with pytest.raises(ValueError, match=f"For '{name}', {words}"):
            call()
    assert "activation/layers.0" in tools.record(model, X, gradients=False).arrays


def test_a_forward_hook_whose_result_would_broadcast(model):
    with (
        hooks.register_forward_hook(model, lambda module, args, output: output[0], "layers.0"),
        pytest.raises(
            ValueError,
            match=r"hook .* of module layers\.0 .* returned array\(shape=\[2\].* in the place of array\(shape=\[1, 2\]",
        ),
    ):
        model(X)


def test_a_forward_hook_that_returns_another_dtype(model):
    def halved(module, args, output):
        return output.astype(jnp.bfloat16)

    with (
        hooks.register_forward_hook(model, halved, "layers.0"),
        pytest.warns(UserWarning, match="returned bfloat16 in the place of float32"),
    ):
        assert model(X).dtype == jnp.bfloat16
    with warnings.catch_warnings(), hooks.register_forward_hook(model, halved, "layers.0", cast=True):
        warnings.simplefilter("error")
        assert model(X).dtype == jnp.float32
        assert hooks.jit(lambda model, x: model(x))(model, X).dtype == jnp.float32
    with pytest.raises(TypeError, match="'cast' should be a bool"):
        hooks.register_forward_hook(model, halved, cast="yes")


def test_a_hook_that_is_part_of_a_program_and_counts(model):
    seen = []

    def doubled(module, args, output):
        seen.append(1)
        return output * 2

    with hooks.register_forward_hook(model, doubled, "layers.0"):
        jax.grad(lambda x: model(x).sum())(X)  # runs each time
        with pytest.warns(UserWarning, match=r"doubled .* of module layers\.0 .* happens once, when the program is made"):
            nnx.jit(lambda model, x: model(x))(model, X)
    assert seen == [1, 1]


def test_a_summary_of_a_plain_linen_module():
    linen = pytest.importorskip("flax.linen")
    model = linen.Dense(2)
    assert tools.summary(model, model.init(jax.random.key(0), X), X).trainable == 6


def test_a_linen_module_without_variables():
    linen = pytest.importorskip("flax.linen")
    with pytest.raises(TypeError, match=r"of the linen module Dense should be its variables, as \{'params': ...\}"):
        hooks.capture(linen.Dense(2), "*")(X)


@pytest.mark.parametrize("args", [(), (X,), (X, X)])
def test_a_cell_without_its_parameters(args):
    with pytest.raises(TypeError, match="A functionalized network takes 'params', a dict, before its inputs, but got"):
        hooks.capture(nn.Dense(2, 3))(*args)


def test_an_axis_that_is_no_number(model):
    with pytest.raises(TypeError, match="'position_axis' should be the number of an axis, but got str 'token'"):
        hooks.patch_sweep(model, X, 2 * X, "layers.0", metric=jnp.sum, position_axis="token")


class Pair(nnx.Module):
    def __call__(self, x):
        return x, 2 * x


class WithPair(nnx.Module):
    def __init__(self):
        self.linear, self.pair = nnx.Linear(2, 2, rngs=nnx.Rngs(0)), Pair()

    def __call__(self, x):
        one, other = self.pair(self.linear(x))
        return one + other


@pytest.mark.parametrize("jit", [lambda call: call, hooks.jit, nnx.jit], ids=["eager", "hooks.jit", "nnx.jit"])
@pytest.mark.parametrize(
    "where, returned, error, words",
    [
        ("linear", lambda output: "text", TypeError, r"returned str 'text' in the place of array\(shape=\[1, 2\]"),
        ("linear", lambda output: 0.0, ValueError, r"returned float 0.0 in the place of array\(shape=\[1, 2\].* broadcast"),
        ("pair", lambda output: ("text", output[0]), TypeError, r"returned str 'text' in the place of array"),
    ],
)
def test_a_forward_hook_that_returns_what_cannot_stand_for_the_output(jit, where, returned, error, words):
    """The model failed by itself, at another place, or by chance went on."""
    model = WithPair()

    def wrong(module, args, output):
        return returned(output)

    with (
        hooks.register_forward_hook(model, wrong, where),
        pytest.raises(error, match=rf"^The forward hook .*wrong .* of module {where} .*{words}"),
    ):
        jit(lambda model, x: model(x))(model, X)
    assert model(X).shape == (1, 2)


@pytest.mark.parametrize("jit", [lambda call: call, hooks.jit, nnx.jit], ids=["eager", "hooks.jit", "nnx.jit"])
@pytest.mark.parametrize(
    "where, returned, words",
    [
        ("", lambda output: {"output": output}, r"returned dict .* in the place of array\(shape=\[1, 2\]"),
        ("pair", lambda output: list(output), r"returned \[array.* in the place of \(array"),
        ("pair", lambda output: (*output, output[0])[1:], None),
    ],
)
def test_a_forward_hook_that_returns_another_structure(jit, where, returned, words):
    model = WithPair()

    def other(module, args, output):
        return returned(output)

    with hooks.register_forward_hook(model, other, where), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = jax.tree.leaves(jit(lambda model, x: model(x))(model, X))
    assert [leaf.shape for leaf in result] == [(1, 2)]
    assert len(seen) == (words is not None)
    if words is not None:
        assert re.search(rf"^The forward hook .*other .*{words}.*another structure", str(seen[0].message))


def test_the_post_hook_of_a_function_that_returns_another_structure():
    with pytest.warns(UserWarning, match=r"returned \(array.* in the place of array\(shape=\[1, 2\].*another structure"):
        hooks.with_hooks(lambda x: x * 2, post=lambda args, output: (output, output))(X)


def site_model(x):
    return hooks.site("b", hooks.site("a", x * 2) + 1)


KEY = jax.random.key(0)
A_STREAM = hooks.stream(site_model, "a", start="a")
CODER = (lambda value: value, lambda features: features)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: hooks.capture(site_model, loss="a"), r"For 'capture', the loss must be callable"),
        (lambda: hooks.capture(site_model, loss=lambda: 0), r"For 'capture', the loss is called as loss\(result\)"),
        (lambda: hooks.capture(site_model, gradients="no"), "For 'capture', 'gradients' should be a bool"),
        (lambda: hooks.capture(site_model, max_steps="a"), "For 'capture', 'max_steps' should be an int"),
        (lambda: hooks.compile(site_model, "a", statistic=3), "For 'compile', the statistic must be callable"),
        (
            lambda: hooks.run_with_cache(site_model, X, where=3),
            "For 'run_with_cache', 'where' should be a name, or a list of names",
        ),
        (lambda: hooks.ablate(site_model, None), "For 'ablate', 'at' should be a name"),
        (lambda: hooks.ablate(site_model, "a", n_heads="a"), "For 'ablate', 'n_heads' should be an int"),
        (lambda: hooks.ablate(site_model, "a", value="median"), "For 'ablate', 'value' should be a number, an array or 'mean'"),
        (lambda: hooks.steer(site_model, "a"), "For 'steer', 'vectors' should be a dict of places"),
        (lambda: hooks.steer(site_model, {"a": 1.0}, scale="a"), "For 'steer', 'scale' should be a number"),
        (lambda: hooks.steer(site_model, {"a": 1.0}, axis="a"), "For 'steer', 'axis' should be the number of an axis"),
        (lambda: hooks.patch_sweep(site_model, X, X, "a", metric=lambda: 0), r"the metric is called as metric\(result\)"),
        (lambda: hooks.patch_sweep(site_model, X, X, "a", metric=jnp.sum, chunk=1.5), "'chunk' should be an int"),
        (lambda: hooks.patch_sweep(site_model, X, X, "a", metric=jnp.sum, memory="1G"), "'memory' should be a number"),
        (lambda: hooks.patch_sweep(site_model, X, X, "a", metric=jnp.sum, progress=True), "the progress must be callable"),
        (lambda: hooks.attribute(site_model, X, at="a", steps=2.5), "For 'attribute', 'steps' should be an int"),
        (lambda: A_STREAM.direct(X, at=None), "For 'direct', 'at' should be a name"),
        (lambda: A_STREAM.decompose(X, split=3), "For 'decompose', 'split' should be a dict of places"),
        (lambda: A_STREAM.mean(X), "For 'mean', 'batches' should be a list, or another iterable, of batches"),
        (lambda: hooks.conductance(site_model, X, at=3, metric=jnp.sum), "For 'conductance', 'at' should be a name"),
        (lambda: hooks.occlusion(site_model, X, metric=jnp.sum, window=2), "For 'occlusion', 'window' should be a tuple of ints"),
        (
            lambda: hooks.noise_tunnel(site_model, X, metric=jnp.sum, key=KEY, wrt=None),
            "'wrt' should be the number or the keyword of an argument",
        ),
        (lambda: hooks.collect(site_model, "a", X, to="/nowhere"), "For 'collect', 'batches' should be a list"),
        (lambda: hooks.collect(site_model, "a", [X], to=3), "For 'collect', 'to' should be a path, but got int 3"),
        (
            lambda: hooks.collect(site_model, "a", [X], to="/nowhere", progress="yes"),
            "'progress' should be a bool, or a function",
        ),
        (lambda: hooks.collect(site_model, "a", [X], to="/nowhere", dtype="nothing"), "'dtype' should be a dtype of arrays"),
        (lambda: hooks.linear_probe([(X, X)], optimizer="adam"), "For 'linear_probe', 'optimizer' should be one of optax"),
        (lambda: hooks.transplant(site_model, X, {"b": "a"}, positions=1), "'positions' should be a pair"),
        (
            lambda: hooks.occlusion(site_model, X, metric=jnp.sum, window=(1,), baseline="a"),
            "'baseline' should be a number or an array",
        ),
        (lambda: hooks.noise_tunnel(site_model, X, metric=jnp.sum, key=KEY, noise="a"), "'noise' should be a number"),
        (lambda: hooks.capture(lambda x: hooks.site(3, x))(X), "For 'site', 'name' should be a str"),
        (lambda: hooks.probe(X, 0.0, 3), "For 'probe', the statistic must be callable"),
        (lambda: tools.record(site_model, X, path=3), "For 'record', 'path' should be a path, but got int 3"),
        (lambda: tools.record(site_model, X, gradients="no"), "For 'record', 'gradients' should be a bool"),
        (lambda: tools.find_nan(site_model, X, gradients="no"), "For 'find_nan', 'gradients' should be a bool"),
        (lambda: hooks.linear_probe([X]), r"a batch should be a pair \(activations, targets\)"),
        (lambda: hooks.linear_probe([(X, X)], ridge="a"), "'ridge' should be a number"),
        (lambda: hooks.splice(site_model, {"a": CODER}, edit=3), "For 'splice', 'edit' should be a dict of functions"),
        (lambda: hooks.monitor(site_model, every=2.5), "For 'monitor', 'every' should be an int"),
        (lambda: hooks.monitor(site_model, forward=lambda: 0), r"the forward is called as forward\(array\)"),
    ],
)
def test_arguments_of_another_type(call, words):
    """Python's own errors spoke of what msjax does with them, or there was none: `progress="yes"` showed a bar, `chunk=0` never ended."""
    with pytest.raises(TypeError, match=words):
        call()


def test_numbers_out_of_range():
    for chunk in (0, -1):
        with pytest.raises(ValueError, match="For 'patch_sweep', 'chunk' should be positive"):
            hooks.patch_sweep(site_model, X, X, "a", metric=jnp.sum, chunk=chunk)
    with pytest.raises(ValueError, match="For 'capture', 'max_steps' should be positive"):
        hooks.capture(site_model, max_steps=0)
    with pytest.raises(ValueError, match="For 'linear_probe', 'classes' should be positive"):
        hooks.linear_probe([(X, jnp.zeros(1, int))], classes=0)


def test_a_function_that_is_told_how_far_collect_is(tmp_path):
    told = []
    hooks.collect(site_model, "a", [X, X], to=tmp_path, progress=lambda done, total: told.append((done, total)))
    hooks.collect(site_model, "a", iter([X, X, X]), to=tmp_path, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2), (3, None)]
