"""Linear algebra, cosine transforms and minimization under the names of scipy, as ``mindspore.scipy`` offers them."""

from msjax.scipy import fft as fft, linalg as linalg, optimize as optimize

__all__ = ["fft", "linalg", "optimize"]
