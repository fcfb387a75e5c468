"""What tests expect with jax's 64-bit types on, as `msjax run` has them, and off, as a plain ``import msjax`` leaves them."""

import jax
import numpy as np
import pytest

from msjax.common import dtype as mstype

X64 = jax.config.jax_enable_x64
needs_x64 = pytest.mark.skipif(not X64, reason="needs 64-bit types, which are off")


def present(dtype):
    """The type of a Tensor for which `dtype` was asked."""
    return mstype.from_np(mstype.to_jax(dtype))


def assert_close(got, want, rtol, atol=0.0):
    """assert_allclose for float64; without it, as close as float32 comes to the largest element."""
    if not X64:
        rtol, atol = 1e-3, 1e-5 * max(1.0, np.abs(want).max(initial=0.0))
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
