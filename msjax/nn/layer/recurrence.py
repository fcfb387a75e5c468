"""The recurrences: one layer of a recurrent network, over all steps, as one operator."""

import jax
import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.nn.cell.base import Cell


def _affine(x, weight, bias):
    out = jnp.matmul(x, weight.T.astype(x.dtype))
    return out if bias is None else out + bias.astype(x.dtype)


def _simple_step(activation):
    def step(projected, states, weight, bias):
        (h,) = states
        return (activation(projected + _affine(h, weight, bias)),)

    return step


def _gru_step(projected, states, weight, bias):
    (h,) = states
    r, z, n = jnp.split(projected, 3, -1)
    hr, hz, hn = jnp.split(_affine(h, weight, bias), 3, -1)
    reset, update = jax.nn.sigmoid(r + hr), jax.nn.sigmoid(z + hz)
    new = jnp.tanh(n + reset * hn)
    return (new + update * (h - new),)


def _lstm_step(projected, states, weight, bias):
    h, c = states
    i, f, g, o = jnp.split(projected + _affine(h, weight, bias), 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


# By kind: the step, and how many blocks of rows (gates) the weights have.
STEPS = {
    "tanh": (_simple_step(jnp.tanh), 1),
    "relu": (_simple_step(jax.nn.relu), 1),
    "gru": (_gru_step, 3),
    "lstm": (_lstm_step, 4),
}


def _cell(x, h, c, w_ih, w_hh, b_ih, b_hh, kind):
    states = (h,) if c is None else (h, c)
    states = STEPS[kind][0](_affine(x, w_ih, b_ih), states, w_hh, b_hh)
    return states[0] if c is None else states


def _layer(x, h, c, lengths, w_ih, w_hh, b_ih, b_hh, kind, reverse):
    """All steps of a layer in one direction.

    Args:
        x: (steps, batch, features).
        h, c: (batch, hidden) the state before the first step, or None for zeros; c is used by LSTM alone.
        lengths: (batch,) how many steps each sample has, or None for all. Outputs after them are zeros.

    Returns:
        (steps, batch, hidden) the outputs, and h and, for LSTM, c after the last step.
    """
    step = STEPS[kind][0]
    # The inputs of all steps meet their weights in one product.
    projected = _affine(x, w_ih, b_ih)
    zeros = jnp.zeros((x.shape[1], w_hh.shape[1]), x.dtype)
    states = tuple(zeros if s is None else s for s in ((h, c) if kind == "lstm" else (h,)))
    if lengths is None:

        def advance(states, projected):
            states = step(projected, states, w_hh, b_hh)
            return states, states[0]

        states, out = jax.lax.scan(advance, states, projected, reverse=reverse)
    else:
        there = jnp.arange(x.shape[0])[:, None, None] < lengths[None, :, None]

        def advance(states, given):
            projected, there = given
            new = step(projected, states, w_hh, b_hh)
            states = tuple(jnp.where(there, n, s) for n, s in zip(new, states))
            return states, jnp.where(there, new[0], 0)

        states, out = jax.lax.scan(advance, states, (projected, there), reverse=reverse)
    return out, *states


CELL_OPS = {
    kind: Op(name, _cell) for kind, name in (("tanh", "RNNCell"), ("relu", "RNNCell"), ("gru", "GRUCell"), ("lstm", "LSTMCell"))
}
_LAYER_OPS = {kind: Op(name, _layer) for kind, name in (("tanh", "RNN"), ("relu", "RNN"), ("gru", "GRU"), ("lstm", "LSTM"))}


class _Recurrence(Cell):
    """One layer in one direction, as a cell of its own, so that it has hooks; it has no weights but is given them."""

    kind = "tanh"

    def construct(self, x, states, lengths, weights, reverse=False):
        h, c = states
        return apply(_LAYER_OPS[self.kind], (x, h, c, lengths, *weights), (self.kind, reverse))


class _DynamicRNNTanh(_Recurrence):
    kind = "tanh"


class _DynamicRNNRelu(_Recurrence):
    kind = "relu"


class _DynamicGRUCPUGPU(_Recurrence):
    kind = "gru"


class _DynamicLSTMCPUGPU(_Recurrence):
    kind = "lstm"


RECURRENCES = {cls.kind: cls for cls in (_DynamicRNNTanh, _DynamicRNNRelu, _DynamicGRUCPUGPU, _DynamicLSTMCPUGPU)}
