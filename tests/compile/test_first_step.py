"""What compiled functions cost at their first call: the compiler's options of large programs, and what is traced."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from msjax.core.jaxprs import observers
from msjax.engine.programs import compiler_options
from msjax.engine.programs.compiler_options import large_options, quick_options
from msjax.ops.dispatch.platforms import on_cpu


@pytest.fixture
def asked(monkeypatch):
    """The options with which `compile_program` has jax compile; every program counts as large."""
    if not quick_options():
        pytest.skip("this jaxlib has one set of options")
    found, original = [], jax.jit

    def jit(*args, **options):
        if "donate_argnums" in options:
            found.append(options.get("compiler_options"))
        return original(*args, **options)

    monkeypatch.setattr(jax, "jit", jit)
    monkeypatch.setattr(compiler_options, "_LARGE", 1)
    return found


def trained(steps=3):
    ms.set_seed(1)
    net = nn.Dense(4, 3)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    x, y = ms.Tensor(np.linspace(-1, 1, 8).reshape(2, 4).astype(np.float32)), ms.Tensor(np.ones((2, 3), np.float32))
    run = ms.jit(lambda: step(x, y))
    return [float(run()) for _ in range(steps)], [p.asnumpy() for p in net.trainable_params()]


def test_a_large_program_has_options_and_the_same_results(asked, monkeypatch):
    losses, weights = trained()
    assert large_options() in asked
    asked.clear()
    monkeypatch.setattr(compiler_options, "_LARGE", 10_000)
    expected, expected_weights = trained()
    assert asked and not any(asked)
    np.testing.assert_allclose(losses, expected, rtol=1e-6)
    for a, b in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_program_without_products_has_none(asked):
    assert ms.jit(lambda x: x * 2 + 1)(ms.Tensor([1.0])).asnumpy() == 3
    assert asked and not any(asked)


def test_a_large_program_of_operands_elsewhere_has_none(asked, monkeypatch):
    dense, used = nn.Dense(3, 2, weight_init="ones", bias_init="zeros"), []
    run, original = ms.jit(lambda x: dense(x)), jax.jit
    monkeypatch.setattr(compiler_options, "platform_of", lambda values: "gpu")

    def jit(*args, **options):
        program = original(*args, **options)

        def noted(*values):
            used.append(options.get("compiler_options"))
            return program(*values)

        return noted

    monkeypatch.setattr(jax, "jit", jit)
    np.testing.assert_allclose(run(ms.Tensor(np.ones((1, 3), np.float32))).asnumpy(), [[3, 3]])
    assert used and not any(used)


def test_a_program_with_options_runs_inside_of_others(asked):
    dense = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
    inner = ms.jit(lambda x: ops.relu(dense(x)))
    x = ms.Tensor(np.ones((1, 3), np.float32))
    np.testing.assert_allclose(inner(x).asnumpy(), [[3, 3]])
    assert large_options() in asked
    np.testing.assert_allclose(ms.jit(lambda v: inner(v) * 2)(x).asnumpy(), [[6, 6]])
    traced = jax.jit(lambda v: jnp.asarray(inner(ms.Tensor(v))) * 3)
    np.testing.assert_allclose(traced(jnp.ones((1, 3), jnp.float32)), [[9, 9]])
    np.testing.assert_allclose(ms.grad(lambda v: inner(v).sum())(x).asnumpy(), [[2, 2, 2]])


def test_large_programs_are_compiled_in_several_pieces():
    if not quick_options():
        assert large_options() == {}
        pytest.skip("this jaxlib has one set of options")
    options = dict(large_options())
    assert options.pop("xla_cpu_parallel_codegen_split_count") >= 2
    assert options.items() <= quick_options().items()


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="other platforms take the other kernel")
def test_a_compiled_function_traces_the_kernel_of_its_platform_only():
    traced = []

    def kernel(name):
        return lambda x: traced.append(name) or x + 1

    def call(x):
        return ms.Tensor(on_cpu(kernel("cpu"), kernel("other"), jnp.asarray(x)))

    assert ms.jit(call)(ms.Tensor([1.0])).asnumpy() == 2
    assert set(traced) == {"cpu"}
    traced.clear()
    text = jax.jit(lambda x: on_cpu(kernel("cpu"), kernel("other"), x)).lower(1.0).as_text()
    assert set(traced) == {"cpu", "other"} and "add" in text


def test_masks_and_what_an_optimizer_prepares_need_no_second_program():
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(3, 3), nn.Dropout(p=0.5))
    optimizer = nn.Adam(net.trainable_params(), 0.1)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer).set_train()
    x = ms.Tensor(np.ones((2, 3), np.float32))
    run = ms.jit(lambda: step(x, x))
    losses = [float(run()) for _ in range(3)]
    assert run.compilations() == 1 and len(set(losses)) == 3
    optimizer.beta1 = 0.5
    run()
    assert run.compilations() == 2


def test_a_large_program_writes_small_arrays_into_new_memory(asked):
    net = nn.Dense(128, 128)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    x = ms.Tensor(np.ones((2, 128), np.float32))
    run = ms.jit(lambda: step(x, x))
    run()  # from here on the arrays are XLA's own; memory that lies as it wants it may have been numpy's before, which it doesn't write to
    assert large_options() in asked
    places = [p._value.unsafe_buffer_pointer() for p in (net.weight, net.bias)]
    run()
    kept = [p._value.unsafe_buffer_pointer() == place for p, place in zip((net.weight, net.bias), places)]
    assert kept == [True, False]


def test_jax_is_given_the_equations_of_a_large_program_as_they_are(monkeypatch):
    evaluated, original = [], jax.extend.core.jaxpr_as_fun
    monkeypatch.setattr(observers, "_MANY", 0)
    monkeypatch.setattr(jax.extend.core, "jaxpr_as_fun", lambda closed: evaluated.append(closed) or original(closed))
    constant, seen = np.asarray([5.0, 6.0], np.float32), []
    dense = nn.Dense(2, 2, weight_init="ones", bias_init="zeros")
    dense.register_forward_hook(lambda cell, inputs, output: seen.append(output.asnumpy()))

    @ms.jit
    def run(x, y):
        twice = x * 2 + ms.Tensor(constant)
        return y, twice, twice, ms.Tensor(1.5), dense(y), x

    x, y = ms.Tensor([1.0, 2.0]), ms.Tensor([[3.0, 4.0]])
    for _ in range(2):
        found = [v.asnumpy().tolist() for v in run(x, y)]
        assert found == [[[3, 4]], [7, 10], [7, 10], 1.5, [[7, 7]], [1, 2]]
    assert not evaluated and [v.tolist() for v in seen] == [[[7, 7]]] * 2


def test_equal_equations_of_large_programs_are_computed_once(monkeypatch):
    monkeypatch.setattr(observers, "_MANY", 1)

    def fn(x):
        left, right = jnp.split(x, 2)
        again, other = jnp.split(x, 2)
        barriers = jax.lax.optimization_barrier(left) + jax.lax.optimization_barrier(left)
        return jnp.sin(x) * 2.0 + jnp.sin(x) * 2.0, left * 3.0 - other, again * 3.0 - right, barriers, jnp.cos(x)[:0], x

    x = np.arange(4, dtype=np.float32)
    closed = jax.make_jaxpr(fn)(x)
    outs, _ = observers.Observing(closed).run([x])
    for out, expected in zip(outs, fn(x), strict=True):
        np.testing.assert_array_equal(out, expected)
    found = [eqn.primitive.name for eqn in jax.make_jaxpr(lambda x: observers.Observing(closed).run([x])[0])(x).jaxpr.eqns]
    assert [found.count(name) for name in ("sin", "split", "optimization_barrier")] == [1, 1, 2]
