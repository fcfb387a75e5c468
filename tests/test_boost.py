"""GradientAccumulation: an optimizer's step after every few batches."""

import numpy as np

from msjax import Parameter, Tensor, nn
from msjax.boost import GradientAccumulation


def test_accumulated_gradients():
    w, b = Parameter(Tensor([1.0, 1.0]), name="w"), Parameter(Tensor(0.0), name="b")
    accumulate = GradientAccumulation(2, nn.SGD([w, b], 0.1))
    for number in range(1, 5):
        loss = accumulate(Tensor(0.5), (Tensor([1.0, 2.0]), Tensor(3.0)))
        np.testing.assert_allclose(w.asnumpy(), [1 - 0.1 * (number // 2), 1 - 0.2 * (number // 2)], rtol=1e-6)
        np.testing.assert_allclose(b.asnumpy(), -0.3 * (number // 2), rtol=1e-6)
        assert loss.item() == 0.5
