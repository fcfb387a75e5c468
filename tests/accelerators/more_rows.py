"""Operators and layers that are compiled for accelerators, in addition to the rows of tests/kernels: those that it leaves out."""

import msjax as ms
from tests.kernels.left_out import LEFT_OUT
from tests.kernels.tables import ROWS as COMPARED
from tests.kernels.tables.make import row


def _of(shapes, kinds, calls, **rest):
    """A row for each line of `calls`; `kinds` are the operands in the order of `shapes`."""
    return [row(call.strip(), "", shapes, **kinds, **rest) for call in calls.strip().splitlines()]


C = "ops.polar(x, y)"
_RANDOM = _of(((2, 6),), {"x": "normal"}, """
    ops.bernoulli(x.sigmoid(), 0.5)
    ops.bernoulli_(x.copy(), 0.5)
    ops.bernoulli_ext(x.sigmoid())
    ops.choice_with_mask(x > 0, 4)
    ops.dropout(x, 0.5, True)
    ops.exponential_(x.copy())
    ops.gamma((2, 6), x.exp(), ms.Tensor(1.0))
    ops.laplace((2, 6), x, ms.Tensor(1.0))
    ops.multinomial(x.exp(), 3)
    ops.multinomial_with_replacement(x.exp(), 1, 2, 3, True)
    ops.normal((2, 6), x, ms.Tensor(1.0))
    ops.normal_(x.copy())
    ops.poisson((2, 6), x.exp())
    ops.rand(2, 6)
    ops.rand_like(x)
    ops.randint(0, 6, (2, 6))
    ops.randint_like(x.astype(ms.int32), 0, 6)
    ops.randn(2, 6)
    ops.randn_like(x)
    ops.random_(x.copy(), 0, 5)
    ops.random_categorical(x, 4)
    ops.random_gamma((2,), x.exp())
    ops.random_poisson((2,), x.exp())
    ops.randperm(6)
    ops.rrelu(x)
    ops.shuffle(x)
    ops.standard_laplace((2, 6))
    ops.standard_normal((2, 6))
    ops.uniform((2, 6), x, x + 1)
    ops.uniform_(x.copy())
    nn.Dropout(p=0.5).set_train()(x)
    nn.DropoutExt(p=0.5).set_train()(x)
    nn.SampledSoftmaxLoss(3, 6, 1)(x.T, ops.zeros((6,)), ms.Tensor([[0], [1]]), x[:, :2].T[:, :2])
    mint.bernoulli(x.sigmoid())
    mint.multinomial(x.exp(), 3)
    mint.normal(x, 1.0)
    mint.rand(2, 6)
    mint.rand_like(x)
    mint.randint(0, 6, (2, 6))
    mint.randint_like(x.astype(ms.int32), 0, 6)
    mint.randn(2, 6)
    mint.randn_like(x)
    mint.randperm(6)
    mint.nn.Dropout(0.5).set_train()(x)
    mint.nn.functional.dropout(x, 0.5)
    mint.empty(2, 6)
    mint.empty_like(x)
""") + _of(((1, 2, 8),), {"x": "normal"}, """
    ops.dropout1d(x, 0.5)
    nn.Dropout1d(0.5).set_train()(x)
""") + _of(((1, 2, 8, 8),), {"x": "normal"}, """
    ops.dropout2d(x, 0.5)
    ops.fractional_max_pool2d(x, 2, 3)
    nn.FractionalMaxPool2d(2, 3)(x)
    nn.Dropout2d(0.5).set_train()(x)
    nn.Dropout2dExt(0.5).set_train()(x)
    mint.nn.Dropout2d(0.5).set_train()(x)
    mint.nn.functional.dropout2d(x, 0.5)
""") + _of(((1, 2, 4, 4, 4),), {"x": "normal"}, """
    ops.dropout3d(x, 0.5)
    ops.fractional_max_pool3d(x, 2, 2)
    nn.FractionalMaxPool3d(2, 2)(x)
    nn.Dropout3d(0.5).set_train()(x)
""") + _of(((2, 1),), {"i": "int<5"}, """
    ops.log_uniform_candidate_sampler(i.astype(ms.int64), 1, 3, True, 5)
    ops.uniform_candidate_sampler(i.astype(ms.int64), 1, 3, True, 5)
""")  # fmt: skip

_CREATED = _of(((4,),), {"x": "normal"}, """
    ops.arange(0, 6, 2)
    ops.bartlett_window(6)
    ops.blackman_window(6)
    ops.fftfreq(6)
    ops.fill(ms.float32, (2, 3), 2)
    ops.fills(x, 2.0)
    ops.full((2, 3), 2.0)
    ops.hamming_window(6)
    ops.hann_window(6)
    ops.kaiser_window(6)
    ops.linspace(0, 1, 5)
    ops.logspace(0, 1, 5)
    ops.ones((2, 3))
    ops.range(0, 6, 2)
    ops.rfftfreq(6)
    ops.tensor_range(0, 6, 2)
    ops.tril_indices(3, 3)
    ops.triu_indices(3, 3)
    ops.zeros((2, 3))
    mint.arange(0, 6, 2)
    mint.full((2, 3), 2.0)
    mint.linspace(0, 1, 5)
    mint.ones(2, 3)
    mint.zeros(2, 3)
    nn.Range(0, 6, 2)()
""")  # fmt: skip

_COMPLEX = _of(((4, 4), (4, 4)), {"x": "pos", "y": "normal"}, f"""
    ops.eig(x)
    ops.eigvals(x)
    ops.fft({C})
    ops.fft2({C})
    ops.fftn({C})
    ops.fftshift({C})
    ops.hfft({C})
    ops.hfft2({C})
    ops.hfftn({C})
    ops.ifft({C})
    ops.ifft2({C})
    ops.ifftn({C})
    ops.ifftshift({C})
    ops.ihfft(x)
    ops.ihfft2(x)
    ops.ihfftn(x)
    ops.imag({C})
    ops.irfft({C})
    ops.irfft2({C})
    ops.irfftn({C})
    ops.rfft(x)
    ops.rfft2(x)
    ops.rfftn(x)
    ops.stft(x.reshape((16,)), 8, return_complex=False)
    ops.view_as_real({C})
    {C}
    mint.imag({C})
    mint.polar(x, y)
    ops.matmul({C}, {C}).real()
    ops.exp({C}) * ops.sin({C})
    ops.inverse({C})
    ops.cholesky({C} @ ops.conj({C}).T + 4 * ops.eye(4, 4, ms.float32))
    ops.svd({C})[0]
    ops.qr({C})[1]
""")  # fmt: skip

_FACTORS = _of(((4, 4), (4, 4)), {"x": "pos", "y": "normal"}, """
    ops.geqrf(x)
    ops.orgqr(*ops.geqrf(x))
    ops.ormqr(*ops.geqrf(x), y)
    ops.qr(x)
    ops.lu_solve(y, x, ms.Tensor([1, 2, 3, 4], ms.int32))
    ops.lu_unpack(x, ms.Tensor([1, 2, 3, 4], ms.int32))
    ops.cholesky_inverse(x)
    ops.cholesky_solve(y, x)
    ops.log_matrix_determinant(x)
    mint.linalg.qr(x)
""")  # fmt: skip

_WRITTEN = _of(((3, 4), (3, 4)), {"x": "pos", "y": "pos"}, """
    ops.assign(ms.Parameter(x), y)
    ops.assign_add(ms.Parameter(x), y)
    ops.assign_sub(ms.Parameter(x), y)
    ops.clamp_(x.copy(), 0.5, 2.0)
    ops.erfinv_(x.copy() / 4)
    ops.inplace_add(x, y[:2], (0, 1))
    ops.inplace_sub(x, y[:2], (0, 1))
    ops.inplace_update(x, y[:2], (0, 1))
    ops.inplace_sigmoid(x.copy())
    ops.tanh_(x.copy())
    mint.nn.functional.elu_(x.copy())
    mint.nn.functional.hardtanh_(x.copy())
    mint.nn.functional.relu_(x.copy())
    mint.nn.functional.sigmoid_(x.copy())
    mint.nn.functional.threshold_(x.copy(), 0.5, 2.0)
""") + _of(((3, 4), (2,), (2, 4)), {"x": "pos", "i": "int<3", "y": "pos"}, """
    ops.inplace_index_add(ms.Parameter(x), i, y, 0)
    ops.scatter_add(ms.Parameter(x), i, y)
    ops.scatter_div(ms.Parameter(x), i, y)
    ops.scatter_max(ms.Parameter(x), i, y)
    ops.scatter_min(ms.Parameter(x), i, y)
    ops.scatter_mul(ms.Parameter(x), i, y)
    ops.scatter_update(ms.Parameter(x), i, y)
    ops.scatter_nd_add(ms.Parameter(x), i.reshape((2, 1)), y)
    ops.scatter_nd_div(ms.Parameter(x), i.reshape((2, 1)), y)
    ops.scatter_nd_max(ms.Parameter(x), i.reshape((2, 1)), y)
    ops.scatter_nd_min(ms.Parameter(x), i.reshape((2, 1)), y)
    ops.scatter_nd_mul(ms.Parameter(x), i.reshape((2, 1)), y)
    ops.scatter_nd_sub(ms.Parameter(x), i.reshape((2, 1)), y)
    ops.scatter_nd_update(ms.Parameter(x), i.reshape((2, 1)), y)
    ops.tensor_scatter_div(x, i.reshape((2, 1)), y)
    ops.tensor_scatter_mul(x, i.reshape((2, 1)), y)
""")  # fmt: skip

_MINDSPORE = _of(((4, 4), (4, 4)), {"x": "pos", "y": "pos"}, """
    ops.approximate_equal(x, y)
    ops.batch_dot(x, y, 1)
    ops.bounding_box_decode(x, y, (768, 1280))
    ops.bounding_box_encode(x, y)
    ops.bucketize(x, (0.5, 1.0, 2.0))
    ops.check_valid(x, ms.Tensor([3.0, 3.0, 1.0]).astype(x.dtype))
    ops.clip_by_global_norm((x, y), 1.0)
    ops.fill_diagonal(x, 2.0)
    ops.intopk(x.astype(ms.float32), ms.Tensor([0, 1, 2, 3], ms.int32), 2)
    ops.iou(x, y)
    ops.matrix_band_part(x, 1, 1)
    ops.matrix_diag(x)
    ops.matrix_diag_part(x, 0, 0)
    ops.matrix_set_diag(x, y[0], 0)
    ops.padding(x.reshape((16, 1)), 8)
    ops.repeat_elements(x, 2, 1)
    ops.reverse_sequence(x, ms.Tensor([1, 2, 3, 4]), 1, 0)
    ops.take(x, ms.Tensor([0, 5]))
    ops.unsorted_segment_prod(x, ms.Tensor([0, 1, 1, 0]), 2)
    nn.ClipByNorm()(x, ms.Tensor(1.0, x.dtype))
    nn.DiceLoss()(x, y)
    nn.L1Regularizer(0.1)(x)
    nn.LBeta()(x, y)
    nn.Moments(0, True)(x)
    nn.MultiClassDiceLoss()(x, y)
    nn.SoftmaxCrossEntropyWithLogits()(x, y)
    nn.SoftmaxCrossEntropyWithLogits(sparse=True)(x, ms.Tensor([0, 1, 2, 3], ms.int32))
    nn.SparseTensorDenseMatmul()(ms.Tensor([[0, 1], [1, 2]]), x[0, :2], (4, 4), y)
    nn.MultiheadAttention(4, 2).to_float(x.dtype)(x, x, y)
    nn.TransformerEncoderLayer(4, 2, 8, 0.0).to_float(x.dtype)(x.reshape((2, 2, 4)))
    nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2)(x.reshape((2, 2, 4)))
    nn.TransformerDecoderLayer(4, 2, 8, 0.0)(x.reshape((2, 2, 4)), y.reshape((2, 2, 4)))
    nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0), 2)(x.reshape((2, 2, 4)), y.reshape((2, 2, 4)))
    nn.Transformer(4, 2, 1, 1, 8, 0.0)(x.reshape((2, 2, 4)), y.reshape((2, 2, 4)))
    nn.MultiFieldEmbeddingLookup(6, 4, 3)(ms.Tensor([[1, 2], [3, 4]], ms.int32), x[:2, :2].astype(ms.float32), ms.Tensor([[0, 1], [1, 2]], ms.int32))
""") + _of(((2, 2, 12, 12),), {"x": "pos"}, """
    ops.batch_to_space_nd(x, 1, ((0, 0), (0, 0)))
    ops.space_to_batch_nd(x, 2, ((0, 0), (0, 0)))
    ops.crop_and_resize(x.astype(ms.float32), ms.Tensor([[0.0, 0.0, 0.5, 0.5]]), ms.Tensor([0], ms.int32), (3, 3))
    nn.CentralCrop(0.5)(x)
    nn.FocalLoss()(x, x)
    nn.ImageGradients()(x)
    nn.MSSSIM(1.0, (0.5, 0.5), filter_size=3)(x, x * 0.5)
    nn.PSNR()(x, x * 0.5)
    nn.SSIM(1.0, filter_size=3)(x, x * 0.5)
""") + _of(((1, 4, 4, 4),), {"x": "normal"}, """
    ops.col2im(x, s, [2, 2], [1, 1], [0, 0], [2, 2])
""", settings={"s": [ms.Tensor([5, 5], ms.int32)]}) + _of(((4, 4),), {"x": "normal"}, """
    ops.mirror_pad(x, p, "REFLECT")
""", settings={"p": [ms.Tensor([[1, 1], [1, 1]])]}) + _of(((3, 2, 4),), {"x": "normal"}, """
    nn.CTCLoss()(ops.log_softmax(x, -1), ms.Tensor([[1, 2], [2, 3]], ms.int32), ms.Tensor([3, 3], ms.int32), ms.Tensor([2, 2], ms.int32))
""") + _of(((6,),), {"x": "ints"}, """
    ops.population_count(x.astype(ms.int16))
    ops.unique_with_pad(x, 9)
    ops.coalesce(ms.Tensor([[0, 0, 1], [1, 1, 2]]), ms.Tensor([1.0, 2.0, 3.0]), ms.Tensor([3, 3]))
    mint.unique(x)
    ops.ctc_greedy_decoder(x.reshape((3, 1, 2)).astype(ms.float32), ms.Tensor([3], ms.int32))
""", traced=False) + _of(((1, 2, 4), (1, 2, 4)), {"x": "normal", "i": "const:int<8"}, """
    ops.max_unpool1d(x, i, 2)
""")  # fmt: skip

ROWS = [*COMPARED, *_RANDOM, *_CREATED, *_COMPLEX, *_FACTORS, *_WRITTEN, *_MINDSPORE]
# Names that are no programs of their own, by the reason.
NOT_COMPILED = {
    **{name: reason for reason, names in LEFT_OUT.items() for name in names.split() if reason.startswith(("no numbers", "other names", "metrics"))},
    "nn.BleuScore": "a metric, computed with numpy",
}  # fmt: skip
