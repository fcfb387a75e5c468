"""linear_probe: what can be read from activations by a linear map."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.checks import check_kind, check_number, check_optimizer, check_pair, check_positive_int, check_value
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
        x = jnp.asarray(x, self.kernel.dtype)
        features = self.kernel.shape[0]
        check_value(x, x.shape[-1:] == (features,), f"have {features} features", "the activations", "Probe")
        return x @ self.kernel + self.bias

    def accuracy(self, x: Any, labels: Any) -> jax.Array:
        """The share of rows, (rows, features), whose label, (rows,), has the highest score."""
        rows = np.shape(x)[:-1]
        fits = rows == np.shape(labels) and 0 not in rows
        check_value(labels, fits, f"be one for each of the rows, {rows}", "labels", "accuracy")
        return _accuracy(self, x, labels)


def linear_probe(
    batches: Iterable[tuple[Any, Any]], *, classes: int | None = None, ridge: float = 1e-6, optimizer: Any = None
) -> Probe:
    """Fit a linear probe, by least squares or, with an optimizer, as logistic regression.

    Args:
        batches: pairs (activations, of shape (rows, features); targets, of shape (rows, targets), or labels from 0, of shape (rows,)).
        classes: how many classes labels have. Default: targets are numbers.
        ridge: of least squares, by which share each feature's variance grows, which keeps weights small.
        optimizer (optional): of optax: the cross entropy of labels is lowered by one step for each batch. Default: least squares, exact
            in one pass, by np.linalg.lstsq in float64, of features less their means.

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
    sums, probe, state, columns, near = None, None, None, None, 0.0

    def loss(probe, x, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(probe(x)), labels[:, None], -1).mean()

    @jax.jit
    def step(probe, state, x, labels):
        assert optimizer is not None
        updates, state = optimizer.update(jax.grad(loss)(probe, x, labels), state, probe)
        return jax.tree.map(jnp.add, probe, updates), state

    for batch in batches_of(batches, "linear_probe"):
        pair = check_pair(batch, "(activations, targets)", "a batch", "linear_probe")
        x, y = (array if hasattr(array, "shape") else np.asarray(array) for array in pair)
        for array, what in ((x, "the activations"), (y, "the targets")):
            check_kind(array, jnp.issubdtype(array.dtype, jnp.number), "be an array of numbers", what, "linear_probe")
        x, y = jnp.asarray(x, float), jnp.asarray(y)
        wanted = ("features", "targets") if columns is None else columns
        found = (*x.shape[1:], *y.shape[1:])
        fits = x.ndim == 2 and y.ndim == (2 if classes is None else 1) and 0 != len(x) == len(y)
        if not fits or columns not in (None, found):
            raise ValueError(
                f"For 'linear_probe', a batch should be (rows, {wanted[0]}) and (rows{f', {wanted[1]}' if classes is None else ','}), "
                f"but got {describe(x)} and {describe(y)}."
            )
        columns = found
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
        exact = np.asarray(x, np.float64)
        near = exact.mean(0) if sums is None else near
        more = _sums(exact - near, y, classes)
        sums = more if sums is None else (sums[0] + more[0], sums[1] + more[1])
    if probe is not None:
        return probe
    if sums is None:
        raise ValueError("For 'linear_probe', there should be at least one batch, but there is none.")
    return _solved(*sums, ridge, near)


def _sums(x, y, classes):
    """The sums of least squares of one batch, of features less what they are near: far from zero, rounding would take their variance."""
    targets = np.asarray(y, np.float64) if classes is None else np.eye(classes)[np.asarray(y)]
    wide = np.pad(x, ((0, 0), (0, 1)), constant_values=1)
    return wide.T @ wide, wide.T @ targets


@jax.jit
def _accuracy(probe, x, labels):
    return (probe(x).argmax(-1) == labels).mean()


def _solved(square, product, ridge, near):
    mean, total = square[-1, :-1] / square[-1, -1], product[-1]
    varying = square[:-1, :-1] - np.outer(mean, square[-1, :-1])
    variances = np.diag(varying)
    # What float64 leaves of a feature that is constant is no variance: it has no weight.
    scale = np.sqrt(np.where(variances > 1e-12 * np.diag(square)[:-1], variances, np.inf))
    # Features that say the same share a weight.
    even = varying / np.outer(scale, scale) + ridge * np.eye(len(scale))
    kernel = np.linalg.lstsq(even, (product[:-1] - np.outer(mean, total)) / scale[:, None], rcond=1e-12)[0] / scale[:, None]
    return Probe(jnp.asarray(kernel, float), jnp.asarray(total / square[-1, -1] - (mean + near) @ kernel, float))
