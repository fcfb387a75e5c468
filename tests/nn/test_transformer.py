"""Attention and transformer layers, against numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn, ops

RNG = np.random.default_rng(0)
Q, K, V = (RNG.normal(size=(n, 2, 8)).astype(np.float32) for n in (4, 5, 5))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(net, q, k, v, added=0.0):
    """(out, weights by head) of a MultiheadAttention; `added` to the scores (batch, heads, length, sources)."""
    p = {name: value.asnumpy() for name, value in net.parameters_dict().items()}
    wq, wk, wv = np.split(p["in_proj_weight"], 3) if "in_proj_weight" in p else (p[f"{n}_proj_weight"] for n in "qkv")
    bq, bk, bv = np.split(p["in_proj_bias"], 3) if "in_proj_bias" in p else (0, 0, 0)
    q, k, v = q @ wq.T + bq, k @ wk.T + bk, v @ wv.T + bv
    q, k, v = (x.reshape(x.shape[0], x.shape[1], net.num_heads, -1).transpose(1, 2, 0, 3) for x in (q, k, v))
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + added)
    out = (weights @ v).transpose(2, 0, 1, 3).reshape(q.shape[2], q.shape[0], -1)
    return out @ p["out_proj.weight"].T + p.get("out_proj.bias", 0), weights


def same(got, want):
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("settings, sizes", [({}, (8, 8)), ({"has_bias": False}, (8, 8)), ({"kdim": 6, "vdim": 3}, (6, 3))])
def test_attention_is_the_formula(settings, sizes):
    net = nn.MultiheadAttention(8, 2, **settings)
    k, v = K[..., : sizes[0]], V[..., : sizes[1]]
    out, weights = net(Tensor(Q), Tensor(k), Tensor(v))
    want = attention(net, Q, k, v)
    same(out, want[0])
    same(weights, want[1].mean(1))
    assert len(net(Tensor(Q), Tensor(k), Tensor(v), need_weights=False)) == 1
    same(net(Tensor(Q), Tensor(k), Tensor(v), average_attn_weights=False)[1], want[1])


def test_self_attention_is_attention_of_equal_inputs():
    net = nn.MultiheadAttention(8, 2)
    x = Tensor(Q)
    same(net(x, x, x)[0], attention(net, Q, Q, Q)[0])
    same(net(x, x, x)[0], net(x, Tensor(Q), Tensor(Q))[0].asnumpy())


def test_batch_may_come_first_or_not_at_all():
    net = nn.MultiheadAttention(8, 2)
    want = net(Tensor(Q), Tensor(K), Tensor(V))[0].asnumpy()
    same(net(*(Tensor(x[:, 0]) for x in (Q, K, V)))[0], want[:, 0])
    first = nn.MultiheadAttention(8, 2, batch_first=True)
    for p, q in zip(first.get_parameters(), net.get_parameters()):
        p.set_data(q)
    same(first(*(Tensor(x.swapaxes(0, 1)) for x in (Q, K, V)))[0], want.swapaxes(0, 1))


def test_masks_leave_keys_out_or_are_added():
    net = nn.MultiheadAttention(8, 2)
    args = [Tensor(x) for x in (Q, K, V)]
    mask = np.triu(np.ones((4, 5), bool), 1)
    padding = np.array([[False] * 4 + [True], [False] * 5])
    added = np.where(mask[None, None] | padding[:, None, None], -np.inf, 0)
    want = attention(net, Q, K, V, added)[0]
    same(net(*args, attn_mask=Tensor(mask), key_padding_mask=Tensor(padding))[0], want)
    same(net(*args, attn_mask=Tensor(mask.astype(np.uint8)), key_padding_mask=Tensor(padding))[0], want)
    floats = np.where(mask, -np.inf, 0).astype(np.float32)
    same(net(*args, attn_mask=Tensor(floats), key_padding_mask=Tensor(np.where(padding, -np.inf, 0).astype(np.float32)))[0], want)
    by_head = np.stack([mask, ~mask | np.eye(4, 5, dtype=bool)] * 2)
    want = attention(net, Q, K, V, np.where(by_head.reshape(2, 2, 4, 5), -np.inf, 0))[1]
    same(net(*args, attn_mask=Tensor(by_head), average_attn_weights=False)[1], want)


def test_extra_keys_are_added():
    net = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)
    _, weights = net(Tensor(Q), Tensor(K), Tensor(V), attn_mask=Tensor(np.ones((4, 5), bool)))
    assert weights.shape == (2, 4, 7)
    assert (weights.asnumpy()[..., :5] == 0).all()
    assert [p.name for p in net.get_parameters()][2:4] == ["bias_k", "bias_v"]


def test_attention_drops_weights_in_training_only():
    net = nn.MultiheadAttention(8, 2, dropout=0.5)
    args = [Tensor(x) for x in (Q, K, V)]
    assert (net(*args)[1].asnumpy() > 0).all()
    assert (net.set_train()(*args, average_attn_weights=False)[1].asnumpy() == 0).any()


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_layers_are_attention_feedforward_norms_and_residuals(kind, norm_first):
    cls = nn.TransformerEncoderLayer if kind == "encoder" else nn.TransformerDecoderLayer
    layer = cls(8, 2, 6, dropout=0.0, norm_first=norm_first)
    x, memory = Tensor(Q), Tensor(K)

    def feedforward(x):
        return layer.dense2(ms.ops.relu(layer.dense1(x)))

    blocks = [lambda x: layer.self_attn(x, x, x)[0], feedforward]
    if kind == "decoder":
        blocks.insert(1, lambda x: layer.multihead_attn(x, memory, memory)[0])
    want = x
    for i, block in enumerate(blocks):
        norm = getattr(layer, f"norm{i + 1}")
        want = want + block(norm(want)) if norm_first else norm(want + block(want))
    same(layer(x) if kind == "encoder" else layer(x, memory), want.asnumpy())


def test_stacks_have_weights_of_their_own_that_start_as_the_same():
    layer = nn.TransformerEncoderLayer(8, 2, 6, dropout=0.0)
    net = nn.TransformerEncoder(layer, 2, nn.LayerNorm((8,)))
    first, second = net.layers[0].dense1.weight, net.layers[1].dense1.weight
    assert first is not second and first is not layer.dense1.weight
    np.testing.assert_array_equal(first.asnumpy(), second.asnumpy())
    names = [p.name for p in net.get_parameters()]
    assert names[0] == "layers.0.self_attn.in_proj_weight" and names[-1] == "norm.beta" and len(names) == 26
    copied = nn.TransformerEncoder(nn.Dense(8, 8), 1).layers[0]
    assert copied.weight.shape == (8, 8) and not np.array_equal(first.asnumpy(), layer.dense1.weight.asnumpy())
    layer = net.layers[0]
    same(net(Tensor(Q)), net.norm(layer(layer(Tensor(Q)))).asnumpy())
    grads = ms.grad(lambda x: (net(x) * Tensor(K[:4])).sum(), None, net.trainable_params())(Tensor(Q))
    assert all(abs(g.asnumpy()).max() > 0 for g in grads)


@pytest.mark.long
def test_transformer_is_encoder_then_decoder():
    net = nn.Transformer(8, 2, 1, 2, 6, dropout=0.0, batch_first=True)
    src, tgt = Tensor(Q.swapaxes(0, 1)), Tensor(K.swapaxes(0, 1))
    same(net(src, tgt), net.decoder(tgt, net.encoder(src)).asnumpy())
    assert net(src, tgt).shape == (2, 5, 8)
    assert len(list(net.get_parameters())) == 12 + 2 + 2 * 18 + 2


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: nn.MultiheadAttention(8, 3), ValueError),
        (lambda: nn.MultiheadAttention(8, 2)(3, 4, 5), TypeError),
        (lambda: nn.MultiheadAttention(8, 2)(*map(Tensor, (Q[..., :7], K, V))), ValueError),
        (lambda: nn.MultiheadAttention(8, 2)(*map(Tensor, (Q, K[..., :7], V))), ValueError),
        (lambda: nn.MultiheadAttention(8, 2)(*map(Tensor, (Q, K, V[:4]))), ValueError),
        (lambda: nn.MultiheadAttention(8, 2)(*map(Tensor, (Q, K[:, 0], V[:, 0]))), ValueError),
        (lambda: nn.MultiheadAttention(8, 2)(*map(Tensor, (Q, K, V)), attn_mask=Tensor(Q[:, 0, :4])), ValueError),
        (lambda: nn.MultiheadAttention(8, 2)(*map(Tensor, (Q, K, V)), attn_mask=Tensor(np.ones((4, 5), np.int32))), ValueError),
        (lambda: nn.MultiheadAttention(8, 2)(*map(Tensor, (Q, K, V)), Tensor(np.ones((2, 4), bool))), ValueError),
        (lambda: nn.MultiheadAttention(8, 2)(*map(Tensor, (Q, K, V)), Tensor(np.ones((2, 5), np.uint8))), ValueError),
        (lambda: nn.TransformerEncoderLayer(8, 2, activation="foo"), ValueError),
        (lambda: nn.TransformerEncoderLayer(8, 2, activation=3), ValueError),
        (lambda: nn.TransformerEncoderLayer(8, 2, activation=nn.Tanh()), ValueError),
        (lambda: nn.TransformerEncoderLayer(8, 2, dropout=1.0), ValueError),
        (lambda: nn.TransformerEncoder(3, 2), TypeError),
        (lambda: nn.Transformer(8, 2, 1, 1, 6)(Tensor(Q[..., :7]), Tensor(K)), ValueError),
        (lambda: nn.Transformer(8, 2, 1, 1, 6)(Tensor(Q), Tensor(K[:, :1])), ValueError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


def test_attention_functions():
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(shape, dtype=np.float32) for shape in ((2, 3, 8), (2, 5, 4), (2, 5, 4)))
    hidden = rng.random((3, 5)) > 0.6
    parts = q.reshape(2, 3, 4, 2), k.reshape(2, 5, 2, 2), v.reshape(2, 5, 2, 2)
    expected = jax.nn.dot_product_attention(*parts, mask=jnp.asarray(~hidden)[None, None], scale=0.7).reshape(2, 3, 8)
    tensors = [ms.Tensor(a) for a in (q, k, v)]
    out = ops.flash_attention_score(*tensors, 4, attn_mask=ms.Tensor(hidden), scalar_value=0.7)
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    of_class = ops.FlashAttentionScore(4, scale_value=0.7, input_layout="BNSD", sparse_mode=2)
    out = of_class(*[ms.Tensor(part.swapaxes(1, 2)) for part in parts])
    expected = jax.nn.dot_product_attention(*parts, is_causal=True, scale=0.7)
    np.testing.assert_allclose(out[3].asnumpy().swapaxes(1, 2), expected, rtol=1e-5, atol=1e-6)
    assert out[0].shape == out[1].shape == (2, 4, 3, 8)
    with pytest.raises(NotImplementedError, match="dropping of weights"):
        ops.flash_attention_score(*tensors, 4, keep_prob=0.5)

    net = nn.MultiheadAttention(8, 2)
    x, mask = ms.Tensor(q), ms.Tensor(np.array([[False, True], [False, False]]))
    weights = net.in_proj_weight, net.in_proj_bias, None, None, False, 0.0, net.out_proj.weight, net.out_proj.bias
    for given, expected in zip(
        ops.multi_head_attention_forward(x, x, x, 8, 2, *weights, attn_mask=mask), net(x, x, x, attn_mask=mask)
    ):
        np.testing.assert_array_equal(given.asnumpy(), expected.asnumpy())
    causal = ops.multi_head_attention_forward(x, x, x, 8, 2, *weights, is_causal=True)[1].asnumpy()
    np.testing.assert_array_equal(causal[:, 0, 1], 0)


@pytest.mark.long
def test_masks_are_no_positional_inputs_of_layers_so_that_hooks_get_no_gradients_for_them():
    net = nn.Transformer(8, 2, 1, 1, 6, dropout=0.0)
    seen = []
    for layer in (net.encoder.layers[0], net.decoder.layers[0]):
        layer.register_forward_hook(lambda cell, inputs, output: seen.append(len(inputs)))
        layer.register_backward_hook(lambda cell, grad_input, grad_output: seen.append([g.shape for g in grad_input]))
    padding = Tensor(np.zeros((Q.shape[1], len(Q)), bool))
    ms.grad(lambda x: net(x, x, src_key_padding_mask=padding, tgt_key_padding_mask=padding))(Tensor(Q))
    assert seen == [1, 2, [Q.shape, Q.shape], [Q.shape]]
