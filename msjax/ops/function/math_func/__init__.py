"""Elementwise operators, reductions, special functions."""

from msjax.lazy import gather

__getattr__, __dir__ = gather(
    __name__,
    "bessel complexes cumulative elementary elementwise arithmetic comparison fourier inplace_math logic norms reduction extremes special statistics",
    "msjax.ops",
)
