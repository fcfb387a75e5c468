"""mint: functions, layers and optimizers under PyTorch's names."""

import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, mint
from msjax.mint.nn import functional as F

A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)
B = np.array([[1.5, 0.5, -2.5], [0.75, 1.25, 2.0]], np.float32)
IMAGE = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)

CALLS = [
    (lambda a, b: mint.add(a, b, alpha=2), A + 2 * B),
    (lambda a, b: mint.cat((a, b), dim=1), np.c_[A, B]),
    (lambda a, b: mint.transpose(a, 0, 1), A.T),
    (lambda a, b: mint.select(a, 1, 0), A[:, 0]),
    (lambda a, b: mint.squeeze(a[None], (0, 1)), A),
    (lambda a, b: mint.max(a, 1)[0], A.max(1)),
    (lambda a, b: mint.max(a, b), np.maximum(A, B)),
    (lambda a, b: mint.min(a), A.min()),
    (lambda a, b: mint.std(a), A.std(ddof=1)),
    (lambda a, b: mint.var_mean(a, 1, correction=0)[0], A.var(1)),
    (lambda a, b: mint.median(a), np.sort(A.ravel())[2]),
    (lambda a, b: mint.kthvalue(a, 2, 1)[0], np.sort(A)[:, 1]),
    (lambda a, b: mint.norm(a, 1, 0), np.abs(A).sum(0)),
    (lambda a, b: mint.gather(a, 1, Tensor([[0], [2]])), A[[0, 1], [0, 2]][:, None]),
    (lambda a, b: mint.index_add(a, 0, Tensor([1]), b[:1], alpha=2), A + np.stack([0 * B[0], 2 * B[0]])),
    (lambda a, b: mint.scatter_add(a, 1, Tensor([[0], [0]]), b[:, :1]), A + np.c_[B[:, :1], 0 * B[:, 1:]]),
    (lambda a, b: mint.diag(a), np.diag(A)),
    (lambda a, b: mint.meshgrid(a[0], b[0])[0], np.meshgrid(A[0], B[0], indexing="ij")[0]),
    (lambda a, b: mint.addcdiv(a, a, b, value=0.5), A + 0.5 * A / B),
    (lambda a, b: mint.linspace(0, 1, 5), np.linspace(0, 1, 5)),
    (lambda a, b: mint.linalg.vector_norm(a, 3, 1), (np.abs(A) ** 3).sum(1) ** (1 / 3)),
    (lambda a, b: mint.special.log_softmax(a, 1), A - np.log(np.exp(A).sum(1, keepdims=True))),
    (lambda a, b: F.linear(a, b), A @ B.T),
    (lambda a, b: F.leaky_relu(a), np.where(A > 0, A, 0.01 * A)),
    (lambda a, b: F.elu(a, 2.0), np.where(A > 0, A, 2 * np.expm1(A))),
    (lambda a, b: F.normalize(a), A / np.sqrt((A**2).sum(1, keepdims=True))),
    (lambda a, b: F.one_hot(Tensor([0, 2])), np.eye(3)[[0, 2]]),
    (lambda a, b: F.kl_div(a, b, "sum", True), (np.exp(B) * (B - A)).sum()),
    (lambda a, b: F.batch_norm(a, None, None), (A - A.mean(0)) / np.sqrt(A.var(0) + 1e-5)),
    (lambda a, b: F.avg_pool2d(Tensor(IMAGE), 2), IMAGE.reshape(1, 2, 2, 2, 2, 2).mean((3, 5))),
    (lambda a, b: F.conv2d(Tensor(IMAGE), mint.ones(1, 2, 4, 4)), [[[[IMAGE.sum()]]]]),
    (lambda a, b: F.conv1d(a[None], mint.ones((1, 2, 1)), padding=1), np.pad(A.sum(0), 1)[None, None]),
    # Without an axis of examples, and with windows that overlap.
    (lambda a, b: F.avg_pool1d(a, 3), A.mean(1, keepdims=True)),
    (lambda a, b: F.max_pool2d(Tensor(IMAGE[0]), 2), IMAGE[0].reshape(2, 2, 2, 2, 2).max((2, 4))),
    (lambda a, b: F.max_pool2d(Tensor(IMAGE[0]), 4, return_indices=True)[1], [[[15]], [[15]]]),
    (lambda a, b: F.adaptive_avg_pool1d(a[None], 2), np.stack([A[:, :2].mean(1), A[:, 1:].mean(1)], 1)[None]),
    (lambda a, b: F.adaptive_max_pool1d(a[None], 2), np.stack([A[:, :2].max(1), A[:, 1:].max(1)], 1)[None]),
    (lambda a, b: ms.grad(lambda w: F.embedding(Tensor([1, 1]), w, max_norm=1.0).sum())(a), [[0, 0, 0], [2, 2, 2]]),
]


@pytest.mark.parametrize("i", range(len(CALLS)))
def test_value(i):
    call, want = CALLS[i]
    got = call(Tensor(A), Tensor(B)).asnumpy()
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_indices_are_int64():
    for _, indices in (mint.sort(Tensor(A)), mint.topk(Tensor(A), 2), mint.max(Tensor(A), 1), mint.cummax(Tensor(A), 0)):
        assert indices.dtype is ms.int64
    assert mint.argmin(Tensor(A)).dtype is ms.int64


def test_python_answers():
    assert mint.equal(Tensor(A), Tensor(A)) is True and mint.allclose(Tensor(A), Tensor(B)) is False
    assert mint.item(Tensor([2.0])) == 2.0


@pytest.mark.parametrize(
    "layer, x, shape",
    [
        (lambda: mint.nn.Linear(3, 4), A, (2, 4)),
        (lambda: mint.nn.Conv2d(2, 4, 3, padding=1, groups=2), IMAGE, (1, 4, 4, 4)),
        (lambda: mint.nn.Conv2d(2, 4, 3, padding="same"), IMAGE, (1, 4, 4, 4)),
        (lambda: mint.nn.Conv2d(2, 4, 3, padding=1, padding_mode="reflect"), IMAGE, (1, 4, 4, 4)),
        (lambda: mint.nn.Conv1d(2, 3, 2), A[None], (1, 3, 2)),
        (lambda: mint.nn.ConvTranspose2d(2, 3, 2, stride=2), IMAGE, (1, 3, 8, 8)),
        (lambda: mint.nn.GroupNorm(2, 2), IMAGE, (1, 2, 4, 4)),
        (lambda: mint.nn.LayerNorm(3), A, (2, 3)),
        (lambda: mint.nn.PReLU(), A, (2, 3)),
        (lambda: mint.nn.ZeroPad2d(1), IMAGE, (1, 2, 6, 6)),
        (lambda: mint.nn.Flatten(), IMAGE, (1, 32)),
        (lambda: mint.nn.Unfold(2), IMAGE, (1, 8, 9)),
    ],
)
def test_layers(layer, x, shape):
    net = layer()
    assert net(Tensor(x)).shape == shape
    assert all(p.name in ("weight", "bias") for p in net.trainable_params())


def test_batch_norm_keeps_statistics():
    net = mint.nn.BatchNorm1d(3).set_train()
    net(Tensor(A))
    np.testing.assert_allclose(net.running_mean.asnumpy(), 0.1 * A.mean(0), rtol=1e-5)
    np.testing.assert_allclose(net.running_var.asnumpy(), 0.9 + 0.1 * A.var(0, ddof=1), rtol=1e-5)
    assert net.num_batches_tracked.asnumpy() == 1
    assert [p.name for p in net.get_parameters()] == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]


def test_in_place_activations():
    x = Tensor(A)
    assert F.relu(x, inplace=True) is x and x.asnumpy().min() == 0
    assert F.threshold_(x, 1.0, -1.0).asnumpy().min() == -1


def steps(optimizer, gradients):
    w = Parameter(Tensor([1.0, -2.0]), name="w")
    opt = optimizer([w])
    for g in gradients:
        opt((Tensor(g),))
    return w.asnumpy()


GRADIENTS = np.array([[1.0, -0.5], [2.0, 0.25], [-1.0, 1.0]], np.float32)


def test_sgd():
    w, buffer = np.array([1.0, -2.0]), 0
    for i, g in enumerate(GRADIENTS):
        g = g + 0.01 * w
        buffer = g if i == 0 else 0.9 * buffer + g
        w = w - 0.1 * (g + 0.9 * buffer)
    got = steps(lambda p: mint.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True), GRADIENTS)
    np.testing.assert_allclose(got, w, rtol=1e-5)


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("cls", [mint.optim.Adam, mint.optim.AdamW])
def test_adam(cls, amsgrad):
    w, m, v, top = np.array([1.0, -2.0]), 0, 0, 0
    for t, g in enumerate(GRADIENTS, 1):
        if cls is mint.optim.AdamW:
            w = w * (1 - 0.1 * 0.5)
        else:
            g = g + 0.5 * w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        top = np.maximum(top, v)
        spread = np.sqrt((top if amsgrad else v) / (1 - 0.999**t)) + 1e-8
        w = w - 0.1 / (1 - 0.9**t) * m / spread
    got = steps(lambda p: cls(p, lr=0.1, weight_decay=0.5, amsgrad=amsgrad), GRADIENTS)
    np.testing.assert_allclose(got, w, rtol=1e-4)


def test_groups_have_settings_of_their_own():
    a, b = (Parameter(Tensor([1.0]), name=n) for n in "ab")
    opt = mint.optim.SGD([{"params": [a], "lr": 0.5}, {"params": [b]}], lr=0.1)
    opt((Tensor([1.0]), Tensor([1.0])))
    np.testing.assert_allclose([a.asnumpy()[0], b.asnumpy()[0]], [0.5, 0.9], rtol=1e-6)
    assert [g["lr"].name for g in opt.param_groups] == ["learning_rate_group_0", "learning_rate_group_1"]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: mint.optim.SGD([], 0.1), ValueError),
        (lambda: mint.optim.SGD(Parameter(Tensor([1.0])), 0.1), TypeError),
        (lambda: mint.optim.Adam([Parameter(Tensor([1.0]))], lr=-1.0), ValueError),
        (lambda: mint.optim.SGD([Parameter(Tensor([1.0]))], 0.1)((Tensor([1.0, 2.0]),)), ValueError),
        (lambda: mint.nn.Conv2d(3, 4, 3, groups=2), ValueError),
        (lambda: mint.nn.Unfold(), TypeError),
        (lambda: mint.max(np.ones(3)), TypeError),
        (lambda: mint.min(Tensor([1.0]), keepdim=True), TypeError),
        (lambda: mint.kthvalue(Tensor([1.0]), 2), ValueError),
        (lambda: mint.no_such_name, AttributeError),
    ],
)
def test_bad_input(call, error):
    with pytest.raises(error):
        call()
