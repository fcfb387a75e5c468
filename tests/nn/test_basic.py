"""Dense and its kin, Flatten, Dropout, OneHot, triangles and diagonals."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn


def f32(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_dense_computes_and_shows_its_settings():
    x, w, b = f32(2, 4), f32(3, 4, seed=1), f32(3, seed=2)
    net = nn.Dense(4, 3, weight_init=Tensor(w), bias_init=Tensor(b), activation="relu")
    np.testing.assert_allclose(net(Tensor(x)).asnumpy(), np.maximum(x @ w.T + b, 0), rtol=1e-5)
    assert [(p.name, p.shape) for p in net.get_parameters()] == [("weight", (3, 4)), ("bias", (3,))]
    assert repr(nn.Dense(4, 3)) == "Dense(input_channels=4, output_channels=3, has_bias=True)"
    assert repr(nn.Dense(4, 3, has_bias=False)) == "Dense(input_channels=4, output_channels=3)"
    assert repr(net) == (
        "Dense(\n  input_channels=4, output_channels=3, has_bias=True, activation=ReLU()\n  (activation): ReLU()\n)"
    )


def test_dense_starts_uniform_scaled_by_its_inputs():
    weight = nn.Dense(400, 300).weight.asnumpy()
    assert abs(weight).max() <= 0.05
    assert abs(weight.std() - 0.05 / np.sqrt(3)) < 1e-3


def test_a_subclass_of_dense_has_the_operators():
    class Own(nn.Dense):
        def construct(self, x):
            return self.bias_add(self.matmul(x, self.weight), self.bias)

    net, x = Own(4, 3), Tensor(f32(2, 4))
    np.testing.assert_allclose(net(x).asnumpy(), nn.Dense.construct(net, x).asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: nn.Dense(4.0, 3), TypeError),
        (lambda: nn.Dense(0, 3), ValueError),
        (lambda: nn.Dense(4, 3, has_bias=1), TypeError),
        (lambda: nn.Dense(4, 3, activation=3), TypeError),
        (lambda: nn.Dense(4, 3, activation="foo"), KeyError),
        (lambda: nn.Dense(4, 3, weight_init=Tensor(f32(4, 3))), ValueError),
        (lambda: nn.Dense(4, 3, bias_init=Tensor(f32(3, 1))), ValueError),
        (lambda: nn.Linear(4, 3, bias=3), TypeError),
        (lambda: nn.BiDense(4, 0, 3), ValueError),
        (lambda: nn.BiDense(4, 5, 3)(Tensor(f32(2, 4)), Tensor(f32(2, 4))), ValueError),
        (lambda: nn.BiDense(4, 5, 3)(Tensor(f32(2, 4)), Tensor(f32(3, 5))), ValueError),
        (lambda: nn.BiDense(4, 5, 3)(Tensor(f32(2, 4)), 3), TypeError),
        (lambda: nn.Dropout(p=1.0), ValueError),
        (lambda: nn.Dropout(p="a"), TypeError),
        (lambda: nn.Dropout(keep_prob=0), TypeError),
        (lambda: nn.Dropout(keep_prob=1.5), ValueError),
        (lambda: nn.Dropout(p=0.5).set_train()(Tensor([1, 2])), TypeError),
        (lambda: nn.Dropout1d(1), TypeError),
        (lambda: nn.Dropout2d(1.5), ValueError),
        (lambda: nn.Dropout2d(0.5).set_train()(Tensor(f32(2, 3))), ValueError),
        (lambda: nn.DropoutExt(1.5).set_train()(Tensor(f32(2, 3))), ValueError),
        (lambda: nn.Flatten()(3), TypeError),
        (lambda: nn.Flatten(0, 9)(Tensor(f32(2, 3))), ValueError),
        (lambda: nn.Flatten(1, 0)(Tensor(f32(2, 3))), ValueError),
        (lambda: nn.Unflatten("a", (2, 1)), TypeError),
        (lambda: nn.Unflatten(1, 3), TypeError),
        (lambda: nn.Unflatten(5, (2, 1))(Tensor(f32(2, 3))), ValueError),
        (lambda: nn.Roll("a", 0), TypeError),
        (lambda: nn.Roll((1, 2), 0), ValueError),
        (lambda: nn.OneHot(depth=2)(Tensor([1.0])), TypeError),
        (lambda: nn.Norm(keep_dims=1), TypeError),
        (lambda: nn.L1Regularizer(0), ValueError),
        (lambda: nn.L1Regularizer("a"), TypeError),
        (lambda: nn.Tril()(Tensor([1.0])), ValueError),
        (lambda: nn.Triu()(3), TypeError),
        (lambda: nn.MatrixSetDiag()(Tensor(f32(2, 3)), Tensor(f32(3))), ValueError),
        (lambda: nn.TimeDistributed(3, 1), TypeError),
        (lambda: nn.TimeDistributed(nn.ReLU(), 5)(Tensor(f32(2, 3))), ValueError),
        (lambda: nn.SparseTensorDenseMatmul(1), TypeError),
    ],
)
def test_bad_arguments_are_refused(make, error):
    with pytest.raises(error):
        make()


def test_linear_and_bidense_compute():
    x, y = f32(2, 4), f32(2, 5, seed=1)
    net = nn.Linear(4, 3)
    want = x @ net.weight.asnumpy().T + net.bias.asnumpy()
    np.testing.assert_allclose(net(Tensor(x)).asnumpy(), want, rtol=1e-5, atol=1e-6)
    net = nn.BiDense(4, 5, 3)
    want = np.einsum("ni,oij,nj->no", x, net.weight.asnumpy(), y) + net.bias.asnumpy()
    np.testing.assert_allclose(net(Tensor(x), Tensor(y)).asnumpy(), want, rtol=1e-4, atol=1e-5)
    assert repr(net) == "BiDense(in1_channels=4, in2_channels=5, output_channels=3, has_bias=True)"


@pytest.mark.parametrize(
    "layer, shape, shared",
    [
        (nn.Dropout(p=0.5), (4, 50), ()),
        (nn.Dropout(keep_prob=0.5), (4, 50), ()),
        (nn.DropoutExt(0.5), (4, 50), ()),
        (nn.Dropout1d(0.5), (4, 50, 3), (2,)),
        (nn.Dropout1d(0.5), (50, 3), (1,)),
        (nn.Dropout2d(0.5), (4, 50, 3, 2), (2, 3)),
        (nn.Dropout2dExt(0.5), (50, 3, 2), (1, 2)),
        (nn.Dropout3d(0.5), (4, 50, 3, 2, 2), (2, 3, 4)),
    ],
)
def test_dropout_drops_in_training_only(layer, shape, shared):
    x = Tensor(np.ones(shape, np.float32))
    assert (layer.set_train(False)(x).asnumpy() == 1).all()
    out = layer.set_train()(x).asnumpy()
    assert set(np.unique(out)) == {0.0, 2.0}
    assert 0.2 < (out == 0).mean() < 0.8
    if shared:
        assert (out.min(axis=shared) == out.max(axis=shared)).all()
    other = layer(x).asnumpy()
    assert (other != out).any(), "each call draws anew"


def test_dropout_is_the_same_in_forward_and_backward():
    net, x = nn.Dropout(p=0.3).set_train(), Tensor(np.ones(100, np.float32))
    out, grad = ms.value_and_grad(lambda x: net(x).sum(), 0)(x)
    np.testing.assert_allclose(grad.asnumpy().sum(), out.asnumpy(), rtol=1e-5)


def test_dropout_is_reproducible_from_the_seed():
    net, x = nn.Dropout(p=0.5).set_train(), Tensor(np.ones(50, np.float32))
    ms.set_seed(3)
    first = net(x).asnumpy()
    ms.set_seed(3)
    np.testing.assert_array_equal(net(x).asnumpy(), first)


def test_dropout_shows_what_it_was_given():
    assert repr(nn.Dropout(p=0.3)) == "Dropout(p=0.3)"
    assert repr(nn.Dropout(keep_prob=0.3)) == "Dropout(keep_prob=0.3)"


def test_dropout_in_place_changes_its_input():
    x = Tensor(np.ones(50, np.float32))
    out = nn.DropoutExt(0.5, inplace=True).set_train()(x)
    assert out is x
    assert (x.asnumpy() == 0).any()


@pytest.mark.parametrize(
    "layer, shape",
    [
        (nn.Flatten(), (2, 12)),
        (nn.Flatten(0, 1), (6, 4)),
        (nn.Unflatten(2, (2, -1)), (2, 3, 2, 2)),
        (nn.Unflatten(-2, [3, 1]), (2, 3, 1, 4)),
        (nn.Identity(3, a=4), (2, 3, 4)),
    ],
)
def test_shapes_change_and_values_stay(layer, shape):
    x = f32(2, 3, 4)
    out = layer(Tensor(x)).asnumpy()
    assert out.shape == shape
    np.testing.assert_array_equal(out.reshape(-1), x.reshape(-1))


def test_elements_are_arranged():
    x = f32(3, 4)
    np.testing.assert_array_equal(nn.Roll((1, -2), (0, 1))(Tensor(x)).asnumpy(), np.roll(x, (1, -2), (0, 1)))
    np.testing.assert_array_equal(nn.Tril()(Tensor(x), 1).asnumpy(), np.tril(x, 1))
    np.testing.assert_array_equal(nn.Triu()(Tensor(x), -1).asnumpy(), np.triu(x, -1))
    diagonal = nn.MatrixDiagPart()(Tensor(x))
    np.testing.assert_array_equal(diagonal.asnumpy(), np.diagonal(x))
    np.testing.assert_array_equal(nn.MatrixDiag()(diagonal).asnumpy(), np.diag(np.diagonal(x)))
    filled = nn.MatrixSetDiag()(Tensor(x), Tensor(np.zeros(3, np.float32))).asnumpy()
    np.testing.assert_array_equal(filled, np.where(np.eye(3, 4) == 1, 0, x))


def test_one_hot_puts_the_axis_where_it_is_told():
    ids = Tensor([2, 0, 5])
    np.testing.assert_array_equal(nn.OneHot(depth=3)(ids).asnumpy(), np.eye(6, dtype=np.float32)[[2, 0, 5], :3])
    out = nn.OneHot(axis=0, depth=3, on_value=2, off_value=-1, dtype=ms.int32)(ids)
    assert out.dtype == ms.int32
    np.testing.assert_array_equal(out.asnumpy(), np.where(np.eye(6)[:3][:, [2, 0, 5]] == 1, 2, -1))


def test_norms():
    x = f32(3, 4)
    np.testing.assert_allclose(nn.Norm(1, True)(Tensor(x)).asnumpy(), np.linalg.norm(x, axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(nn.Norm()(Tensor(x)).asnumpy(), np.linalg.norm(x), rtol=1e-5)
    np.testing.assert_allclose(nn.L1Regularizer(0.5)(Tensor(x)).asnumpy(), np.abs(x).sum() / 2, rtol=1e-5)
    assert repr(nn.Norm(axis=1, keep_dims=True)) == "Norm(axis=1, keep_dims=True)"


@pytest.mark.parametrize("time, into", [(1, None), (1, 0), (0, 1), (-2, 0)])
def test_time_distributed_is_the_layer_of_each_step(time, into):
    net = nn.Dense(4, 2)
    x = Tensor(f32(3, 5, 4))
    np.testing.assert_allclose(nn.TimeDistributed(net, time, into)(x).asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True)])
def test_sparse_product(transposed):
    sparse = np.array([[0, 1, 0], [2, 0, 0]], np.float32)
    dense = f32(*((2, 4) if transposed[0] else (3, 4)))
    want = (sparse.T if transposed[0] else sparse) @ dense
    args = Tensor([[0, 1], [1, 0]]), Tensor([1.0, 2.0]), (2, 3), Tensor(dense.T if transposed[1] else dense)
    np.testing.assert_allclose(nn.SparseTensorDenseMatmul(*transposed)(*args).asnumpy(), want, rtol=1e-6)
