"""The integral of all integrated gradients: from 0 to 1, by Gauss-Legendre's rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.checks import check_int


def check_steps(steps: Any, who: str) -> None:
    """TypeError or ValueError unless an integral can have so many points: finding 1,000 takes a second, and a time that grows with their cube."""
    check_int(steps, "steps", who, low=1, high=1000)


def integral(fn: Callable[[jax.Array], Any], steps: int) -> Any:
    """The integral over [0, 1] of a function of a number of jax's default dtype, to a pytree of arrays, by Gauss-Legendre's rule, as accurate as one
    of so many points can be."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    rule = jnp.asarray((points + 1) / 2, float), jnp.asarray(weights / 2, float)
    each = jax.lax.map(lambda at: jax.tree.map(lambda v: (v * at[1]).astype(v.dtype), fn(at[0])), rule)
    return jax.tree.map(lambda v: v.sum(0), each)
