"""Recurrent layers and cells: RNN, GRU, LSTM."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.arrays import as_array
from msjax.common.dtype import Type
from msjax.common.parameter import Parameter, ParameterTuple
from msjax.common.tensor import Tensor, wrap
from msjax.core.base.checks import check_bool, check_float, check_one_of, check_positive_int, check_shape, check_type
from msjax.nn.cell.base import Cell
from msjax.nn.layer.dropout import Dropout
from msjax.nn.layer.rnn_cells import _WEIGHTS, KINDS, RECURRENCES, _check_state

__all__ = ["GRU", "LSTM", "RNN"]


def _listed(name, doc) -> Any:
    def parameters(cell):
        return ParameterTuple([getattr(cell, name + suffix) for suffix in cell._suffixes] if hasattr(cell, name + "_l0") else ())

    return property(parameters, doc=doc)


class _RNNBase(Cell):
    """Base of RNN, GRU and LSTM; `_kind` names the recurrence."""

    _kind: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Type = mstype.float32,
    ):
        super().__init__()
        who, kind = type(self).__name__, self._kind
        self.input_size: int = check_positive_int(input_size, "input_size", who)
        self.hidden_size: int = check_positive_int(hidden_size, "hidden_size", who)
        self.num_layers: int = check_positive_int(num_layers, "num_layers", who)
        self.has_bias: bool = check_bool(has_bias, "has_bias", who)
        self.batch_first: bool = check_bool(batch_first, "batch_first", who)
        self.bidirectional: bool = check_bool(bidirectional, "bidirectional", who)
        self.dropout: float = check_float(dropout, "dropout", who, low=0, below=1)
        self.is_lstm: bool = kind == "lstm"
        self.rnn = RECURRENCES[kind]()
        self.dropout_op = Dropout(p=dropout)
        rows = KINDS[kind][1] * hidden_size
        directions = 2 if bidirectional else 1
        suffixes = [f"_l{layer}{end}" for layer in range(num_layers) for end in ("", "_reverse")[:directions]]
        kinds = _WEIGHTS if has_bias else _WEIGHTS[:2]
        # Layer by layer, of numpy's global generator itself, as MindSpore draws them; the Parameters come kind by kind.
        drawn, bound = {}, 1 / math.sqrt(hidden_size)
        for i, suffix in enumerate(suffixes):
            inputs = input_size if i < directions else hidden_size * directions
            for name in kinds:
                shape = {"weight_ih": (rows, inputs), "weight_hh": (rows, hidden_size)}.get(name, (rows,))
                drawn[name, suffix] = wrap(as_array(np.random.uniform(-bound, bound, shape).astype(np.float32), dtype))
        for name in kinds:
            for suffix in suffixes:
                setattr(self, name + suffix, Parameter(drawn[name, suffix], name=name + suffix))
        self._suffixes = tuple(suffixes)

    w_ih_list: ParameterTuple = _listed("weight_ih", "The weights of the inputs, of all layers and directions.")
    w_hh_list: ParameterTuple = _listed("weight_hh", "The weights of the states, of all layers and directions.")
    b_ih_list: ParameterTuple = _listed("bias_ih", "The biases of the inputs, of all layers and directions; empty without any.")
    b_hh_list: ParameterTuple = _listed("bias_hh", "The biases of the states, of all layers and directions; empty without any.")

    def construct(self, x, hx=None, seq_length=None):
        h, c = self._check(x, hx, seq_length)
        if self.batch_first:
            x = ops.swapaxes(x, 0, 1)
        members, directions = self.__dict__, 2 if self.bidirectional else 1
        last = ([], [])
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = self.dropout_op(x)
            outs = []
            for direction in range(directions):
                i = layer * directions + direction
                weights = [members.get(name + self._suffixes[i]) for name in _WEIGHTS]
                states = (None if h is None else h[i], None if c is None else c[i])
                out, *states = self.rnn(x, states, seq_length, weights, direction == 1)
                outs.append(out)
                for kept, state in zip(last, states):
                    kept.append(state)
            x = outs[0] if directions == 1 else ops.concat(outs, 2)
        if self.batch_first:
            x = ops.swapaxes(x, 0, 1)
        h = ops.stack(last[0])
        return x, (h, ops.stack(last[1])) if self.is_lstm else h

    def _check(self, x, hx, seq_length):
        """Check the inputs; returns the initial state, a pair of Tensors or Nones."""
        who = type(self).__name__
        check_type(x, Tensor, "x", who)
        if x.dtype.kind != "f":
            raise TypeError(f"For '{who}', 'x' should be of floats, but its dtype is {x.dtype}.")
        if x.ndim != 3 or x.shape[2] != self.input_size:
            order = "(batch, steps, features)" if self.batch_first else "(steps, batch, features)"
            raise ValueError(
                f"For '{who}', 'x' should have shape {order} with {self.input_size} features, but its shape is {x.shape}."
            )
        batch = x.shape[0 if self.batch_first else 1]
        if hx is None:
            states = (None, None)
        elif self.is_lstm:
            states = _check_state(hx, "hx", who)
        else:
            states = (check_type(hx, Tensor, "hx", who), None)
        expected = (self.num_layers * (2 if self.bidirectional else 1), batch, self.hidden_size)
        for state in states:
            if state is None:
                continue
            if state.dtype != x.dtype:
                raise TypeError(f"For '{who}', 'hx' should have the dtype of 'x', {x.dtype}, but its dtype is {state.dtype}.")
            check_shape(state, expected, "hx", who)
        if seq_length is not None:
            if check_type(seq_length, Tensor, "seq_length", who).dtype not in (mstype.int32, mstype.int64):
                raise TypeError(f"For '{who}', 'seq_length' should be of Int32 or Int64, but its dtype is {seq_length.dtype}.")
            check_shape(seq_length, (batch,), "seq_length", who)
        return states


class RNN(_RNNBase):
    """A recurrent network: h = tanh(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh), over steps and layers.

    Args:
        input_size (int): the features of the input.
        hidden_size (int): the features of the state.
        num_layers (int): the number of stacked layers. Default: 1.
        has_bias (bool): whether there are b_ih and b_hh. Default: True.
        batch_first (bool): whether inputs and outputs are (batch, steps, features), not (steps, batch, features).
            Default: False.
        dropout (float): the probability of Dropout between layers, in [0, 1). Default: 0.0.
        bidirectional (bool): whether a second network runs from the last step to the first. Default: False.
        dtype (ms.dtype): of the Parameters. Default: ms.float32.
        nonlinearity (str): "tanh" or "relu". Default: "tanh".

    Inputs:
        - **x** (Tensor) - of shape (steps, batch, input_size).
        - **hx** (Tensor, optional) - the first state, (directions * num_layers, batch, hidden_size). Default: zeros.
        - **seq_length** (Tensor, optional) - Int32 or Int64 (batch,), how many steps of each sample count. Default: all.

    Outputs:
        Tuple of the outputs, (steps, batch, directions * hidden_size), and the last state, of the shape of `hx`.

    Raises:
        TypeError: a wrong type of an argument or input.
        ValueError: a size is not positive, `dropout` out of range, an unknown `nonlinearity`, or shapes that don't fit.

    Example:
        >>> net = nn.RNN(4, 3, num_layers=2)
        >>> output, h = net(ops.ones((5, 2, 4), float32))
        >>> output.shape, h.shape
        ((5, 2, 3), (2, 2, 3))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Type = mstype.float32,
        *,
        nonlinearity: str = "tanh",
    ):
        # The base class reads it; it must be there before a Cell's attributes can be set.
        vars(self)["_kind"] = check_one_of(nonlinearity, ("tanh", "relu"), "nonlinearity", "RNN")
        super().__init__(input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype)


class GRU(_RNNBase):
    """A network of gated recurrent units, over steps and layers.

    The rows of its weights are, in this order, those of the reset gate, the update gate and the new state.

    Args:
        input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype: as in `RNN`.

    Inputs, Outputs, Raises:
        As in `RNN`.

    Example:
        >>> net = nn.GRU(4, 3, bidirectional=True, batch_first=True)
        >>> output, h = net(ops.ones((2, 5, 4), float32))
        >>> output.shape, h.shape
        ((2, 5, 6), (2, 2, 3))
    """

    _kind = "gru"


class LSTM(_RNNBase):
    """A network of long short-term memory, over steps and layers.

    The rows of its weights are, in this order, those of the input gate, the forget gate, the cell and the output gate.

    Args:
        input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype: as in `RNN`.

    Inputs:
        - **x** (Tensor) - of shape (steps, batch, input_size).
        - **hx** (tuple, optional) - h and c before the first step, each (directions * num_layers, batch, hidden_size).
          Default: zeros.
        - **seq_length** (Tensor, optional) - as in `RNN`.

    Outputs:
        Tuple of the outputs, (steps, batch, directions * hidden_size), and the tuple of the last h and c.

    Raises:
        TypeError, ValueError: as in `RNN`.

    Example:
        >>> net = nn.LSTM(4, 3)
        >>> output, (h, c) = net(ops.ones((5, 2, 4), float32))
        >>> output.shape, h.shape, c.shape
        ((5, 2, 3), (1, 2, 3), (1, 2, 3))
    """

    _kind = "lstm"
