"""A functionalized network under jax's transformations calls the hooks that PyNative mode calls, in its order, with its values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import hooks, nn, ops

X = np.arange(6, dtype="float32").reshape(2, 3) / 5

TRANSFORMED = {
    "eager": lambda loss: jax.grad(loss),
    "jit": lambda loss: jax.jit(jax.grad(loss)),
    "grad of jit": lambda loss: jax.grad(jax.jit(loss)),
    "checkpoint": lambda loss: jax.jit(jax.grad(jax.checkpoint(loss))),
    "vjp": lambda loss: lambda p, b, x: jax.vjp(lambda p: loss(p, b, x), p)[1](jnp.float32(1))[0],
}


class Base(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = nn.Dense(3, 3, weight_init="ones")
        self.b = nn.Dense(3, 3, weight_init="ones")
        self.log = LOG


LOG = []


def shown(grads):
    return [None if g is None else round(float(g.asnumpy().sum()), 3) for g in grads]


def watched(net):
    for name, cell in net.cells_and_names():
        cell.register_backward_pre_hook(lambda cell, go, name=name: LOG.append((name, "pre", shown(go))))
        cell.register_backward_hook(lambda cell, gi, go, name=name: LOG.append((name, shown(gi), shown(go))))
    return net


class BehindStop(Base):
    """Fault 9: a cell whose inputs carry no gradient, a shared cell, HookBackward and InsertGradientOf where none flows."""

    def __init__(self):
        super().__init__()
        self.tap = ops.HookBackward(lambda grads: LOG.append(("HookBackward", shown(grads))))
        self.insert = ops.InsertGradientOf(lambda grad: grad * 2)

    def construct(self, x):
        y = self.insert(self.a(x))
        unused = self.tap(self.b(ops.stop_gradient(y)))
        return self.a(self.tap(y)) + ops.stop_gradient(unused)


class LateHooks(Base):
    """Fault 2: hooks on a Tensor after it was used, and on a second name of it."""

    def construct(self, x):
        y = self.a(x)
        z = y * 2
        other = y
        y.register_hook(lambda grad: LOG.append(("late", shown([grad]))))
        other.register_hook(lambda grad: grad * 3)
        return z + other


class TwoOutputs(Base):
    """One output is not used by the loss."""

    def construct(self, x):
        y = self.a(x)
        return self.b(y), y * 2


class OwnBprop(nn.Cell):
    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (dout * x * 10,)


class WithBprop(Base):
    def __init__(self):
        super().__init__()
        self.own = OwnBprop()

    def construct(self, x):
        return self.b(self.own(self.a(x)))


def first(out):
    return out[0] if isinstance(out, tuple) else out


@pytest.mark.parametrize("way", TRANSFORMED)
@pytest.mark.parametrize("kind", [BehindStop, LateHooks, TwoOutputs, WithBprop])
def test_hooks_as_in_pynative_mode(kind, way):
    LOG.clear()
    net = watched(kind())
    weights = net.trainable_params()
    expected = ms.grad(lambda x: first(net(x)), None, weights)(ms.Tensor(X))
    calls = list(LOG)
    LOG.clear()
    apply, params, buffers = ms.functionalize(net)
    found = TRANSFORMED[way](lambda p, b, x: first(apply(p, b, x)[0]).sum())(params, buffers, X)
    jax.block_until_ready(found)
    ms.hooks.barrier()
    assert LOG == calls and calls
    for weight, grad in zip(weights, expected):
        np.testing.assert_allclose(found[weight.name], grad.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("wanted", [(0,), (2,), (0, 2)])
def test_arguments_that_carry_no_gradient_show_none(wanted):
    LOG.clear()
    net = watched(BehindStop())
    apply, params, buffers = ms.functionalize(net)
    jax.block_until_ready(jax.jit(jax.grad(lambda p, b, x: apply(p, b, x)[0].sum(), wanted))(params, buffers, X))
    ms.hooks.barrier()
    root = [entry for entry in LOG if entry[0] == "" and entry[1] != "pre"]
    assert len(root) == 1 and (root[0][1] == [None]) == (2 not in wanted)


class SecondOnly(nn.Cell):
    def construct(self, x, y):
        return y * 1.5


@pytest.mark.parametrize("compiled", [lambda f: f, jax.jit])
def test_hooks_are_called_where_no_gradient_arrives_at_what_is_asked_for(compiled):
    LOG.clear()
    apply, params, buffers = ms.functionalize(watched(SecondOnly()))
    found = compiled(jax.grad(lambda x: apply(params, buffers, x, X)[0].sum()))(jnp.asarray(X))
    jax.block_until_ready(found)
    ms.hooks.barrier()
    np.testing.assert_array_equal(found, np.zeros_like(X))
    assert LOG == [("", "pre", [6.0]), ("", [None, 9.0], [6.0])]


def test_second_derivatives_through_hooks():
    net = nn.SequentialCell(nn.Tanh(), nn.Tanh())
    net[0].register_backward_hook(lambda cell, gi, go: (gi[0] * 2,))
    apply, params, buffers = ms.functionalize(net)
    x = jnp.float32(0.3)
    slope = jax.grad(lambda x: apply(params, buffers, x)[0])
    t = jnp.tanh
    expected = jax.grad(lambda x: 2 * jax.grad(lambda x: t(t(x)))(x))(x)
    np.testing.assert_allclose(jax.jit(jax.grad(slope))(x), expected, rtol=1e-5)


def test_a_network_without_hooks_on_gradients_is_the_plain_program():
    net = nn.Dense(3, 3)
    apply, params, buffers = ms.functionalize(net)

    def program():
        return str(jax.make_jaxpr(lambda *args: apply(*args))(params, buffers, X))

    assert "custom_vjp" not in program()
    handle = net.register_backward_hook(lambda cell, gi, go: None)
    assert "custom_vjp" in program()
    handle.remove()
    assert "custom_vjp" not in program()


def test_donated_values_leave_the_network_its_own():
    net = nn.Dense(3, 3)
    _, params, buffers = ms.functionalize(net)
    step = jax.jit(lambda p, b, x: jax.tree.map(lambda v: v * 2, p), donate_argnums=0)
    before = net.weight.asnumpy()
    doubled = step(params, buffers, X)
    np.testing.assert_array_equal(net.weight.asnumpy(), before)
    ms.write_back(net, doubled)
    step(doubled, buffers, X)
    np.testing.assert_array_equal(net.weight.asnumpy(), before * 2)


class TwoInputs(Base):
    """The gradient of x alone is asked for; it is zero, since only y's part of the pair is used."""

    def __init__(self):
        super().__init__()
        self.tap = ops.HookBackward(lambda grads: LOG.append(("HookBackward", shown(grads))))

    def construct(self, x, y):
        return self.a(self.tap(x, y)[1])


def test_an_argument_whose_gradient_nobody_asks_for_shows_it_to_hooks():
    LOG.clear()
    net = watched(TwoInputs())
    ms.grad(net)(ms.Tensor(X), ms.Tensor(X))
    calls = list(LOG)
    LOG.clear()
    apply, params, buffers = ms.functionalize(net)
    jax.block_until_ready(jax.jit(jax.grad(lambda x, y: apply(params, buffers, x, y)[0].sum()))(X, X))
    ms.hooks.barrier()
    assert LOG == calls and len(calls) == 5


def test_an_eager_gradient_calls_hooks_once_where_construct_turns_out_to_hook_gradients():
    LOG.clear()

    class Net(Base):
        def construct(self, x):
            y = self.a(x)
            y.register_hook(lambda grad: LOG.append("gradient"))
            return y

    net = Net()
    for cell in (net, net.a):
        cell.register_forward_pre_hook(lambda cell, inputs: LOG.append("pre"))
    apply, params, buffers = ms.functionalize(net)
    for _ in range(2):
        jax.grad(lambda p: apply(p, buffers, X)[0].sum())(params)
    assert LOG == ["pre", "pre", "gradient"] * 2


def test_an_observer_that_removes_itself_hides_no_other_where_the_network_starts_again():
    log = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.tap = ops.HookBackward(lambda grads: None)
            self.inner = nn.ReLU()

        def construct(self, x):
            return self.inner(self.tap(x))

    def once(cell, inputs):
        log.append("once")
        handle.remove()

    net = Net()
    handle = net.register_forward_pre_hook(once)
    net.inner.register_forward_pre_hook(lambda cell, inputs: log.append("inner"))
    apply, params, buffers = ms.functionalize(net)
    jax.grad(lambda x: apply(params, buffers, x)[0])(1.0)
    assert log == ["once", "inner"]


def test_an_attempt_that_starts_again_on_the_tape_leaves_no_call_in_the_program():
    log = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.hook = ops.HookBackward(log.append)

        def construct(self, x):
            y = ms.from_jax(jax.vmap(lambda row: row * 1))(x)
            self.hook(y)
            return y

    net = Net()
    net.register_forward_pre_hook(lambda cell, args: log.append("forward"))
    apply, params, buffers = ms.functionalize(net)
    gradient = jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))
    assert gradient.lower(jnp.ones((2, 3))).as_text().count("custom_call @xla") == 1
    gradient(jnp.ones((2, 3)))
    ms.hooks.barrier()
    assert log == ["forward"]


def _scale(tensor):
    tensor.register_hook(lambda grad: grad * 10)


class _HooksLate(nn.Cell):
    def construct(self, x):
        y = x * x
        x.register_hook(lambda grad: grad * 10)
        return y


class _HooksLateByAHelper(nn.Cell):
    def construct(self, x):
        y = x * x
        _scale(x)
        return y


class _HooksLateInside(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = _HooksLate()

    def construct(self, x):
        y = x * x
        self.inner(x)
        return y


@pytest.mark.parametrize("cls", [_HooksLate, _HooksLateByAHelper, _HooksLateInside])
def test_a_hook_on_a_tensor_that_was_used_before_counts_in_the_first_gradient_too(cls):
    apply, params, buffers = ms.functionalize(cls())
    gradient = jax.grad(lambda x: apply(params, buffers, x)[0].sum())
    x = jnp.ones(2, jnp.float32)
    np.testing.assert_allclose(gradient(x), [20, 20])
    np.testing.assert_allclose(jax.jit(gradient)(x), [20, 20])


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("owner", ["cell", "nnx"])
def test_a_loss_computes_with_what_a_traced_hook_keeps(owner, wrap):
    features = {}
    if owner == "cell":
        model = nn.SequentialCell(nn.ReLU())
        apply, params, buffers = ms.functionalize(model)
        call = lambda x: apply(params, buffers, x)[0]  # noqa: E731
    else:
        model = call = nnx.Sequential(lambda x: x * 1, nnx.Dropout(0, rngs=nnx.Rngs(0)))
    handle = hooks.register_forward_hook(model, lambda module, args, output: features.__setitem__("all", output), traced=True)
    with handle:
        grad = wrap(jax.grad(lambda x: call(x).sum() + jnp.asarray(features["all"]).sum() * 10))(jnp.ones(2, jnp.float32))
    assert grad.tolist() == [11.0, 11.0]
