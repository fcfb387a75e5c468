"""hooks.capture: networks and functions, selection, order, errors, pytrees, while_loop's steps, cond's counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.ad_checkpoint import checkpoint_name

import msjax as ms
from msjax import nn
from msjax.hooks import site
from msjax.tools import hooks_of

X = jnp.array([1.0, 2.0, 3.0])


def test_capture_of_a_cell():
    net = nn.SequentialCell(nn.Dense(3, 2, weight_init="ones", bias_init="zeros"), nn.ReLU())
    _apply, params, buffers = ms.functionalize(net)
    x = jnp.array([[1.0, -1.0, 2.0]], jnp.float32)
    run = jax.jit(ms.hooks.capture(net, gradients=True))
    (out, _), found = run(params, buffers, x)
    np.testing.assert_array_equal(out, [[2, 2]])
    assert set(found.activations) == {"0", "1", ""} == set(found.gradients)
    np.testing.assert_array_equal(found.activations["0"], [[2, 2]])
    np.testing.assert_array_equal(found.gradients["0"], [[1, 1]])
    assert not hooks_of(net[0])
    (_, _), found = ms.hooks.capture(net, ["1"], statistic=jnp.mean)(params, buffers, x)
    assert float(found.activations["1"]) == 2 and found.gradients == {}
    (_, _), found = ms.hooks.capture(net, "1", gradients=True, loss=lambda out: (out**2).sum())(params, buffers, x)
    np.testing.assert_array_equal(found.gradients["1"], [[4, 4]])
    gradient = jax.jit(jax.grad(lambda p: ms.hooks.capture(net, "0")(p, buffers, x)[1].activations["0"].sum()))(params)
    np.testing.assert_array_equal(gradient["0.weight"], [[1, -1, 2]] * 2)


def test_capture_of_a_function_and_its_errors():
    def f(x):
        y = ms.hooks.site("square", x**2)
        return ms.hooks.site("out", y * 3).sum()

    _out, found = ms.hooks.capture(f, "sq*", gradients=True)(X)
    np.testing.assert_array_equal(found.activations["square"], X**2)
    np.testing.assert_array_equal(found.gradients["square"], [3, 3, 3])
    assert "out" not in found.activations
    with pytest.raises(ValueError, match=r"no place was selected.*'square', 'out'"):
        ms.hooks.capture(f, "nothing")(X)
    with pytest.raises(TypeError, match="select"):
        ms.hooks.capture(f, 3)


def test_a_place_that_is_passed_twice():
    def f(x):
        for _ in range(2):
            x = ms.hooks.site("step", x * 2)
        return x.sum()

    _, found = ms.hooks.capture(f)(X)
    assert list(found.activations) == ["step", "step#1"]


def test_places_are_in_program_order_also_out_of_jit():
    def f(x):
        for name in "zebra", "ant", "mole":
            x = site(name, x + 1)
        return x

    run = ms.hooks.capture(f, gradients=True)
    for found in (run(X)[1], jax.jit(run)(X)[1]):
        assert list(found.activations) == list(found.gradients) == ["zebra", "ant", "mole"]
    assert list(jax.tree.map(lambda v: v * 2, found).activations) == ["zebra", "ant", "mole"]


def test_a_function_that_is_not_captured_has_the_plain_program():
    inner = jax.jit(lambda x: site("in", jnp.sin(x)))

    def f(x, name=site):
        return name("a", lax.scan(lambda c, v: (name("c", c * v), None), 1.0, x)[0])

    assert str(jax.make_jaxpr(f)(X)) == str(jax.make_jaxpr(lambda x: f(x, lambda _name, v: v))(X))
    plain = str(jax.make_jaxpr(inner)(X))
    assert "msjax" not in plain
    # A jit inside has been traced already: it is traced again when it is captured, and the plain trace is kept.
    np.testing.assert_allclose(ms.hooks.capture(inner)(X)[1].activations["in"], np.sin(X))
    assert str(jax.make_jaxpr(inner)(X)) == plain


def test_captured_program_has_nothing_of_msjax_in_it():
    run = jax.jit(ms.hooks.capture(lambda x: site("a", x * 2).sum(), gradients=True))
    assert "msjax" not in run.lower(X).as_text() and "custom_call" not in run.lower(X).as_text()


def test_inner_functions_are_traced_once():
    traced = []

    @jax.jit
    def layer(x):
        traced.append(x)
        return site("layer", jnp.tanh(x))

    def f(x):
        for _ in range(4):
            x = layer(x)
        return x

    run = jax.jit(ms.hooks.capture(f, gradients=True))
    _, found = run(X)
    assert list(found.activations) == ["layer", "layer#1", "layer#2", "layer#3"] and len(traced) == 1
    # Another capture uses what has been traced; one with edits doesn't.
    ms.hooks.capture(f, "layer#2")(X)
    assert len(traced) == 1
    jax.jit(ms.hooks.capture(f, edit={"layer": lambda v, i: v * 2}))(X)
    assert len(traced) == 2
    # Four calls of one function are four calls of one function in the captured program, too.
    assert jax.jit(ms.hooks.capture(f)).lower(X).as_text().count("func.func private @layer") == 1


def test_one_of_several_calls():
    def f(x):
        for _ in range(3):
            x = site("step", x * 2)
        return x.sum()

    _, found = ms.hooks.capture(f, "step#1", gradients=True)(X)
    assert list(found.activations) == ["step#1"]
    np.testing.assert_array_equal(found.activations["step#1"], X * 4)
    np.testing.assert_array_equal(found.gradients["step#1"], [2, 2, 2])


@pytest.mark.skipif(len(jax.devices()) < 2, reason="needs 2 devices")
def test_names_and_donation_and_shardings_of_inner_jits():
    mesh = jax.make_mesh((2,), ("d",))
    over_d = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))

    @jax.jit(donate_argnums=0, out_shardings=over_d, in_shardings=over_d)
    def my_layer(x):
        return site("y", x * 2) + 1

    x = jnp.arange(4.0)
    jaxpr = jax.make_jaxpr(ms.hooks.capture(lambda x: my_layer(x)))(x)
    [eqn] = [e for e in jaxpr.eqns if e.primitive.name == "jit"]
    assert eqn.params["name"] == "my_layer"
    assert eqn.params["donated_invars"] == (True,)
    assert eqn.params["out_shardings"][0] == over_d == eqn.params["in_shardings"][0]
    out, found = jax.jit(ms.hooks.capture(my_layer, gradients=True))(x)
    np.testing.assert_array_equal(out, [1, 3, 5, 7])
    np.testing.assert_array_equal(found.activations["y"], [0, 2, 4, 6])


def test_pytrees_and_values_without_gradients():
    def f(x):
        pair = site("pair", {"value": x * 2, "number": jnp.arange(3)})
        mask = site("mask", x > 1)
        return (pair["value"] * pair["number"] * mask).sum()

    _, found = jax.jit(ms.hooks.capture(f, gradients=True))(X)
    np.testing.assert_array_equal(found.activations["pair"]["number"], [0, 1, 2])
    np.testing.assert_array_equal(found.gradients["pair"]["value"], [0, 1, 2])
    assert found.gradients["pair"]["number"] is None and "mask" not in found.gradients
    assert found.activations["mask"].dtype == bool


def test_results_that_are_no_arrays():
    out, _ = ms.hooks.capture(lambda x, n, label=None: (site("a", x * n), label, n))(X, 3, label="text")
    assert out[1:] == ("text", 3)
    np.testing.assert_array_equal(out[0], X * 3)


def test_cond_says_whether_its_branch_was_taken():
    def f(x, flag):
        return lax.cond(flag, lambda x: site("yes", x * 2), lambda x: site("no", x * 3), x).sum()

    run = jax.jit(ms.hooks.capture(f, gradients=True))
    for flag, taken, other, factor in ((True, "yes", "no", 2), (False, "no", "yes", 3)):
        _, found = run(X, flag)
        assert int(found.counts[taken]) == 1 and int(found.counts[other]) == 0
        np.testing.assert_array_equal(found.activations[taken], X * factor)
        np.testing.assert_array_equal(found.gradients[taken], [1, 1, 1])
        np.testing.assert_array_equal(found.activations[other], [0, 0, 0])
        np.testing.assert_array_equal(found.gradients[other], [0, 0, 0])

    def looped(x):
        def body(c, v):
            return lax.cond(v > 1.5, lambda c: site("big", c + v), lambda c: c, c), None

        return lax.scan(body, 0.0, x)[0]

    _, found = jax.jit(ms.hooks.capture(looped, statistic=lambda a: a * 2))(X)
    np.testing.assert_array_equal(found.counts["big"], [0, 1, 1])
    np.testing.assert_array_equal(found.activations["big"], [0, 4, 10])


def test_steps_of_a_while_loop():
    def f(n):
        def body(state):
            i, x = state
            x = lax.cond(i % 2 == 0, lambda x: site("even", x * 2), lambda x: x, site("x", x + 1))
            return i + 1, x

        return lax.while_loop(lambda state: state[0] < n, body, (0, 0.0))[1]

    _, found = jax.jit(ms.hooks.capture(f))(4)
    # x: 1, 3, 4, 9; even: 2, -, 8, -
    assert float(found.activations["x"]) == 9 and int(found.counts["x"]) == 4
    assert float(found.activations["even"]) == 8 and int(found.counts["even"]) == 2
    _, found = jax.jit(ms.hooks.capture(f, max_steps=6))(4)
    np.testing.assert_array_equal(found.activations["x"], [1, 3, 4, 9, 0, 0])
    np.testing.assert_array_equal(found.counts["x"], [1, 1, 1, 1, 0, 0])
    np.testing.assert_array_equal(found.counts["even"], [1, 0, 1, 0, 0, 0])
    _, found = jax.jit(ms.hooks.capture(f, "x", max_steps=2))(4)
    np.testing.assert_array_equal(found.activations["x"], [1, 3])
    _, found = jax.jit(ms.hooks.capture(f))(0)
    assert int(found.counts["x"]) == 0


def test_checkpoint_names_are_places():
    def f(x):
        def layer(c, w):
            return jax.checkpoint(lambda c: checkpoint_name(jnp.sin(c * w), "mlp"))(c), None

        return lax.scan(layer, x, jnp.array([1.0, 2.0]))[0].sum()

    _, found = jax.jit(ms.hooks.capture(f, "mlp", gradients=True))(X)
    first = jnp.sin(X)
    np.testing.assert_allclose(found.activations["mlp"], [first, jnp.sin(first * 2)], rtol=1e-6)
    np.testing.assert_allclose(found.gradients["mlp"], [2 * jnp.cos(2 * first), jnp.ones(3)], rtol=1e-6)
    skip_first = {"mlp": lambda v, i: jnp.where(i[0] == 0, 0.5, v)}
    out, _ = jax.jit(ms.hooks.capture(f, [], edit=skip_first))(X)
    np.testing.assert_allclose(out, 3 * np.sin(1.0), rtol=1e-6)


def test_a_gradient_inside_of_the_captured_function():
    """A training step is captured: forward places come once, although checkpoint computes them again; edits change the gradient."""

    def loss(w, x):
        def layer(c, _):
            return jax.checkpoint(lambda c: site("h", jnp.tanh(c * w)))(c), None

        return lax.scan(layer, x, None, length=2)[0].sum()

    def train_step(w, x):
        return jax.value_and_grad(loss)(w, x)

    (value, grad), found = jax.jit(ms.hooks.capture(train_step))(0.5, X)
    np.testing.assert_allclose((value, grad), train_step(0.5, X), rtol=1e-6)
    assert list(found.activations) == ["h"]
    np.testing.assert_allclose(found.activations["h"], [jnp.tanh(X / 2), jnp.tanh(jnp.tanh(X / 2) / 2)], rtol=1e-6)

    def edited_by_hand(w, x):
        return (jnp.tanh(jnp.tanh(x * w) * 3 * w)).sum()

    edit = {"h": lambda v, i: jnp.where(i[0] == 0, v * 3, v)}
    (value, grad), _ = jax.jit(ms.hooks.capture(train_step, [], edit=edit))(0.5, X)
    np.testing.assert_allclose((value, grad), jax.value_and_grad(edited_by_hand)(0.5, X), rtol=1e-6)


@pytest.mark.parametrize("which", ["jvp", "vjp"])
def test_the_users_own_derivative_is_kept(which):
    """Of the result, the rule gives the derivative; of the place's value, its own formula does."""
    make = {"jvp": custom_jvp_times_100, "vjp": custom_vjp_times_100}[which]
    run = ms.hooks.capture(lambda x: make()(x * 2))
    assert float(jax.grad(lambda x: run(x)[0])(1.0)) == 200
    assert float(jax.jit(jax.grad(lambda x: run(x)[1].activations["inside"]))(1.0)) == 6
    with_gradients = ms.hooks.capture(lambda x: make()(x * 2), gradients=True)
    assert float(with_gradients(1.0)[1].gradients["inside"]) == 1
    assert float(jax.jit(jax.grad(lambda x: with_gradients(x)[0]))(1.0)) == 200
    edited = ms.hooks.capture(lambda x: make()(x * 2), [], edit={"inside": lambda v, i: v + 1})
    assert float(edited(1.0)[0]) == 7 and float(jax.grad(lambda x: edited(x)[0])(1.0)) == 200
    if which == "jvp":
        assert float(jax.jvp(lambda x: run(x)[0], (1.0,), (1.0,))[1]) == 200


def custom_jvp_times_100():
    f = jax.custom_jvp(lambda x: site("inside", x * 3))
    f.defjvp(lambda p, t: (f(*p), t[0] * 100))
    return f


def custom_vjp_times_100():
    f = jax.custom_vjp(lambda x: site("inside", x * 3))
    f.defvjp(lambda x: (site("inside", x * 3), None), lambda _, ct: (ct * 100,))
    return f


def test_unused_and_repeated_arguments_and_consts():
    table = jnp.arange(3.0)

    def f(x, y):
        return site("a", x @ table) + site("b", jnp.zeros(2)).sum()

    out, found = jax.jit(ms.hooks.capture(f, gradients=True))(X, X)
    assert float(out) == 8 and float(found.gradients["a"]) == 1
    np.testing.assert_array_equal(found.gradients["b"], [1, 1])


def test_errors():
    def f(x):
        return site("a", site("b", x) * 2)

    with pytest.raises(ValueError, match="no place was selected by 'c'; there are 'b', 'a'"):
        ms.hooks.capture(f, ["a", "c"])(X)
    with pytest.raises(ValueError, match="no place was found for the edit of 'c'; there are 'b', 'a'"):
        ms.hooks.capture(f, "a", edit={"c": lambda v, i: v})(X)
    with pytest.raises(ValueError, match="there is none: name values with"):
        ms.hooks.capture(lambda x: x)(X)
    with pytest.raises(ValueError, match="no place was selected"):
        ms.hooks.capture(f, [])(X)
    with pytest.raises(TypeError, match="'edit' should be a dict of functions"):
        ms.hooks.capture(f, edit=lambda v, i: v)
    with pytest.raises(ValueError, match=r"The edit .*shape of the place 'a' returned .* but expected is"):
        ms.hooks.capture(f, edit={"a": shape})(X)
    with pytest.raises(ValueError, match="float16"):
        ms.hooks.capture(f, edit={"a": lambda v, i: v.astype("float16")})(X)
    for wrong, name in (([X], r"\[array"), ("x", "str 'x'"), (object(), "object")):
        with pytest.raises(TypeError, match=rf"The edit .* of the place 'a' should return None or array.*, but returned {name}"):
            ms.hooks.capture(f, edit={"a": lambda v, i, wrong=wrong: wrong})(X)
    with pytest.raises(ZeroDivisionError) as raised:
        ms.hooks.capture(f, edit={"a": lambda v, i: 1 / 0})(X)
    assert any(note.startswith("raised by the edit ") for note in raised.value.__notes__)
    with pytest.raises(ValueError, match=r"asks for index\[1\], but 0 loops"):
        ms.hooks.capture(f, edit={"a": lambda v, i: v + i[1]})(X)
    with pytest.raises(TypeError, match="write index\\[0\\]"):
        ms.hooks.capture(f, edit={"a": lambda v, i: v + len(i)})(X)
    with pytest.raises(ValueError, match="no floating-point values to differentiate"):
        ms.hooks.capture(lambda x: site("a", x).astype(int), gradients=True)(X)


def shape(value, index):
    return value[:1]


def test_what_can_not_be_reached():
    def condition(x):
        return lax.while_loop(lambda c: site("c", c) < 3, lambda c: c + 1, x)

    with pytest.raises(
        ValueError, match="'c' is inside of the condition of a while_loop, from where its value can't be returned"
    ):
        ms.hooks.capture(condition)(0.0)

    def by_platform(x):
        return lax.platform_dependent(x, cpu=lambda x: site("p", x * 2), default=lambda x: x)

    with pytest.raises(ValueError, match="'p' is inside of a branch for one platform"):
        ms.hooks.capture(lambda x: site("q", by_platform(x)), "p")(X)
    # What is not selected doesn't matter.
    out, _ = jax.jit(ms.hooks.capture(lambda x: site("q", by_platform(x)), "q"))(X)
    np.testing.assert_array_equal(out, X * 2 if jax.default_backend() == "cpu" else X)


def test_edits_without_a_capture_under_vmap_see_one_example():
    seen = []

    def edit(v, index):
        seen.append(v.shape)
        return v - v.mean()

    rows = jnp.arange(6.0).reshape(2, 3)
    out, _ = ms.hooks.capture(jax.vmap(lambda x: site("a", x * 1)), [], edit={"a": edit})(rows)
    np.testing.assert_array_equal(out, [[-1, 0, 1], [-1, 0, 1]])
    assert seen == [(3,)]


def test_edits_of_a_cell():
    net = nn.SequentialCell(nn.Dense(3, 2, weight_init="ones", bias_init="zeros"), nn.ReLU())
    _, params, buffers = ms.functionalize(net)
    x = jnp.array([[1.0, -1.0, 2.0]], jnp.float32)
    (out, _), found = jax.jit(ms.hooks.capture(net, "1", edit={"0": lambda v, i: v * 5}))(params, buffers, x)
    np.testing.assert_array_equal(out, [[10, 10]])
    assert list(found.activations) == ["1"] and not hooks_of(net[0]) and not hooks_of(net[1])
    with pytest.raises(ValueError, match="no place was selected by '2'; there are '', '0', '1'"):
        ms.hooks.capture(net, "2")(params, buffers, x)


def test_a_cell_inside_of_a_scan():
    """The first place is inside of a loop: nothing of it leaks."""
    net = nn.SequentialCell(nn.Dense(3, 3, weight_init="ones"), nn.Tanh())
    apply, params, buffers = ms.functionalize(net)

    def f(x):
        return lax.scan(lambda c, _: (site("cell", apply(params, buffers, c)[0]), None), x, None, length=2)[0]

    x = jnp.ones((1, 3), jnp.float32)
    with jax.checking_leaks():
        _, found = ms.hooks.capture(f, gradients=True)(x)
    assert found.activations["cell"].shape == (2, 1, 3) == found.gradients["cell"].shape


def test_a_captured_function_that_captures():
    def inner(x):
        return site("b", site("a", x + 1) * 2)

    def outer(x):
        out, found = ms.hooks.capture(inner, "b")(x)
        return site("c", out + found.activations["b"])

    out, found = jax.jit(ms.hooks.capture(outer, edit={"a": lambda v, i: v * 10}))(1.0)
    assert float(out) == 80 and list(found.activations) == ["a", "b", "c"]
    assert [float(v) for v in found.activations.values()] == [20, 40, 80]


def test_stop_after_a_place():
    def f(x):
        x = site("a", x * 2)
        x = site("b", jnp.sin(x))
        jax.debug.callback(lambda: ran.append(1))
        return site("c", jnp.exp(x))

    ran = []
    out, found = ms.hooks.capture(f, stop_after="b")(X)
    assert out is None and list(found.activations) == ["a", "b"]
    np.testing.assert_allclose(found.activations["b"], np.sin(2 * X), rtol=1e-6)
    compiled = jax.jit(ms.hooks.capture(lambda x: site("c", jnp.exp(site("b", jnp.sin(x)))), stop_after="b"))
    text = compiled.lower(X).compile().as_text()
    assert "sine" in text and "exponential" not in text
    with pytest.raises(ValueError, match="no place was found to stop after 'z'; there are 'a', 'b', 'c'"):
        ms.hooks.capture(f, stop_after="z")(X)
    with pytest.raises(ValueError, match="no gradients with 'stop_after'"):
        ms.hooks.capture(f, stop_after="b", gradients=True)
    with pytest.raises(TypeError, match="'stop_after' should be the name"):
        ms.hooks.capture(f, stop_after=["b"])


def test_run_with_cache_of_a_cell_and_a_function():
    net = nn.SequentialCell(nn.Dense(3, 2, weight_init="ones", bias_init="zeros"), nn.BatchNorm1d(2), nn.ReLU())
    net.set_train()
    other = nn.SequentialCell(nn.Dense(3, 2, weight_init="ones", bias_init="zeros"), nn.BatchNorm1d(2), nn.ReLU())
    other.set_train()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    out, cache = ms.hooks.run_with_cache(net, jnp.asarray(x), where=["0", "2"])
    np.testing.assert_allclose(out, other(ms.Tensor(x)).asnumpy(), rtol=1e-5)
    assert list(cache) == ["0", "2"]
    np.testing.assert_allclose(net[1].moving_mean.asnumpy(), other[1].moving_mean.asnumpy(), rtol=1e-6)
    out, cache = ms.hooks.run_with_cache(lambda x, factor: site("a", x * factor), X, factor=3, edit={"a": lambda v, i: v + 1})
    np.testing.assert_array_equal(out, X * 3 + 1)
    np.testing.assert_array_equal(cache["a"], out)


def test_a_cell_whose_gradients_pass_hooks():
    """A functionalized network with hooks on gradients has a derivative of its own: capture keeps it, and edits go into it."""
    net = nn.SequentialCell(
        nn.Dense(2, 2, weight_init="ones", bias_init="zeros"), nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), nn.ReLU()
    )
    seen = []
    net[0].register_backward_hook(lambda cell, grad_input, grad_output: seen.append(grad_output[0].asnumpy()))
    net[1].register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 10,))
    _, params, buffers = ms.functionalize(net)
    x = jnp.ones((1, 2), jnp.float32)
    run = ms.hooks.capture(net, "1", edit={"0": lambda v, i: v * 3})
    (out, _), found = run(params, buffers, x)
    np.testing.assert_array_equal(out, [[12]])
    np.testing.assert_array_equal(found.activations["1"], [[12]])
    for transform in (lambda f: f, jax.jit):
        grad = transform(jax.grad(lambda x: run(params, buffers, x)[0][0].sum()))(x)
        np.testing.assert_array_equal(grad, [[60, 60]])
        ms.hooks.barrier()
        np.testing.assert_array_equal(seen.pop(), [[30, 30]])
        assert not seen


def test_edits_and_statistics_that_are_not_hashable():
    class Scale:
        __hash__ = None

        def __call__(self, value, index=None):
            return value * 2

    def f(x):
        return checkpoint_name(site("a", x), "b").sum()

    run = jax.jit(ms.hooks.capture(f, gradients=True, statistic=Scale(), edit={"*": Scale()}))
    out, found = run(X)
    assert float(out) == 24
    np.testing.assert_array_equal(found.activations["a"], X * 4)
    np.testing.assert_array_equal(found.activations["b"], X * 8)
    np.testing.assert_array_equal(found.gradients["a"], [4, 4, 4])
    assert list(found.keys()) == ["a", "b"] and dict(found) == dict(found.items()) == found.activations
    assert [float(a[0]) for a in found.values()] == [4 * float(X[0]), 8 * float(X[0])]
