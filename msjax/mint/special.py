"""mint's special functions."""

from msjax import ops
from msjax.lazy import module_placeholders

__all__ = ["erfc", "exp2", "expm1", "log1p", "log_softmax", "round", "sinc"]

erfc = ops.erfc
exp2 = ops.exp2
expm1 = ops.expm1
log1p = ops.log1p
round = ops.round
sinc = ops.sinc


def log_softmax(input, dim=None, *, dtype=None):
    """log(softmax(input)) along an axis; the last by default."""
    return ops.log_softmax(input if dtype is None else ops.cast(input, dtype), -1 if dim is None else dim)


__getattr__ = module_placeholders(__name__)
