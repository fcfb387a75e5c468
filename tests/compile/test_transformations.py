"""Hooks of a functionalized network under every jax transformation: values, gradients, and the number of calls."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import msjax as ms
from msjax import nn, ops
from tests.accelerators.devices import eight_devices


class Net(nn.Cell):
    """relu(x W + b) * 2, with W of ones and b zero."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.fc(x)) * 2


X = np.arange(6, dtype=np.float32).reshape(2, 3)
X8 = np.arange(24, dtype=np.float32).reshape(8, 3)


def mesh():
    return Mesh(np.array(eight_devices()), ("d",))


def total(apply, buffers):
    return lambda params, x: apply(params, buffers, x)[0].sum()


def one_by_one(apply, buffers):
    """The sum for one example; without its batch axis for the caller."""
    return lambda params, x: apply(params, buffers, x[None])[0].sum()


def scanned(apply, buffers):
    def run(params, x):
        step = one_by_one(apply, buffers)
        return jax.lax.scan(lambda carry, row: (carry + step(params, row), None), jnp.float32(0), x)[0]

    return run


def conditional(apply, buffers):
    f = total(apply, buffers)
    return lambda params, x: jax.lax.cond(x[0, 0] < 100, lambda: f(params, x), lambda: jnp.float32(0))


def mapped(apply, buffers):
    f = jax.vmap(one_by_one(apply, buffers), (None, 0))
    return lambda params, x: f(params, x).sum()


def checkpointed(apply, buffers):
    return jax.checkpoint(total(apply, buffers))


def sharded(apply, buffers):
    f = total(apply, buffers)
    return lambda params, x: f(params, jax.lax.with_sharding_constraint(x, NamedSharding(mesh(), P("d"))))


def shard_mapped(apply, buffers):
    f = total(apply, buffers)
    return jax.shard_map(lambda params, x: jax.lax.psum(f(params, x), "d"), mesh=mesh(), in_specs=(P(), P("d")), out_specs=P())


# name: (transformation, input, calls of an observer in a run)
ROUTES = {
    "plain": (total, X, 1),
    "vmap": (mapped, X, 2),
    "scan": (scanned, X, 2),
    "cond": (conditional, X, 1),
    "checkpoint": (checkpointed, X, None),  # computed again in the backward pass: once or twice
    "sharding": (sharded, X8, 1),
    "shard_map": (shard_mapped, X8, 8),
}


def expected(x, factor=1.0):
    value = float((x.sum(1) * 2 * 2).sum()) * factor
    return value, np.tile(x.sum(0) * 2, (2, 1)) * factor


OBSERVERS, OTHERS = ("forward observer", "backward observer"), ("forward modifier", "backward modifier", "tap")
# Observers in each compiled route, of the others one; without jit, where a sharded program is compiled, too, each kind in one.
MATRIX = [(route, kind, True) for i, route in enumerate(ROUTES) for kind in (*OBSERVERS, OTHERS[i % 3])]
MATRIX += [(("plain", "vmap", "scan", "cond")[i % 4], kind, False) for i, kind in enumerate((*OTHERS, *OBSERVERS))]


@pytest.mark.parametrize(("route", "kind", "jitted"), MATRIX)
def test_matrix(route, kind, jitted):
    transformation, x, calls = ROUTES[route]
    net, log = Net(), []
    factor = 1.0
    if kind == "forward observer":
        net.relu.register_forward_hook(lambda cell, args, out: log.append(out.asnumpy()))
    elif kind == "backward observer":
        net.relu.register_backward_hook(lambda cell, gi, go: log.append(gi[0].asnumpy()))
    elif kind == "forward modifier":
        net.relu.register_forward_hook(lambda cell, args, out: out * 10)
        factor = 10.0
    elif kind == "backward modifier":
        net.relu.register_backward_hook(lambda cell, gi, go: (gi[0] * 10,))
        factor = 10.0
    else:
        tap = ops.HookBackward(lambda grads: log.append(grads[0].asnumpy()))
        net.fc.register_forward_hook(lambda cell, args, out: tap(out))
    apply, params, buffers = ms.functionalize(net)
    f = transformation(apply, buffers)
    wrap = jax.jit if jitted else (lambda g: g)
    observer = "observer" in kind or kind == "tap"

    def ran(expected_calls):
        ms.hooks.barrier()
        if calls is None:
            assert (expected_calls == 0 and not log) or 1 <= len(log) <= 2
        else:
            assert len(log) == expected_calls
        log.clear()

    # forwards
    value, gradient = expected(x, factor)
    result = wrap(f)(params, x)
    forward_value = value if kind != "backward modifier" else value / 10
    np.testing.assert_allclose(result, forward_value, rtol=1e-6)
    ran(calls if kind == "forward observer" else 0)
    # backwards
    result = wrap(jax.grad(f))(params, x)
    np.testing.assert_allclose(result["fc.weight"], gradient, rtol=1e-6)
    if observer:
        ran(calls)


def test_grad_of_vmap_and_vmap_of_grad_show_examples():
    net, log = Net(), []
    net.relu.register_backward_hook(lambda cell, gi, go: log.append((gi[0].asnumpy(), go[0].asnumpy())))
    apply, params, buffers = ms.functionalize(net)
    each = jax.jit(jax.vmap(jax.grad(one_by_one(apply, buffers)), (None, 0)))(params, X)
    np.testing.assert_allclose(each["fc.weight"][1], np.tile(X[1] * 2, (2, 1)))
    ms.hooks.barrier()
    assert [gi.shape for gi, _ in log] == [(1, 2), (1, 2)] and all((go == 2).all() for _, go in log)
    np.testing.assert_array_equal(log[0][0], [[2, 2]])


def test_hooks_see_forward_order_then_backward_order():
    net, log = nn.SequentialCell(Net(), nn.Dense(2, 2)), []
    for name, cell in net.cells_and_names():
        cell.register_forward_pre_hook(lambda c, args, n=name: log.append(("pre", n)))
        cell.register_forward_hook(lambda c, args, out, n=name: log.append(("forward", n)))
        cell.register_backward_pre_hook(lambda c, go, n=name: log.append(("backward pre", n)))
        cell.register_backward_hook(lambda c, gi, go, n=name: log.append(("backward", n)))
    x = ms.Tensor(X)
    ms.grad(net)(x)
    eager = list(log)
    log.clear()
    apply, params, buffers = ms.functionalize(net)
    jax.block_until_ready(jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))(X))
    ms.hooks.barrier()
    assert log == eager


def test_weights_only_runs_backward_hooks_with_none():
    net, log = nn.Dense(3, 2), []
    net.register_backward_hook(lambda cell, gi, go: log.append((gi, go[0].asnumpy())))
    apply, params, buffers = ms.functionalize(net)
    jax.block_until_ready(jax.jit(jax.grad(total(apply, buffers)))(params, X))
    ms.hooks.barrier()
    assert len(log) == 1 and log[0][0] == (None,)
    np.testing.assert_array_equal(log[0][1], np.ones((2, 2)))


def test_tensor_and_parameter_hooks():
    class Hooked(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(ms.Tensor([2.0, 3.0], ms.float32), name="w")

        def construct(self, x):
            y = x * self.w
            y.register_hook(lambda grad: grad * 10)
            return y * y

    net, log = Hooked(), []
    net.w.register_hook(lambda grad: log.append(grad.asnumpy()))
    apply, params, buffers = ms.functionalize(net)
    x = np.array([1.0, 1.0], np.float32)
    gradient = jax.jit(jax.grad(lambda p: apply(p, buffers, x)[0].sum()))(params)["w"]
    np.testing.assert_array_equal(gradient, [40, 60])
    ms.hooks.barrier()
    np.testing.assert_array_equal(log, [[40, 60]])


def test_custom_bprop():
    class Triple(nn.Cell):
        def construct(self, x):
            return x * 3

        def bprop(self, x, out, dout):
            return (dout * 100,)

    apply, params, buffers = ms.functionalize(Triple())
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))(X), np.full((2, 3), 100))


def test_a_backward_modifier_that_needs_values_says_how_to_split_it():
    net = nn.ReLU()

    def clip(cell, gi, go):
        return ms.Tensor(np.clip(gi[0].asnumpy(), -1, 1))

    net.register_backward_hook(clip)
    apply, params, buffers = ms.functionalize(net)
    gradient = jax.grad(lambda x: (apply(params, buffers, x)[0] * jnp.array([5.0, 0.5])).sum())
    np.testing.assert_array_equal(gradient(jnp.ones(2)), [1, 0.5])
    with pytest.raises(TypeError, match=r"(?s)The backward hook .*clip.* of cell ReLU.*two hooks.*computes with Tensors"):
        jax.jit(gradient)(jnp.ones(2))


def test_wrong_dtype_never_passes_silently():
    net = nn.SequentialCell(nn.ReLU())
    net[0].register_backward_hook(lambda cell, gi, go: (gi[0].astype(ms.float16),))
    apply, params, buffers = ms.functionalize(net)
    with pytest.raises(ValueError, match=r"(?s)cell SequentialCell\.0.*Float16.*Float32"):
        jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))(jnp.ones(2, jnp.float32))


def test_an_exception_surfaces_at_the_barrier_or_the_next_call_and_nothing_breaks():
    net = nn.SequentialCell(nn.ReLU())

    def bad(cell, args, output):
        raise ZeroDivisionError("mine")

    handle = net[0].register_forward_hook(bad)
    apply, params, buffers = ms.functionalize(net)
    f = jax.jit(lambda x: apply(params, buffers, x)[0])
    out = f(jnp.ones(2))
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        ms.hooks.barrier()
    assert "SequentialCell.0" in caught.value.__notes__[0]
    np.testing.assert_array_equal(out, [1, 1])
    jax.block_until_ready(f(jnp.ones(2)))
    jax.effects_barrier()
    with pytest.raises(ZeroDivisionError):
        for _ in range(1000):
            ms.functionalize(net)[0](params, buffers, jnp.ones(2)) if not handle.remove() else None
    ms.hooks.barrier()
    np.testing.assert_array_equal(net(ms.Tensor([1.0, -1.0])).asnumpy(), [1, 0])


@pytest.mark.parametrize("platform", ["cuda", "tpu", "cpu"])
@pytest.mark.parametrize("form", ["forward pre", "forward", "backward pre", "backward", "tap", "tensor", "modifiers"])
def test_programs_lower_for_other_platforms(platform, form):
    net = Net()
    if form == "forward pre":
        net.relu.register_forward_pre_hook(lambda cell, args: print(args))
    elif form == "forward":
        net.relu.register_forward_hook(lambda cell, args, out: print(out))
    elif form == "backward pre":
        net.relu.register_backward_pre_hook(lambda cell, go: print(go))
    elif form == "backward":
        net.relu.register_backward_hook(lambda cell, gi, go: print(gi))
    elif form == "tap":
        net.relu.register_forward_hook(lambda cell, args, out: ops.HookBackward(lambda grads: print(grads))(out))
    elif form == "tensor":
        net.fc.weight.register_hook(lambda grad: print(grad))
    else:
        net.relu.register_forward_pre_hook(lambda cell, args: args[0] * 2)
        net.relu.register_backward_hook(lambda cell, gi, go: (gi[0] * 2,))
    apply, params, buffers = ms.functionalize(net)
    f = jax.jit(jax.value_and_grad(lambda p, x: apply(p, buffers, x)[0].sum()))
    text = f.trace(params, X).lower(lowering_platforms=(platform,)).as_text()
    called = text.count("stablehlo.send") if platform == "tpu" else text.count("python_")
    assert (called > 0) == (form != "modifiers")


def test_with_no_hook_the_program_is_the_plain_one():
    net = Net()
    apply, params, buffers = ms.functionalize(net)

    def plain(params, buffers, x):
        y = jnp.matmul(x, params["fc.weight"].T) + params["fc.bias"]
        return jax.nn.relu(y) * 2

    def jaxpr():
        return str(jax.make_jaxpr(lambda p, b, x: apply(p, b, x)[0])(params, buffers, X))

    before = jaxpr()
    handle = net.relu.register_forward_hook(lambda cell, args, out: out + 1)
    assert jaxpr() != before
    handle.remove()
    assert jaxpr() == before
    original = nn.Cell.__call__
    try:
        nn.Cell.__call__ = lambda self, *args, **kwargs: self.construct(*args, **kwargs)
        assert jaxpr() == before
    finally:
        nn.Cell.__call__ = original
    np.testing.assert_allclose(apply(params, buffers, X)[0], plain(params, buffers, X))


def test_names_and_types_of_arguments_are_checked():
    net = nn.Dense(3, 2)
    apply, params, buffers = ms.functionalize(net)
    with pytest.raises(ValueError, match="lacking: weight"):
        apply({"bias": params["bias"]}, buffers, X)
    with pytest.raises(ValueError, match="unknown: extra"):
        apply({**params, "extra": 1}, buffers, X)
    with pytest.raises(TypeError, match="should be a Cell"):
        ms.functionalize(lambda x: x)
    with pytest.raises(ValueError, match="shape"):
        ms.write_back(net, {"weight": np.ones((1, 1)), "bias": params["bias"]})


def test_state_comes_back_and_the_network_keeps_its_own():
    net = nn.SequentialCell(nn.BatchNorm1d(3), nn.Dropout(p=0.5)).set_train()
    apply, params, buffers = ms.functionalize(net)
    own = net[0].moving_mean.asnumpy()
    out, new = jax.jit(apply)(params, buffers, X)
    assert {k for k in buffers if not np.array_equal(buffers[k], new[k])} == {
        "0.moving_mean",
        "0.moving_variance",
        "random_state",
    }
    np.testing.assert_array_equal(net[0].moving_mean.asnumpy(), own)
    again, _ = jax.jit(apply)(params, buffers, X)
    np.testing.assert_array_equal(out, again)
    ms.write_back(net, params, new)
    np.testing.assert_array_equal(net[0].moving_mean.asnumpy(), new["0.moving_mean"])


class Looping(nn.Cell):
    """A cell before, in, and after jax's own loop, and one that the first value of a vmap doesn't reach."""

    def __init__(self):
        super().__init__()
        self.before, self.within, self.after, self.apart = nn.ReLU(), nn.ReLU(), nn.ReLU(), nn.ReLU()

    def construct(self, x, y):
        def body(carry, _):
            return jnp.asarray(self.within(ms.Tensor(carry))) + 1, None

        x = self.before(x)
        carry, _ = jax.lax.scan(body, jnp.asarray(x), None, length=2)
        return self.after(ms.Tensor(carry)) + self.apart(y)


def logged(net):
    log = []
    for name, cell in net.cells_and_names():
        cell.register_forward_hook(lambda c, args, out, n=name: log.append((n, out.asnumpy().tolist())))
    return log


@pytest.mark.parametrize("differentiated", [False, True])
def test_hooks_around_a_loop_are_called_in_order(differentiated):
    net = Looping()
    log = logged(net)
    apply, params, buffers = ms.functionalize(net)

    def run(x):
        return apply(params, buffers, x, x)[0]

    jax.block_until_ready(jax.jit(jax.grad(run) if differentiated else run)(jnp.float32(1)))
    ms.hooks.barrier()
    assert log == [("before", 1.0), ("within", 1.0), ("within", 2.0), ("after", 3.0), ("apart", 1.0), ("", 4.0)]


def callbacks_and_calls():
    """How many callbacks the program of a network has, and the names of the cells whose hooks a run calls."""
    net = Net()
    log = logged(net)
    apply, params, buffers = ms.functionalize(net)
    callbacks = str(jax.make_jaxpr(apply)(params, buffers, X)).count("msjax_hook")
    jax.block_until_ready(jax.jit(apply)(params, buffers, X)[0])
    ms.hooks.barrier()
    return callbacks, [name for name, _ in log]


def test_one_callback_brings_all_forward_hooks_of_a_network():
    assert callbacks_and_calls() == (1, ["fc", "relu", ""])


def test_a_vmap_calls_hooks_once_an_example_where_the_value_depends_on_it():
    net = Looping()
    log = logged(net)
    apply, params, buffers = ms.functionalize(net)

    def run(x):
        return apply(params, buffers, x, jnp.float32(5))[0]

    jax.block_until_ready(jax.jit(jax.vmap(run))(jnp.float32([1, 2])))
    ms.hooks.barrier()
    assert [entry for entry in log if entry[0] == "apart"] == [("apart", 5.0)]
    assert [value for name, value in log if name == "after"] == [3.0, 4.0]
    assert [value for name, value in log if name == ""] == [8.0, 9.0]


def test_large_values_dont_wait_for_the_end_of_the_network(monkeypatch):
    monkeypatch.setattr("msjax.core.hooks.batching.LARGE", 1)
    assert callbacks_and_calls() == (3, ["fc", "relu", ""])


def test_operators_with_own_gradients_and_several_results_under_shard_map():
    net = nn.SequentialCell(nn.Conv2d(1, 2, 2, pad_mode="valid"), nn.BatchNorm2d(2))
    net.set_train()
    net.register_backward_hook(lambda cell, grad_input, grad_output: None)
    apply, params, buffers = ms.functionalize(net)
    x = np.random.RandomState(0).rand(8, 2, 1, 3, 3).astype(np.float32)

    def loss(params, x):
        return (apply(params, buffers, x)[0] ** 3).sum()

    on_devices = jax.shard_map(
        lambda params, x: jax.lax.psum(loss(params, x[0]), "d"), mesh=mesh(), in_specs=(P(), P("d")), out_specs=P()
    )
    one_by_one = jax.jit(jax.grad(loss))
    expected = [one_by_one(params, part) for part in x]
    for name, found in jax.jit(jax.grad(on_devices))(params, x).items():
        np.testing.assert_allclose(found, sum(each[name] for each in expected), rtol=2e-4, atol=1e-4)
