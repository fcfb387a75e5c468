"""Layers away from their defaults; numbers without a closed form are those of MindSpore 2.10."""

import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, nn, ops

ROWS = np.arange(1, 36, dtype=np.float32).reshape(1, 1, 7, 5)
CUBE = np.arange(1, 28, dtype=np.float32).reshape(1, 1, 3, 3, 3)
LINE = np.arange(1, 8, dtype=np.float32).reshape(1, 1, 7)
MEANS = [4, 5.5, 7, 11.5, 13, 14.5, 21.5, 23, 24.5, 29, 30.5, 32]
PADDED = [16 / 9, 33 / 9, 28 / 9, 69 / 9, 13, 87 / 9, 129 / 9, 23, 147 / 9, 116 / 9, 183 / 9, 128 / 9]


@pytest.mark.parametrize(
    ("make", "x", "expected"),
    [
        (lambda: nn.AvgPool2d(3, 2, "same"), ROWS, MEANS),
        (lambda: nn.AvgPool2d(3, 2, "same", ceil_mode=True), ROWS, PADDED),
        (lambda: nn.AvgPool2d(3, 2, "same", ceil_mode=True, count_include_pad=False), ROWS, MEANS),
        (lambda: nn.AvgPool2d(3, (2,), "same"), ROWS, MEANS),
        (lambda: nn.AvgPool1d(3, 2, "same"), LINE, [1.5, 3, 5, 6.5]),
        (lambda: nn.AvgPool1d(3, 2, "same", ceil_mode=True), LINE, [1, 3, 5, 13 / 3]),
        (lambda: nn.AvgPool3d(2, 2, "same"), CUBE, [7.5, 4.5, 6, 3.375, 10.5, 5.625, 6.375, 3.375]),
        (lambda: nn.AvgPool3d(2, 2, "same", count_include_pad=False), CUBE, [7.5, 9, 12, 13.5, 21, 22.5, 25.5, 27]),
        (lambda: ops.AvgPool3D(2, 2, "same"), CUBE, [7.5, 4.5, 6, 3.375, 10.5, 5.625, 6.375, 3.375]),
    ],
)
def test_average_pooling_counts_padding(make, x, expected):
    np.testing.assert_allclose(make()(Tensor(x)).asnumpy().ravel(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.AvgPool1d(3, 2), "AvgPool1d(kernel_size=(1, 3), stride=(1, 2), pad_mode=VALID)"),
        (lambda: nn.AvgPool1d(3, 2, "pad", 1), "AvgPool1d(kernel_size=3, stride=2, pad_mode=PAD)"),
        (lambda: nn.MaxPool1d(3, 2), "MaxPool1d(kernel_size=(1, 3), stride=(1, 2), pad_mode=VALID)"),
        (lambda: nn.MaxPool1d(3, 2, "pad", 1), "MaxPool1d(kernel_size=(1, 1, 3), stride=(1, 1, 2), pad_mode=PAD)"),
        (lambda: nn.AvgPool2dExt(2), "AvgPool2dExt()"),
        (nn.RMSELoss, "RMSELoss(\n  (MSELoss): MSELoss()\n)"),
        (nn.FocalLoss, "FocalLoss(\n  (logsoftmax): LogSoftmax()\n)"),
        (nn.LBeta, "LBeta(\n  (lgamma): LGamma()\n)"),
    ],
)
def test_how_layers_show_themselves(make, text):
    assert str(make()) == text


def test_batch_norm_shows_its_momentum_as_a_float():
    assert "momentum=1.0," in str(nn.BatchNorm2d(2, momentum=1))
    assert "momentum=0.9," in str(nn.BatchNorm1d(2))


@pytest.mark.parametrize(
    ("how", "expected"), [("SUM", [[3, 6], [0, 0]]), ("MEAN", [[1.5, 6], [0, 0]]), ("MAX", [[2, 6], [0, 0]])]
)
def test_fields_leave_out_weights_of_zero(how, expected):
    net = nn.MultiFieldEmbeddingLookup(4, 1, 2, param_init=Tensor([[1.0], [2.0], [6.0], [9.0]]), operator=how)
    ids, fields = Tensor([[0, 1, 2, 3], [0, 0, 0, 0]]), Tensor([[0, 0, 1, 1], [0, 0, 1, 1]])
    values = Tensor([[1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(net(ids, values, fields).asnumpy()[..., 0], expected)


@pytest.mark.parametrize(
    ("compute", "dtype"),
    [
        (lambda x: nn.PReLU()(x), ms.float16),
        (lambda x: nn.BCEWithLogitsLoss(weight=Tensor([1.0, 2.0]))(x, x), ms.float16),
        (lambda x: nn.ClipByNorm()(x, Tensor(1.0, ms.float16)), ms.float32),
        (lambda x: nn.L1Regularizer(0.5)(x), ms.float32),
    ],
)
def test_what_comes_of_float16(compute, dtype):
    assert compute(Tensor([0.5, -0.5], ms.float16)).dtype == dtype


def test_prelu_of_one_number():
    assert nn.PReLU()(Tensor(-2.0)).shape == ()


def test_gaussian_loss_takes_a_variance_for_each_row():
    x, y, var = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32), np.array([1.0, 2.0], np.float32)
    expected = 0.5 * (np.log(var) + 1 / var)[:, None].repeat(3, 1)
    out = nn.GaussianNLLLoss(reduction="none")(Tensor(x), Tensor(y), Tensor(var))
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-6)


def sampled_case(seed=0):
    rng = np.random.default_rng(seed)
    w, b, x = (rng.standard_normal(s).astype(np.float32) for s in ((7, 4), (7,), (3, 4)))
    labels = np.array([[0], [4], [6]])
    counts = np.array([[0.5], [0.4], [0.3]], np.float32), np.array([0.5, 0.4, 0.3, 0.2, 0.1], np.float32)
    return w, b, labels, x, (np.arange(5, dtype=np.int32), *counts)


@pytest.mark.parametrize("drop", [True, False])
def test_sampled_softmax(drop):
    w, b, labels, x, sampled = sampled_case()
    true = np.sum(x * w[labels[:, 0]], 1) + b[labels[:, 0]] - np.log(sampled[1][:, 0])
    others = x @ w[:5].T + b[:5] - np.log(sampled[2])
    if drop:
        others[labels == np.arange(5)] = -np.inf
    expected = np.log(np.exp(true) + np.exp(others).sum(1)) - true
    loss = nn.SampledSoftmaxLoss(5, 7, sampled_values=[Tensor(s) for s in sampled], remove_accidental_hits=drop)
    operands = [Tensor(v) for v in (w, b, labels, x)]
    np.testing.assert_allclose(loss(*operands).asnumpy(), expected, rtol=1e-5)
    grad = ms.grad(lambda v: loss(operands[0], operands[1], operands[2], v).sum())(operands[3])
    assert np.isfinite(grad.asnumpy()).all()


def test_sampled_softmax_samples_by_itself():
    w, b, labels, x, _ = (v if isinstance(v, tuple) else Tensor(v) for v in sampled_case())
    assert nn.SampledSoftmaxLoss(5, 7)(w, b, labels, x).shape == (3,)
    assert nn.SampledSoftmaxLoss(5, 7, reduction="mean")(w, b, labels[:, 0], x).shape == ()


X = Tensor(np.ones((2, 4), np.float32))
IMAGE = Tensor(np.ones((1, 4, 5, 5), np.float32))
VOLUME = Tensor(np.ones((1, 2, 3, 3, 3), np.float32))


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (TypeError, lambda: nn.Flatten(start_dim=True)),
        (TypeError, lambda: nn.OneHot(depth=2.0)),
        (TypeError, lambda: nn.OneHot(axis="a", depth=2)),
        (TypeError, lambda: nn.LeakyReLU(alpha=True)(X)),
        (TypeError, lambda: nn.Threshold("a", 1)(X)),
        (TypeError, lambda: nn.SoftShrink("a")),
        (RuntimeError, lambda: nn.SoftShrink(-1.0)(X)),
        (TypeError, lambda: nn.LogSoftmax("a")(X)),
        (TypeError, lambda: nn.LogSoftmax((0, 1))(X)),
        (TypeError, lambda: nn.Softmin("a")(X)),
        (ValueError, lambda: nn.GLU(5)(X)),
        (ValueError, lambda: nn.EmbeddingLookup(3, 2, sparse=False)),
        (TypeError, lambda: nn.Conv2d(4, 6, 3, pad_mode=3)),
        (ValueError, lambda: nn.Conv3d(2, 4, (3, 3))),
        (ValueError, lambda: nn.Conv2dTranspose(4, 6, 3, 2, "pad", 1, output_padding=2)(IMAGE)),
        (TypeError, lambda: nn.Conv2dBnAct(4, 6, 3, has_bn=1)),
        (TypeError, lambda: nn.DenseBnAct(4, 6, has_bn="a")),
        (ValueError, lambda: nn.SmoothL1Loss()(X, X[:, :1])),
        (TypeError, lambda: nn.CrossEntropyLoss(weight=[1.0, 2.0])),
        (TypeError, lambda: nn.NLLLoss(weight=3)),
        (TypeError, lambda: nn.FocalLoss(gamma=1)),
        (ValueError, lambda: nn.FocalLoss()(X[:, :1], X[:, :1])),
        (TypeError, lambda: nn.DiceLoss(smooth=1)),
        (TypeError, lambda: nn.MultiMarginLoss(margin=1)),
        (TypeError, lambda: nn.Tril()(X, 1.0)),
        (TypeError, lambda: nn.Triu()(X, "a")),
        (ValueError, lambda: nn.Moments(axis=5)(X)),
        (ValueError, lambda: nn.ParameterUpdate(Parameter(X, name="p"))(X[0])),
        (ValueError, lambda: nn.SampledSoftmaxLoss(8, 7)),
        (ValueError, lambda: nn.SampledSoftmaxLoss(5, 7, num_true=8)),
        (TypeError, lambda: nn.SampledSoftmaxLoss(5, 7, sampled_values=3)),
    ],
)
def test_bad_arguments(error, call):
    with pytest.raises(error):
        call()


def test_flags_are_attributes_too():
    net = nn.SequentialCell(nn.Dense(2, 2))
    net.add_flags_recursive(traced=True)
    assert net.traced and net[0].traced and net[0].get_flags()["traced"]


def test_names_of_inputs():
    np.testing.assert_array_equal(nn.SequentialCell(nn.ReLU())(input_data=X).asnumpy(), X.asnumpy())
    assert nn.LayerNorm((4,))(input_x=X).shape == (2, 4)


def test_train_step_shows_no_reducer():
    net = nn.Dense(2, 1)
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    assert "(grad_reducer): Identity()" in str(step)


def test_cell_dict_without_prefixes():
    assert list(nn.CellDict({"a": nn.Dense(2, 3)}, auto_prefix=False).keys()) == ["a"]


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("steps", [3, 7, 10])
def test_polynomial_decay_ends(power, steps):
    rate = nn.PolynomialDecayLR(0.1, 0.01, steps, power)
    for step in (steps, steps + 1):
        assert rate(Tensor(step, ms.int32)).asnumpy() == pytest.approx(0.01)


V = np.array([0.3, -0.4, 0.5], np.float32)


def test_ftrl_decays_every_parameter():
    params = [Parameter(Tensor(V), name=name) for name in ("bn.gamma", "fc.weight")]
    optimizer = nn.FTRL(params, learning_rate=0.05, weight_decay=0.1)
    for _ in range(2):
        optimizer((Tensor(V * 2), Tensor(V * 2)))
    for p in params:
        np.testing.assert_allclose(p.asnumpy(), [0.08794992, -0.17852505, 0.2736911], rtol=1e-5)


@pytest.mark.parametrize(("make", "returned"), [(nn.ASGD, True), (nn.Rprop, True), (nn.Adam, (True,))])
def test_what_a_step_returns(make, returned):
    assert make([Parameter(Tensor(V), name="w")])((Tensor(V),)) == returned
