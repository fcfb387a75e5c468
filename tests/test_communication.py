"""Ranks, groups, and operators that communicate: one process, and eight devices that stand for processes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec as P

import msjax as ms
from msjax import Tensor, communication, nn, ops
from msjax.communication import comm_func
from msjax.engine.processes.groups import PROCESSES, Group
from msjax.engine.processes.joining import ALONE, place_in_environment
from msjax.mint import distributed

VARIABLES = (
    "MS_WORKER_NUM", "RANK_SIZE", "OMPI_COMM_WORLD_SIZE", "MS_NODE_ID", "RANK_ID", "OMPI_COMM_WORLD_RANK", "DEVICE_ID",
    "OMPI_COMM_WORLD_LOCAL_RANK", "MSJAX_LOCAL_WORKERS", "OMPI_COMM_WORLD_LOCAL_SIZE", "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_ROLE",
)  # fmt: skip


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    communication.release()
    yield
    communication.release()


@pytest.fixture
def eight(monkeypatch):
    """A group of eight processes, for each of which one device of this process stands."""
    group = Group("eight", tuple(range(8)))
    group.mesh = Mesh(np.array(jax.devices()[:8]), (group.name,))
    monkeypatch.setitem(PROCESSES.groups, "eight", group)
    return group


def on_each(group, fn, *arrays):
    """What `fn`, a function of Tensors, returns on each device; the arrays' first axis is that of the devices."""

    def one(*values):
        out = fn(*(Tensor(v[0]) for v in values))
        return jnp.asarray(out)[None]

    return np.asarray(
        jax.jit(jax.shard_map(one, mesh=group.mesh, in_specs=P(group.name), out_specs=P(group.name), check_vma=False))(*arrays)
    )


X = np.random.default_rng(0).permutation(128).reshape(8, 16).astype(np.float32) / 16
W = np.random.default_rng(1).standard_normal((8, 16)).astype(np.float32)


def test_alone():
    assert (communication.get_rank(), communication.get_group_size()) == (0, 1) and not communication.GlobalComm.INITED
    communication.init("nccl")
    assert communication.GlobalComm.INITED and communication.GlobalComm.BACKEND == "mccl"
    assert communication.get_local_rank() == 0 and communication.get_local_rank_size() == 1
    assert communication.management.get_process_group_ranks() == [0] and communication.get_comm_name() == ""
    with pytest.raises(ValueError, match="backend_name"):
        communication.init("mpi")


def test_groups():
    communication.create_group("own", [0])
    communication.create_group("own", [0])
    assert communication.get_rank("own") == 0 and communication.get_group_size("own") == 1
    assert communication.get_world_rank_from_group_rank("own", 0) == 0
    assert communication.get_group_rank_from_world_rank(0, "own") == 0
    communication.destroy_group("own")
    with pytest.raises(RuntimeError, match="There is no group 'own'"):
        communication.get_rank("own")
    with pytest.raises(ValueError, match=r"numbers from 0 to 0, but got \[0, 1\]"):
        communication.create_group("two", [0, 1])
    with pytest.raises(TypeError, match="rank_ids"):
        communication.create_group("two", 3)
    with pytest.raises(ValueError, match="release"):
        communication.destroy_group("nccl_world_group")


def test_a_process_outside_of_a_group(monkeypatch):
    monkeypatch.setitem(PROCESSES.groups, "others", Group("others", (1, 2)))
    assert communication.get_group_size("others") == 2
    with pytest.raises(RuntimeError, match=r"Process 0 is not in group 'others'"):
        communication.get_rank("others")
    with pytest.raises(RuntimeError, match=r"^Process 0 is not in group 'others', which has the processes \[1, 2\].$"):
        comm_func.broadcast(Tensor([1.0]), 0, "others")
    assert distributed.get_rank("others") == -1
    with pytest.raises(RuntimeError, match=r"For 'AllReduce', process 0 is not in group 'others'"):
        ops.AllReduce(group="others")(Tensor([1.0]))


def test_the_environment(monkeypatch):
    assert place_in_environment() == ALONE
    for name, value in dict(
        MS_WORKER_NUM=4, MS_NODE_ID=3, MS_SCHED_HOST="10.0.0.1", MS_SCHED_PORT=9, MSJAX_LOCAL_WORKERS=2
    ).items():
        monkeypatch.setenv(name, str(value))
    assert place_in_environment() == (3, 4, 1, 2, "10.0.0.1:9")
    monkeypatch.setenv("MS_NODE_ID", "4")
    with pytest.raises(ValueError, match="MS_NODE_ID=4 for MS_WORKER_NUM=4"):
        place_in_environment()
    monkeypatch.setenv("MS_NODE_ID", "x")
    with pytest.raises(ValueError, match="MS_NODE_ID should be a number, but is 'x'"):
        place_in_environment()
    monkeypatch.delenv("MS_NODE_ID")
    with pytest.raises(ValueError, match="gives this one's rank"):
        place_in_environment()


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_one_process_communicates_with_itself(mode):
    ms.set_context(mode=mode)
    x = Tensor(X[0])
    for make in (ops.AllReduce, ops.AllGather, ops.ReduceScatter):
        op = make()
        np.testing.assert_array_equal(op(x).asnumpy(), X[0])
        np.testing.assert_array_equal(ms.grad(lambda x, op=op: op(x) * op(x))(x).asnumpy(), 2 * X[0])
    np.testing.assert_array_equal(ops.Broadcast(0)((x,))[0].asnumpy(), X[0])
    total, handle = comm_func.all_reduce(x, async_op=True)
    handle.wait()
    np.testing.assert_array_equal(total.asnumpy(), X[0])
    np.testing.assert_array_equal(nn.DistributedGradReducer([], mean=True)((x, None))[0].asnumpy(), X[0])


@pytest.mark.parametrize("op", ["sum", "avg", "max", "min", "prod"])
def test_all_reduce_and_reduce_scatter(eight, op):
    expected = getattr(np, {"avg": "mean"}.get(op, op))(X.astype(np.float64), 0)
    # All of the cases in one program.
    found = on_each(eight, lambda x: ops.concat([ops.AllReduce(op, "eight")(x), ops.ReduceScatter(op, "eight")(x)]), X)
    np.testing.assert_allclose(found[:, :16], np.broadcast_to(expected, (8, 16)), rtol=1e-5)
    np.testing.assert_allclose(found[:, 16:].reshape(-1), expected, rtol=1e-5)


def test_the_other_collectives(eight):
    def all_of_them(x):
        gathered = ops.AllGather("eight")(x)
        sent = ops.Broadcast(3, "eight")((x, x > 2))
        swapped = ops.AlltoAll(8, 0, 0, "eight")(x)
        return ops.concat([gathered, sent[0], sent[1].astype(ms.float32), swapped, ops.CollectiveScatter(5, "eight")(x)])

    found = on_each(eight, all_of_them, X)
    expected = [
        np.concatenate([X.reshape(-1), X[3], X[3] > 2, X.reshape(8, 8, 2)[:, i].reshape(-1), X[5, 2 * i : 2 * i + 2]])
        for i in range(8)
    ]
    np.testing.assert_allclose(found, expected)


def test_gradients(eight):
    def gradients(x, w, more):
        group = "eight"
        found = []
        for op in (ops.AllReduce(group=group), ops.AllReduce("max", group), ops.ReduceScatter(group=group)):
            found.append(ms.grad(lambda x, op=op: (op(x) * w[: op(x).shape[0]]).sum())(x))
        found.append(ms.grad(lambda x: (ops.AllGather(group)(x) * more).sum())(x))
        found.append(ms.grad(lambda x: (ops.Broadcast(2, group)((x,))[0] * w).sum())(x))
        return ops.concat(found)

    more = np.random.default_rng(2).standard_normal((8, 128)).astype(np.float32)
    found = on_each(eight, gradients, X, W, more).reshape(8, 5, 16)
    total = np.broadcast_to(W.sum(0), (8, 16))
    np.testing.assert_allclose(found[:, 0], total, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[:, 1], np.where(X == X.max(0), total, 0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[:, 2], np.broadcast_to(W[:, :2].reshape(-1), (8, 16)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[:, 3], more.sum(0).reshape(8, 16), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[:, 4], W)


def test_errors(eight):
    with pytest.raises(ValueError, match="'op' should be 'sum'"):
        ops.AllReduce("median")(Tensor([1.0]))
    with pytest.raises(TypeError, match="should hold numbers, but is of type Bool"):
        ops.AllReduce()(Tensor([True]))
    with pytest.raises(TypeError, match="should be a tuple of Tensors"):
        ops.Broadcast(0)(Tensor([1.0]))
    with pytest.raises(ValueError, match="'root_rank' should be a number from 0 to 0, but got 1"):
        ops.Broadcast(1)((Tensor([1.0]),))
    with pytest.raises(ValueError, match="should be the number of another process"):
        comm_func.send(Tensor([1.0]), 0)
    with pytest.raises(ValueError, match=r"equal parts for 8 processes, but the shape is \(15,\)"):
        on_each(eight, ops.ReduceScatter(group="eight"), X[:, :15])
    with pytest.raises(NotImplementedError, match=r"jax\.shard_map over a mesh with the axis 'eight'"):
        jax.jit(lambda x: ops.AllReduce(group="eight")(Tensor(x)))(X)


def test_lowered_for_gpus(eight):
    step = functools.partial(on_step, eight)
    mapped = jax.jit(jax.shard_map(step, mesh=eight.mesh, in_specs=P(), out_specs=P(), check_vma=False))
    text = mapped.trace(X[0]).lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("stablehlo.all_reduce") == 2 and "stablehlo.all_gather" in text


def on_step(group, x):
    reduced = ops.AllReduce(group=group.name)(Tensor(x))
    (out,) = nn.DistributedGradReducer([], group=group.name, mean=True)((ops.AllGather(group.name)(reduced),))
    return out


def test_mint_distributed_writes_into_its_arguments():
    distributed.init_process_group()
    with pytest.raises(ValueError, match="'world_size' should be -1 or that of the launcher, 1, but got 2"):
        distributed.init_process_group(world_size=2)
    x, parts = Tensor([1.0, 2.0]), [Tensor([0.0, 0.0])]
    assert distributed.all_reduce(x, async_op=True).wait() is None and distributed.broadcast(x, 0) is None
    distributed.all_gather(parts, x)
    assert parts[0].asnumpy().tolist() == [1, 2]
    distributed.gather(x * 2, parts)
    assert parts[0].asnumpy().tolist() == [2, 4]
    distributed.all_to_all(parts, [x * 3])
    distributed.scatter(x, parts)
    assert x.asnumpy().tolist() == [3, 6]
    distributed.reduce_scatter_tensor(x, Tensor([5.0, 7.0]))
    assert x.asnumpy().tolist() == [5, 7]
    objects = [None]
    distributed.all_gather_object(objects, {"a": 1})
    distributed.broadcast_object_list(objects)
    assert objects == [{"a": 1}]
    first = distributed.new_group([0])
    assert (distributed.get_world_size(first), distributed.get_group_rank(first, 0), distributed.get_backend()) == (1, 0, "mccl")
    distributed.barrier(first)
    with pytest.raises(ValueError, match="For 'scatter', the list should have an entry for each of the 1 processes, but got"):
        distributed.scatter(x, [x, x])
    distributed.destroy_process_group(first)
    distributed.destroy_process_group()
    assert not distributed.is_initialized()
