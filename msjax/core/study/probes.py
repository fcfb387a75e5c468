"""linear_probe: what can be read from activations by a linear map."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.arrays import on_auto_axes
from msjax.core.base.checks import check_kind, check_number, check_optimizer, check_positive_int
from msjax.core.base.errors import describe
from msjax.core.models.inputs import batches_of


class Probe(NamedTuple):
    """An affine map, called with activations: ``probe(x)`` is ``x @ kernel + bias``, scores of classes if it was trained on such.

    Attributes:
        kernel: (features, targets).
        bias: (targets,).
    """

    kernel: jax.Array
    bias: jax.Array

    def __call__(self, x: Any) -> jax.Array:
        return jnp.asarray(x, self.kernel.dtype) @ self.kernel + self.bias

    def accuracy(self, x: Any, labels: Any) -> jax.Array:
        """The share of rows whose label has the highest score."""
        return _accuracy(self, x, labels)


def linear_probe(
    batches: Iterable[tuple[Any, Any]], *, classes: int | None = None, ridge: float = 1e-6, optimizer: Any = None
) -> Probe:
    """Fit a linear probe, by least squares or, with an optimizer, as logistic regression.

    Args:
        batches: pairs (activations, of shape (rows, features); targets, of shape (rows, targets), or labels from 0, of shape (rows,)).
        classes: how many classes labels have. Default: targets are numbers.
        ridge: of least squares, by how much of the features' mean square their matrix grows, which keeps weights small.
        optimizer (optional): of optax: the cross entropy of labels is lowered by one step for each batch. Default: least squares, exact
            in one pass, by jnp.linalg.solve.

    Returns:
        A `Probe`.

    Raises:
        ValueError: there is no batch, shapes don't fit, or an optimizer is given without `classes`.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> x = jnp.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
        >>> probe = ms.hooks.linear_probe([(x, 2 * x[:, :1] + 1)], ridge=0)
        >>> print(probe.kernel.ravel().round(3) + 0, probe.bias.round(3))
        [2. 0.] [1.]
    """
    if classes is not None:
        check_positive_int(classes, "classes", "linear_probe")
    check_number(ridge, "ridge", "linear_probe", low=0)
    if optimizer is not None:
        check_optimizer(optimizer, "linear_probe")
    if optimizer is not None and classes is None:
        raise ValueError("For 'linear_probe', an optimizer is for labels: give classes=...")
    sums, probe, state = None, None, None

    def loss(probe, x, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(probe(x)), labels[:, None], -1).mean()

    @jax.jit
    def step(probe, state, x, labels):
        assert optimizer is not None
        updates, state = optimizer.update(jax.grad(loss)(probe, x, labels), state, probe)
        return jax.tree.map(jnp.add, probe, updates), state

    for batch in batches_of(batches, "linear_probe"):
        check_kind(
            batch,
            isinstance(batch, (tuple, list)) and len(batch) == 2,
            "be a pair (activations, targets)",
            "a batch",
            "linear_probe",
        )
        x, y = batch
        x, y = jnp.asarray(x, float), jnp.asarray(y)
        if x.ndim != 2 or y.ndim != (2 if classes is None else 1) or len(x) != len(y):
            raise ValueError(
                f"For 'linear_probe', a batch should be (rows, features) and {'(rows, targets)' if classes is None else '(rows,)'}, but got "
                f"{describe(x)} and {describe(y)}."
            )
        if classes is not None:
            labels = np.asarray(y)
            if jnp.issubdtype(y.dtype, jnp.inexact) or labels.min() < 0 or labels.max() >= classes:
                raise ValueError(
                    f"For 'linear_probe', labels should be integers from 0 to {classes - 1}, but got {describe(y)} with {labels.min()} to "
                    f"{labels.max()}."
                )
        if optimizer is not None:
            if probe is None:
                probe = Probe(jnp.zeros((x.shape[1], classes or 0)), jnp.zeros(classes or 0))
                state = optimizer.init(probe)
            probe, state = step(probe, state, x, y)
            continue
        if sums is None:
            size = x.shape[1] + 1
            sums = np.zeros((size, size), x.dtype), np.zeros((size, classes or y.shape[1]), x.dtype)
        sums = _added(*sums, x, y, classes)
    if probe is not None:
        return probe
    if sums is None:
        raise ValueError("For 'linear_probe', there should be at least one batch, but there is none.")
    return _solved(*sums, ridge)


@functools.partial(jax.jit, static_argnames="classes")
def _added(square, product, x, y, classes):
    """The sums of least squares with those of one more batch."""

    def of_batch(given):
        x, y = given
        wide = jnp.concatenate([x, jnp.ones((len(x), 1), x.dtype)], 1)
        return wide.T @ wide, wide.T @ (y if classes is None else jax.nn.one_hot(y, classes))

    more = on_auto_axes(of_batch, (x, y))
    return square + more[0], product + more[1]


@jax.jit
def _accuracy(probe, x, labels):
    return (probe(x).argmax(-1) == labels).mean()


@jax.jit
def _solved(square, product, ridge):
    weight = ridge * jnp.trace(square[:-1, :-1]) / (len(square) - 1)
    found = jnp.linalg.solve(square + weight * jnp.eye(len(square)).at[-1, -1].set(0), product)
    return Probe(found[:-1], found[-1])
