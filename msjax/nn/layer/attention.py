"""Multi-head attention."""

from __future__ import annotations

from typing import Any

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializer import XavierNormal, XavierUniform, initializer
from msjax.common.parameter import Parameter
from msjax.common.random import default_generator
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_positive_int, check_shape, check_type, check_value
from msjax.engine.autograd.op import apply
from msjax.nn.cell.base import Cell
from msjax.nn.layer.dense import Dense
from msjax.ops.function.nn_func.attention import ATTENTION

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Cell):
    """Attention of a query to keys and values, in several heads.

    Args:
        embed_dim (int): the features of the query and of the output.
        num_heads (int): how many heads share the features.
        dropout (float): the probability with which attention weights are dropped in training. Default: 0.0.
        has_bias (bool): whether the projections have biases. Default: True.
        add_bias_kv (bool): whether one learned key and value are added to the others. Default: False.
        add_zero_attn (bool): whether a key and value of zeros are added to the others. Default: False.
        kdim, vdim (int, optional): the features of keys and values. Default: `embed_dim`.
        batch_first (bool): whether inputs and the output are (batch, length, features), not (length, batch, features).
            Default: False.
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Inputs:
        - **query** (Tensor) - (length, batch, embed_dim), or (length, embed_dim).
        - **key** (Tensor) - (sources, batch, kdim), or (sources, kdim).
        - **value** (Tensor) - (sources, batch, vdim), or (sources, vdim).
        - **key_padding_mask** (Tensor, optional) - (batch, sources); True for a key to leave out, or floats that are
          added to scores.
        - **need_weights** (bool) - whether weights are returned. Default: True.
        - **attn_mask** (Tensor, optional) - (length, sources) or (batch * num_heads, length, sources); likewise.
        - **average_attn_weights** (bool) - whether the weights are averaged over heads. Default: True.

    Outputs:
        Tuple of the output, of the shape of the query, and, if asked for, the weights: (batch, length, sources), or
        (batch, num_heads, length, sources) if not averaged.

    Raises:
        TypeError: an input is not a Tensor.
        ValueError: `embed_dim` is not a multiple of `num_heads`, or shapes or the dtypes of masks don't fit.

    Example:
        >>> net = nn.MultiheadAttention(8, 2)
        >>> x = ops.ones((4, 1, 8), float32)
        >>> out, weights = net(x, x, x)
        >>> out.shape, weights.shape
        ((4, 1, 8), (1, 4, 4))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        has_bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: Type = mstype.float32,
    ):
        super().__init__()
        self.embed_dim: int = check_positive_int(embed_dim, "embed_dim", "MultiheadAttention")
        self.num_heads: int = check_positive_int(num_heads, "num_heads", "MultiheadAttention")
        self.kdim: int = embed_dim if kdim is None else kdim
        self.vdim: int = embed_dim if vdim is None else vdim
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        self.dtype = dtype
        self.head_dim: int = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise ValueError(
                f"For 'MultiheadAttention', 'embed_dim' should be a multiple of 'num_heads', but they are {embed_dim} and {num_heads}."
            )
        self._packed = self.kdim == embed_dim and self.vdim == embed_dim

        def weight(name, rows, columns):
            return Parameter(initializer(XavierUniform(), (rows, columns), dtype), name=name)

        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self._packed:
            self.in_proj_weight = weight("in_proj_weight", 3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = weight("q_proj_weight", embed_dim, embed_dim)
            self.k_proj_weight = weight("k_proj_weight", embed_dim, self.kdim)
            self.v_proj_weight = weight("v_proj_weight", embed_dim, self.vdim)
        self.in_proj_bias = self.bias_k = self.bias_v = None
        if has_bias:
            self.in_proj_bias = Parameter(initializer("zeros", 3 * embed_dim, dtype), name="in_proj_bias")
        if add_bias_kv:
            self.bias_k = Parameter(initializer(XavierNormal(), (1, 1, embed_dim), dtype), name="bias_k")
            self.bias_v = Parameter(initializer(XavierNormal(), (1, 1, embed_dim), dtype), name="bias_v")
        self.out_proj = Dense(embed_dim, embed_dim, has_bias=has_bias, dtype=dtype)

    def construct(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
    ) -> tuple[Any, ...]:
        mask, padding = self._check(query, key, value, attn_mask, key_padding_mask)
        inputs = query, None if key is query else key, None if value is key else value
        weights = self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        biases = self.in_proj_bias, self.bias_k, self.bias_v
        out = self.out_proj.weight, self.out_proj.bias
        dropping = self.training and self.dropout > 0
        drop = (default_generator.next_key(), 1 - float(self.dropout)) if dropping else (None, None)
        averaged = bool(average_attn_weights) if need_weights else None
        settings = self.num_heads, bool(self.add_zero_attn), bool(self.batch_first), averaged
        return apply(ATTENTION, (*inputs, *weights, *biases, *out, mask, padding, *drop), settings)

    def _check(self, query, key, value, mask, padding):
        """Check the inputs; returns the masks, of bools or floats."""
        who = "MultiheadAttention"
        for x, name, size in ((query, "query", self.embed_dim), (key, "key", self.kdim), (value, "value", self.vdim)):
            if check_type(x, Tensor, name, who).ndim not in (2, 3) or x.ndim != query.ndim:
                raise ValueError(
                    f"For '{who}', the inputs should all have 3 axes, or 2 without a batch, but their shapes are "
                    f"{query.shape}, {key.shape} and {value.shape}."
                )
            check_value(x, x.shape[-1] == size, f"have {size} features", name, who)
        if key.shape[:-1] != value.shape[:-1]:
            raise ValueError(f"For '{who}', key and value don't fit: their shapes are {key.shape} and {value.shape}.")
        first = bool(self.batch_first)
        batch = query.shape[0 if first else 1] if query.ndim == 3 else 1
        if query.ndim == 3 and key.shape[0 if first else 1] != batch:
            raise ValueError(f"For '{who}', query and key differ in their batch: their shapes are {query.shape} and {key.shape}.")
        at = 1 if first and query.ndim == 3 else 0
        length, sources = query.shape[at], key.shape[at]
        if mask is not None:
            if check_type(mask, Tensor, "attn_mask", who).dtype == mstype.uint8:
                mask = mask.astype(mstype.bool_)
            if mask.dtype != mstype.bool_ and mask.dtype.kind != "f":
                raise ValueError(f"For '{who}', 'attn_mask' should be of bools, bytes or floats, but its dtype is {mask.dtype}.")
            expected = (length, sources) if mask.ndim == 2 else (batch * self.num_heads, length, sources)
            check_shape(mask, expected, "attn_mask", who)
        if padding is not None:
            if check_type(padding, Tensor, "key_padding_mask", who).dtype != mstype.bool_ and padding.dtype.kind != "f":
                raise ValueError(
                    f"For '{who}', 'key_padding_mask' should be of bools or floats, but its dtype is {padding.dtype}."
                )
            expected = (batch, sources) if query.ndim == 3 else (sources,)
            check_shape(padding, expected, "key_padding_mask", who)
        return mask, padding
