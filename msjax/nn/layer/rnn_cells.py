"""The cells of recurrent networks, which take one step, and the operators that run a layer over all steps."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializer import Uniform, initializer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_kind, check_one_of, check_positive_int, check_type, check_value
from msjax.engine.autograd.op import Op, apply
from msjax.nn.cell.base import Cell
from msjax.ops.dispatch.platforms import on_cpu

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


def _affine(x, weight, bias):
    return _times_turned(x, weight.T.astype(x.dtype), bias)


def _times_turned(x, turned, bias):
    return _plus(jnp.matmul(x, turned), bias)


def _plus(x, bias):
    return x if bias is None else x + bias.astype(x.dtype)


def _simple_step(activation):
    def step(projected, hidden, states):
        return (activation(projected + hidden),), ()

    return step


def _gru_step(projected, hidden, states):
    (h,) = states
    r, z, n = jnp.split(projected, 3, -1)
    hr, hz, hn = jnp.split(hidden, 3, -1)
    reset, update = jax.nn.sigmoid(r + hr), jax.nn.sigmoid(z + hz)
    new = jnp.tanh(n + reset * hn)
    return (new + update * (h - new),), (reset, update, new, hn)


def _lstm_step(projected, hidden, states):
    _, c = states
    i, f, g, o = jnp.split(projected + hidden, 4, -1)
    i, f, g, o = jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o)
    c = f * c + i * g
    return (o * jnp.tanh(c), c), (i, f, g, o)


def _tanh_back(gates, before, after, cts):
    return cts[0] * (1 - after[0] * after[0]), None, (0,)


def _relu_back(gates, before, after, cts):
    return jnp.where(after[0] > 0, cts[0], 0), None, (0,)


def _gru_back(gates, before, after, cts):
    (reset, update, new, hn), (h,), (d_h,) = gates, before, cts
    d_new = d_h * (1 - update) * (1 - new * new)
    d_reset = d_new * hn * reset * (1 - reset)
    d_update = d_h * (h - new) * update * (1 - update)
    of_x, of_h = (jnp.concatenate([d_reset, d_update, d], -1) for d in (d_new, d_new * reset))
    return of_x, of_h, (d_h * update,)


def _lstm_back(gates, before, after, cts):
    (i, f, g, o), (d_h, d_c) = gates, cts
    c = jnp.tanh(after[1])
    d_c = d_c + d_h * o * (1 - c * c)
    d_gates = d_c * g * i * (1 - i), d_c * before[1] * f * (1 - f), d_c * i * (1 - g * g), d_h * c * o * (1 - o)
    return jnp.concatenate(d_gates, -1), None, (0, d_c * f)


# For weights of more rows, the product without a transposed copy takes longer than with one: what it adds up lies far apart in memory.
_FAR_APART = 1024
# From so many samples of all steps on, a transposed copy of the weights' gradient costs less than a product that is turned round.
_MANY = 512


# Tried for LSTM, and not worth it: several steps in one pass of the loop (1.15 to 1.4 times as long, XLA computes gates again), the gates as one
# array or kept before their activation (1.17 and 1.4), in the memory of the inputs' products (1.1 to 3), weights' gradients apart (1.02).


# For each kind: the new states of what the products with the input and with h are, and the old ones, with the gates that its gradient needs;
# how many blocks of rows (gates) the weights have; the gradients of the new states taken back to the two products (the second is None
# where they are equal) and the old states, those by way of the products apart; and the layer's name, in those of its operators.
KINDS = {
    "tanh": (_simple_step(jnp.tanh), 1, _tanh_back, "RNN"),
    "relu": (_simple_step(jax.nn.relu), 1, _relu_back, "RNN"),
    "gru": (_gru_step, 3, _gru_back, "GRU"),
    "lstm": (_lstm_step, 4, _lstm_back, "LSTM"),
}


def _cell(x, h, c, w_ih, w_hh, b_ih, b_hh, kind):
    states = (h,) if c is None else (h, c)
    states, _ = KINDS[kind][0](_affine(x, w_ih, b_ih), _affine(h, w_hh, b_hh), states)
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
    return _all_steps(x, h, c, lengths, w_ih, w_hh, b_ih, b_hh, kind, reverse)[0]


def _all_steps(x, h, c, lengths, w_ih, w_hh, b_ih, b_hh, kind, reverse):
    """What `_layer` returns, and (the states before the first step, those after each, the gates of each, whether each step counts)."""
    projected = _affine(x, w_ih, None)  # one product for the inputs of all steps; in the loop, adding the bias costs nothing
    turned = w_hh.T.astype(x.dtype)  # once, not at each step
    zeros = jnp.zeros((x.shape[1], w_hh.shape[1]), x.dtype)
    first = tuple(zeros if s is None else s for s in ((h, c) if kind == "lstm" else (h,)))
    there = None if lengths is None else jnp.arange(x.shape[0])[:, None, None] < lengths[None, :, None]

    def advance(states, given):
        projected, there = given
        new, gates = KINDS[kind][0](_plus(projected, b_ih), _times_turned(states[0], turned, b_hh), states)
        new = _where(there, new, states)
        return new, (new, gates)

    last, (after, gates) = jax.lax.scan(advance, first, (projected, there), reverse=reverse)
    return (*_where(there, after[:1], (0,)), *last), (first, after, gates, there)


def _where(there, values, others):
    return values if there is None else tuple(jnp.where(there, value, other) for value, other in zip(values, others))


def _layer_gradient(slots, x, h, c, lengths, w_ih, w_hh, b_ih, b_hh, kind, reverse):
    """The outputs and their gradient (see `TracedVJP`), computed from the gates, where jax's derivative keeps twice as many arrays of each
    step. The weights' are products over all steps after the loop, where jax's adds one up at each step, which takes as long as the loop.
    """
    outs, (first, after, gates, there) = _all_steps(x, h, c, lengths, w_ih, w_hh, b_ih, b_hh, kind, reverse)
    biases = [None if b is None else b.dtype for b in (b_ih, b_hh)]

    def pull(x, first, after, gates, there, w_ih, w_hh, cts):
        before = tuple(
            jnp.concatenate([s, f[None]])[1:] if reverse else jnp.concatenate([f[None], s])[:-1] for f, s in zip(first, after)
        )

        def back(d_states, given):
            ct, there, *step = given
            d_states = (d_states[0] + ct, *d_states[1:])
            counted = _where(there, d_states, (0, 0))
            of_x, of_h, d_before = KINDS[kind][2](*step, counted)
            d_h = jnp.matmul(of_x if of_h is None else of_h, w_hh.astype(of_x.dtype))
            d_before = d_h + d_before[0], *d_before[1:]
            return _where(there, d_before, d_states), (of_x, of_h)

        given = *_where(there, cts[:1], (0,)), there, gates, before, after
        d_states, (of_x, of_h) = jax.lax.scan(back, tuple(cts[1:]), given, reverse=not reverse)
        if of_h is None:
            d_w_ih, d_w_hh = _of_weights(of_x, x, before[0])
        else:
            (d_w_ih,), (d_w_hh,) = _of_weights(of_x, x), _of_weights(of_h, before[0])
        d_w_ih, d_w_hh = d_w_ih.astype(w_ih.dtype), d_w_hh.astype(w_hh.dtype)
        d_c = d_states[1] if kind == "lstm" else None
        of_biases = zip(biases, (of_x, of_x if of_h is None else of_h))
        d_b_ih, d_b_hh = (None if dtype is None else d.sum((0, 1)).astype(dtype) for dtype, d in of_biases)
        found = (jnp.matmul(of_x, w_ih.astype(of_x.dtype)), d_states[0], d_c, None, d_w_ih, d_w_hh, d_b_ih, d_b_hh)
        return tuple(g if i in slots else None for i, g in enumerate(found))

    return outs, jax.tree_util.Partial(pull, x, first, after, gates, there, w_ih, w_hh)


def _of_weights(d_products, *inputs):
    """The gradients, (rows, features) each, of the weights that several (steps, batch, features) were multiplied with."""

    def over_both_axes(d_products, *inputs):
        return [jax.lax.dot_general(d_products, x, (((0, 1), (0, 1)), ((), ()))) for x in inputs]

    def at_once(d_products, *inputs):
        # Over two axes, XLA would first make a transposed copy of `d_products`, which takes as long as the products.
        x, d_products = (a.reshape(-1, a.shape[-1]) for a in (jnp.concatenate(inputs, 2), d_products))
        found = jax.lax.dot_general(x, d_products, (((0,), (0,)), ((), ())))
        if len(x) >= _MANY and 2 * x.shape[1] <= d_products.shape[1] < _FAR_APART:
            # Else XLA would turn the product round to have it transposed, and take up to 1.6 times as long.
            found = jax.lax.optimization_barrier(found)
        return jax.lax.split(found.T, [a.shape[-1] for a in inputs], 1)

    if d_products.shape[2] > _FAR_APART:
        return over_both_axes(d_products, *inputs)
    return on_cpu(at_once, over_both_axes, d_products, *inputs)


_layer.gradient = _layer_gradient


_CELL_OPS = {kind: Op(f"{name}Cell", _cell) for kind, (*_, name) in KINDS.items()}
_LAYER_OPS = {kind: Op(name, _layer) for kind, (*_, name) in KINDS.items()}


class _Recurrence(Cell):
    """One layer in one direction, as a cell so that hooks can be registered on it; the weights are arguments."""

    kind: str

    def construct(self, x, states, lengths, weights, reverse=False):
        h, c = states
        return apply(_LAYER_OPS[self.kind], (x, h, c, lengths, *weights), (self.kind, reverse))


# fmt: off
class _DynamicRNNTanh(_Recurrence): kind = "tanh"
class _DynamicRNNRelu(_Recurrence): kind = "relu"
class _DynamicGRUCPUGPU(_Recurrence): kind = "gru"
class _DynamicLSTMCPUGPU(_Recurrence): kind = "lstm"
# fmt: on


RECURRENCES = {cls.kind: cls for cls in (_DynamicRNNTanh, _DynamicRNNRelu, _DynamicGRUCPUGPU, _DynamicLSTMCPUGPU)}
_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _check_state(state, name, who):
    """The tuple of the Tensors of an LSTM's state."""
    check_kind(state, isinstance(state, tuple) and len(state) == 2, "be a tuple of two Tensors", name, who)
    for part in state:
        check_type(part, Tensor, name, who)
    return state


class _RNNCellBase(Cell):
    """Base of RNNCell, GRUCell and LSTMCell; `_kind` names the recurrence."""

    _kind: str

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Type = mstype.float32):
        super().__init__()
        who = type(self).__name__
        self.input_size: int = check_positive_int(input_size, "input_size", who)
        self.hidden_size: int = check_positive_int(hidden_size, "hidden_size", who)
        self.has_bias: bool = check_bool(has_bias, "has_bias", who)
        rows, bound = KINDS[self._kind][1] * hidden_size, Uniform(1 / math.sqrt(hidden_size))
        # MindSpore draws these from numpy's global generator for nothing.
        np.random.standard_normal(rows * (input_size + hidden_size + (2 if has_bias else 0)))
        self.weight_ih: Parameter = Parameter(initializer(bound, (rows, input_size), dtype), name="weight_ih")
        self.weight_hh: Parameter = Parameter(initializer(bound, (rows, hidden_size), dtype), name="weight_hh")
        self.bias_ih: Parameter | None = Parameter(initializer(bound, (rows,), dtype), name="bias_ih") if has_bias else None
        self.bias_hh: Parameter | None = Parameter(initializer(bound, (rows,), dtype), name="bias_hh") if has_bias else None

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self._advance(x, check_type(hx, Tensor, "hx", type(self).__name__))

    def _advance(self, x, h, c=None):
        who = type(self).__name__
        check_type(x, Tensor, "x", who)
        shapes = ((x, "x", self.input_size), (h, "hx", self.hidden_size), (c, "hx", self.hidden_size))
        for value, name, size in shapes:
            if value is None:
                continue
            fits = value.ndim == 2 and value.shape[1] == size and value.shape[0] == x.shape[0]
            check_value(value, fits, f"have shape ({(x.shape[0] if x.ndim else 'batch')}, {size})", name, who)
            if value.dtype != self.weight_ih.dtype:
                raise TypeError(
                    f"For '{who}', '{name}' should have the dtype of the weights, {self.weight_ih.dtype}, but its dtype is {value.dtype}."
                )
        return apply(_CELL_OPS[self._kind], (x, h, c, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh), (self._kind,))


class RNNCell(_RNNCellBase):
    """One step of a recurrent network: tanh(x @ weight_ih.T + bias_ih + hx @ weight_hh.T + bias_hh).

    Args:
        input_size (int): the features of the input.
        hidden_size (int): the features of the state.
        has_bias (bool): whether there are biases. Default: True.
        nonlinearity (str): "tanh" or "relu". Default: "tanh".
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Inputs:
        - **x** (Tensor) - of shape (batch, input_size).
        - **hx** (Tensor) - of shape (batch, hidden_size).

    Outputs:
        Tensor, the new state, of shape (batch, hidden_size).

    Raises:
        TypeError: a wrong type of an argument or input.
        ValueError: a size is not positive, an unknown `nonlinearity`, or shapes that don't fit.

    Example:
        >>> net = nn.RNNCell(4, 3)
        >>> net(ops.ones((2, 4), float32), ops.zeros((2, 3), float32)).shape
        (2, 3)
    """

    _kind = "tanh"

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, nonlinearity: str = "tanh", dtype: Type = mstype.float32
    ):
        check_one_of(nonlinearity, ("tanh", "relu"), "nonlinearity", "RNNCell")
        super().__init__(input_size, hidden_size, has_bias, dtype)
        self._kind = self.nonlinearity = nonlinearity


class GRUCell(_RNNCellBase):
    """One step of a gated recurrent unit; the rows of its weights are as in `GRU`.

    Args:
        input_size, hidden_size, has_bias, dtype: as in `RNNCell`.

    Inputs, Outputs, Raises:
        As in `RNNCell`.

    Example:
        >>> net = nn.GRUCell(4, 3)
        >>> net(ops.ones((2, 4), float32), ops.zeros((2, 3), float32)).shape
        (2, 3)
    """

    _kind = "gru"


class LSTMCell(_RNNCellBase):
    """One step of a long short-term memory; the rows of its weights are as in `LSTM`.

    Args:
        input_size, hidden_size, has_bias, dtype: as in `RNNCell`.

    Inputs:
        - **x** (Tensor) - of shape (batch, input_size).
        - **hx** (tuple) - h and c, each of shape (batch, hidden_size).

    Outputs:
        Tuple of the new h and c.

    Raises:
        TypeError, ValueError: as in `RNNCell`.

    Example:
        >>> zeros = ops.zeros((2, 3), float32)
        >>> h, c = nn.LSTMCell(4, 3)(ops.ones((2, 4), float32), (zeros, zeros))
        >>> h.shape, c.shape
        ((2, 3), (2, 3))
    """

    _kind = "lstm"

    def construct(self, x: Tensor, hx: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        return self._advance(x, *_check_state(hx, "hx", "LSTMCell"))
