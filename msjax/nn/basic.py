"""Basic layers: Dense, Flatten, Dropout, Embedding and the like."""

import math

from msjax.autograd.op import apply
from msjax.common import dtype as mstype
from msjax.common.initializer import HeUniform, Uniform, initializer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.errors import describe
from msjax.nn.activation import get_activation
from msjax.nn.cell import Cell
from msjax.ops import arrange, linear, sampling
from msjax.ops.dispatch import operator

__all__ = ["Dense", "Dropout", "Embedding", "Flatten", "Identity"]


def positive_int(value, name, who):
    """The value, if it is a positive int; TypeError or ValueError that names layer and argument otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"For '{who}', '{name}' should be an int, but got {describe(value)}.")
    if value <= 0:
        raise ValueError(f"For '{who}', '{name}' should be positive, but got {value}.")
    return value


class Dense(Cell):
    """A fully connected layer: activation(x @ weight.T + bias).

    Args:
        in_channels (int): the size of the last axis of the input.
        out_channels (int): the size of the last axis of the output.
        weight_init: an Initializer, its name, a number or a Tensor of shape (out_channels, in_channels). By default
            uniform, scaled by the inputs.
        bias_init: likewise, of shape (out_channels,).
        has_bias (bool): whether there is a bias. Default: True.
        activation (str, Cell or Primitive, optional): applied to the result.
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Inputs:
        - **x** (Tensor) - of shape (*, in_channels).

    Outputs:
        Tensor, of shape (*, out_channels).

    Raises:
        TypeError: a size is no int, or the activation is none.
        ValueError: a size is not positive, or a Tensor has another shape.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> dense = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        >>> print(dense(ms.Tensor([[1.0, 2.0]])))
        [[3.]]
    """

    def __init__(
        self, in_channels, out_channels, weight_init=None, bias_init=None, has_bias=True, activation=None, dtype=mstype.float32
    ):
        super().__init__()
        self.in_channels = positive_int(in_channels, "in_channels", "Dense")
        self.out_channels = positive_int(out_channels, "out_channels", "Dense")
        if not isinstance(has_bias, bool):
            raise TypeError(f"For 'Dense', 'has_bias' should be a bool, but got {describe(has_bias)}.")
        self.has_bias = has_bias
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, (out_channels, in_channels), dtype), name="weight")
        self.bias = None
        if has_bias:
            bias_init = Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), name="bias")
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        if self.activation is not None and not callable(self.activation):
            raise TypeError(f"For 'Dense', 'activation' should be a name, Cell or Primitive, but got {describe(activation)}.")
        self.activation_flag = self.activation is not None

    def construct(self, x):
        x = apply(linear.dense.op, (x, self.weight, self.bias))
        return self.activation(x) if self.activation_flag else x

    def extend_repr(self):
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            text += f", has_bias={self.has_bias}"
        if self.activation_flag:
            text += f", activation={self.activation}"
        return text


class Identity(Cell):
    """Returns its input."""

    def construct(self, x):
        return x


class Flatten(Cell):
    """The axes from `start_dim` to `end_dim` as one; by default all but the first.

    Args:
        start_dim (int): the first axis. Default: 1.
        end_dim (int): the last axis. Default: -1.
    """

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def construct(self, x):
        return arrange.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Dropout(Cell):
    """In training, elements set to zero with probability `p` and the others scaled by 1 / (1 - p).

    Args:
        keep_prob (float, optional): the older form of `p`: 1 - p.
        p (float, optional): the probability. Default: 0.5.

    Raises:
        ValueError: `p` is not in [0, 1), or `keep_prob` not in (0, 1].
    """

    def __init__(self, keep_prob=0.5, p=None, dtype=mstype.float32):
        super().__init__()
        if p is None:
            if not isinstance(keep_prob, (int, float)) or isinstance(keep_prob, bool):
                raise TypeError(f"For 'Dropout', 'keep_prob' should be a float, but got {describe(keep_prob)}.")
            if not 0 < keep_prob <= 1:
                raise ValueError(f"For 'Dropout', 'keep_prob' should be in (0, 1], but got {keep_prob}.")
        elif not 0 <= p < 1:
            raise ValueError(f"For 'Dropout', 'p' should be in [0, 1), but got {p}.")
        self.p = p
        self.keep_prob = keep_prob

    def construct(self, x):
        return sampling.dropout(x, 1 - self.keep_prob if self.p is None else self.p, self.training)

    def extend_repr(self):
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


@operator(2, name="Gather")
def _lookup(table, ids):
    return table.at[ids].get(mode="clip")


class Embedding(Cell):
    """Rows of a table, looked up by number.

    Args:
        vocab_size (int): the number of rows.
        embedding_size (int): the size of a row.
        use_one_hot (bool): kept for MindSpore's programs; the result is the same.
        embedding_table: an Initializer, its name, a number or a Tensor of shape (vocab_size, embedding_size).
        dtype (ms.dtype): of the table. Default: ms.float32.
        padding_idx (int, optional): a row that starts as zeros.

    Inputs:
        - **ids** (Tensor) - integers, of any shape.

    Outputs:
        Tensor, of shape (*ids.shape, embedding_size).
    """

    def __init__(
        self, vocab_size, embedding_size, use_one_hot=False, embedding_table="normal", dtype=mstype.float32, padding_idx=None
    ):
        super().__init__()
        self.vocab_size = positive_int(vocab_size, "vocab_size", "Embedding")
        self.embedding_size = positive_int(embedding_size, "embedding_size", "Embedding")
        self.use_one_hot = use_one_hot
        self.padding_idx = padding_idx
        table = initializer(embedding_table, (vocab_size, embedding_size), dtype)
        if padding_idx is not None:
            if not 0 <= padding_idx < vocab_size:
                raise ValueError(f"For 'Embedding', 'padding_idx' should be in [0, {vocab_size}), but got {padding_idx}.")
            table[padding_idx] = 0
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, ids):
        if not isinstance(ids, Tensor) or ids.dtype.kind not in "iu":
            raise TypeError(f"For 'Embedding', the ids should be a Tensor of integers, but got {describe(ids)}.")
        return _lookup(self.embedding_table, ids)

    def extend_repr(self):
        return (
            f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, use_one_hot={self.use_one_hot}, "
            f"embedding_table={self.embedding_table}, dtype={self.embedding_table.dtype}, padding_idx={self.padding_idx}"
        )
