"""Minimization and assignment of ``scipy.optimize``, for functions of Tensors. scipy itself does the work, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_kind, check_rank, check_type
from msjax.core.base.errors import describe

__all__ = ["line_search", "linear_sum_assignment", "minimize"]

_METHODS = {"bfgs": "BFGS", "lbfgs": "L-BFGS-B"}
_FARTHEST = np.iinfo(np.int64).max


class OptimizeResults(NamedTuple):
    """What `minimize` found.

    Attributes:
        x (Tensor): the minimum.
        success (bool): whether it was found.
        status (int): 0, or the number of the reason.
        fun (float): the function there.
        jac (Tensor): its gradient there.
        hess_inv (Tensor or None): an estimate of the inverse of its second derivatives; of "BFGS" only.
        nfev, njev, nit (int): the numbers of values, of gradients and of steps.
    """

    x: Tensor
    success: bool
    status: int
    fun: float
    jac: Tensor
    hess_inv: Tensor | None
    nfev: int
    njev: int
    nit: int


def minimize(
    func: Callable[..., Tensor], x0: Tensor, args: tuple[Any, ...] = (), method: str | None = None, jac: Callable[..., Tensor] | None = None,
    hess: Any = None, hessp: Any = None, bounds: Any = None, constraints: Any = (), tol: float | None = None, callback: Any = None,
    options: dict[str, Any] | None = None,
) -> OptimizeResults:  # fmt: skip
    """The minimum of a function of a vector.

    Args:
        func (callable): from a Tensor of shape (n,) and `args` to a number.
        x0 (Tensor): where to begin.
        args (tuple): further arguments of `func` and `jac`.
        method (str): "BFGS" or "LBFGS".
        jac (callable, optional): the gradient; without it, `func` is differentiated.
        tol (float, optional): without effect; `options` has `gtol`, the largest gradient at the end.
        options (dict, optional): `maxiter`, `gtol`, `norm` and others of the method; `history_size` for "LBFGS".
        hess, hessp, bounds, constraints, callback: as they are by default only.

    Raises:
        ValueError: an unknown method, or none.
        TypeError: `args` is no tuple, or `x0` no Tensor.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy.optimize import minimize
        >>> found = minimize(lambda x: ((x - 3) ** 2).sum(), ms.Tensor([0.0, 1.0]), method="BFGS")
        >>> print(found.x)
        [3. 3.]
    """
    if method is None:
        raise ValueError("You must specify a solver.")
    if method.lower() not in _METHODS:
        raise ValueError(f"Method {method} not recognized; there are BFGS and LBFGS.")
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to mindspore.scipy.optimize.minimize must be a tuple, got {args}")
    check_type(x0, Tensor, "x0", "minimize")
    for name, value in dict(hess=hess, hessp=hessp, bounds=bounds, constraints=constraints, callback=callback).items():
        if value not in (None, ()):
            raise ValueError(f"For 'minimize', '{name}' is not offered, but got {describe(value)}.")
    settings = {name: value for name, value in (options or {}).items() if value is not None}
    if method.lower() == "lbfgs" and "history_size" in settings:
        settings["maxcor"] = settings.pop("history_size")
    x0 = _floats(x0)
    value_and_gradient = _with_gradient(func, x0, args, jac)
    found = optimize.minimize(
        value_and_gradient, x0.asnumpy().astype(np.float64), jac=True, method=_METHODS[method.lower()], options=settings
    )
    inverse = Tensor(found.hess_inv, x0.dtype) if method.lower() == "bfgs" else None
    return OptimizeResults(
        Tensor(found.x, x0.dtype), bool(found.success), int(found.status), float(found.fun), Tensor(found.jac, x0.dtype),
        inverse, int(found.nfev), int(found.njev), int(found.nit),
    )  # fmt: skip


class LineSearchResults(NamedTuple):
    """What `line_search` found.

    Attributes:
        failed (bool): no step fulfils both conditions.
        nit, nfev, ngev, k (int): the numbers of steps, of values, of gradients, and of steps again.
        a_k (float): the length of the step.
        f_k (float), g_k (Tensor): the function and its gradient there.
        status (int): 0, or 1 for none found.
    """

    failed: bool
    nit: int
    nfev: int
    ngev: int
    k: int
    a_k: float
    f_k: float
    g_k: Tensor
    status: int


def line_search(
    f: Callable[..., Tensor], xk: Tensor, pk: Tensor, jac: Callable[..., Tensor] | None = None, gfk: Tensor | None = None,
    old_fval: Any = None, old_old_fval: Any = None, c1: float = 1e-4, c2: float = 0.9, maxiter: int = 20,
) -> LineSearchResults:  # fmt: skip
    """The length of a step along a direction that fulfils the strong Wolfe conditions.

    Args:
        f (callable): from a Tensor of shape (n,) to a number.
        xk, pk (Tensor): the place and the direction.
        jac (callable, optional): the gradient of `f`.
        gfk, old_fval, old_old_fval (optional): the gradient and the value at `xk`, and the value before.
        c1, c2 (float): the shares of the conditions on the value and on the slope.
        maxiter (int): the largest number of steps.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy.optimize import line_search
        >>> found = line_search(lambda x: (x**2).sum(), ms.Tensor([1.0]), ms.Tensor([-1.0]))
        >>> print(found.a_k, found.f_k)
        1.0 0.0
    """
    for name, value in (("xk", xk), ("pk", pk)):
        check_type(value, Tensor, name, "line_search")
    xk = _floats(xk + ops.zeros_like(pk))
    both = _with_gradient(f, xk, (), jac)
    place, direction = (t.asnumpy().astype(np.float64) for t in (xk, pk))
    first = None if gfk is None else gfk.asnumpy().astype(np.float64)
    value, before = (None if v is None else float(v) for v in (old_fval, old_old_fval))
    step, values, gradients, *_ = optimize.line_search(
        lambda x: both(x)[0], lambda x: both(x)[1], place, direction, first, value, before, (), c1, c2, None, None, maxiter
    )
    failed = step is None
    step = 0.0 if failed else float(step)
    end, slope = both(place + step * direction)
    return LineSearchResults(failed, gradients, values, gradients, gradients, step, end, Tensor(slope, xk.dtype), int(failed))


def linear_sum_assignment(cost_matrix: Tensor, maximize: bool, dimension_limit: Any = _FARTHEST) -> tuple[Tensor, Tensor]:
    """The rows and columns that are assigned to each other at the least cost.

    Args:
        cost_matrix (Tensor): of shape (n, m).
        maximize (bool): at the greatest cost instead.
        dimension_limit (int or Tensor): only so many columns are used; for the others, -1 is returned. Default: all.

    Returns:
        Two int64 Tensors: rows and columns.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy.optimize import linear_sum_assignment
        >>> print(linear_sum_assignment(ms.Tensor([[4.0, 1.0], [2.0, 8.0]]), False)[1])
        [1 0]
    """
    who = "linear_sum_assignment"
    check_type(cost_matrix, Tensor, "cost_matrix", who)
    check_rank(cost_matrix, 2, "cost_matrix", who)
    check_kind(cost_matrix.dtype, not cost_matrix.is_complex(), "be of real numbers", "the dtype of 'cost_matrix'", who)
    check_kind(maximize, isinstance(maximize, (bool, np.bool_)), "be a bool", "maximize", who)
    costs = cost_matrix.asnumpy()
    rows, columns = optimize.linear_sum_assignment(costs[:, : min(int(dimension_limit), costs.shape[1])], bool(maximize))
    missing = min(costs.shape) - len(rows)
    return tuple(Tensor(np.pad(found, (0, missing), constant_values=-1), mstype.int64) for found in (rows, columns))  # pyright: ignore[reportReturnType]


def _floats(x):
    """The place, in floats: integers would cut off what scipy adds."""
    return x if x.is_floating_point() else x.astype(mstype.float32)


def _with_gradient(func, like, args, jac):
    """A function of a float64 array: the value and the gradient, as scipy takes them."""
    if jac is None:
        both = ops.value_and_grad(func, 0)
    else:
        both = lambda x, *more: (func(x, *more), jac(x, *more))  # noqa: E731

    def run(x):
        value, gradient = both(Tensor(x, like.dtype), *args)
        return float(value), gradient.asnumpy().astype(np.float64)

    return run
