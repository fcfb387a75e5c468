"""Linear algebra and minimization under the names of scipy, as ``mindspore.scipy`` offers them."""

from msjax.scipy import linalg as linalg, optimize as optimize

__all__ = ["linalg", "optimize"]
