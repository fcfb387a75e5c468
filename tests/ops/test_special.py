"""Special functions, Bessel functions, Fourier transforms."""

import math

import numpy as np
import pytest

import msjax as ms
from msjax import ops
from tests.ops.harness import Case, check_gradient, check_value

P = np.array([0.3, 1.0, 2.5, 7.0], np.float32)
X = np.array([[0.5, -1.25, 2.0, 1.0], [1.5, 0.25, -0.75, 3.0]], np.float32)
EULER = 0.5772156649015329

CASES = [
    Case("erf", ops.erf, (P,), np.vectorize(math.erf)),
    Case("erfc", ops.erfc, (P,), np.vectorize(math.erfc), rtol=1e-4),
    Case("lgamma", ops.lgamma, (P,), np.vectorize(math.lgamma), rtol=1e-4),
    Case("xlogy", ops.xlogy, (P, P), lambda x, y: x * np.log(y)),
    Case("xdivy", ops.xdivy, (P, P), lambda x, y: x / y),
    Case("igamma", lambda x: ops.igamma(ms.Tensor([1.0]), x), (P,), lambda x: 1 - np.exp(-x)),
    Case("igammac", lambda x: ops.igammac(ms.Tensor([1.0]), x), (P,), lambda x: np.exp(-x), rtol=1e-4),
    Case("mvlgamma", lambda x: ops.mvlgamma(x + 1, 1), (P,), np.vectorize(lambda x: math.lgamma(x + 1)), rtol=1e-4),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value_and_gradient(case):
    check_value(case)
    if not case.name.startswith("igamma"):  # whose gradients take long to compile
        check_gradient(case)


def test_known_values():
    assert float(ops.erfinv(ms.Tensor(math.erf(0.5)))) == pytest.approx(0.5, rel=1e-5)
    assert float(ops.digamma(ms.Tensor(1.0))) == pytest.approx(-EULER, rel=1e-5)
    assert float(ops.polygamma(1, ms.Tensor(1.0))) == pytest.approx(math.pi**2 / 6, rel=1e-5)
    assert float(ops.zeta(ms.Tensor(2.0), ms.Tensor(1.0))) == pytest.approx(math.pi**2 / 6, rel=1e-5)
    assert float(ops.Betainc()(ms.Tensor(2.0), ms.Tensor(3.0), ms.Tensor(0.5))) == pytest.approx(0.6875, rel=1e-5)
    assert str(ops.xlogy(ms.Tensor([0.0]), ms.Tensor([0.0]))) == "[0.]"
    assert str(ops.xdivy(ms.Tensor([0.0]), ms.Tensor([0.0]))) == "[0.]"


# Computed once with scipy.special.
AT = np.array([0.1, 1.0, 2.9, 3.1, 10.0, 30.0])
BESSEL = {
    "j0": [0.997501562066, 0.765197686558, -0.224311545792, -0.2920643476507, -0.2459357644513, -0.08636798358104],
    "j1": [0.04993752603624, 0.4400505857449, 0.3754274818131, 0.3009211331011, 0.04347274616886, -0.1187510626166],
    "y0": [-1.53423865135, 0.08825696421568, 0.4079117692363, 0.3431028893545, 0.0556711672836, -0.1172957316867],
    "y1": [-6.458951094702, -0.7812128213003, 0.2959400546077, 0.3496294822677, 0.249015424207, 0.08442557066175],
    "k0": [2.427069024702, 0.4210244382407, 0.03900623456622, 0.03095470803804, 1.778006231617e-05, 2.132477496463e-14],
    "k1": [9.853844780871, 0.6019072301972, 0.04528642329836, 0.03563405494962, 1.864877345383e-05, 2.167732001892e-14],
    "i0": [1.002501562934, 1.266065877752, 4.502748661326, 5.294491489676, 2815.716628466, 781672297824.0],
}  # fmt: skip


@pytest.mark.parametrize("name", BESSEL)
@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-8), (np.float32, 5e-5)])
def test_bessel(name, dtype, rtol):
    got = getattr(ops, f"bessel_{name}")(ms.Tensor(AT.astype(dtype))).asnumpy()
    np.testing.assert_allclose(got, BESSEL[name], rtol=rtol)


@pytest.mark.parametrize("name", ["j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e", "i0e", "i1"])
def test_bessel_gradient(name):
    check_gradient(Case(name, getattr(ops, f"bessel_{name}"), (np.array([0.7, 2.0, 5.0]),)))


def test_bessel_signs_and_limits():
    assert float(ops.bessel_j1(ms.Tensor(-1.0))) == pytest.approx(-0.44005058)
    assert str(ops.bessel_y0(ms.Tensor([0.0, -1.0]))) == "[-inf  nan]"
    assert float(ms.grad(ops.bessel_j1)(ms.Tensor(0.0))) == 0.5


FFTS = [
    ("fft", {}),
    ("ifft", {"n": 6}),
    ("rfft", {"norm": "ortho"}),
    ("hfft", {"dim": 0}),
    ("ihfft", {}),
    ("fft2", {}),
    ("ifftn", {}),
    ("rfftn", {}),
    ("fftshift", {}),
    ("ifftshift", {"dim": 1}),
]


@pytest.mark.parametrize("name, kwargs", FFTS)
def test_fft(name, kwargs):
    numpy = {("axes" if "shift" in name else "axis") if k == "dim" else k: v for k, v in kwargs.items()}
    got = getattr(ops, name)(ms.Tensor(X), **kwargs).asnumpy()
    np.testing.assert_allclose(got, getattr(np.fft, name)(X, **numpy), rtol=1e-4, atol=1e-5)


def test_fft_there_and_back():
    x = ms.Tensor(X)
    for there, back in (("fft2", "ifft2"), ("rfft2", "irfft2"), ("ihfft2", "hfft2"), ("ihfftn", "hfftn"), ("rfftn", "irfftn")):
        np.testing.assert_allclose(getattr(ops, back)(getattr(ops, there)(x)).asnumpy().real, X, rtol=1e-4, atol=1e-5)
    grad = ms.grad(lambda x: (ops.real(ops.fft(x)) * 2).sum())(x)
    np.testing.assert_allclose(grad.asnumpy()[:, 0], 8, rtol=1e-5)
    with pytest.raises(ValueError, match="norm"):
        ops.fft(x, norm="half")


def test_stft():
    x = np.arange(12, dtype=np.float32)
    window = np.array([0.5, 1.0, 1.0, 0.5], np.float32)
    got = ops.stft(ms.Tensor(x), 4, 2, window=ms.Tensor(window), center=False, return_complex=True).asnumpy()
    want = np.stack([np.fft.rfft(x[i : i + 4] * window) for i in range(0, 9, 2)], 1)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    assert ops.stft(ms.Tensor(x[None]), 4).shape == (1, 3, 13, 2)
    with pytest.raises(ValueError, match="window"):
        ops.stft(ms.Tensor(x), 4, window=ms.Tensor([1.0]))
