"""Sparse tensors: COOTensor and CSRTensor. Their values are Tensors, through which gradients flow."""

from __future__ import annotations

import functools
import json
from typing import Any, Self

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from msjax.common.bases import SparseBase
from msjax.common.dtype import Type, int32
from msjax.common.tensor import Tensor, wrap
from msjax.core.base.checks import check_kind, check_type, check_value
from msjax.core.base.errors import describe
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import added
from msjax.ops.function.array_func import concat

__all__ = ["COOTensor", "CSRTensor", "RowTensor", "SparseTensor"]


@operator(2, name="COOTensorToDense")
def _dense(indices, values, shape):
    return added(jnp.zeros(shape, values.dtype), tuple(indices.T), values)


@operator(3, name="CSRMatMul")
def _product(indices, values, dense, rows):
    taken = dense[indices[:, 1]]
    products = values.reshape(-1, *[1] * (dense.ndim - 1)) * taken
    return added(jnp.zeros((rows, *dense.shape[1:]), taken.dtype), indices[:, 0], products)


@operator(2, name="CSRReduceSum")
def _sum(indices, values, shape, axis):
    kept = shape[1 - axis]
    total = added(jnp.zeros(kept, values.dtype), indices[:, 1 - axis], values)
    return jnp.expand_dims(total, axis)


def _check_tensor(tensor: Tensor | None, name: str, who: str) -> Tensor:
    found: Tensor = check_type(tensor, Tensor, name, who)
    if name != "values" and found.dtype.kind != "i":
        raise TypeError(f"For '{who}', '{name}' should be of an integer type, but it is {found.dtype}.")
    return found


def _check_shape(shape, who):
    fits = isinstance(shape, tuple) and all(isinstance(n, int) and n > 0 for n in shape)
    check_kind(shape, fits, "be a tuple of positive int", "shape", who)
    return shape


def _text(tensor):
    """The text of a part: that of a Tensor without commas between its elements, as MindSpore prints it."""
    head, name, elements = repr(tensor).partition("value=")
    return head + name + elements.removeprefix(" ").replace(",", "")


def _made(cls, shape, parts):
    """One of the parts that another had, or of whatever jax puts in their place."""
    made = cls.__new__(cls)
    for name, part in zip((*cls._parts, "shape"), (*parts, shape)):
        setattr(made, name, part)
    return made


class _Sparse(SparseBase):
    """What all forms have in common; `_parts` names their Tensors."""

    _parts: tuple[str, ...] = ()
    indices: Tensor
    values: Tensor
    shape: tuple[int, ...]

    @property
    def dtype(self) -> Type:
        """The type of the values."""
        return self.values.dtype

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.values.size

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of one value."""
        return self.values.itemsize

    def to_tuple(self) -> tuple[Any, ...]:
        """The Tensors and the shape, as the constructor takes them."""
        return (*[getattr(self, name) for name in self._parts], self.shape)

    def with_values(self, values: Tensor) -> Self:
        """The same with other values, at the places where these are."""
        parts = [values if name == "values" else getattr(self, name) for name in self._parts]
        return _made(type(self), self.shape, parts)

    def astype(self, dtype: Type) -> Self:
        """The same with values of another type."""
        return self.with_values(self.values.astype(dtype))

    def abs(self) -> Self:
        """The same with the absolute values."""
        return self.with_values(self.values.abs())

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_text(getattr(self, name))}" for name in self._parts)
        return f"{type(self).__name__}(shape={list(self.shape)}, dtype={self.dtype}, {shown})"

    def __neg__(self) -> Self:
        return self.with_values(-self.values)

    def __mul__(self, other: Any) -> Self:
        """The product with a number, or with a dense Tensor that is broadcast to this shape."""
        return self.with_values(self.values * self._at_values(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Self:
        return self.with_values(self.values / self._at_values(other))

    def __add__(self, other: Any) -> Any:
        """The sum with another of this form and shape, or with a dense Tensor of this shape, which makes a dense Tensor."""
        return self._sum(other, 1) if isinstance(other, _Sparse) else self._dense_like(other, "+") + other

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1) if isinstance(other, _Sparse) else self._dense_like(other, "-") - other

    def __radd__(self, other: Any) -> Tensor:
        return other + self._dense_like(other, "+")

    def __rsub__(self, other: Any) -> Tensor:
        return other - self._dense_like(other, "-")

    def _dense_like(self, other, sign):
        if not isinstance(other, Tensor) or other.shape != self.shape:
            raise ValueError(
                f"For '{sign}', a {type(self).__name__} of shape {self.shape} needs a Tensor of that shape, but got {describe(other)}."
            )
        return self.to_dense()

    def _hold(self, who, shape, *parts):
        """Check and keep what the constructor `who` was given."""
        for name, part in zip(self._parts, parts):
            setattr(self, name, _check_tensor(part, name, who))
        self.shape = _check_shape(shape, who)

    def to_dense(self) -> Tensor:
        """The dense Tensor."""
        return _dense(wrap(self._coordinates()), self.values, self.shape)

    def _sum(self, other, factor) -> Self:
        raise NotImplementedError

    def __init_subclass__(cls) -> None:
        # Where it is returned, differentiated or exported, it is its Tensors.
        jax.tree_util.register_pytree_node(cls, lambda value: (value.to_tuple()[:-1], value.shape), functools.partial(_made, cls))
        jax.export.register_pytree_node_serialization(
            cls,
            serialized_name=f"mindspore.{cls.__name__}",
            serialize_auxdata=lambda shape: json.dumps(shape).encode(),
            deserialize_auxdata=lambda data: tuple(json.loads(data)),
        )

    def _at_values(self, other):
        """A number as it is; of a dense Tensor that is broadcast to this shape, the elements at the places of the values."""
        if isinstance(other, Tensor) and other.ndim:
            return wrap(jnp.broadcast_to(other._value, self.shape)[tuple(self._coordinates().T)])
        return other

    def _coordinates(self) -> Any:
        raise NotImplementedError


class COOTensor(_Sparse):
    """A sparse tensor, by the place of each of its values.

    Args:
        indices (Tensor): integers (n, number of axes).
        values (Tensor): (n,); those at the same place add up.
        shape (tuple): the shape of the dense tensor.

    Raises:
        TypeError: `indices` or `values` is no Tensor of a fitting type, or `shape` no tuple of positive int.
        ValueError: the numbers of indices, of values and of axes don't fit.

    Example:
        >>> import msjax as ms
        >>> coo = ms.COOTensor(ms.Tensor([[0, 1], [1, 2]]), ms.Tensor([1.0, 2.0]), (2, 3))
        >>> print(coo.to_dense())
        [[0. 1. 0.]
         [0. 0. 2.]]
    """

    _parts = ("indices", "values")

    def __init__(
        self,
        indices: Tensor | None = None,
        values: Tensor | None = None,
        shape: tuple[int, ...] | None = None,
        coo_tensor: COOTensor | None = None,
    ):
        if coo_tensor is not None:
            indices, values, shape = coo_tensor.to_tuple()
        self._hold("COOTensor", shape, indices, values)
        fitting = (self.values.shape[0], len(self.shape))
        if self.indices.ndim != 2 or self.indices.shape != fitting:
            raise ValueError(f"For 'COOTensor', 'indices' should have shape {fitting}, but its shape is {self.indices.shape}.")

    def _coordinates(self):
        return self.indices._value

    def coalesce(self) -> COOTensor:
        """The same with one value for each place, in order."""
        places = np.ravel_multi_index(tuple(self.indices.asnumpy().T), self.shape)
        found, into = np.unique(places, return_inverse=True)
        indices = np.stack(np.unravel_index(found, self.shape), 1).astype(self.indices.asnumpy().dtype)
        values = _dense(Tensor(into.reshape(-1, 1), int32), self.values, (len(found),))
        return COOTensor(Tensor(indices), values, self.shape)

    def to_csr(self) -> CSRTensor:
        """The matrix as a CSRTensor.

        Raises:
            ValueError: it has not two axes.
        """
        check_value(self, len(self.shape) == 2, "have two axes", "the tensor", "to_csr")
        indices = self.indices.asnumpy()
        order = np.lexsort((indices[:, 1], indices[:, 0]))
        counts = np.bincount(indices[:, 0], minlength=self.shape[0])
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(indices.dtype)
        return CSRTensor(Tensor(indptr), Tensor(indices[order, 1]), self.values[Tensor(order, int32)], self.shape)

    def add(self, other: COOTensor, thresh: Any = 0) -> COOTensor:
        """The sum with another COOTensor of this shape; values below `thresh` are left out."""
        joined = COOTensor(concat([self.indices, other.indices]), concat([self.values, other.values]), self.shape).coalesce()
        kept = np.flatnonzero(np.abs(joined.values.asnumpy()) >= np.asarray(thresh))
        if len(kept) == joined.size:
            return joined
        at = Tensor(kept, int32)
        return COOTensor(joined.indices[at], joined.values[at], self.shape)

    def _sum(self, other, factor):
        return self.add(other * factor)


SparseTensor = COOTensor


class CSRTensor(_Sparse):
    """A sparse matrix, row by row.

    Args:
        indptr (Tensor): integers (rows + 1,): where the values of each row begin, and where the last row ends.
        indices (Tensor): integers (n,): the column of each value.
        values (Tensor): (n,).
        shape (tuple): (rows, columns).

    Raises:
        TypeError: an argument is no Tensor of a fitting type, or `shape` no tuple of positive int.
        ValueError: the numbers don't fit.

    Example:
        >>> import msjax as ms
        >>> csr = ms.CSRTensor(ms.Tensor([0, 1, 2]), ms.Tensor([1, 2]), ms.Tensor([1.0, 2.0]), (2, 3))
        >>> print(csr.mv(ms.Tensor([[1.0], [10.0], [100.0]])))
        [[ 10.]
         [200.]]
    """

    _parts = ("indptr", "indices", "values")
    indptr: Tensor

    def __init__(
        self,
        indptr: Tensor | None = None,
        indices: Tensor | None = None,
        values: Tensor | None = None,
        shape: tuple[int, ...] | None = None,
        csr_tensor: CSRTensor | None = None,
    ):
        if csr_tensor is not None:
            indptr, indices, values, shape = csr_tensor.to_tuple()
        self._hold("CSRTensor", shape, indptr, indices, values)
        shapes = [tensor.shape for tensor in (self.indptr, self.indices, self.values)]
        if len(self.shape) != 2 or shapes[0] != (self.shape[0] + 1,) or shapes[1] != shapes[2][:1]:
            raise ValueError(
                f"For 'CSRTensor', shape {shape} needs 'indptr' of shape (rows + 1,) and as many indices as values, but got "
                f"{shapes[0]}, {shapes[1]} and {shapes[2]}."
            )

    def _coordinates(self):
        columns, ends = self.indices._value, self.indptr._value[1:]
        rows = jnp.searchsorted(ends, jnp.arange(columns.shape[0]), side="right").astype(columns.dtype)
        return jnp.stack([rows, columns], 1)

    def to_coo(self) -> COOTensor:
        """The same as a COOTensor."""
        return COOTensor(wrap(self._coordinates()), self.values, self.shape)

    def mv(self, dense_vector: Tensor) -> Tensor:
        """The product with a vector, of shape (columns,) or (columns, 1)."""
        return self.mm(dense_vector)

    def mm(self, matrix: Tensor | CSRTensor) -> Any:
        """The product with a dense matrix, a Tensor; or with a CSRTensor, a CSRTensor.

        Raises:
            ValueError: the shapes don't fit.
        """
        if matrix.shape[0] != self.shape[1]:
            raise ValueError(f"For 'mm', a matrix of shape {self.shape} can't be multiplied with one of shape {matrix.shape}.")
        if isinstance(matrix, CSRTensor):
            product = self.mm(matrix.to_dense())
            at = np.stack(np.nonzero(product.asnumpy()), 1).astype(np.int32)
            return COOTensor(Tensor(at), product[tuple(Tensor(i) for i in at.T)], product.shape).to_csr()
        return _product(wrap(self._coordinates()), self.values, matrix, self.shape[0])

    def sum(self, axis: int) -> Tensor:
        """The sum over the rows (0) or the columns (1), with that axis of size 1."""
        check_value(axis, axis in (-2, -1, 0, 1), "be 0 or 1", "axis", "sum")
        return _sum(wrap(self._coordinates()), self.values, self.shape, axis % 2)

    def add(self, b: CSRTensor, alpha: Any, beta: Any) -> CSRTensor:
        """alpha * self + beta * b."""
        return (self * alpha).to_coo().add((b * beta).to_coo()).to_csr()

    def _sum(self, other, factor):
        return self.add(other, 1, factor)


class RowTensor(_Sparse):
    """Some rows of a tensor, as the gradient of an embedding has them; the others are zero.

    Args:
        indices (Tensor): integers (n,): which rows.
        values (Tensor): (n, *the other axes).
        shape (tuple): the shape of the dense tensor.

    Example:
        >>> import msjax as ms
        >>> print(ms.RowTensor(ms.Tensor([1]), ms.Tensor([[1.0, 2.0]]), (3, 2)).to_dense())
        [[0. 0.]
         [1. 2.]
         [0. 0.]]
    """

    _parts = ("indices", "values")

    def __init__(
        self,
        indices: Tensor | None = None,
        values: Tensor | None = None,
        shape: tuple[int, ...] | None = None,
        row_tensor: RowTensor | None = None,
    ):
        if row_tensor is not None:
            indices, values, shape = row_tensor.to_tuple()
        self._hold("RowTensor", shape, indices, values)
        if self.indices.ndim != 1 or self.values.shape != (*self.indices.shape, *self.shape[1:]):
            raise ValueError(
                f"For 'RowTensor', {self.indices.size} rows of shape {self.shape[1:]} are needed, but 'values' has shape {self.values.shape}."
            )

    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The shape of the dense tensor."""
        return self.shape

    def _coordinates(self):
        return self.indices._value[:, None]

    def _sum(self, other, factor):
        return RowTensor(concat([self.indices, other.indices]), concat([self.values, (other * factor).values]), self.shape)


RowTensorInner = RowTensor
