"""More planted faults: what is no NaN in compiled steps, and steps of Cells; see `tests.tools.planted`."""

from __future__ import annotations

import equinox as eqx
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen

import msjax as ms
from msjax import nn, ops
from msjax.tools import Fault, check, guard
from tests.tools.planted import F32, MODELS, Row, of_guard, train_step

# ---- faults that are no NaN: an index out of range, an integer division by zero, a condition that doesn't hold

TABLE = jnp.linspace(-1, 1, 12, dtype=F32).reshape(4, 3)


def looked_up(x, number):
    return x + jnp.take(TABLE, number, axis=0).sum()


def sliced(x, number):
    return x * TABLE[number].sum()


def written(x, number):
    return x + TABLE.at[jnp.append(number, 0)].add(1.0).sum()


def parted(x, number):
    return x * (12 // (4 - number))


def wrapped(x, number):
    return x + 12 % (number - 4)


def stated(x, number):
    check(number < 4, "number {number}", number=number)
    return x * number


# {name: (fault, operations)}: wrong where the number is 4.
UNSEEN = {
    "take": (looked_up, {"gather"}), "slice": (sliced, {"gather", "dynamic_slice"}), "add at": (written, {"scatter-add"}),
    "quotient": (parted, {"div"}), "remainder": (wrapped, {"remainder"}), "condition": (stated, {"check"}),
}  # fmt: skip


def checked_rows():
    """Each in a model of another kind, in a step of training, of which only the seventh is wrong."""
    for at, (name, (fault, operations)) in enumerate(UNSEEN.items()):
        number = fault

        def whole(x, scale, number=number):
            return number(x, scale.astype(jnp.int32))

        for model in [*MODELS][at % 2 :: 2]:
            params, x, loss = MODELS[model](whole)
            state = optax.adam(0.1).init(params)
            bad, good = jnp.asarray(4.0, F32), jnp.asarray(2.0, F32)

            def guarded(loss=loss, params=params, state=state, x=x, bad=bad, good=good):
                before = jax.tree.map(np.array, (params, state))
                found = of_guard(guard(train_step(loss), checks="all"), (params, state, x, bad), (params, state, x, good))
                assert jax.tree.all(jax.tree.map(np.array_equal, before, jax.tree.map(np.array, (params, state))))
                return found

            yield Row(f"{model}, {name}, checks at step 7", guarded, "forward", operations, fault.__name__)


def framework_checks():
    """A table that lacks a row, in a model of each framework."""
    embed = linen.Embed(4, 3)
    params = embed.init(jax.random.key(0), jnp.zeros(2, jnp.int32))
    table = eqx.nn.Embedding(4, 3, key=jax.random.key(0))

    def of_haiku(ids):
        return hk.Embed(4, 3)(ids)

    transformed = hk.without_apply_rng(hk.transform(of_haiku))
    weights = transformed.init(jax.random.key(0), jnp.zeros(2, jnp.int32))

    def by_linen(params, ids):
        return embed.apply(params, ids).sum()

    def by_equinox(arrays, ids):
        return jax.vmap(eqx.combine(arrays, eqx.partition(table, eqx.is_array)[1]))(ids).sum()

    def by_haiku(weights, ids):
        return transformed.apply(weights, ids).sum()

    arrays = eqx.partition(table, eqx.is_array)[0]
    of_all = (("linen", by_linen, params, "by_linen"), ("equinox", by_equinox, arrays, "by_equinox"), ("haiku", by_haiku, weights, "of_haiku"))  # fmt: skip
    for name, loss, given, line in of_all:

        def guarded(loss=loss, params=given):
            def step(params, state, ids):
                updates, state = optax.adam(0.1).update(jax.grad(loss)(params, ids), state, params)
                return optax.apply_updates(params, updates), state

            state = optax.adam(0.1).init(params)
            found = of_guard(guard(step, checks="index"), (params, state, jnp.array([1, 4])), (params, state, jnp.array([1, 3])))
            # The line is the library's.
            return found if found.called_from is None else Fault(found.what, found.phase, found.path, operation=found.operation, line=found.called_from)  # fmt: skip

        yield Row(f"{name}, a row that isn't there, checks at step 7", guarded, "forward", {"gather", "dynamic_slice"}, line)


# ---- Cells, whose steps msjax compiles: Parameters, optimizer and buffers stay as they are


class Faulty(nn.Cell):
    """A layer that is wrong where the first number of the batch is."""

    def __init__(self, fault):
        super().__init__()
        self.dense, self.fault = nn.Dense(3, 3), fault

    def construct(self, x, scale):
        return self.fault(ops.tanh(self.dense(x)), scale)


class FaultyNet(nn.Cell):
    def __init__(self, fault):
        super().__init__()
        self.norm, self.layers, self.head = nn.BatchNorm1d(3), nn.CellList([Faulty(fault), Faulty(fault)]), nn.Dense(3, 1)

    def construct(self, x, scale):
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x, scale)
        return (self.head(x) ** 2).mean()


def cell_log(x, scale):
    return x + ops.log(scale)


def cell_root(x, scale):
    return x * ops.sqrt(scale)


def cell_gather(x, scale):
    return x + ops.gather(ms.Tensor(np.ones(4, np.float32)), scale.astype(ms.int32), 0)


def cell_check(x, scale):
    check(scale < 3, "the scale is {scale}", scale=scale)
    return x * scale


# {name: (fault, scale where it is wrong, operations)}
OF_CELLS = {
    "log": (cell_log, -1.0, {"log", "Log"}), "root": (cell_root, -1.0, {"sqrt", "Sqrt"}), "gather": (cell_gather, 7.0, {"gather"}),
    "condition": (cell_check, 7.0, {"check"}),
}  # fmt: skip


def cell_rows():
    optimizers = {"Adam": nn.Adam, "Momentum": lambda p, rate: nn.Momentum(p, rate, 0.9)}
    for name, (fault, bad, operations) in OF_CELLS.items():
        for kind, optimizer in optimizers.items():

            def guarded(fault=fault, bad=bad, optimizer=optimizer):
                ms.set_seed(0)
                net = FaultyNet(fault)
                step = nn.TrainOneStepCell(net, optimizer(net.trainable_params(), 0.01)).set_train()
                compiled, x = ms.jit(step), ms.Tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))
                with guard(net, checks="all"):
                    for number in range(1, 10):
                        before = [p.asnumpy() for p in step.get_parameters()]
                        try:
                            compiled(x, ms.Tensor(bad if number == 7 else 1.0, ms.float32))
                        except Fault as wrong:
                            found = wrong
                            assert number == 7 and found.path == "layers.0"
                            assert all(np.array_equal(p.asnumpy(), b) for p, b in zip(step.get_parameters(), before, strict=True))
                        else:
                            assert number != 7
                            assert not np.array_equal(next(iter(step.get_parameters())).asnumpy(), before[0])
                return found

            yield Row(f"Cells, {kind}, {name}, guard at step 7", guarded, "forward", operations, fault.__name__)
