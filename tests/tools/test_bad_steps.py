"""What guard leaves behind: short tracebacks, steps that were left out, and bundles from which they are run again."""

import os
import subprocess
import sys
import traceback

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import msjax as ms
from msjax import nn
from msjax.tools import Fault, compare, find_nan, guard, record, replay
from tests.tools import step_for_bundles
from tests.tools.step_for_bundles import make


def weights(net):
    return {p.name: p.asnumpy() for p in net.get_parameters()}


@pytest.mark.parametrize("mode", ["compiled", "pynative"])
def test_traceback_without_frames_of_its_own(mode):
    net, step, _, bad = make()
    step = ms.jit(step) if mode == "compiled" else step
    with pytest.raises(Fault) as raised, guard(net):
        step(*bad)
    frames = [f.filename for f in traceback.extract_tb(raised.value.__traceback__)]
    assert sum(f"{os.sep}msjax{os.sep}" in f for f in frames) <= 1 and __file__ in frames


def test_at_most_one_line_on_stderr(capsys):
    model = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), jnp.log, nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.relu)
    with pytest.raises(Fault), guard(model):
        nnx.jit(nnx.grad(lambda m, x: m(x).sum()))(model, -10 * jnp.ones((1, 2)))
        ms.hooks.barrier()
    # None, if the barrier raises it first.
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) <= 1 and all(line.startswith("msjax: the hook tools.guard of module layers.2") for line in lines), lines


def test_skipped_steps():
    net, step, good, bad = make()
    step = ms.jit(step)
    with guard(net, policy="skip") as guarded:
        step(*good)
        before = weights(step_for_bundles.LAST)
        assert np.isnan(float(step(*bad))) and guarded.skipped == 1
        assert all(np.array_equal(before[name], value) for name, value in weights(step_for_bundles.LAST).items())
        assert np.isfinite(float(step(*good))) and guarded.skipped == 1
    assert not all(np.array_equal(before[name], value) for name, value in weights(step_for_bundles.LAST).items())


def test_skipped_steps_of_functions():
    optimizer = optax.adam(0.1)

    def step(params, state, x):
        loss, gradient = jax.value_and_grad(lambda p: (p * jnp.log(x)).sum())(params)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, loss

    params, state = jnp.ones(2), optimizer.init(jnp.ones(2))
    guarded = guard(step, policy="skip", state={0: 0, 1: 1})
    new, new_state, loss = guarded(params, state, -jnp.ones(2))
    assert new is params and jax.tree.leaves(new_state) == jax.tree.leaves(state) and jnp.isnan(loss) and guarded.skipped == 1
    assert not np.array_equal(guarded(params, state, 2 * jnp.ones(2))[0], params) and guarded.skipped == 1
    with pytest.raises(ValueError, match="needs to know what a step that is left out returns"):
        guard(step, policy="skip")(params, state, params)

    model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))

    @lambda fn: guard(fn, policy="skip")
    def train(model, x):
        loss, gradient = nnx.value_and_grad(lambda m: (jnp.log(x) * m(x)).sum())(model)
        nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(model), gradient))
        return loss

    before = model.kernel[...]
    assert jnp.isnan(train(model, -jnp.ones((1, 1)))) and train.skipped == 1 and np.array_equal(before, model.kernel[...])
    train(model, 2 * jnp.ones((1, 1)))
    assert not np.array_equal(before, model.kernel[...])


@pytest.mark.parametrize("checks", [(), "all"])
def test_what_a_guarded_step_writes_to_nnx_objects(checks):
    def made():
        model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
        return model, optimizer, nnx.metrics.Average(), nnx.Rngs(noise=1), nnx.Variable(jnp.zeros(()))

    def step(model, optimizer, metric, rngs, count, x):
        x = x + rngs.noise.normal(x.shape, x.dtype)
        loss, gradients = nnx.value_and_grad(lambda model: (model(x) ** 2).mean())(model)
        optimizer.update(model, gradients)
        metric.update(values=loss)
        count[...] += 1
        return loss

    guarded, plain, x = made(), made(), jnp.ones((3, 2), "float32")
    watched = guard(step, checks=checks)
    for _ in range(3):
        np.testing.assert_allclose(watched(*guarded, x), step(*plain, x), rtol=1e-5)
    with pytest.raises(Fault, match="argument x was wrong"):
        watched(*guarded, x * np.nan)
    assert guarded[1].step[...] == plain[1].step[...] == 3 and guarded[4][...] == 3
    np.testing.assert_allclose(guarded[2].compute(), plain[2].compute(), rtol=1e-5)
    np.testing.assert_allclose(guarded[0].kernel[...], plain[0].kernel[...], rtol=1e-4)


class NoPytree(nnx.Module, pytree=False):
    def __init__(self):
        self.layers, self.norm = [nnx.Linear(2, 1, rngs=nnx.Rngs(0))], nnx.BatchNorm(2, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return self.layers[0](self.norm(x))


def test_a_module_that_is_no_pytree():
    model, x = NoPytree(), jnp.ones((1, 2), "float32")
    guard(lambda model, x: model(x).sum())(model, x)
    np.testing.assert_allclose(model.norm.mean[...], 0.01, rtol=1e-5)
    model.layers[0].bias[...] *= np.nan
    with pytest.raises(Fault) as raised, guard(model):
        nnx.jit(lambda model, x: model(x).sum())(model, x)
        ms.hooks.barrier()
    assert raised.value.path == "layers.0"
    with pytest.raises(Fault, match=r"Param layers\.0\.bias of argument model was wrong"):
        guard(lambda model, x: model(x).sum())(model, x)


@pytest.mark.long
def test_bundle_replayed_in_another_process(tmp_path):
    file = str(tmp_path / "made" / "crash.npz")
    net, step, good, bad = make()
    step = ms.jit(step)
    for _ in range(2):
        step(*good)
    before = weights(step_for_bundles.LAST)
    with guard(net, bundle=file), pytest.raises(Fault) as raised:
        step(*bad)
    first = raised.value
    assert f"bundle     {file}" in str(first).replace("\n             ", "") or file in str(first)
    code = f"""
import sys
from msjax.tools import replay
from tests.tools.step_for_bundles import make
_, step, _, _ = make(seed=7)
found = replay({file!r}, step, show=False)
print(found.phase, found.path, found.operation, found.line, found.inputs)
"""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{first.phase} {first.path} {first.operation} {first.line} {first.inputs}"
    # Here, the state is as it was.
    found = replay(file, step, show=False)
    assert (found.path, found.operation) == (first.path, first.operation)
    assert all(np.array_equal(before[name], value) for name, value in weights(step_for_bundles.LAST).items())
    with pytest.raises(ValueError, match="is another one: lacking"):
        replay(file, nn.SequentialCell(nn.Dense(1, 1)))


def test_bundle_in_pynative_mode(tmp_path):
    file = tmp_path / "crash.npz"
    net, step, _, bad = make()
    with guard(net, bundle=file), pytest.raises(Fault):
        step(*bad)
    found = replay(file, net, show=False)
    assert (found.path, found.operation) == ("2", "Div")


def test_bundle_of_a_function(tmp_path, capsys):
    file, optimizer = tmp_path / "crash.npz", optax.adam(0.1)

    def step(model, state, key, x, scale):
        noise = jax.random.uniform(key, x["a"].shape, x["a"].dtype)
        return nnx.value_and_grad(lambda m: m(jnp.log(x["a"] - noise)).sum())(model)[0] * scale, state

    model, key = nnx.Linear(2, 2, rngs=nnx.Rngs(0)), jax.random.key(3)
    state, batch = optimizer.init({"w": jnp.ones(2, jnp.bfloat16)}), {"a": jnp.ones((1, 2)).at[0, 1].set(-1.0)}
    with pytest.raises(Fault) as raised:
        guard(step, bundle=file)(model, state, key, batch, 0.5)
    other = nnx.Linear(2, 2, rngs=nnx.Rngs(1))
    found = replay(file, step, other)
    assert (found.operation, found.line, found.inputs) == ("log", raised.value.line, raised.value.inputs)
    assert np.array_equal(other.kernel[...], model.kernel[...]) and str(found) in capsys.readouterr().out
    with pytest.raises(ValueError, match="has an argument of class Linear, which a file can't hold: give one"):
        replay(file, step)
    with pytest.raises(ValueError, match="class Linear with 2 arrays, but got Linear with 2, or with other shapes"):
        replay(file, step, nnx.Linear(2, 3, rngs=nnx.Rngs(1)))


def test_settings_of_then(tmp_path):
    """Random numbers depend on them."""
    file = tmp_path / "crash.npz"

    def step(key, x):
        return jnp.log(x - jax.random.uniform(key))

    with jax.enable_x64(False), pytest.raises(Fault) as raised:
        guard(step, bundle=file)(jax.random.key(3), jnp.zeros(2, jnp.float32))
    for x64 in (False, True):
        with jax.enable_x64(x64):
            assert replay(file, step, show=False).inputs == raised.value.inputs
            assert jnp.zeros(1, float).dtype == (jnp.float64 if x64 else jnp.float32)


def test_files_that_are_no_bundles(tmp_path):
    file = tmp_path / "crash.npz"
    with pytest.raises(TypeError, match="'file' should be a path, but got int 3"):
        replay(3, jnp.log)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        replay(file, jnp.log)
    with pytest.raises(Fault):
        guard(jnp.log, bundle=file)(-jnp.ones(300))
    whole = file.read_bytes()
    for name, content, expected in (
        ("empty", b"", "is empty"), ("cut", whole[:-40], "is cut off"), ("text", b"step,loss\n", "no crash bundle"), ("half", whole[: len(whole) // 2], "is cut off"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=rf"{name}' .*{expected}"):
            replay(tmp_path / name, jnp.log)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="'policy' should be 'raise' or 'skip', but got 'ignore'"):
        guard(nn.ReLU(), policy="ignore")
    with pytest.raises(ValueError, match="need the step as a function here"):
        guard(nnx.Linear(1, 1, rngs=nnx.Rngs(0)), policy="skip")
    net = nn.SequentialCell(nn.Tanh())
    with guard(net, policy="skip"), pytest.raises(Fault) as raised:
        net(ms.Tensor([np.nan]))
    assert raised.value.__notes__[0].startswith("policy='skip' leaves out steps that are compiled")


@pytest.mark.parametrize("pytree", [True, False])
def test_plain_attributes_that_a_step_changes_are_kept(pytree):
    class Counted(nnx.Module, pytree=pytree):
        def __init__(self):
            self.calls, self.mode = 0, "new"

        def __call__(self, x):
            self.calls, self.mode = self.calls + 1, "used"
            return x * 2

    class Outer(nnx.Module):
        def __init__(self):
            self.inner = Counted()

        def __call__(self, x):
            return self.inner(x)

    model = Outer() if pytree else Counted()
    inner = model.inner if pytree else model
    step = guard(lambda model, x: model(x), policy="skip")
    step(model, jnp.array([jnp.nan]))
    assert (inner.calls, inner.mode, step.skipped) == (0, "new", 1)
    step(model, jnp.ones(1)), step(model, jnp.ones(1))
    assert (inner.calls, inner.mode) == (2, "used")


@pytest.mark.parametrize("tool", [find_nan, record, compare, guard])
def test_tools_that_read_values_say_that_jax_traces(tool):
    def called(x):
        model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
        return guard(lambda x: model(x))(x) if tool is guard else tool(*[model] * (1 + (tool is compare)), x)

    for transformed in (jax.jit, jax.vmap):
        with pytest.raises(
            TypeError, match=f"For '{tool.__name__}', the values should be known, but it is called in what jax traces"
        ):
            transformed(called)(jnp.ones((1, 2)))
