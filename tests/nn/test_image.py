"""Layers for images, by numbers of the real MindSpore."""

import numpy as np
import pytest

import msjax as ms
from msjax import nn
from tests.expected.recorded import cases, check


def inputs(draw):
    return {"x": draw.F(2, 3, 4, 5), "x1": draw.F(2, 3, 7), "x5": draw.F(1, 2, 3, 4, 5)}


CALLS = [
    (lambda: nn.Upsample(size=(7, 3)), "Upsample()"),
    lambda x: nn.Upsample(size=(7, 3), mode="bicubic")(x),
    lambda x5: nn.Upsample(size=(5, 6, 7), mode="trilinear")(x5),
    (lambda: nn.Upsample(), "Upsample()"),
    (lambda x: nn.Upsample()(x), ValueError),
    lambda F: nn.PixelShuffle(2)(F(2, 8, 3, 3)),
    (lambda: nn.PixelShuffle(2), "PixelShuffle()"),
    (lambda F: nn.PixelShuffle(2)(F(2, 6, 3, 3)), ValueError),
    (lambda: nn.PixelShuffle(-2), "PixelShuffle()"),
    lambda F: nn.PixelShuffle(2)(F(8, 3, 3)),
    lambda F: nn.PixelUnshuffle(2)(F(2, 2, 4, 6)),
    lambda F: nn.ChannelShuffle(2)(F(2, 4, 3, 3)),
    (lambda: nn.ChannelShuffle(2), "ChannelShuffle()"),
    (lambda: nn.ChannelShuffle("a"), TypeError),
    (lambda: nn.ChannelShuffle(0), ValueError),
    lambda x: nn.CentralCrop(0.5)(x),
    lambda x: nn.CentralCrop(0.5)(x[0]),
    lambda F: nn.CentralCrop(0.3)(F(2, 3, 9, 11)),
    lambda x: nn.CentralCrop(1.0)(x),
    (lambda: nn.CentralCrop(0.0), ValueError),
    (lambda: nn.CentralCrop(1.5), ValueError),
    (lambda: nn.CentralCrop(1), TypeError),
    (lambda: nn.CentralCrop(0.5), "CentralCrop()"),
    (lambda x1: nn.CentralCrop(0.5)(x1[0]), ValueError),
    lambda x: nn.ImageGradients()(x),
    (lambda x1: nn.ImageGradients()(x1), ValueError),
    (lambda: nn.PSNR(), "PSNR()"),
]


@pytest.mark.parametrize("case", cases("image_layers", inputs, CALLS))
def test_as_recorded(case):
    check(case)


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
