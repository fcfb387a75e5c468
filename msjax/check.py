"""``ms.run_check``: tests whether the installation works."""

from __future__ import annotations

import jax
import numpy as np

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.version import __version__


def run_check() -> None:
    """Multiply two Tensors on the default device and print whether the result is right, as MindSpore's ``run_check`` does."""
    result = ops.mul(Tensor(np.full((2, 3), 2.0, np.float32)), Tensor(np.full((2, 3), 3.0, np.float32)))
    right = bool((result.asnumpy() == 6.0).all())
    print(f"msjax version:  {__version__}")
    place = f"platform [{jax.default_backend().upper()}]"
    if right:
        print(f"The result of multiplication calculation is correct, msjax has been installed on {place} successfully!")
    else:
        print(f"The result of multiplication calculation is not correct on {place}: {result} in the place of 6.")
