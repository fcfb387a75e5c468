"""A write to a part of a Tensor reaches the whole, whichever operator has made the part and however the code runs."""

import jax
import pytest

import msjax as ms
from msjax import mint, nn, numpy as mnp, ops

# A write to x, zeros of shape (3, 4) -> the sum of x afterwards. MindSpore 2.10 on CPUs has the first block in PyNative mode.
WRITES = {
    "x[0][1] = 7": 7,
    "x[1:][0] = 7": 28,
    "x[0][1:3] = 7": 14,
    "x[0][1] += 7": 7,
    "y = x[1]; y[:] = 3": 12,
    "x.flatten()[0] = 7": 7,
    "x.split(1)[0][0, 0] = 7": 7,
    "x.view(-1)[5] = 7": 7,
    "x.reshape(-1)[5] = 7": 7,
    "x.T[0] = 7": 21,
    "ops.transpose(x, (1, 0))[0] = 7": 21,
    "x[:, 1][0] = 7": 7,
    "for row in x: row[0] = 1": 3,
    "x[[0, 1]][0] = 7": 28,
    "x[[0, 1]][0][1] = 7": 7,
    "x.squeeze()[0] = 7": 28,
    "x.expand_dims(0)[0, 0] = 7": 28,
    "y = x.astype(ms.float32); y[...] = 1": 12,
    "y = x.contiguous(); y[0] = 7": 28,
    "y = nn.Identity()(x); y[0] = 7": 28,
    "x.data[0] = 7": 28,
    "x.detach()[0] = 7": 28,
    "x.diagonal()[0] = 7": 7,
    "y = ms.Tensor(x); y[0] = 7": 28,
    "y = ms.tensor(x[0]); y[1] = 7": 7,
    "ops.adjoint(x)[0] = 7": 21,
    "y = ops.positive(x); y[0] = 7": 28,
    "mnp.rollaxis(x, 1)[0] = 7": 21,
    "mnp.expand_dims(x, (0, 2))[0, 0] = 7": 28,
    # Of these, MindSpore writes some; in PyTorch, all are one memory.
    "x.view(-1)[...] = 7": 84,
    "y = x[1]; y.add_(1)": 4,
    "x.unbind(0)[0].fill_(2)": 8,
    "ops.unstack(x, 1)[3].fill_(2)": 6,
    "x.chunk(3)[1].fill_(1)": 4,
    "x.narrow(0, 1, 1).fill_(1)": 4,
    "x.select(0, 1).fill_(1)": 4,
    "x.swapaxes(0, 1)[0] = 1": 3,
    "x.moveaxis(0, 1)[0] = 1": 3,
    "x.mT[0] = 1": 3,
    "x.unsqueeze(1)[0] = 1": 4,
    "x[::2][1][1] = 3": 3,
    "x[::-1][0][1] = 3": 3,
    "x[None, 1:, ..., 2][0][0] = 3": 3,
    "x.expand((2, 3, 4))[0] = 1": 12,
    "x.broadcast_to((2, 3, 4))[1, 1] = 1": 4,
    "x.view_as(ops.ones((4, 3)))[0] = 1": 3,
    "x.ravel()[2:4][0] = 1": 1,
    "ops.slice(x, (1, 1), (2, 2))[0] = 1": 2,
    "ops.strided_slice(x, (0, 0), (3, 4), (2, 2))[0] = 1": 2,
    "x[1].copy_(ops.ones(4))": 4,
    "x[1].masked_fill_(ms.Tensor([True, False, False, True]), 2)": 4,
    "x.T[[0, 2]] = 1": 6,
    "x[1][ms.Tensor([True, False, False, True])] = 2": 4,
    "x[ms.Tensor(1)][0] = 7": 7,
    "mint.transpose(x, 0, 1)[0] = 1": 3,
    "mint.select(x, 0, 1).zero_(); mint.narrow(x, 1, 0, 2).fill_(1)": 6,
    "mint.flatten(x)[3] = 1": 1,
    "mint.permute(x, (1, 0))[0].add_(1)": 3,
    "x[1].assign_value(ops.ones(4))": 4,
    "ops.assign(x[1], ops.ones(4))": 4,
    # A copy, as its elements lie in another order.
    "x.T.reshape(-1)[0] = 1": 0,
    "x.T.flatten().view(2, 6)[0] = 1": 0,
    "x.copy()[0] = 1": 0,
    "ops.gather(x, ms.Tensor([0]), 0)[0] = 1": 0,
    "x.flip((0,))[0] = 1": 0,
}


def function(write):
    names = {"ms": ms, "ops": ops, "mint": mint, "nn": nn, "mnp": mnp}
    exec(f"def run(x):\n    {write}\n    return x.sum()", names)
    return names["run"]


class Writes(nn.Cell):
    def __init__(self, run, weight=None):
        super().__init__()
        self.run = run
        self.weight = weight

    def construct(self, x=None):
        return self.run(self.weight if x is None else x)


def in_pynative_mode(run):
    x = ops.zeros((3, 4))
    return run(x), x.sum()


def in_jit(run):
    x = ops.zeros((3, 4))
    return ms.jit(run)(x), x.sum()


def in_graph_mode(run):
    x = ops.zeros((3, 4))
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        return Writes(run)(x), x.sum()
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def functionalized(run):
    apply, params, buffers = ms.functionalize(Writes(run, ms.Parameter(ops.zeros((3, 4)))))
    return jax.jit(lambda params: apply(params, buffers)[0])(params), None


def under_jax_grad(run):
    x = ops.zeros((3, 4))
    return jax.value_and_grad(lambda x: run(x)._value)(x)[0], None


WAYS = [in_jit, in_graph_mode, functionalized, under_jax_grad]
# In PyNative mode all, and each in one of the other ways, which take the parts from the same operators.
RUNS = [*((write, in_pynative_mode) for write in WRITES), *((write, WAYS[i % len(WAYS)]) for i, write in enumerate(WRITES))]


@pytest.mark.parametrize(("write", "way"), RUNS)
def test_a_write_to_a_part_reaches_the_whole(write, way):
    inside, outside = way(function(write))
    assert float(inside) == WRITES[write]
    assert outside is None or float(outside) == WRITES[write]


def test_items_of_what_a_mask_picks_are_written_in_pynative_mode():
    x = ops.zeros((3, 4))
    x[ms.Tensor([True, False, True])][1] = 7
    assert x.asnumpy().tolist() == [[0.0] * 4, [0.0] * 4, [7.0] * 4]


class HoldsAPart(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
        self.part = self.weight[1:]

    def construct(self, x):
        return (self.part * self.part * x + self.weight * x).sum()


@pytest.mark.parametrize("hooked", [False, True])
def test_a_part_of_a_parameter_that_was_taken_outside_is_a_constant(hooked):
    net, x = HoldsAPart(), ms.Tensor(3.0)
    if hooked:
        net.register_backward_hook(lambda cell, of_inputs, of_outputs: None)
    apply, params, buffers = ms.functionalize(net)
    of_jax = jax.grad(lambda params: apply(params, buffers, x.asnumpy())[0])(params)
    (of_tape,) = ms.grad(net, None, net.trainable_params())(x)
    assert of_tape.asnumpy().tolist() == of_jax["weight"].tolist() == [3.0, 3.0]
    ms.ops.assign(net.weight, ms.Tensor([1.0, 5.0]))
    assert net.part.asnumpy().tolist() == [5.0]
    net(x).backward()  # as PyTorch, from where it was taken on
    assert net.weight.grad.asnumpy().tolist() == [3.0, 3.0 + 2 * (2 * 5.0 * 3.0)]
