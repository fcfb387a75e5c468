"""Tensor methods of linear algebra and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msjax.common.bases import attached_to
from msjax.common.random import Generator
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.engine.autograd.op import apply
from msjax.ops.dispatch.random_keys import next_key
from msjax.ops.function.linalg_func import decompositions, linear, solvers
from msjax.ops.function.math_func import inplace_math
from msjax.ops.function.random_func import distributions
from msjax.ops.methods.inplace import inplace
from msjax.ops.primitive import method_of


def _addition(function: Callable[..., Any], first: str, second: str) -> Callable[..., Tensor]:
    """The method of a function such as addmm, whose two operands have these names."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        given = dict(zip((first, second, "beta", "alpha"), args))
        if len(args) > 4 or given.keys() & kwargs.keys():
            raise TypeError(f"{function.__name__} takes {first}, {second}, beta and alpha, each once.")
        return function(self, **given, **kwargs)

    method.__doc__ = function.__doc__
    return method


@attached_to(Tensor)
class LinearMethods:
    """Methods of linear algebra and random numbers."""

    # linear algebra
    matmul: Final = method_of(linear.matmul, tensor2="other")
    addmm: Final = _addition(linear.addmm, "mat1", "mat2")
    addmv: Final = _addition(linear.addmv, "mat", "vec")
    addr: Final = _addition(linear.addr, "vec1", "vec2")
    addbmm: Final = _addition(linear.addbmm, "batch1", "batch2")
    baddbmm: Final = _addition(linear.baddbmm, "batch1", "batch2")
    from msjax.ops.function.linalg_func.decompositions import trace_method as trace

    def qr(self: Tensor, some: bool = True) -> Any:
        """The QR decomposition; q is square unless `some`."""
        return decompositions.qr(self, "reduced" if some else "complete")

    ormqr: Final = method_of(decompositions.ormqr, input2="tau", input3="other")

    def triangular_solve(
        self: Tensor, A: TensorLike, upper: bool = True, transpose: bool = False, unitriangular: bool = False
    ) -> Any:
        """The solution X of A X = self for a triangular A, and A itself."""
        return solvers.triangular_solve(A, self, not upper, False, transpose, unitriangular), A

    addmm_: Final = inplace(_addition(linear.addmm, "mat1", "mat2"))
    from msjax.ops.function.linalg_func.decompositions import (
        adjoint,
        cholesky,
        det,
        eigvals,
        geqrf,
        log_matrix_determinant,
        logdet,
        matrix_determinant,
        matrix_power,
        orgqr,
        slogdet,
        svd,
    )
    from msjax.ops.function.linalg_func.linear import bmm, cross, dot, ger, inner, mm, outer
    from msjax.ops.function.linalg_func.solvers import cholesky_inverse, cholesky_solve, inverse, lstsq, lu_solve

    # random
    def uniform(self: Tensor, from_: float = 0.0, to: float = 1.0, generator: Generator | None = None) -> Tensor:
        """Random numbers, uniform in [from_, to), in this Tensor's shape and dtype."""
        return inplace_math.uniform_.__wrapped__(self, from_, to, generator=generator)

    def cauchy(self: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
        """Random numbers of a Cauchy distribution, in this Tensor's shape and dtype."""
        return apply(distributions.CAUCHY, (next_key(), float(median), float(sigma)), (self.shape,)).astype(self.dtype)

    def log_normal(self: Tensor, mean: float = 1.0, std: float = 2.0) -> Tensor:
        """Random numbers whose logarithms are normal, in this Tensor's shape and dtype."""
        return apply(distributions.LOG_NORMAL, (self, next_key(), float(mean), float(std)))

    from msjax.ops.function.random_func.choices import bernoulli_ext as bernoulli, multinomial, random_categorical
