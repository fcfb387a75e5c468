"""Operator classes that look at values: of overflow, and for summaries."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_type
from msjax.engine.autograd.op import Op, apply
from msjax.ops.primitive import Form

__all__ = ["FloatStatus", "HistogramSummary", "ImageSummary", "ScalarSummary", "TensorSummary"]

_STATUS = Op("FloatStatus", lambda x: (~jnp.isfinite(x).all()).astype(jnp.float32)[None])


class FloatStatus(Form):
    """Whether a Tensor has an element that is infinite or NaN.

    Inputs:
        - **x** (Tensor) - of floats, of any shape.

    Outputs:
        Tensor of Float32 of shape (1,): 1 if there is one, else 0.

    Example:
        >>> import numpy as np
        >>> from msjax import Tensor, ops
        >>> print(ops.FloatStatus()(Tensor(np.array([1.0, np.inf], np.float32))))
        [1.]
    """

    def __call__(self, x: Tensor) -> Any:
        return apply(_STATUS, (x,))


class _Summary(Form):
    def __call__(self, name: str, value: Tensor) -> None:
        check_type(name, str, "name", self.name)
        check_type(value, Tensor, "value", self.name)


class ScalarSummary(_Summary):
    """Gives a number a name for MindSpore's SummaryRecord. msjax has none, so nothing is recorded; a hook, or `ms.tools`, can.

    Inputs:
        - **name** (str) - the name.
        - **value** (Tensor) - the number.

    Example:
        >>> from msjax import Tensor, ops
        >>> ops.ScalarSummary()("loss", Tensor(0.5))
    """


class TensorSummary(_Summary):
    """Gives a Tensor a name for MindSpore's SummaryRecord; see `ScalarSummary`.

    Inputs:
        - **name** (str) - the name.
        - **value** (Tensor) - of any shape.
    """


class HistogramSummary(_Summary):
    """Gives a Tensor a name for a histogram in MindSpore's SummaryRecord; see `ScalarSummary`.

    Inputs:
        - **name** (str) - the name.
        - **value** (Tensor) - of any shape.
    """


class ImageSummary(_Summary):
    """Gives images a name for MindSpore's SummaryRecord; see `ScalarSummary`.

    Inputs:
        - **name** (str) - the name.
        - **value** (Tensor) - (N, C, H, W).
    """
