"""Embedding layers: rows of a table, looked up by number."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializer import Normal, initializer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import InitLike
from msjax.core.base.arrays import is_at_hand, is_tracer
from msjax.core.base.checks import (
    check_bool,
    check_in_range,
    check_kind,
    check_one_of,
    check_positive_int,
    check_type,
    check_value,
)
from msjax.nn.cell.base import Cell
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import rounded_once
from msjax.ops.function.array_func import gathering

__all__ = ["Embedding", "EmbeddingExt", "EmbeddingLookup", "MultiFieldEmbeddingLookup"]


@operator(2, name="Gather")
def _lookup(table, ids):
    return rounded_once(lambda x: x.at[ids].get(mode="fill"), table)


def _check_ids(ids, who):
    check_kind(ids, isinstance(ids, Tensor) and ids.dtype.kind in "iu", "be a Tensor of integers", "the ids", who)


def _check_range(ids, size, who):
    """RuntimeError for an index outside the table, if the indices can be read without waiting for a device.

    Elsewhere such a row is nan, so that the mistake is seen.
    """
    value = ids._value
    if is_tracer(value) or value.size == 0 or not is_at_hand(value):
        return
    numbers = np.asarray(value)
    if numbers.min() < 0 or numbers.max() >= size:
        bad = numbers[(numbers < 0) | (numbers >= size)].flat[0]
        raise RuntimeError(f"For '{who}', ids should be in [0, {size}), but got {bad}.")


class Embedding(Cell):
    """Rows of a table, looked up by number.

    Args:
        vocab_size (int): the number of rows.
        embedding_size (int): the size of a row.
        use_one_hot (bool): True computes by a product with one-hot vectors, where an id outside of the table gives
            zeros. Default: False.
        embedding_table: an Initializer, its name, a number or a Tensor of shape (vocab_size, embedding_size).
            Default: "normal".
        dtype (ms.dtype): of the table. Default: ms.float32.
        padding_idx (int, optional): a row that starts as zeros, in [0, vocab_size).

    Inputs:
        - **ids** (Tensor) - integers, of any shape.

    Outputs:
        Tensor, of shape (*ids.shape, embedding_size).

    Raises:
        TypeError: a wrong type of an argument, or ids that are not integers.
        ValueError: `padding_idx` is out of range, or a size is not positive.
        RuntimeError: an id is outside of the table. While compiling or on an accelerator its row is nan instead.

    Example:
        >>> net = nn.Embedding(3, 2, embedding_table=Tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
        >>> print(net(Tensor([2, 0])))
        [[4. 5.]
         [0. 1.]]
    """

    # MindSpore's layer has this operator as an attribute; subclasses that override construct use it.
    gather = ops.Gather()
    _in_repr = ("vocab_size", "embedding_size", "use_one_hot", "embedding_table", "dtype", "padding_idx")

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: str | Tensor = "normal",
        dtype: Type = mstype.float32,
        padding_idx: int | None = None,
    ):
        super().__init__()
        self.vocab_size: int = check_positive_int(vocab_size, "vocab_size", "Embedding")
        self.embedding_size: int = check_positive_int(embedding_size, "embedding_size", "Embedding")
        self.use_one_hot: bool = check_bool(use_one_hot, "use_one_hot", "Embedding")
        self.dtype = dtype
        self.padding_idx = padding_idx
        table = initializer(embedding_table, (vocab_size, embedding_size), dtype)
        if padding_idx is not None:
            check_type(padding_idx, int, "padding_idx", "Embedding")
            check_in_range(padding_idx, "padding_idx", "Embedding", low=0, below=vocab_size)
            table[padding_idx] = 0
        self.embedding_table: Parameter = Parameter(table, name="embedding_table")

    def construct(self, ids: Tensor) -> Tensor:
        _check_ids(ids, "Embedding")
        if self.use_one_hot:
            return gathering.rows_or_zeros(self.embedding_table, ids)
        _check_range(ids, self.vocab_size, "Embedding")
        return _lookup(self.embedding_table, ids)


class EmbeddingExt(Cell):
    """Rows of a table, looked up by number; also `mint.nn.Embedding`.

    Args:
        num_embeddings (int): the number of rows.
        embedding_dim (int): the size of a row.
        padding_idx (int, optional): a row that starts as zeros and gets no gradient; negative counts from the end.
        max_norm (float, optional): rows that are looked up and have a greater norm are scaled down to it, in the table.
        norm_type (float): the p of that norm. Default: 2.0.
        scale_grad_by_freq (bool): whether a row's gradient is divided by how often it was looked up. Default: False.
        sparse (bool): False; sparse gradients are not supported.
        _weight (Tensor, optional): the table; by default it is normally distributed.
        _freeze (bool): whether the table is not trained. Default: False.
        dtype (ms.dtype, optional): of the table. Default: None, for ms.float32.

    Raises:
        TypeError: a wrong type of an argument, or ids that are not integers.
        ValueError: `padding_idx` is out of range, `_weight` of another shape, or `sparse` True.
        RuntimeError: an id is outside of the table; see `Embedding`.

    Example:
        >>> net = nn.EmbeddingExt(3, 2, padding_idx=0)
        >>> print(net(Tensor([0])))
        [[0. 0.]]
    """

    _in_repr = ("num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "dtype")

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        dtype: Type | None = None,
    ):
        super().__init__()
        who = type(self).__name__
        if check_bool(sparse, "sparse", who):
            raise ValueError(f"For '{who}', sparse=True is not supported.")
        self.num_embeddings: int = check_positive_int(num_embeddings, "num_embeddings", who)
        self.embedding_dim: int = check_positive_int(embedding_dim, "embedding_dim", who)
        self.dtype: Type = mstype.float32 if dtype is None else dtype
        shape = (num_embeddings, embedding_dim)
        if padding_idx is not None:
            check_type(padding_idx, int, "padding_idx", who)
            check_in_range(padding_idx, "padding_idx", who, low=-num_embeddings, below=num_embeddings)
        self.padding_idx = padding_idx
        self.max_norm: Any | None = None if max_norm is None else check_type(max_norm, float, "max_norm", who)
        self.norm_type: Any = check_type(norm_type, float, "norm_type", who)
        self.scale_grad_by_freq: bool = check_bool(scale_grad_by_freq, "scale_grad_by_freq", who)
        if _weight is None:
            table = initializer(Normal(1.0), shape, self.dtype)
            if padding_idx is not None:
                table[padding_idx] = 0
        else:
            fits = tuple(check_type(_weight, Tensor, "_weight", who).shape) == shape
            check_value(_weight, fits, f"have shape {shape}", "_weight", who)
            table = _weight
        self.weight: Parameter = Parameter(table, name="weight", requires_grad=not check_bool(_freeze, "_freeze", who))

    def construct(self, input: Tensor) -> Tensor:
        who = type(self).__name__
        _check_ids(input, who)
        _check_range(input, self.num_embeddings, who)
        if self.max_norm is not None:
            self.weight._set_value(_renorm(self.weight, input, self.max_norm, self.norm_type)._value)
        padding = None if self.padding_idx is None else self.padding_idx % self.num_embeddings
        return gathering.embed(self.weight, input, padding, None, self.norm_type, self.scale_grad_by_freq)


@operator(2, numbers=("limit",), name="EmbeddingRenorm", differentiable=False)
def _renorm(table, ids, limit, p):
    """The table, with the rows that are looked up scaled down to the norm limit where they exceed it."""
    norms = jnp.linalg.norm(table, p, axis=-1, keepdims=True)
    used = jnp.zeros(table.shape[0], bool).at[ids.reshape(-1)].set(True)[:, None]
    return jnp.where(used & (norms > limit), table * (limit / (norms + 1e-7)), table).astype(table.dtype)


@operator(1, numbers=("limit", "square"), name="ClipByNorm")
def _clip_rows(rows, limit, square):
    """The rows, scaled down to the norm limit where they exceed it."""
    squares = jnp.sum(jnp.square(rows), -1, keepdims=True)
    # The square root is taken only above the limit: its gradient at 0 is NaN.
    return rows * (limit / jnp.sqrt(jnp.maximum(squares, square)))


class EmbeddingLookup(Cell):
    """Rows of a table, looked up by number; for a number outside of the table, zeros.

    Args:
        vocab_size, embedding_size, dtype: as in `Embedding`.
        param_init: an Initializer, its name, a number or a Tensor of shape (vocab_size, embedding_size). Default: "normal".
        target (str): "CPU" or "DEVICE"; accepted for compatibility with MindSpore, the table lives where jax puts it.
        slice_mode (str), manual_shapes: accepted for compatibility with MindSpore, without effect.
        max_norm (float, optional): positive; rows with a greater norm are scaled down to it in the output.
        sparse (bool): accepted for compatibility with MindSpore; gradients are dense.

    Inputs:
        - **indices** (Tensor) - integers, of any shape.

    Outputs:
        Tensor, of shape (*indices.shape, embedding_size).

    Raises:
        TypeError: a wrong type of an argument, or indices that are not integers.
        ValueError: a size or `max_norm` is not positive, an unknown `target`, or `sparse` False with target "CPU".

    Example:
        >>> net = nn.EmbeddingLookup(3, 2, param_init=Tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
        >>> print(net(Tensor([2, 3])))
        [[4. 5.]
         [0. 0.]]
    """

    BATCH_SLICE = "batch_slice"
    FIELD_SLICE = "field_slice"
    TABLE_ROW_SLICE = "table_row_slice"
    TABLE_COLUMN_SLICE = "table_column_slice"

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: InitLike = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        manual_shapes: object = None,
        max_norm: float | None = None,
        sparse: bool = True,
        dtype: Type = mstype.float32,
    ):
        super().__init__()
        who = type(self).__name__
        self.vocab_size: int = check_positive_int(vocab_size, "vocab_size", who)
        self.embedding_size: int = check_positive_int(embedding_size, "embedding_size", who)
        self.target: Any = check_one_of(target, ("CPU", "DEVICE"), "target", who)
        self.sparse: bool = check_bool(sparse, "sparse", who)
        if target == "CPU" and not sparse:
            raise ValueError(f"For '{who}', 'sparse' should be True with target 'CPU', but got False.")
        fits = max_norm is None or check_type(max_norm, float, "max_norm", who) > 0
        check_value(max_norm, fits, "be positive", "max_norm", who)
        self.max_norm = max_norm
        self.embedding_table: Parameter = Parameter(
            initializer(param_init, (vocab_size, embedding_size), dtype), name="embedding_table"
        )

    def construct(self, indices: Tensor) -> Tensor:
        _check_ids(indices, type(self).__name__)
        rows = gathering.rows_or_zeros(self.embedding_table, indices)
        return rows if self.max_norm is None else _clip_rows(rows, self.max_norm, self.max_norm**2)


@operator(3, name="MultiFieldEmbeddingLookup")
def _combine(rows, values, fields, size, how):
    batch = rows.shape[0]
    weighted = rows * values[..., None]
    segments = (fields + size * jnp.arange(batch)[:, None]).reshape(-1)
    flat = weighted.reshape(-1, rows.shape[-1])
    # A weight of 0 marks padding: it is not counted and not part of the maximum.
    present = values.reshape(-1) != 0
    counts = jax.ops.segment_sum(present.astype(flat.dtype), segments, batch * size)[:, None]
    if how == "MAX":
        least = jnp.where(present[:, None], flat, -jnp.inf)
        out = jnp.where(counts > 0, jax.ops.segment_max(least, segments, batch * size), 0)
    else:
        out = jax.ops.segment_sum(flat, segments, batch * size)
    if how == "MEAN":
        out = out / jnp.maximum(counts, 1)
    return out.reshape(batch, size, -1)


class MultiFieldEmbeddingLookup(EmbeddingLookup):
    """For each field of each sample, the embeddings of its features, weighted and combined.

    Args:
        field_size (int): the number of fields.
        vocab_size, embedding_size, param_init, target, slice_mode, max_norm, sparse, dtype: as in `EmbeddingLookup`.
        feature_num_list: accepted for compatibility with MindSpore, without effect.
        operator (str): how the features of a field are combined: "SUM", "MEAN" or "MAX". Default: "SUM".

    Inputs:
        - **input_indices** (Tensor) - integers (batch, features).
        - **input_values** (Tensor) - floats (batch, features), the weights; a weight of 0 pads.
        - **field_ids** (Tensor) - integers (batch, features), the field of each feature.

    Outputs:
        Tensor, of shape (batch, field_size, embedding_size).

    Raises:
        TypeError: a wrong type of an argument, or inputs that are not Tensors.
        ValueError: `field_size` is not positive, an unknown `operator`, or inputs of different shapes.

    Example:
        >>> net = nn.MultiFieldEmbeddingLookup(3, 1, 2, param_init=Tensor([[1.0], [2.0], [3.0]]))
        >>> ids, values, fields = Tensor([[0, 1, 2]]), Tensor([[1.0, 1.0, 2.0]]), Tensor([[0, 0, 1]])
        >>> print(net(ids, values, fields))
        [[[3.]
          [6.]]]
    """

    OPERATOR_SUM = "SUM"
    OPERATOR_MEAN = "MEAN"
    OPERATOR_MAX = "MAX"

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        field_size: int,
        param_init: InitLike = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        feature_num_list: object = None,
        max_norm: float | None = None,
        sparse: bool = True,
        operator: str = "SUM",
        dtype: Type = mstype.float32,
    ):
        super().__init__(vocab_size, embedding_size, param_init, target, slice_mode, None, max_norm, sparse, dtype)
        self.field_size: int = check_positive_int(field_size, "field_size", "MultiFieldEmbeddingLookup")
        self.operator: Any = check_one_of(operator, ("SUM", "MEAN", "MAX"), "operator", "MultiFieldEmbeddingLookup")

    def construct(self, input_indices: Tensor, input_values: Tensor, field_ids: Tensor) -> Tensor:
        who = "MultiFieldEmbeddingLookup"
        _check_ids(field_ids, who)
        check_type(input_values, Tensor, "input_values", who)
        rows = super().construct(input_indices)
        if not input_indices.shape == input_values.shape == field_ids.shape or input_indices.ndim != 2:
            raise ValueError(
                f"For '{who}', the inputs should have one shape (batch, features), but have "
                f"{input_indices.shape}, {input_values.shape} and {field_ids.shape}."
            )
        return _combine(rows, input_values, field_ids, self.field_size, self.operator)
