"""Cells as flax nnx modules: split, merge, clone, state, update, optimizers, and nesting both ways."""

import copy

import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import msjax as ms
from msjax import Parameter, ParameterTuple, Tensor, nn
from msjax.common.parameter import Buffer
from msjax.core.base import flax_slots

# The versions of flax for which msjax/flax_slots.py was checked. If test_private_slots fails with another one, look at
# that file again, and add the version here.
CHECKED = ("0.12.8", "0.12.12")

X = Tensor([[1.0, 2.0], [3.0, 5.0]])


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.zeta = nn.Dense(2, 3)
        self.alpha = nn.BatchNorm1d(3)
        self.layers = nn.CellList([nn.Dense(3, 3), nn.ReLU()])
        self.scale = Parameter(Tensor(2.0))
        self.pair = ParameterTuple([Parameter(1.0, name="p"), Parameter(3.0, name="q")])
        self.register_buffer("shift", Tensor([1.0, 2.0, 3.0]))
        self.constant = Tensor(5.0)
        self.settings = {"k": [1, 2]}
        self.nothing = None

    def construct(self, x):
        x = self.alpha(self.zeta(x))
        for layer in self.layers:
            x = layer(x)
        return x * self.scale * self.pair[1] + self.shift * self.constant


def same_network(a, b):
    assert type(a) is type(b)
    np.testing.assert_array_equal(a(X).asnumpy(), b(X).asnumpy())
    assert [p for p, _ in a.parameters_and_names()] == [p for p, _ in b.parameters_and_names()]
    assert [(p.name, p.requires_grad) for p in a.get_parameters()] == [(p.name, p.requires_grad) for p in b.get_parameters()]
    assert list(a.state_dict()) == list(b.state_dict())
    assert list(a.name_cells()) == list(b.name_cells())
    assert b.settings == {"k": [1, 2]} and b.nothing is None


def test_private_slots():
    """What msjax/flax_slots.py relies on."""
    note = f"msjax/flax_slots.py was checked with flax {' and '.join(CHECKED)}; here is {flax.__version__}"
    w = Parameter(Tensor([1.0]), name="w")
    assert flax_slots.RAW_VALUE.__get__(w) is w.get_raw_value() is w._value, note
    assert flax_slots.METADATA.__get__(w)["name"] == "w" == w.get_metadata()["name"], note
    w._value = jnp.array([2.0], jnp.float32)
    assert w.get_value().tolist() == [2.0] and w.tolist() == [2.0]
    cell = nn.ReLU()
    assert set(flax_slots.MODULE_STATE) <= set(vars(cell)), note
    blank = flax_slots.blank_like(cell)
    assert set(vars(blank)) == set(flax_slots.MODULE_STATE) and vars(blank)["_pytree__state"] is not vars(cell)["_pytree__state"]


def test_instances():
    net = Net()
    assert isinstance(net, nnx.Module) and isinstance(net.scale, nnx.Param) and isinstance(net.shift, nnx.BatchStat)
    assert issubclass(nnx.Param, nnx.Variable)


def test_state():
    flat = nnx.to_flat_state(nnx.state(Net(), nnx.Param))
    paths = {"/".join(map(str, path)) for path, _ in flat}
    assert {"zeta/weight", "alpha/gamma", "layers/0/bias", "scale", "pair/0", "pair/1"} <= paths
    assert "shift" not in paths
    assert [path for path, _ in nnx.to_flat_state(nnx.state(Net(), nnx.BatchStat))] == [("shift",)]


def test_split_and_merge():
    net = Net()
    graphdef, state = nnx.split(net)
    merged = nnx.merge(graphdef, jax.tree.map(jnp.array, state))
    same_network(net, merged)
    assert merged.zeta.weight is not net.zeta.weight
    assert type(merged.scale) is Parameter and type(merged.shift) is Buffer and type(merged.pair) is ParameterTuple
    merged.scale.set_data(Tensor(0.0))
    assert net.scale.item() == 2.0
    assert hash(graphdef) == hash(nnx.split(net)[0]) and graphdef == nnx.split(net)[0]


def test_split_by_kind():
    graphdef, params, rest = nnx.split(Net(), nnx.Param, ...)
    assert all(isinstance(v, Parameter) for _, v in nnx.to_flat_state(params))
    assert type(nnx.merge(graphdef, params, rest)) is Net


@pytest.mark.parametrize("duplicate", [nnx.clone, copy.deepcopy], ids=["clone", "deepcopy"])
def test_copies(duplicate):
    net = Net().set_train()
    net.alpha.gamma.requires_grad = False
    other = duplicate(net)
    same_network(net.set_train(False), other.set_train(False))
    assert not {id(p) for p in net.get_parameters()} & {id(p) for p in other.get_parameters()}


@pytest.mark.parametrize("duplicate", [nnx.clone, copy.deepcopy], ids=["clone", "deepcopy"])
def test_copies_have_the_hooks(duplicate):
    seen = []
    net = Net()
    net.zeta.register_forward_hook(lambda cell, args, out: seen.append(cell) or out * 2)
    net.zeta.register_backward_hook(lambda cell, gi, go: seen.append(cell))
    other = duplicate(net)
    dx = ms.grad(other)(X)
    assert seen == [other.zeta] * 2 and other.zeta is not net.zeta
    np.testing.assert_array_equal(dx.asnumpy(), ms.grad(net)(X).asnumpy())


def test_merged_cells_take_hooks_and_gradients_of_their_own():
    net = Net()
    other = nnx.clone(net)
    seen = []
    with other.zeta.register_backward_hook(lambda cell, gi, go: seen.append(1)):
        ms.grad(other, 0, other.trainable_params())(X)
        ms.grad(net, 0, net.trainable_params())(X)
    assert seen == [1]
    other.extra = nn.Dense(1, 1)
    assert other.extra.weight.name == "extra.weight"
    del other.extra


def test_long_sequences_keep_their_order():
    """nnx sorts attributes by name, and '10' comes before '2'."""

    class Add(nn.Cell):
        def __init__(self, n):
            super().__init__()
            self.n = n

        def construct(self, digits):
            return f"{digits} {self.n}"

    net = nn.SequentialCell([Add(i) for i in range(12)])
    want = net("")
    assert want.split() == [str(i) for i in range(12)]
    assert nnx.clone(net)("") == nnx.merge(*nnx.split(net))("") == copy.deepcopy(net)("") == want
    assert list(nnx.clone(nn.CellDict({"b": Add(0), "a": Add(1)}))) == ["b", "a"]


def test_update():
    net = Net()
    own = net.zeta.weight
    state = jax.tree.map(lambda v: v * 0 + 1, nnx.state(net, nnx.Param))
    nnx.update(net, state)
    assert net.zeta.weight is own and own.name == "zeta.weight" and np.all(own.asnumpy() == 1)
    assert net.scale.item() == 1.0 and net.shift.tolist() == [1.0, 2.0, 3.0]


def test_shared_cells_stay_shared():
    layer = nn.Dense(2, 2)
    net = nnx.clone(nn.CellList([layer, layer]))
    assert net[0] is net[1] and net[0] is not layer


def loss_of(net, x):
    return (jnp.asarray(net(Tensor(x))) ** 2).sum()


def test_nnx_grad_is_ms_grad():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh(), nn.Dense(3, 1))
    grads = nnx.grad(loss_of)(net, jnp.asarray(X))
    want = ms.grad(lambda x: net(x).square().sum(), None, net.trainable_params())(X)
    by_path = {".".join(map(str, path)): v for path, v in nnx.to_flat_state(grads)}
    for (path, _), w in zip(net.parameters_and_names(), want):
        np.testing.assert_allclose(np.asarray(by_path[path]), w.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "nnx.jit"])
def test_nnx_optimizer(compiled):
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    optimizer = nnx.Optimizer(net, optax.sgd(0.01), wrt=nnx.Param)

    def step(net, optimizer, x):
        loss, grads = nnx.value_and_grad(loss_of)(net, x)
        optimizer.update(net, grads)
        return loss

    step = nnx.jit(step) if compiled else step
    losses = [float(step(net, optimizer, jnp.asarray(X))) for _ in range(3)]

    w, b, x = np.ones((1, 2)), np.zeros(1), X.asnumpy().astype(np.float64)
    for loss in losses:
        out = x @ w.T + b
        assert loss == pytest.approx((out**2).sum(), rel=1e-5)
        w, b = w - 0.01 * 2 * out.T @ x, b - 0.01 * 2 * out.sum(0)
    np.testing.assert_allclose(net.weight.asnumpy(), w, rtol=1e-4)
    assert net.weight.name == "weight" and net(X).shape == (2, 1)


def test_nnx_jit_writes_statistics_back():
    net = nn.BatchNorm1d(2).set_train()
    nnx.jit(lambda net, x: net(Tensor(x)))(net, jnp.asarray(X))
    np.testing.assert_allclose(net.moving_mean.asnumpy(), [0.2, 0.35], rtol=1e-6)


class Mixed(nnx.Module):
    """A flax module with a cell in it."""

    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 3, rngs=rngs)
        self.cell = nn.SequentialCell(nn.Dense(3, 3), nn.ReLU())

    def __call__(self, x):
        return self.cell(Tensor(self.linear(x)))._value  # as docs/flax.md does: where the tape records, jnp.asarray() refuses


def test_cells_inside_flax_modules():
    module = Mixed(nnx.Rngs(0))
    x = jnp.asarray(X)
    out = module(x)
    assert out.shape == (2, 3)
    seen = []
    with module.cell[0].register_forward_hook(lambda cell, args, out: seen.append(cell)):
        np.testing.assert_array_equal(module(x), out)
    assert seen == [module.cell[0]]
    np.testing.assert_allclose(nnx.jit(lambda m, x: m(x))(module, x), out, rtol=1e-6)
    np.testing.assert_array_equal(nnx.clone(module)(x), out)
    grads = nnx.grad(lambda m: m(x).sum())(module)
    assert {path[0] for path, _ in nnx.to_flat_state(grads)} == {"linear", "cell"}


class Holder(nn.Cell):
    """A cell with flax members."""

    def __init__(self):
        super().__init__()
        self.linear = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
        self.rngs = nnx.Rngs(1)
        self.bias = nnx.Param(jnp.ones(3, jnp.float32))
        self.dense = nn.Dense(3, 1)

    def construct(self, x):
        lifted = ms.from_jax(lambda x, kernel, bias: x @ kernel + bias)
        return self.dense(lifted(x, self.linear.kernel[...], self.bias[...]))


def test_flax_modules_inside_cells():
    net = Holder()
    out = net(X)
    assert out.shape == (2, 1) and [p for p, _ in net.parameters_and_names()] == ["dense.weight", "dense.bias"]
    for other in (nnx.clone(net), copy.deepcopy(net)):
        np.testing.assert_array_equal(other(X).asnumpy(), out.asnumpy())
        assert other.linear is not net.linear
    paths = {path for path, _ in nnx.to_flat_state(nnx.state(net, nnx.Param))}
    assert {("linear", "kernel"), ("bias",), ("dense", "weight")} <= paths
    dx = ms.grad(net)(X)
    assert dx.shape == (2, 2) and np.any(dx.asnumpy())


def test_walks_of_flax_see_cells():
    assert {type(m) for _, m in nnx.iter_modules(Net())} >= {Net, nn.Dense, nn.BatchNorm1d, nn.CellList, nn.ReLU}
    assert "Parameter" in repr(nnx.state(Net()))


def test_eval_shape():
    net = nnx.eval_shape(lambda: nn.Dense(2, 3))
    assert net.weight.shape == (3, 2) and type(net) is nn.Dense


@pytest.mark.long
def test_subclasses_stay_no_pytrees():
    class Sub(Net):
        pass

    net = Sub()
    net.plain = [nn.ReLU()]
    net.nothing = Parameter(1.0)
    assert jax.tree.leaves(net) == [net]
