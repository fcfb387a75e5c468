"""Checks of what is no NaN: indices out of range, integer divisions by zero, conditions of the user's."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax import lax
from jax.sharding import PartitionSpec as P

import msjax as ms
from msjax import hooks, nn, ops
from msjax.tools import Fault, check, guard, replay

X = jnp.arange(4, dtype=jnp.float32)
IDS = jnp.array([0, 1, 7, 3])


def found(step, *args, checks="all"):
    """What a guarded step raises; None if nothing."""
    try:
        guard(step, checks=checks)(*args)
    except Fault as fault:
        return fault
    return None


def small(v):
    check(v.sum() < 3, "sum {s}", s=v.sum())
    return (v**2).sum()


def mesh():
    return jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:4])


def on_devices(fn, out):
    return lambda x: jax.shard_map(fn, mesh=mesh(), in_specs=P("d"), out_specs=out)(x)


def by_ids(c, i):
    return c + X[i] ** 2, c


# {name: (step, arguments, operation, (index, axis, length) or message, steps of loops, place)}
WRONG = {
    "array": (lambda i: X[i], [IDS], "gather", (7, 0, 4), (), (2,)),
    "scalar": (lambda i: X[i], [jnp.array(7)], "dynamic_slice", (7, 0, 4), (), ()),
    "negative": (lambda i: X[i], [jnp.array([1, -9])], "gather", (-9, 0, 4), (), (1,)),
    "take": (lambda i: jnp.take(X.reshape(2, 2), i, axis=1), [IDS], "gather", (7, 1, 2), (), (2,)),
    "lax": (lambda i: lax.dynamic_slice(X, (i,), (2,)), [jnp.array(3)], "dynamic_slice", (3, 0, 4), (), ()),
    "set": (lambda i: X.at[i].set(1.0), [IDS], "scatter", (7, 0, 4), (), (2,)),
    "update": (lambda i: lax.dynamic_update_slice(X, X[:3], (i,)), [jnp.array(2)], "dynamic_update_slice", (2, 0, 4), (), ()),
    "segments": (lambda i: jax.ops.segment_sum(X, i, 5), [IDS], "scatter-add", (7, 0, 5), (), (2,)),
    "labels": (lambda y: optax.softmax_cross_entropy_with_integer_labels(X[None], y), [IDS[2:3]], "gather", (7, 1, 4), (), (0,)),
    "gradient": (jax.grad(lambda x, i: (x[i] ** 2).sum()), [X, IDS], "gather", (7, 0, 4), (), (2,)),
    "vmap": (jax.vmap(lambda i: X[i]), [IDS], "gather", (7, 0, 4), (), (2,)),
    "scan": (lambda i: lax.scan(by_ids, 0.0, i), [IDS], "dynamic_slice", (7, 0, 4), (2,), ()),
    "reverse": (lambda i: lax.scan(by_ids, 0.0, i, reverse=True), [IDS.at[0].set(9)], "dynamic_slice", (7, 0, 4), (2,), ()),
    "nested": (
        lambda i: lax.scan(lambda c, row: (lax.scan(by_ids, c, row)[0], c), 0.0, i), [IDS.reshape(2, 2)], "dynamic_slice", (7, 0, 4), (1, 0), (),
    ),
    "remat": (
        jax.grad(lambda s, i: lax.scan(jax.checkpoint(lambda c, i: (c + s * X[i], c)), 0.0, i)[0]), [1.0, IDS], "dynamic_slice", (7, 0, 4), (2,), (),
    ),
    "while": (lambda: lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, X[s[0]]), (2, 0.0)), [], "dynamic_slice", (4, 0, 4), (2,), ()),
    "vmap of while": (
        jax.vmap(lambda n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, X[s[0]]), (0, 0.0))), [jnp.array([1, 5])], "gather", (4, 0, 4), (4,), (1,),
    ),
    "cond": (lambda i: lax.cond(i > 5, lambda: X[i], lambda: X[0]), [jnp.array(7)], "dynamic_slice", (7, 0, 4), (), ()),
    "quotient": (lambda a: 6 // a, [jnp.array([1, 0])], "div", None, (), (1,)),
    "remainder": (lambda a: 6 % a, [jnp.array([1, 0])], "remainder", None, (), (1,)),
    "condition": (small, [X], "check", "sum 6.0", (), ()),
    "condition, vmap": (jax.vmap(small), [X[:, None]], "check", "sum 3.0", (), (3,)),
    "condition, remat": (
        jax.grad(lambda x: lax.scan(jax.checkpoint(lambda c, y: (c + small(y[None]), c)), 0.0, x)[0]), [X], "check", "sum 3.0", (3,), (),
    ),
    "condition, while": (lambda: lax.while_loop(lambda c: c < 5, lambda c: c + 1 + 0 * small(c[None]), 0.0), [], "check", "sum 3.0", (3,), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_named_with_index_step_and_place(name):
    step, args, operation, expected, steps, element = WRONG[name]
    fault = found(step, *args)
    assert fault is not None and (fault.operation, fault.step, fault.element) == (operation, steps, element)
    if isinstance(expected, tuple):
        assert (fault.index, fault.axis, fault.bound) == expected and fault.what == "index out of range"
    elif expected is not None:
        assert fault.message == expected and fault.line.function == "small"
    line = fault.called_from or fault.line
    assert line.file == __file__ and all(len(row) <= 80 for row in str(fault).splitlines())
    assert str(pickle.loads(pickle.dumps(fault))) == str(fault)


SCORES = jnp.ones((2, 4), jnp.float32)
# What is masked, or said to be meant, or done by jax itself in the knowledge that it is right.
RIGHT = {
    "masked": (lambda i: jnp.where(i < 4, X[i], 0).sum(), [IDS]),
    "masked later": (lambda i: jnp.where(i < 4, jnp.take(X, i) * 2 + 1, 0).sum(), [IDS]),
    "labels to be ignored": (
        jax.grad(lambda s, y: jnp.where(y >= 0, optax.softmax_cross_entropy_with_integer_labels(s, y), 0).sum()), [SCORES, jnp.array([1, -100])],
    ),
    "masked quotient": (lambda a: jnp.where(a == 0, 0, 6 // a), [jnp.array([1, 0])]),
    "condition of a quotient": (lambda a: (a != 0) & (6 // a > 1), [jnp.array([1, 0])]),
    "clip": (lambda i: X.at[i].get(mode="clip"), [IDS]),
    "clip, scalar": (lambda i: X.at[i].get(mode="clip"), [jnp.array(7)]),
    "take, clip": (lambda i: jnp.take(X, i, mode="clip"), [IDS]),
    "fill": (lambda i: X.at[i].get(mode="fill", fill_value=0), [IDS]),
    "drop": (lambda i: X.at[i].set(1.0, mode="drop"), [IDS]),
    "examples that are done": (
        jax.vmap(lambda n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, X[s[0]]), (0, 0.0))), [jnp.array([1, 4])],
    ),
    "jax": (
        lambda i: (
            jnp.bincount(i, length=3), jnp.unique(i, size=3), jnp.nonzero(i, size=2), jnp.repeat(i, i, total_repeat_length=3), jnp.argsort(i),
            jax.random.permutation(jax.random.key(0), 5),
        ),
        [IDS],
    ),
    "branch that isn't taken": (lambda i: lax.cond(i < 4, lambda: X[i], lambda: X[0]), [jnp.array(7)]),
    "float": (lambda x: 1 / x, [jnp.zeros(2)]),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_masked_or_meant_is_no_fault(name):
    step, args = RIGHT[name]
    assert found(step, *args) is None


@pytest.mark.long
@pytest.mark.skipif(len(jax.devices()) < 4, reason="needs 4 devices")
def test_on_devices():
    fault = found(on_devices(lambda x: small(x)[None], P("d")), X)
    assert (fault.device, fault.message) == ("d 3", "sum 3.0")
    taken = found(on_devices(lambda x: lax.cond(x[0] > 0, lambda: x[(x - 1).astype(int)], lambda: x), P("d")), X)
    assert (taken.device, taken.index, taken.bound) == ("d 2", 1, 1)
    total = on_devices(lambda x: lax.psum(lax.scan(lambda c, i: (c + x[i], None), x[0] * 0, jnp.arange(2))[0], "d"), P())
    assert (found(total, X).device, found(total, X).step) == ("d 0", (1,))


class Table(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = ms.Parameter(ms.Tensor(np.ones((5, 3), np.float32)), name="table")

    def construct(self, ids):
        return ops.gather(self.table, ids, 0)


class Bounded(nn.Cell):
    def construct(self, x):
        check(x.max() < 100, "too large: {largest}", largest=x.max())
        return x


class Loss(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, ids, y):
        return ((self.net(ids) - y) ** 2).mean()


def made():
    net = nn.SequentialCell(Table(), Bounded(), nn.Dense(3, 1))
    train = nn.TrainOneStepCell(Loss(net), nn.Adam(net.trainable_params(), 0.1))
    return net, train, ms.jit(train)


GOOD, BAD, TARGET = ms.Tensor([1, 2]), ms.Tensor([1, 7]), ms.Tensor(np.ones((2, 1), np.float32))


def values(cell):
    return [p.asnumpy().copy() for p in cell.get_parameters()]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.long
def test_of_cells(tmp_path):
    file = tmp_path / "crash.npz"
    net, train, step = made()
    with guard(net, checks="all", bundle=file):
        step(GOOD, TARGET)
        before = values(train)
        with pytest.raises(Fault) as raised:
            step(BAD, TARGET)
        assert same(before, values(train))
        step(GOOD, TARGET)
        assert not same(before, values(train))
    fault = raised.value
    assert (fault.path, fault.cls, fault.call, fault.index, fault.bound) == ("0", "Table", 1, 7, 5)
    assert fault.line.code == "return ops.gather(self.table, ids, 0)" and fault.bundle == str(file)
    again = replay(file, step, show=False)
    assert (again.path, again.line, again.index) == (fault.path, fault.line, 7)
    with guard(net, checks="index", policy="skip") as guarded:
        before = values(train)
        step(BAD, TARGET)
        assert guarded.skipped == 1 and same(before, values(train))
    net[0].table.set_data(ms.Tensor(np.full((5, 3), 1000, np.float32)))
    with pytest.raises(Fault) as raised, guard(net, checks=("user",)):
        step(GOOD, TARGET)
    assert (raised.value.path, raised.value.message) == ("1", "too large: 1000.0")
    step(GOOD, TARGET)  # a guard is what looks at it


def test_condition_where_values_are_known():
    model = nn.SequentialCell(nn.BatchNorm1d(1), Bounded()).set_train()
    with pytest.raises(Fault, match=r"too large: 1000\.0") as raised:
        model[1](ms.Tensor([1000.0]))
    assert (raised.value.path, raised.value.line.function) == ("", "construct")
    before = values(model)
    model[0].gamma.set_data(ms.Tensor(np.array([1000.0], np.float32)))
    with guard(model), pytest.raises(Fault) as raised:
        model(ms.Tensor([[1000.0], [0.0]]))
    # The moving averages, too.
    assert raised.value.path == "1" and same(before[1:2], values(model)[1:2])
    assert model[0].moving_mean.asnumpy() == 0


class Net(nnx.Module):
    def __init__(self):
        self.embed = nnx.Embed(5, 3, rngs=nnx.Rngs(0))
        self.count = nnx.Variable(jnp.zeros((), jnp.int32))

    def __call__(self, ids):
        self.count[...] += 1
        return self.embed(ids)


def train(model, ids):
    loss, gradient = nnx.value_and_grad(lambda m: m(ids).sum())(model)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(model, nnx.Param), nnx.state(gradient, nnx.Param)))
    return loss


@pytest.mark.parametrize("wrap", [lambda fn: fn, nnx.jit, hooks.jit])
def test_of_modules(wrap, tmp_path):
    model, file = Net(), tmp_path / "crash.npz"
    step = guard(wrap(train), checks="index", bundle=file)
    step(model, IDS[:2])
    before = jax.tree.map(np.array, nnx.state(model))
    with pytest.raises(Fault) as raised:
        step(model, IDS[1:3])
    fault = raised.value
    assert (fault.path, fault.index, fault.bound, fault.called_from.code) == ("embed", 7, 5, "return self.embed(ids)")
    assert jax.tree.all(jax.tree.map(np.array_equal, before, jax.tree.map(np.array, nnx.state(model))))
    assert model.count[...] == 1 and replay(file, step, Net(), show=False).index == 7
    step(model, IDS[:2])
    assert model.count[...] == 2


def test_skipped():
    step = guard(train, checks="index", policy="skip")
    model = Net()
    before = np.array(model.embed.embedding[...])
    step(model, IDS)
    assert step.skipped == 1 and np.array_equal(before, model.embed.embedding[...])


def test_wrong_arguments():
    with pytest.raises(ValueError, match="'checks' has 'index', 'division', 'user' and 'all', but got 'nan'"):
        guard(nn.ReLU(), checks="nan")
    with pytest.raises(TypeError, match="'checks' should be a str or a tuple"):
        guard(nn.ReLU(), checks=1)
    with pytest.raises(ValueError, match="and 'checks' need the step as a function here"):
        guard(Net(), checks="index")
    with pytest.raises(TypeError, match="'largest' of the message should be one number"):
        check(True, "{largest}", largest=X)
    with pytest.raises(ValueError, match="can't be filled with nothing"):
        check(True, "{largest}")
    with pytest.raises(TypeError, match="'message' should be a str, but got"):
        check(True, 3)
