"""Transformer layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializer import XavierUniform, initializer
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_one_of, check_type, check_value
from msjax.nn.cell.base import Cell
from msjax.nn.layer.activation import GELU, ReLU
from msjax.nn.layer.attention import MultiheadAttention
from msjax.nn.layer.container import CellList
from msjax.nn.layer.dense import Dense
from msjax.nn.layer.dropout import Dropout
from msjax.nn.layer.layer_norm import LayerNorm

__all__ = [
    "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip


def _activation(activation, who):
    """The activation as a function or cell; ValueError for anything else but a known name."""
    if isinstance(activation, str):
        check_one_of(activation, ("relu", "gelu"), "activation", who)
        return getattr(ops, activation)
    if isinstance(activation, Cell) and not isinstance(activation, (ReLU, GELU)):
        raise ValueError(f"For '{who}', an 'activation' cell should be nn.ReLU or nn.GELU, but got {activation}.")
    check_value(activation, callable(activation), "be a name, function or cell", "activation", who)
    return activation


class _Layer(Cell):
    """Base of encoder and decoder layers; a subclass lists its attentions."""

    attentions = ("self_attn",)
    self_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Cell | Callable[..., Any] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Type = mstype.float32,
    ):
        super().__init__()
        self._settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype)
        self.d_model = d_model
        self.nhead = nhead
        self.dim_feedforward = dim_feedforward
        self.batch_first = batch_first
        self.norm_first = norm_first
        self.dtype = dtype
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype))
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        blocks = len(self.attentions) + 1
        for i in range(1, blocks + 1):
            setattr(self, f"norm{i}", LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        for i in range(1, blocks + 1):
            setattr(self, f"dropout{i}", Dropout(p=dropout))
        self.activation = _activation(activation, type(self).__name__)

    def _residual(self, x, norm, block):
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    def _attention(self, attention, dropout, mask, padding, memory=None):
        """Attention to the argument itself, or to `memory`."""

        def attend(x):
            source = x if memory is None else memory
            return dropout(attention(x, source, source, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0])

        return attend

    def _feedforward(self, dropout):
        return lambda x: dropout(self.dense2(self.dropout(self.activation(self.dense1(x)))))


class TransformerEncoderLayer(_Layer):
    """One layer of a transformer's encoder: self-attention and a feedforward network, each with residual and norm.

    Args:
        d_model (int): the features.
        nhead (int): the number of heads.
        dim_feedforward (int): the features inside of the feedforward network. Default: 2048.
        dropout (float): the probability of all dropouts. Default: 0.1.
        activation (str, function or Cell): "relu", "gelu", or one of these as a function or cell. Default: "relu".
        layer_norm_eps (float): added to variances. Default: 1e-5.
        batch_first (bool): whether inputs and outputs are (batch, length, features), not (length, batch, features).
            Default: False.
        norm_first (bool): whether the norms stand before the blocks, not after them. Default: False.
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Inputs:
        - **src** (Tensor) - (length, batch, d_model), or (length, d_model).
        - **src_mask** (Tensor, optional) - as `attn_mask` of `MultiheadAttention`.
        - **src_key_padding_mask** (Tensor, optional) - as its `key_padding_mask`.

    Outputs:
        Tensor, of the shape of `src`.

    Raises:
        ValueError: `d_model` is not a multiple of `nhead`, an unknown `activation`, or shapes that don't fit.

    Example:
        >>> layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
        >>> layer(ops.ones((4, 1, 8), float32)).shape
        (4, 1, 8)
    """

    def construct(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None) -> Tensor:
        attend = self._attention(self.self_attn, self.dropout1, src_mask, src_key_padding_mask)
        x = self._residual(src, self.norm1, attend)
        return self._residual(x, self.norm2, self._feedforward(self.dropout2))


class TransformerDecoderLayer(_Layer):
    """One layer of a transformer's decoder: self-attention, attention to the encoder's output, a feedforward network.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype: as in
            `TransformerEncoderLayer`.

    Inputs:
        - **tgt** (Tensor) - (length, batch, d_model), or (length, d_model).
        - **memory** (Tensor) - the encoder's output.
        - **tgt_mask**, **memory_mask** (Tensor, optional) - as `attn_mask` of `MultiheadAttention`.
        - **tgt_key_padding_mask**, **memory_key_padding_mask** (Tensor, optional) - as its `key_padding_mask`.

    Outputs:
        Tensor, of the shape of `tgt`.

    Raises:
        ValueError: as in `TransformerEncoderLayer`.

    Example:
        >>> layer = nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
        >>> layer(ops.ones((3, 1, 8), float32), ops.ones((4, 1, 8), float32)).shape
        (3, 1, 8)
    """

    attentions = ("self_attn", "multihead_attn")
    multihead_attn: MultiheadAttention
    norm3: LayerNorm
    dropout3: Dropout

    def construct(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        attend = self._attention(self.self_attn, self.dropout1, tgt_mask, tgt_key_padding_mask)
        to_memory = self._attention(self.multihead_attn, self.dropout2, memory_mask, memory_key_padding_mask, memory)
        x = self._residual(self._residual(tgt, self.norm1, attend), self.norm2, to_memory)
        return self._residual(x, self.norm3, self._feedforward(self.dropout3))


class _Stack(Cell):
    """Several copies of a layer, one after the other, and a norm."""

    def __init__(self, layer: Cell, num_layers: int, norm: Cell | None):
        super().__init__()
        check_type(layer, Cell, "the layer", type(self).__name__)
        if type(layer) is TransformerEncoderLayer or type(layer) is TransformerDecoderLayer:
            # A layer of the same settings with weights of its own, as MindSpore's stacks make one of the layer that they are given.
            layer = type(layer)(*layer._settings)
        self.layers = CellList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _run(self, x, *memory, **masks):
        for layer in self.layers:
            x = layer(x, *memory, **masks)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """A transformer's encoder: copies of a layer, with weights of their own that start as the same.

    Of a `TransformerEncoderLayer`, the settings are taken, and the copies' weights are new, as in MindSpore; any other cell is copied with its weights.

    Args:
        encoder_layer (Cell): the layer, such as `TransformerEncoderLayer`.
        num_layers (int): how many.
        norm (Cell, optional): applied to the result.

    Inputs:
        - **src**, **src_mask**, **src_key_padding_mask** - as of the layer.

    Outputs:
        Tensor, of the shape of `src`.

    Raises:
        TypeError: `encoder_layer` is not a Cell.

    Example:
        >>> encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, dim_feedforward=16), 2)
        >>> encoder(ops.ones((4, 1, 8), float32)).shape
        (4, 1, 8)
    """

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Cell | None = None):
        super().__init__(encoder_layer, num_layers, norm)

    def construct(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None) -> Tensor:
        return self._run(src, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask)


class TransformerDecoder(_Stack):
    """A transformer's decoder: copies of a layer, made as those of a `TransformerEncoder`.

    Args:
        decoder_layer (Cell): the layer, such as `TransformerDecoderLayer`.
        num_layers, norm: as in `TransformerEncoder`.

    Inputs:
        - **tgt**, **memory**, **tgt_mask**, **memory_mask**, **tgt_key_padding_mask**, **memory_key_padding_mask** - as
          of the layer.

    Outputs:
        Tensor, of the shape of `tgt`.

    Raises:
        TypeError: `decoder_layer` is not a Cell.

    Example:
        >>> decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, dim_feedforward=16), 2)
        >>> decoder(ops.ones((3, 1, 8), float32), ops.ones((4, 1, 8), float32)).shape
        (3, 1, 8)
    """

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Cell | None = None):
        super().__init__(decoder_layer, num_layers, norm)

    def construct(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        return self._run(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
        )


class Transformer(Cell):
    """A transformer: an encoder, and a decoder that attends to its output.

    Args:
        d_model (int): the features. Default: 512.
        nhead (int): the number of heads. Default: 8.
        num_encoder_layers, num_decoder_layers (int): how many layers. Default: 6.
        dim_feedforward, dropout, activation: as in `TransformerEncoderLayer`.
        custom_encoder, custom_decoder (Cell, optional): in place of those made here.
        layer_norm_eps, batch_first, norm_first, dtype: as in `TransformerEncoderLayer`.

    Inputs:
        - **src** (Tensor) - the input of the encoder, (source length, batch, d_model), or (source length, d_model).
        - **tgt** (Tensor) - the input of the decoder, (target length, batch, d_model), or (target length, d_model).
        - **src_mask**, **tgt_mask**, **memory_mask**, **src_key_padding_mask**, **tgt_key_padding_mask**,
          **memory_key_padding_mask** (Tensor, optional) - as of the layers.

    Outputs:
        Tensor, of the shape of `tgt`.

    Raises:
        ValueError: an input has not `d_model` features, or the inputs differ in their batch.

    Example:
        >>> net = nn.Transformer(8, 2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16)
        >>> net(ops.ones((4, 1, 8), float32), ops.ones((3, 1, 8), float32)).shape
        (3, 1, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Cell | Callable[..., Any] = "relu",
        custom_encoder: Cell | None = None,
        custom_decoder: Cell | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Type = mstype.float32,
    ):
        super().__init__()
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype)

        def norm():
            return LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*settings), num_encoder_layers, norm())
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*settings), num_decoder_layers, norm())
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        for parameter in self.get_parameters():
            if parameter.ndim > 1:
                parameter.set_data(initializer(XavierUniform(), parameter.shape, parameter.dtype))
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def construct(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        for x, name in ((src, "src"), (tgt, "tgt")):
            if check_type(x, Tensor, name, "Transformer").ndim not in (2, 3) or x.shape[-1] != self.d_model:
                raise ValueError(f"For 'Transformer', '{name}' should have {self.d_model} features, but its shape is {x.shape}.")
        batch = 0 if self.batch_first else 1
        if src.ndim != tgt.ndim or (src.ndim == 3 and src.shape[batch] != tgt.shape[batch]):
            raise ValueError(
                f"For 'Transformer', the inputs differ in their batch: their shapes are {src.shape} and {tgt.shape}."
            )
        memory = self.encoder(src, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
        )
