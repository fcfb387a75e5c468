"""Recurrent layers, against the steps written out in numpy."""

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn

STEPS, BATCH, INPUT, HIDDEN = 4, 3, 5, 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(kind, x, h, c, w_ih, w_hh, b_ih, b_hh):
    a, b = x @ w_ih.T + b_ih, h @ w_hh.T + b_hh
    if kind in ("tanh", "relu"):
        return (np.tanh(a + b) if kind == "tanh" else np.maximum(a + b, 0)), c
    if kind == "gru":
        r, z, n = (a[:, i * HIDDEN : (i + 1) * HIDDEN] for i in range(3))
        hr, hz, hn = (b[:, i * HIDDEN : (i + 1) * HIDDEN] for i in range(3))
        reset, update = sigmoid(r + hr), sigmoid(z + hz)
        return (1 - update) * np.tanh(n + reset * hn) + update * h, c
    i, f, g, o = ((a + b)[:, i * HIDDEN : (i + 1) * HIDDEN] for i in range(4))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def network(kind, net, x, h0, c0, lengths):
    """(outputs, h, c) of a network, x as (steps, batch, features)."""
    weights = {p.name: p.asnumpy().astype(np.float64) for p in net.get_parameters()}
    last_h, last_c = [], []
    for layer in range(net.num_layers):
        outs = []
        for direction, end in enumerate(("", "_reverse")[: 2 if net.bidirectional else 1]):
            w = [weights.get(f"{name}_l{layer}{end}", 0.0) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            i = len(last_h)
            h, c = h0[i], c0[i]
            out = np.zeros((len(x), *h.shape))
            for t in range(len(x)) if direction == 0 else reversed(range(len(x))):
                new_h, new_c = step(kind, x[t], h, c, *w)
                there = (t < lengths)[:, None]
                h, c = np.where(there, new_h, h), np.where(there, new_c, c)
                out[t] = np.where(there, h, 0)
            outs.append(out)
            last_h.append(h)
            last_c.append(c)
        x = np.concatenate(outs, -1)
    return x, np.stack(last_h), np.stack(last_c)


def make(kind, *args, **kwargs):
    if kind in ("tanh", "relu"):
        return nn.RNN(*args, nonlinearity=kind, **kwargs)
    return {"gru": nn.GRU, "lstm": nn.LSTM}[kind](*args, **kwargs)


@pytest.mark.parametrize("kind", ["tanh", "relu", "gru", "lstm"])
@pytest.mark.parametrize(
    "settings, with_state, lengths",
    [
        ({}, False, None),
        ({"num_layers": 2, "bidirectional": True}, True, None),
        ({"bidirectional": True, "batch_first": True, "has_bias": False}, True, [4, 0, 2]),
    ],
)
def test_networks_are_the_steps_written_out(kind, settings, with_state, lengths):
    rng = np.random.default_rng(0)
    net = make(kind, INPUT, HIDDEN, **settings)
    states = net.num_layers * (2 if net.bidirectional else 1)
    x = rng.normal(size=(STEPS, BATCH, INPUT)).astype(np.float32)
    h, c = (rng.normal(size=(states, BATCH, HIDDEN)).astype(np.float32) * with_state for _ in range(2))
    want = network(kind, net, x, h, c, np.array(lengths) if lengths else np.full(BATCH, STEPS))
    hx = None if not with_state else (Tensor(h), Tensor(c)) if kind == "lstm" else Tensor(h)
    given = Tensor(x.swapaxes(0, 1) if net.batch_first else x)
    out, last = net(given, hx, Tensor(lengths) if lengths else None)
    np.testing.assert_allclose(out.asnumpy().swapaxes(0, 1) if net.batch_first else out.asnumpy(), want[0], rtol=1e-4, atol=1e-5)
    got = last if kind == "lstm" else (last,)
    for g, w in zip(got, want[1:]):
        np.testing.assert_allclose(g.asnumpy(), w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["tanh", "relu", "gru", "lstm"])
def test_cells_are_one_step(kind):
    rng = np.random.default_rng(0)
    x, h, c = (rng.normal(size=(BATCH, n)).astype(np.float32) for n in (INPUT, HIDDEN, HIDDEN))
    cls = {"gru": nn.GRUCell, "lstm": nn.LSTMCell}.get(kind)
    cell = cls(INPUT, HIDDEN) if cls else nn.RNNCell(INPUT, HIDDEN, nonlinearity=kind)
    assert [p.name for p in cell.get_parameters()] == ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    want = step(kind, x, h, c, *(p.asnumpy() for p in cell.get_parameters()))
    out = cell(Tensor(x), (Tensor(h), Tensor(c)) if kind == "lstm" else Tensor(h))
    for g, w in zip(out if kind == "lstm" else (out,), want):
        np.testing.assert_allclose(g.asnumpy(), w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["tanh", "gru", "lstm"])
def test_gradients_are_those_of_finite_differences(kind):
    rng = np.random.default_rng(0)
    net = make(kind, INPUT, HIDDEN, num_layers=2, bidirectional=True, dtype=ms.float64)
    x = rng.normal(size=(STEPS, BATCH, INPUT))
    weights = Tensor(rng.normal(size=(STEPS, BATCH, 2 * HIDDEN)))
    lengths = Tensor([4, 1, 3])

    def loss(x):
        return (net(x, None, lengths)[0] * weights).sum()

    gx, gw = ms.grad(loss, 0, net.trainable_params())(Tensor(x))
    direction, eps = rng.normal(size=x.shape), 1e-6
    slope = (loss(Tensor(x + eps * direction)) - loss(Tensor(x - eps * direction))).asnumpy() / (2 * eps)
    np.testing.assert_allclose((gx.asnumpy() * direction).sum(), slope, rtol=1e-5)
    for parameter, grad in zip(net.trainable_params(), gw):
        data, direction = parameter.asnumpy(), rng.normal(size=parameter.shape)
        ends = []
        for sign in (1, -1):
            parameter.set_data(Tensor(data + sign * eps * direction))
            ends.append(float(loss(Tensor(x))))
        parameter.set_data(Tensor(data))
        np.testing.assert_allclose((grad.asnumpy() * direction).sum(), (ends[0] - ends[1]) / (2 * eps), rtol=1e-4, atol=1e-7)


def test_parameters_are_in_mindspores_order_and_range():
    net = nn.GRU(64, 100, num_layers=2)
    names = [f"{name}_l{i}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh") for i in range(2)]
    assert [p.name for p in net.get_parameters()] == names
    assert net.weight_ih_l1.shape == (300, 100)
    assert [p.name for p in net.w_ih_list] == names[:2]
    assert all(abs(p.asnumpy()).max() <= 0.1 for p in net.get_parameters())
    outer = nn.SequentialCell(net)
    assert next(outer.get_parameters()).name == "0.weight_ih_l0"


def test_dropout_between_layers_in_training_only():
    x = Tensor(np.ones((STEPS, BATCH, INPUT), np.float32))
    net = nn.LSTM(INPUT, HIDDEN, num_layers=2, dropout=0.5)
    np.testing.assert_array_equal(net(x)[0].asnumpy(), net(x)[0].asnumpy())
    net.set_train()
    assert (net(x)[0].asnumpy() != net(x)[0].asnumpy()).any()


def test_layers_inside_have_hooks():
    calls = []
    net = nn.GRU(INPUT, HIDDEN, num_layers=2, dropout=0.5)
    for name, cell in net.cells_and_names():
        if name:
            cell.register_forward_hook(lambda cell, args, out: calls.append(type(cell).__name__))
    net.set_train()(Tensor(np.ones((STEPS, BATCH, INPUT), np.float32)))
    assert calls == ["_DynamicGRUCPUGPU", "Dropout", "_DynamicGRUCPUGPU"]
    assert repr(nn.RNN(4, 3)) == "RNN(\n  (rnn): _DynamicRNNTanh()\n  (dropout_op): Dropout(p=0.0)\n)"


def ones(*shape, dtype=np.float32):
    return Tensor(np.ones(shape, dtype))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: nn.RNN(4, 3, nonlinearity="foo"), ValueError),
        (lambda: nn.RNN(4, 0), ValueError),
        (lambda: nn.RNN(4.0, 3), TypeError),
        (lambda: nn.RNN(4, 3, dropout=1.0), ValueError),
        (lambda: nn.RNN(4, 3, dropout=0), TypeError),
        (lambda: nn.RNN(4, 3, has_bias=1), TypeError),
        (lambda: nn.GRU(4, 3, foo=1), TypeError),
        (lambda: nn.RNN(4, 3)(ones(5, 4)), ValueError),
        (lambda: nn.RNN(4, 3)(ones(5, 2, 3)), ValueError),
        (lambda: nn.RNN(4, 3)(ones(5, 2, 4), ones(2, 2, 3)), ValueError),
        (lambda: nn.RNN(4, 3)(ones(5, 2, 4), 3), TypeError),
        (lambda: nn.RNN(4, 3)(ones(5, 2, 4, dtype=np.int32)), TypeError),
        (lambda: nn.LSTM(4, 3)(ones(5, 2, 4), ones(1, 2, 3)), TypeError),
        (lambda: nn.LSTM(4, 3)(ones(5, 2, 4), (ones(1, 2, 3),)), TypeError),
        (lambda: nn.LSTM(4, 3)(ones(5, 2, 4), [ones(1, 2, 3)] * 2), TypeError),
        (lambda: nn.GRU(4, 3)(ones(5, 2, 4), None, ones(2)), TypeError),
        (lambda: nn.GRU(4, 3)(ones(5, 2, 4), None, Tensor([3])), ValueError),
        (lambda: nn.RNNCell(4, 3, nonlinearity="foo"), ValueError),
        (lambda: nn.RNNCell(4, 3)(ones(2, 5), ones(2, 3)), ValueError),
        (lambda: nn.RNNCell(4, 3)(ones(2, 4), ones(3, 3)), ValueError),
        (lambda: nn.RNNCell(4, 3)(ones(2, 4), 3), TypeError),
        (lambda: nn.LSTMCell(4, 3)(ones(2, 4), ones(2, 3)), TypeError),
        (lambda: nn.GRUCell(4, 3)(ones(2, 4, dtype=np.float16), ones(2, 3)), TypeError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("kind", ["tanh", "relu", "gru", "lstm"])
@pytest.mark.parametrize("given", [False, True])
def test_gradients_are_those_that_jax_derives(kind, given):
    # MindSpore's ways compute the gradient from the gates and the weights' after the loop over the steps, jax.grad all within it.
    net = make(kind, INPUT, HIDDEN, num_layers=1, has_bias=not given, bidirectional=given)
    rng = np.random.default_rng(3)
    x = Tensor(rng.normal(size=(STEPS, BATCH, INPUT)).astype(np.float32))
    lengths = Tensor(np.array([4, 1, 2], np.int32)) if given else None
    first = tuple(rng.normal(size=(2, BATCH, HIDDEN)).astype(np.float32) for _ in range(2 if kind == "lstm" else 1))

    def of(found):
        out, last = found
        return (out**2).sum() + sum((i + 1) * (state**2).sum() for i, state in enumerate(last if kind == "lstm" else [last]))

    def states(first):
        return None if not given else first if kind == "lstm" else first[0]

    apply, trained, others = ms.functionalize(net)
    steps = None if lengths is None else lengths.asnumpy()
    wanted = jax.grad(lambda t, x, first: of(apply(t, others, x, states(first), steps)[0]), (0, 1, 2))(
        trained, x.asnumpy(), first
    )
    found = ms.grad(lambda x, *first: of(net(x, states(first), lengths)), tuple(range(1 + len(first))), net.trainable_params())
    (by_input, *by_states), by_weights = found(x, *map(Tensor, first))
    for got, want in zip((by_input, *by_states), (wanted[1], *wanted[2])):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=2e-5, atol=1e-5)
    for parameter, got in zip(net.trainable_params(), by_weights):
        np.testing.assert_allclose(got.asnumpy(), wanted[0][parameter.name], rtol=2e-5, atol=1e-5)


@pytest.mark.long
def test_gradients_of_gradients_are_those_that_jax_derives():
    net = nn.LSTM(INPUT, HIDDEN)
    x = np.random.default_rng(4).normal(size=(2, BATCH, INPUT)).astype(np.float32)
    apply, trained, others = ms.functionalize(net)
    first = jax.grad(lambda x: (apply(trained, others, x)[0][0] ** 3).sum())
    gradient = ms.grad(lambda x: (net(x)[0] ** 3).sum())
    got = ms.grad(lambda x: (gradient(x) ** 2).sum())(Tensor(x))
    np.testing.assert_allclose(got.asnumpy(), jax.grad(lambda x: (first(x) ** 2).sum())(x), rtol=1e-4, atol=1e-6)
