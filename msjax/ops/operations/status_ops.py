"""Operator classes that look at values: of overflow, and for summaries (`msjax.train.summary` writes them)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from msjax.common.tensor import Tensor, wrap
from msjax.common.tensor_values import TENSORS
from msjax.core.base.checks import check_type, check_value
from msjax.core.door import WORKER, Frame
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


# {name: Tensor}: the latest values of summary operators that no SummaryRecord has written.
_SUMMARIES: dict[str, Tensor] = {}


def take_summaries() -> dict[str, Tensor]:
    """What summary operators were given since this was last called: {"loss[:Scalar]": Tensor}, in the order of the names."""
    WORKER.synchronize()  # those of programs that still run
    taken = sorted((name, _SUMMARIES.pop(name)) for name in list(_SUMMARIES))
    return dict(taken)


class _Summary(Form):
    """Of several values of one name, the last counts; in compiled code, too, each run gives its own.

    Raises:
        TypeError: the name is no str, or the value no Tensor.
    """

    def __call__(self, name: str, value: Tensor) -> None:
        check_type(name, str, "name", self.name)
        check_type(value, Tensor, "value", self.name)
        self._check_shape(name, value)
        Frame(TENSORS).observe(_keep, (f"{name}[:{self.name.removesuffix('Summary')}]", value), self.name)

    def _check_shape(self, name, value):
        pass


def _keep(name, value):
    _SUMMARIES[name] = wrap(value._value)  # without the tape


class ScalarSummary(_Summary):
    """Gives a number a name for `SummaryRecord.record` and `SummaryCollector`, which write it into their file.

    Inputs:
        - **name** (str) - the name.
        - **value** (Tensor) - of one element.

    Raises:
        ValueError: the value has another number of elements.

    Example:
        >>> from msjax import Tensor, ops
        >>> ops.ScalarSummary()("loss", Tensor(0.5))
    """

    def _check_shape(self, name, value):
        check_value(value.shape, value.size == 1, "be that of one element", f"the shape of {name!r}", self.name)


class TensorSummary(_Summary):
    """Gives a Tensor a name for `SummaryRecord.record`, which writes the distribution of its elements.

    Inputs:
        - **name** (str) - the name.
        - **value** (Tensor) - of any shape.
    """


class HistogramSummary(_Summary):
    __doc__ = TensorSummary.__doc__


class ImageSummary(_Summary):
    """Gives images a name for `SummaryRecord.record`, which writes the first.

    Inputs:
        - **name** (str) - the name.
        - **value** (Tensor) - (N, C, H, W), with 1, 3 or 4 channels.

    Raises:
        ValueError: the value has another shape.
    """

    def _check_shape(self, name, value):
        fits = value.ndim == 4 and value.shape[1] in (1, 3, 4)
        check_value(value.shape, fits, "be (N, 1, 3 or 4 channels, H, W)", f"the shape of {name!r}", self.name)
