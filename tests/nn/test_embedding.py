"""Embedding layers."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn

TABLE = np.arange(14, dtype=np.float32).reshape(7, 2)
IDS = np.array([[0, 6], [2, 2]])


@pytest.mark.parametrize(
    "net",
    [
        nn.Embedding(7, 2, embedding_table=Tensor(TABLE)),
        nn.Embedding(7, 2, True, Tensor(TABLE)),
        nn.EmbeddingExt(7, 2, _weight=Tensor(TABLE)),
        nn.EmbeddingLookup(7, 2, Tensor(TABLE)),
    ],
    ids=lambda net: type(net).__name__,
)
def test_rows_are_looked_up_and_counted_in_the_gradient(net):
    np.testing.assert_array_equal(net(Tensor(IDS)).asnumpy(), TABLE[IDS])
    (grad,) = ms.grad(lambda ids: net(ids).sum(), None, net.trainable_params())(Tensor(IDS))
    np.testing.assert_array_equal(grad.asnumpy()[:, 0], [1, 0, 2, 0, 0, 0, 1])


def test_embedding_has_mindspores_name_start_and_text():
    net = nn.Embedding(400, 300)
    assert net.embedding_table.name == "embedding_table"
    assert abs(net.embedding_table.asnumpy().std() - 0.01) < 1e-3
    assert repr(nn.Embedding(7, 4, padding_idx=2)) == (
        "Embedding(vocab_size=7, embedding_size=4, use_one_hot=False, embedding_table=Parameter (name=embedding_table, "
        "shape=(7, 4), dtype=Float32, requires_grad=True), dtype=Float32, padding_idx=2)"
    )


def test_padding_row_starts_as_zeros():
    table = nn.Embedding(7, 4, padding_idx=2).embedding_table.asnumpy()
    assert (table[2] == 0).all() and (table[1] != 0).all()


@pytest.mark.parametrize("bad", [9, -1])
def test_a_number_outside_of_the_table_is_never_silent(bad):
    net = nn.Embedding(7, 2, embedding_table="ones")
    with pytest.raises(RuntimeError, match=f"got {bad}"):
        net(Tensor([1, bad]))
    assert (nn.Embedding(7, 2, True, "ones")(Tensor([bad])).asnumpy() == 0).all()
    assert (nn.EmbeddingLookup(7, 2, "ones")(Tensor([bad])).asnumpy() == 0).all()


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: nn.Embedding(7.0, 4), TypeError),
        (lambda: nn.Embedding(0, 4), ValueError),
        (lambda: nn.Embedding(7, 4, use_one_hot=1), TypeError),
        (lambda: nn.Embedding(7, 4, padding_idx=7), ValueError),
        (lambda: nn.Embedding(7, 4, padding_idx=-2), ValueError),
        (lambda: nn.Embedding(7, 4, padding_idx=1.0), TypeError),
        (lambda: nn.Embedding(7, 4)(Tensor([1.0])), TypeError),
        (lambda: nn.Embedding(7, 4)(3), TypeError),
        (lambda: nn.EmbeddingExt(7, 4, padding_idx=8), ValueError),
        (lambda: nn.EmbeddingExt(7, 4, sparse=True), ValueError),
        (lambda: nn.EmbeddingExt(7, 4, _weight=Tensor(TABLE)), ValueError),
        (lambda: nn.EmbeddingLookup(7, 4, target="X"), ValueError),
        (lambda: nn.EmbeddingLookup(7, 4, max_norm=-0.5), ValueError),
        (lambda: nn.EmbeddingLookup(7, 4, max_norm=1), TypeError),
        (lambda: nn.EmbeddingLookup(7, 4, sparse=1), TypeError),
        (lambda: nn.MultiFieldEmbeddingLookup(7, 4, 2, operator="FOO"), ValueError),
        (lambda: nn.MultiFieldEmbeddingLookup(7, 4, 0), ValueError),
    ],
)
def test_bad_arguments_are_refused(make, error):
    with pytest.raises(error):
        make()


def test_embedding_ext_keeps_its_padding_row_and_shares_gradients_by_frequency():
    net = nn.EmbeddingExt(7, 2, padding_idx=-5, _weight=Tensor(TABLE), scale_grad_by_freq=True)
    (grad,) = ms.grad(lambda ids: net(ids).sum(), None, net.trainable_params())(Tensor([2, 2, 3, 3, 1]))
    np.testing.assert_allclose(grad.asnumpy()[:, 0], [0, 1, 0, 1, 0, 0, 0])
    assert not nn.EmbeddingExt(7, 2, _freeze=True).weight.requires_grad


def test_max_norm_scales_rows_down():
    table = np.array([[3, 4], [0.3, 0.4], [0, 0]], np.float32)
    want = np.array([[0.6, 0.8], [0.3, 0.4], [0, 0]], np.float32)
    lookup = nn.EmbeddingLookup(3, 2, Tensor(table), max_norm=1.0)
    np.testing.assert_allclose(lookup(Tensor([0, 1, 2])).asnumpy(), want, rtol=1e-5)
    (grad,) = ms.grad(lambda ids: lookup(ids).sum(), None, lookup.trainable_params())(Tensor([0, 1, 2]))
    assert np.isfinite(grad.asnumpy()).all()
    ext = nn.EmbeddingExt(3, 2, _weight=Tensor(table), max_norm=1.0)
    ext(Tensor([0]))
    np.testing.assert_allclose(ext.weight.asnumpy(), want, rtol=1e-5)


@pytest.mark.parametrize("how, reduce", [("SUM", np.sum), ("MEAN", np.mean), ("MAX", np.max)])
def test_fields_are_combined(how, reduce):
    net = nn.MultiFieldEmbeddingLookup(7, 2, 3, Tensor(TABLE), operator=how)
    ids, values, fields = np.array([[1, 2, 3]]), np.array([[1, 2, 3]], np.float32), np.array([[0, 1, 0]])
    rows = TABLE[ids[0]] * values[0][:, None]
    want = [reduce(rows[[0, 2]], axis=0), rows[1], [0, 0]]
    np.testing.assert_allclose(net(Tensor(ids), Tensor(values), Tensor(fields)).asnumpy()[0], want, rtol=1e-6)
