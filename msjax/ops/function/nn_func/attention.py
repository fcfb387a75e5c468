"""Attention of queries to keys and values, in several heads."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.random import default_generator
from msjax.common.tensor import Tensor, wrap
from msjax.core.base.checks import check_one_of, check_value
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import broadcast
from msjax.ops.function.nn_func.activations import softmax_along

__all__ = ["flash_attention_score", "multi_head_attention_forward"]

UNLIMITED = 2**31 - 1


def _project(x, weight, bias):
    out = jnp.matmul(x, weight.T)
    return out if bias is None else out + broadcast(bias, out.shape)


def _masked(scores, mask):
    """Scores with a mask applied: -inf where a bool mask is True, the sum with a mask of floats."""
    if mask.dtype == jnp.bool_:
        return jnp.where(mask, -jnp.inf, scores)
    return scores + mask.astype(scores.dtype)


@partial(Op, "MultiheadAttention")
def ATTENTION(
    query, key, value, packed, w_q, w_k, w_v, bias, bias_k, bias_v, w_out, b_out, mask, padding, rng, kept, heads, zero_attention,
    batch_first, average,
):  # fmt: skip
    """All of multi-head attention.

    Args:
        query, key, value: (length, batch, features), the first two axes exchanged if `batch_first`, or without batch;
            None for a key that is the query and a value that is the key.
        packed: the three projections as one weight, or None and `w_q`, `w_k`, `w_v`.
        mask: (length, sources) or (batch * heads, length, sources), or None. padding: (batch, sources) or None.
        rng, kept: the data of a jax key, and the share of the attention weights that are not dropped; None to drop none.
        average: whether the weights are averaged over heads; None for no weights.
    """
    batched = query.ndim == 3
    width = query.shape[-1]
    b_q, b_k, b_v = (None,) * 3 if bias is None else jnp.split(bias, 3)
    if packed is not None:
        w_q, w_k, w_v = jnp.split(packed, 3)
    if packed is not None and key is None and value is None:
        q, k, v = jnp.split(_project(query, packed, bias), 3, -1)
    else:
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = _project(query, w_q, b_q), _project(key, w_k, b_k), _project(value, w_v, b_v)

    def arranged(x):
        x = x if batched else x[None] if batch_first else x[:, None]
        return x if batch_first else x.swapaxes(0, 1)

    q, k, v = arranged(q), arranged(k), arranged(v)
    batch, length = q.shape[:2]
    extra = 0
    if bias_k is not None:
        k = jnp.concatenate([k, jnp.broadcast_to(bias_k, (batch, 1, width))], 1)
        v = jnp.concatenate([v, jnp.broadcast_to(bias_v, (batch, 1, width))], 1)
        extra += 1
    if zero_attention:
        zeros = jnp.zeros((batch, 1, width), k.dtype)
        k, v = jnp.concatenate([k, zeros], 1), jnp.concatenate([v, zeros.astype(v.dtype)], 1)
        extra += 1
    q, k, v = (x.reshape(batch, -1, heads, width // heads) for x in (q, k, v))
    scores = jnp.einsum("blhd,bshd->bhls", q * (width // heads) ** -0.5, k)
    if mask is not None:
        mask = jnp.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, extra)])
        scores = _masked(scores, mask if mask.ndim == 2 else mask.reshape(batch, heads, length, -1))
    if padding is not None:
        padding = jnp.pad(padding if batched else padding[None], [(0, 0), (0, extra)])
        scores = _masked(scores, padding[:, None, None])
    weights = softmax_along(scores, -1)
    if rng is not None:
        keep = jax.random.bernoulli(jax.random.wrap_key_data(rng), kept, weights.shape)
        # As XLA divides by a constant: by multiplication.
        weights = jnp.where(keep, weights * (1 / jnp.asarray(kept, weights.dtype)), 0)
    out = jnp.einsum("bhls,bshd->blhd", weights, v).reshape(batch, length, width)
    out = _project(out, w_out, b_out)
    out = out if batch_first else out.swapaxes(0, 1)
    out = out if batched else out[0] if batch_first else out[:, 0]
    if average is None:
        return (out,)
    weights = jnp.mean(weights, 1) if average else weights
    return out, weights if batched else weights[0]


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    k_is_v: bool = False,
    q_is_k: bool = False,
    dtype: Any = mstype.float32,
) -> tuple[Tensor, Tensor]:
    """Multi-head attention with weights that are given; `nn.MultiheadAttention` has its own.

    Args:
        query: (length, batch, embed_dim), or (length, embed_dim).
        key, value: (sources, batch, features), or (sources, features).
        embed_dim_to_check: the features that the query should have.
        num_heads: how many heads share them.
        in_proj_weight: (3 * embed_dim, embed_dim), the three projections; None with `use_separate_proj_weight`.
        in_proj_bias: (3 * embed_dim,), or None.
        bias_k, bias_v: (1, 1, embed_dim), one key and value more; or None.
        add_zero_attn: whether a key and value of zeros are added.
        dropout_p: the probability with which attention weights are dropped, if `training`.
        out_proj_weight, out_proj_bias: (embed_dim, embed_dim) and (embed_dim,), of the last projection.
        key_padding_mask: (batch, sources); True for a key to leave out, or floats that are added to scores.
        attn_mask: (length, sources) or (batch * num_heads, length, sources), likewise.
        q_proj_weight, k_proj_weight, v_proj_weight: the projections, with `use_separate_proj_weight`.
        static_k, static_v: not offered.
        average_attn_weights: whether the weights are averaged over heads.
        is_causal: without `attn_mask`, a query looks at no later keys.
        k_is_v, q_is_k, dtype: without effect.

    Returns:
        The output, of the shape of the query, and the weights: (batch, length, sources), or (batch, num_heads, length, sources).

    Raises:
        ValueError: the query has other features than `embed_dim_to_check`.
    """
    who = "multi_head_attention_forward"
    if static_k is not None or static_v is not None:
        raise NotImplementedError(
            f"For '{who}', 'static_k' and 'static_v' are not offered; ops.flash_attention_score takes keys as they are."
        )
    check_value(query, query.shape[-1] == embed_dim_to_check, f"have {embed_dim_to_check} features", "the query", who)
    if is_causal and attn_mask is None:
        attn_mask = wrap(~jnp.tril(jnp.ones((query.shape[0], key.shape[0]), bool)))
    apart = use_separate_proj_weight
    dropping = training and dropout_p > 0
    weights = (None if apart else in_proj_weight, *((q_proj_weight, k_proj_weight, v_proj_weight) if apart else (None,) * 3))
    operands = (
        query, None if key is query else key, None if value is key else value, *weights, in_proj_bias, bias_k, bias_v, out_proj_weight,
        out_proj_bias, attn_mask, key_padding_mask, default_generator.next_key() if dropping else None, 1 - float(dropout_p) if dropping else None,
    )  # fmt: skip
    return apply(ATTENTION, operands, (num_heads, bool(add_zero_attn), False, bool(average_attn_weights)))


# {layout: (where batch and heads lie, None for heads that lie within the features)}.
_LAYOUTS = {"BSH": (0, None), "SBH": (1, None), "BSND": (0, 2), "BNSD": (0, 1)}


@operator(6, name="FlashAttentionScore")
def scores_of(query, key, value, real_shift, padding_mask, attn_mask, heads, scale, layout, causal):
    """The greatest score, the sum of exponentials and the output of attention, in MindSpore's layouts."""
    batch_at, heads_at = _LAYOUTS[layout]

    def arranged(x, n):  # (batch, heads, length, features)
        if heads_at is None:
            x = x.swapaxes(0, batch_at)
            return x.reshape(*x.shape[:2], n, -1).transpose(0, 2, 1, 3)
        return x if heads_at == 1 else x.transpose(0, 2, 1, 3)

    q = arranged(query, heads)
    width = q.shape[-1]
    fewer = key.shape[heads_at] if heads_at is not None else key.shape[-1] // width
    k, v = (jnp.repeat(arranged(x, fewer), heads // fewer, 1) for x in (key, value))
    scores = jnp.einsum("bhld,bhsd->bhls", q, k, preferred_element_type=jnp.float32) * scale
    if real_shift is not None:
        scores = scores + real_shift
    if padding_mask is not None:
        scores = scores + padding_mask
    if causal is not None:
        length, sources = scores.shape[-2:]
        hidden = ~jnp.tril(jnp.ones((length, sources), bool), sources - length if causal == "end" else 0)
        scores = jnp.where(hidden, -jnp.inf, scores)
    elif attn_mask is not None:
        scores = jnp.where(attn_mask.astype(bool), -jnp.inf, scores)
    greatest = jnp.max(scores, -1, keepdims=True)
    powers = jnp.exp(scores - jnp.where(jnp.isfinite(greatest), greatest, 0))
    total = jnp.sum(powers, -1, keepdims=True)
    out = jnp.einsum("bhls,bhsd->bhld", (powers / jnp.where(total == 0, 1, total)).astype(v.dtype), v)
    if heads_at != 1:
        out = out.transpose(0, 2, 1, 3)
    if heads_at is None:
        out = out.reshape(*out.shape[:2], -1).swapaxes(0, batch_at)
    return jnp.repeat(greatest, 8, -1), jnp.repeat(total, 8, -1), out.astype(query.dtype)


def flash_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    real_shift: Tensor | None = None,
    drop_mask: Tensor | None = None,
    padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    keep_prob: float = 1.0,
    scalar_value: float = 1.0,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
    inner_precise: int = 0,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
) -> Tensor:
    """Attention of queries to keys and values, which are projected already.

    MindSpore has it on Ascend only; here it is a plain operator of XLA, on all devices.

    Args:
        query: (B, S, H), (S, B, H), (B, S, N, D) or (B, N, S, D), as `input_layout` says: batch, length, heads, features, where H are
            the features of all heads.
        key, value: likewise; they may have fewer heads, which then serve several of the query.
        head_num: the number of heads of the query.
        real_shift: what is added to the scores, (B, N, S, sources) or broadcast to that.
        padding_mask: likewise.
        attn_mask: True or 1 for scores that are left out, (S, sources), (B, 1, S, sources) or (B, N, S, sources).
        scalar_value: what scores are multiplied with.
        input_layout: "BSH", "SBH", "BSND" or "BNSD".
        sparse_mode: 0 and 1 for `attn_mask` as it is; 2 for no later keys, counted from the first one, 3 for no later ones, counted from the last.
        drop_mask, keep_prob, prefix, actual_seq_qlen, actual_seq_kvlen, pre_tokens, next_tokens: not offered; only their defaults are taken.
        inner_precise: without effect; scores are Float32.

    Returns:
        Tensor of the shape and dtype of the query.

    Raises:
        NotImplementedError: what is not offered.
        ValueError: an unknown layout.

    Example:
        >>> x = Tensor(np.ones((1, 3, 8), np.float32))
        >>> ops.flash_attention_score(x, x, x, 2, scalar_value=0.5).shape
        (1, 3, 8)
    """
    return flash_outputs(
        "flash_attention_score", query, key, value, head_num, real_shift, padding_mask, attn_mask, scalar_value, input_layout, sparse_mode,
        (drop_mask, prefix, actual_seq_qlen, actual_seq_kvlen), keep_prob, min(pre_tokens, next_tokens),
    )[2]  # fmt: skip


def flash_outputs(who, query, key, value, heads, shift, padding, mask, scale, layout, mode, not_offered, keep_prob, tokens):
    """(greatest scores, sums of exponentials, output); see `flash_attention_score`."""
    check_one_of(layout, tuple(_LAYOUTS), "input_layout")
    asks_for_more = any(x is not None for x in not_offered) or keep_prob != 1 or tokens < UNLIMITED
    if asks_for_more or mode not in (0, 1, 2, 3):
        raise NotImplementedError(
            f"For '{who}', dropping of weights, prefixes, packed sequences, limits of tokens and other modes than 0 to 3 are not offered; "
            "put them into 'attn_mask', or lift jax.nn.dot_product_attention with ms.from_jax."
        )
    return scores_of(query, key, value, shift, padding, mask, heads, float(scale), layout, {2: "start", 3: "end"}.get(mode))
