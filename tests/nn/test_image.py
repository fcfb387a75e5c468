"""Layers for images, by numbers of the real MindSpore."""

import numpy as np
import pytest

import msjax as ms
from msjax import nn
from tests.ops.recorded import check

SETUP = "x=F(2,3,4,5); x1=F(2,3,7); x5=F(1,2,3,4,5)"
RECORDED = [
    ("nn.Upsample(size=(7,3))", "Upsample()"),
    ("nn.Upsample(size=(7,3),mode='bicubic')(x)", "(2, 3, 7, 3)Float32:-0.91197"),
    ("nn.Upsample(size=(5,6,7),mode='trilinear')(x5)", "(1, 2, 5, 6, 7)Float32:6.15983"),
    ("nn.Upsample()", "Upsample()"),
    ("nn.Upsample()(x)", "ValueError"),
    ("nn.PixelShuffle(2)(F(2,8,3,3))", "(2, 2, 6, 6)Float32:0.999113"),
    ("nn.PixelShuffle(2)", "PixelShuffle()"),
    ("nn.PixelShuffle(2)(F(2,6,3,3))", "ValueError"),
    ("nn.PixelShuffle(-2)", "PixelShuffle()"),
    ("nn.PixelShuffle(2)(F(8,3,3))", "(2, 6, 6)Float32:-3.9126"),
    ("nn.PixelUnshuffle(2)(F(2,2,4,6))", "(2, 8, 2, 3)Float32:-8.24345"),
    ("nn.ChannelShuffle(2)(F(2,4,3,3))", "(2, 4, 3, 3)Float32:-0.902943"),
    ("nn.ChannelShuffle(2)", "ChannelShuffle()"),
    ("nn.ChannelShuffle('a')", "TypeError"),
    ("nn.ChannelShuffle(0)", "ValueError"),
    ("nn.CentralCrop(.5)(x)", "(2, 3, 2, 3)Float32:2.99766"),
    ("nn.CentralCrop(.5)(x[0])", "(3, 2, 3)Float32:2.54665"),
    ("nn.CentralCrop(.3)(F(2,3,9,11))", "(2, 3, 3, 5)Float32:4.99072"),
    ("nn.CentralCrop(1.0)(x)", "(2, 3, 4, 5)Float32:4.64364"),
    ("nn.CentralCrop(0.0)", "ValueError"),
    ("nn.CentralCrop(1.5)", "ValueError"),
    ("nn.CentralCrop(1)", "TypeError"),
    ("nn.CentralCrop(.5)", "CentralCrop()"),
    ("nn.CentralCrop(.5)(x1[0])", "ValueError"),
    ("nn.ImageGradients()(x)", "[(2, 3, 4, 5)Float32:0.899669, (2, 3, 4, 5)Float32:-6.80683]"),
    ("nn.ImageGradients()(x1)", "ValueError"),
    ("nn.PSNR()", "PSNR()"),
]


@pytest.mark.parametrize("expression, want", RECORDED, ids=[e for e, _ in RECORDED])
def test_as_recorded(expression, want):
    check(SETUP, expression, want)


def test_similarity():
    rng = np.random.default_rng(0)
    a = rng.uniform(size=(2, 3, 16, 18)).astype(np.float32)
    b = np.clip(a + 0.1 * rng.normal(size=a.shape).astype(np.float32), 0, 1)
    x, y = ms.Tensor(a), ms.Tensor(b)
    np.testing.assert_allclose(nn.SSIM()(x, x).asnumpy(), 1, rtol=1e-5)
    assert (nn.SSIM()(x, y).asnumpy() < 0.99).all()
    want = -10 * np.log10(np.square(a - b).mean((1, 2, 3)))
    np.testing.assert_allclose(nn.PSNR()(x, y).asnumpy(), want, rtol=1e-5)
    many = nn.MSSSIM(power_factors=(0.5, 0.5), filter_size=5)
    np.testing.assert_allclose(many(x, x).asnumpy(), 1, rtol=1e-5)
    with pytest.raises(ValueError):
        nn.SSIM(filter_size=17)(x, y)


def test_ssim_of_constant_windows():
    # With a window that covers the image there is one term, in closed form.
    a = np.random.default_rng(0).uniform(size=(1, 1, 3, 3))
    b = a[..., ::-1].copy()
    line = np.exp(-0.5 * ((np.arange(3) - 1) / 1.5) ** 2)
    w = np.outer(line, line) / line.sum() ** 2
    ma, mb = (w * a).sum(), (w * b).sum()
    c1, c2 = 0.01**2, 0.03**2
    common, spread = (w * a * b).sum() - ma * mb, (w * (a * a + b * b)).sum() - ma**2 - mb**2
    want = (2 * ma * mb + c1) / (ma**2 + mb**2 + c1) * (2 * common + c2) / (spread + c2)
    np.testing.assert_allclose(nn.SSIM(filter_size=3)(ms.Tensor(a), ms.Tensor(b)).asnumpy(), [want], rtol=1e-6)
