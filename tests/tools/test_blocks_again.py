"""Blocks of guard and watch that are opened again and again: the same block finds its program, and nothing keeps a model that was dropped."""

import gc
import logging
import weakref

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

import msjax as ms
from msjax import hooks, nn
from msjax.tools import Fault, guard, watch

X = jnp.ones((2, 3), "float32")


def module():
    model = nnx.Sequential(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), nnx.relu)
    step = nnx.jit(nnx.value_and_grad(lambda model, x: model(x).sum()))
    return model, lambda: step(model, X)


def cell():
    net = nn.SequentialCell(nn.Dense(3, 2), nn.ReLU())
    step = ms.jit(nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1)))
    return net, lambda: step(ms.Tensor(X))


def guarded(model, call):
    with guard(model):
        call()
        hooks.barrier()


def watched(model, call):
    with watch(model, every=1) as found:
        for _ in range(2):
            call()
            if isinstance(model, nnx.Module) and not isinstance(model, nn.Cell):
                found.next_step()
    assert {row.step for row in found.rows} == {1, 2}
    return found.rows


@pytest.mark.parametrize("block", [guarded, watched])
@pytest.mark.parametrize("make", [module, cell])
def test_the_same_block_compiles_nothing(make, block, caplog):
    model, call = make()
    call()

    def compiled():
        with jax.log_compiles(), caplog.at_level(logging.DEBUG):
            rows = block(model, call)
        messages = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Compiling")]
        caplog.clear()
        return rows, messages

    first, messages = compiled()
    assert messages
    again, messages = compiled()
    assert not messages
    if first is not None:
        assert [(row.step, row.kind, row.name) for row in first] == [(row.step, row.kind, row.name) for row in again]


@pytest.mark.long
@pytest.mark.parametrize("make", [module, cell])
def test_other_options_are_other_programs(make):
    model, call = make()
    with watch(model, every=1, what="activation") as one:
        call()
        one.next_step()
    with watch(model, every=1, what="gradient") as other:
        call()
        other.next_step()
    assert {row.kind for row in one.rows} == {"activation"} and {row.kind for row in other.rows} == {"gradient"}


def test_a_changed_model_has_another_block():
    net = nn.SequentialCell(nn.Dense(2, 2))
    with watch(net, every=1, what="activation") as before:
        net(ms.ops.ones((1, 2), ms.float32))
    net.append(nn.Dense(2, 2))
    with watch(net, every=1, what="activation") as after:
        net(ms.ops.ones((1, 2), ms.float32))
    assert {row.name for row in before.rows} == {"", "0"} and {row.name for row in after.rows} == {"", "0", "1"}


def test_two_like_blocks_at_once():
    net = nn.SequentialCell(nn.Dense(2, 2))
    with watch(net, every=1, what="activation") as outer, watch(net, every=1, what="activation") as inner:
        net(ms.ops.ones((1, 2), ms.float32))
    assert [row.name for row in outer.rows] == [row.name for row in inner.rows] == ["0", ""]
    with guard(net), pytest.raises(Fault), guard(net):
        net(ms.ops.ones((1, 2), ms.float32) * float("nan"))


@pytest.mark.parametrize("block", [guarded, watched])
@pytest.mark.parametrize("make", [module, cell])
def test_a_dropped_model_is_freed(make, block):
    model, call = make()
    block(model, call)
    there = weakref.ref(model)
    del model, call
    jax.clear_caches()
    gc.collect()
    assert there() is None
