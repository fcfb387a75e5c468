"""Cosine transforms, compared with scipy's."""

import numpy as np
import pytest
import scipy.fft

import msjax as ms
from msjax.scipy import fft

X = np.array([[1.0, 2.0, 4.0, 3.0], [0.0, -1.0, 2.0, 5.0]], np.float32)


@pytest.mark.parametrize("name", ["dct", "idct", "dctn", "idctn"])
def test_transforms(name):
    for given in ({}, {"norm": "ortho"}):
        found = getattr(fft, name)(ms.Tensor(X), **given)
        np.testing.assert_allclose(found.asnumpy(), getattr(scipy.fft, name)(X, **given), rtol=1e-5, atol=1e-5)
    gradient = ms.grad(lambda x: fft.dct(x, norm="ortho").sum())(ms.Tensor(X[0]))
    np.testing.assert_allclose(gradient.asnumpy(), scipy.fft.idct(np.ones(4), norm="ortho"), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=f"For '{name}', 'type' should be 2"):
        getattr(fft, name)(ms.Tensor(X), 3)
