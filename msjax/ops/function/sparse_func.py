"""Functions of sparse tensors: those of one operand take the values through an operator, and leave the places as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from msjax.common.dtype import int32
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_type, check_value
from msjax.ops.dispatch.docs import titled
from msjax.ops.function import math_func
from msjax.ops.function.array_func import arange, broadcast_to, concat, searchsorted, unsorted_segment_max, unsorted_segment_sum
from msjax.ops.sparse_tensor import COOTensor, CSRTensor, RowTensor

_S = TypeVar("_S", COOTensor, CSRTensor)


def _of_values(name: str, form: type[_S]) -> Callable[[_S], _S]:
    operator = name.partition("_")[2]

    def function(x):
        return check_type(x, form, "x", name).with_values(getattr(math_func, operator)(x.values))

    return titled(function, name, f"The {form.__name__} with ``ops.{operator}`` of its values, at the places where they are.")


def _part(name: str, form: type, attribute: str) -> Callable[[Any], Any]:
    def function(x):
        return getattr(check_type(x, form, "x", name), attribute)

    return titled(function, name, f"The `{attribute}` of a {form.__name__}.")


coo_abs: Callable[[COOTensor], COOTensor] = _of_values("coo_abs", COOTensor)
coo_acos: Callable[[COOTensor], COOTensor] = _of_values("coo_acos", COOTensor)
coo_acosh: Callable[[COOTensor], COOTensor] = _of_values("coo_acosh", COOTensor)
coo_asin: Callable[[COOTensor], COOTensor] = _of_values("coo_asin", COOTensor)
coo_asinh: Callable[[COOTensor], COOTensor] = _of_values("coo_asinh", COOTensor)
coo_atan: Callable[[COOTensor], COOTensor] = _of_values("coo_atan", COOTensor)
coo_atanh: Callable[[COOTensor], COOTensor] = _of_values("coo_atanh", COOTensor)
coo_ceil: Callable[[COOTensor], COOTensor] = _of_values("coo_ceil", COOTensor)
coo_cos: Callable[[COOTensor], COOTensor] = _of_values("coo_cos", COOTensor)
coo_cosh: Callable[[COOTensor], COOTensor] = _of_values("coo_cosh", COOTensor)
coo_exp: Callable[[COOTensor], COOTensor] = _of_values("coo_exp", COOTensor)
coo_expm1: Callable[[COOTensor], COOTensor] = _of_values("coo_expm1", COOTensor)
coo_floor: Callable[[COOTensor], COOTensor] = _of_values("coo_floor", COOTensor)
coo_inv: Callable[[COOTensor], COOTensor] = _of_values("coo_inv", COOTensor)
coo_isfinite: Callable[[COOTensor], COOTensor] = _of_values("coo_isfinite", COOTensor)
coo_isinf: Callable[[COOTensor], COOTensor] = _of_values("coo_isinf", COOTensor)
coo_isnan: Callable[[COOTensor], COOTensor] = _of_values("coo_isnan", COOTensor)
coo_log: Callable[[COOTensor], COOTensor] = _of_values("coo_log", COOTensor)
coo_log1p: Callable[[COOTensor], COOTensor] = _of_values("coo_log1p", COOTensor)
coo_neg: Callable[[COOTensor], COOTensor] = _of_values("coo_neg", COOTensor)
coo_relu: Callable[[COOTensor], COOTensor] = _of_values("coo_relu", COOTensor)
coo_relu6: Callable[[COOTensor], COOTensor] = _of_values("coo_relu6", COOTensor)
coo_round: Callable[[COOTensor], COOTensor] = _of_values("coo_round", COOTensor)
coo_sigmoid: Callable[[COOTensor], COOTensor] = _of_values("coo_sigmoid", COOTensor)
coo_sin: Callable[[COOTensor], COOTensor] = _of_values("coo_sin", COOTensor)
coo_sinh: Callable[[COOTensor], COOTensor] = _of_values("coo_sinh", COOTensor)
coo_softsign: Callable[[COOTensor], COOTensor] = _of_values("coo_softsign", COOTensor)
coo_sqrt: Callable[[COOTensor], COOTensor] = _of_values("coo_sqrt", COOTensor)
coo_square: Callable[[COOTensor], COOTensor] = _of_values("coo_square", COOTensor)
coo_tan: Callable[[COOTensor], COOTensor] = _of_values("coo_tan", COOTensor)
coo_tanh: Callable[[COOTensor], COOTensor] = _of_values("coo_tanh", COOTensor)
csr_abs: Callable[[CSRTensor], CSRTensor] = _of_values("csr_abs", CSRTensor)
csr_acos: Callable[[CSRTensor], CSRTensor] = _of_values("csr_acos", CSRTensor)
csr_acosh: Callable[[CSRTensor], CSRTensor] = _of_values("csr_acosh", CSRTensor)
csr_asin: Callable[[CSRTensor], CSRTensor] = _of_values("csr_asin", CSRTensor)
csr_asinh: Callable[[CSRTensor], CSRTensor] = _of_values("csr_asinh", CSRTensor)
csr_atan: Callable[[CSRTensor], CSRTensor] = _of_values("csr_atan", CSRTensor)
csr_atanh: Callable[[CSRTensor], CSRTensor] = _of_values("csr_atanh", CSRTensor)
csr_ceil: Callable[[CSRTensor], CSRTensor] = _of_values("csr_ceil", CSRTensor)
csr_cos: Callable[[CSRTensor], CSRTensor] = _of_values("csr_cos", CSRTensor)
csr_cosh: Callable[[CSRTensor], CSRTensor] = _of_values("csr_cosh", CSRTensor)
csr_exp: Callable[[CSRTensor], CSRTensor] = _of_values("csr_exp", CSRTensor)
csr_expm1: Callable[[CSRTensor], CSRTensor] = _of_values("csr_expm1", CSRTensor)
csr_floor: Callable[[CSRTensor], CSRTensor] = _of_values("csr_floor", CSRTensor)
csr_inv: Callable[[CSRTensor], CSRTensor] = _of_values("csr_inv", CSRTensor)
csr_isfinite: Callable[[CSRTensor], CSRTensor] = _of_values("csr_isfinite", CSRTensor)
csr_isinf: Callable[[CSRTensor], CSRTensor] = _of_values("csr_isinf", CSRTensor)
csr_isnan: Callable[[CSRTensor], CSRTensor] = _of_values("csr_isnan", CSRTensor)
csr_log: Callable[[CSRTensor], CSRTensor] = _of_values("csr_log", CSRTensor)
csr_log1p: Callable[[CSRTensor], CSRTensor] = _of_values("csr_log1p", CSRTensor)
csr_neg: Callable[[CSRTensor], CSRTensor] = _of_values("csr_neg", CSRTensor)
csr_relu: Callable[[CSRTensor], CSRTensor] = _of_values("csr_relu", CSRTensor)
csr_relu6: Callable[[CSRTensor], CSRTensor] = _of_values("csr_relu6", CSRTensor)
csr_round: Callable[[CSRTensor], CSRTensor] = _of_values("csr_round", CSRTensor)
csr_sigmoid: Callable[[CSRTensor], CSRTensor] = _of_values("csr_sigmoid", CSRTensor)
csr_sin: Callable[[CSRTensor], CSRTensor] = _of_values("csr_sin", CSRTensor)
csr_sinh: Callable[[CSRTensor], CSRTensor] = _of_values("csr_sinh", CSRTensor)
csr_softsign: Callable[[CSRTensor], CSRTensor] = _of_values("csr_softsign", CSRTensor)
csr_sqrt: Callable[[CSRTensor], CSRTensor] = _of_values("csr_sqrt", CSRTensor)
csr_square: Callable[[CSRTensor], CSRTensor] = _of_values("csr_square", CSRTensor)
csr_tan: Callable[[CSRTensor], CSRTensor] = _of_values("csr_tan", CSRTensor)
csr_tanh: Callable[[CSRTensor], CSRTensor] = _of_values("csr_tanh", CSRTensor)
coo_tensor_get_indices: Callable[[COOTensor], Tensor] = _part("coo_tensor_get_indices", COOTensor, "indices")
coo_tensor_get_values: Callable[[COOTensor], Tensor] = _part("coo_tensor_get_values", COOTensor, "values")
coo_tensor_get_dense_shape: Callable[[COOTensor], tuple[int, ...]] = _part("coo_tensor_get_dense_shape", COOTensor, "shape")
csr_tensor_get_indptr: Callable[[CSRTensor], Tensor] = _part("csr_tensor_get_indptr", CSRTensor, "indptr")
csr_tensor_get_indices: Callable[[CSRTensor], Tensor] = _part("csr_tensor_get_indices", CSRTensor, "indices")
csr_tensor_get_values: Callable[[CSRTensor], Tensor] = _part("csr_tensor_get_values", CSRTensor, "values")
csr_tensor_get_dense_shape: Callable[[CSRTensor], tuple[int, ...]] = _part("csr_tensor_get_dense_shape", CSRTensor, "shape")
row_tensor_get_indices: Callable[[RowTensor], Tensor] = _part("row_tensor_get_indices", RowTensor, "indices")
row_tensor_get_values: Callable[[RowTensor], Tensor] = _part("row_tensor_get_values", RowTensor, "values")
row_tensor_get_dense_shape: Callable[[RowTensor], tuple[int, ...]] = _part("row_tensor_get_dense_shape", RowTensor, "shape")


def dense_to_sparse_coo(tensor: Tensor) -> COOTensor:
    """The COOTensor of what is not zero in a Tensor, through which gradients flow.

    Args:
        tensor (Tensor): with two axes at least.

    Example:
        >>> ops.dense_to_sparse_coo(Tensor([[0, 5], [7, 0]])).indices.asnumpy().tolist()
        [[0, 1], [1, 0]]
    """
    check_value(tensor.ndim, tensor.ndim > 1, "have two axes at least", "the tensor", "to_coo")
    at = np.stack(np.nonzero(tensor.asnumpy()), 1)
    return COOTensor(Tensor(at, int32), tensor[tuple(Tensor(places, int32) for places in at.T)], tensor.shape)


def dense_to_sparse_csr(tensor: Tensor) -> CSRTensor:
    """The CSRTensor of what is not zero in a matrix, through which gradients flow."""
    check_value(tensor.ndim, tensor.ndim == 2, "have two axes", "the tensor", "to_csr")
    return dense_to_sparse_coo(tensor).to_csr()


def csr_to_coo(tensor: CSRTensor) -> COOTensor:
    """The same matrix as a COOTensor."""
    return check_type(tensor, CSRTensor, "tensor", "csr_to_coo").to_coo()


def csr_to_dense(csr_tensor: CSRTensor) -> Tensor:
    """The dense Tensor of a CSRTensor."""
    return check_type(csr_tensor, CSRTensor, "csr_tensor", "csr_to_dense").to_dense()


def csr2coo(indptr: Tensor, nnz: int) -> Tensor:
    """The row of each value.

    Args:
        indptr (Tensor): where the values of each row begin, and where the last row ends.
        nnz (int): how many values there are.
    """
    return searchsorted(indptr[1:], arange(nnz).astype(indptr.dtype), right=True).astype(indptr.dtype)


def coo2csr(row_indices: Tensor, height: int) -> Tensor:
    """Where the values of each row begin, and where the last row ends.

    Args:
        row_indices (Tensor): the row of each value, in order.
        height (int): how many rows there are.
    """
    return searchsorted(row_indices, arange(height + 1).astype(row_indices.dtype)).astype(row_indices.dtype)


def csr_add(a: CSRTensor, b: CSRTensor, alpha: Tensor, beta: Tensor) -> CSRTensor:
    """alpha * a + beta * b."""
    for name, value in (("a", a), ("b", b)):
        check_type(value, CSRTensor, name, "csr_add")
    return a.add(b, alpha, beta)


def coo_add(x1: COOTensor, x2: COOTensor, thresh: Tensor) -> COOTensor:
    """The sum of two, without values below `thresh`."""
    for name, value in (("x1", x1), ("x2", x2)):
        check_type(value, COOTensor, name, "coo_add")
    return x1.add(x2, thresh)


def coo_concat(sp_input: Sequence[COOTensor], concat_dim: int = 0) -> COOTensor:
    """Several joined along an axis; the indices are in order.

    Args:
        sp_input (Sequence[COOTensor]): of the same sizes along the other axes.
        concat_dim (int): the axis. Default: 0.
    """
    check_value(len(sp_input), len(sp_input) > 1, "be two at least", "the COOTensors", "coo_concat")
    axis, shape, indices = concat_dim % len(sp_input[0].shape), list(sp_input[0].shape), []
    shape[axis] = 0
    for each in sp_input:
        rest = [n for i, n in enumerate(each.shape) if i != axis]
        check_value(
            each.shape, rest == [n for i, n in enumerate(shape) if i != axis], "agree but for the axis", "shapes", "coo_concat"
        )
        moved = each.indices.asnumpy().copy()
        moved[:, axis] += shape[axis]
        shape[axis] += each.shape[axis]
        indices.append(moved)
    joined = np.concatenate(indices)
    order = np.lexsort(joined.T[::-1])
    values = concat([each.values for each in sp_input])[Tensor(order, int32)]
    return COOTensor(Tensor(joined[order]), values, tuple(shape))


def csr_mul(x: CSRTensor, y: Tensor) -> CSRTensor:
    """The product with a Tensor that is broadcast to the shape of `x`."""
    return check_type(x, CSRTensor, "x", "csr_mul") * y


def csr_div(x: CSRTensor, y: Tensor) -> CSRTensor:
    """The quotient by a Tensor that is broadcast to the shape of `x`."""
    return check_type(x, CSRTensor, "x", "csr_div") / y


def csr_mv(csr_tensor: CSRTensor, dense: Tensor) -> Tensor:
    """The product with a vector of shape (columns, 1)."""
    return check_type(csr_tensor, CSRTensor, "csr_tensor", "csr_mv").mv(dense)


def csr_mm(
    a: CSRTensor,
    b: CSRTensor | Tensor,
    trans_a: bool = False,
    trans_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
) -> Any:
    """The product of two matrices: a CSRTensor if both are sparse, else a Tensor.

    Args:
        a (CSRTensor): the left one.
        b (CSRTensor, Tensor): the right one.
        trans_a (bool), trans_b (bool): whether it is transposed first. Default: False.
        adjoint_a (bool), adjoint_b (bool): whether it is transposed and conjugated first. Default: False.
    """
    check_type(a, CSRTensor, "a", "csr_mm")
    return _turned(a, trans_a, adjoint_a).mm(_turned(b, trans_b, adjoint_b))


def _turned(matrix, transposed, adjoint):
    if not (transposed or adjoint):
        return matrix
    if isinstance(matrix, Tensor):
        return matrix.conj().T if adjoint else matrix.T
    coo = matrix.to_coo()
    values = coo.values.conj() if adjoint else coo.values
    return COOTensor(coo.indices.flip(1), values, coo.shape[::-1]).to_csr()


def csr_reduce_sum(csr_tensor: CSRTensor, axis: int) -> Tensor:
    """The sum along an axis, which has size 1 then."""
    return check_type(csr_tensor, CSRTensor, "csr_tensor", "csr_reduce_sum").sum(axis)


def csr_gather(indptr: Tensor, indices: Tensor, dense: Tensor, sparse_shape: tuple[int, ...]) -> Tensor:
    """The elements of a dense Tensor at the places of a CSRTensor.

    Args:
        indptr (Tensor), indices (Tensor): of the CSRTensor.
        dense (Tensor): it is broadcast to the shape.
        sparse_shape (tuple): the shape of the CSRTensor.
    """
    return broadcast_to(dense, tuple(sparse_shape))[csr2coo(indptr, indices.shape[0]), indices]


def csr_softmax(logits: CSRTensor, dtype: Any) -> CSRTensor:
    """The softmax of the values of each row.

    Args:
        logits (CSRTensor): a matrix.
        dtype (mindspore.dtype): of the result.
    """
    rows = csr2coo(logits.indptr, logits.indices.shape[0])
    largest = unsorted_segment_max(logits.values, rows, logits.shape[0])
    raised = math_func.exp(logits.values - largest[rows])
    total = unsorted_segment_sum(raised, rows, logits.shape[0])
    return logits.with_values((raised / total[rows]).astype(dtype))


if not TYPE_CHECKING:
    __all__ = [name for name, value in globals().items() if getattr(value, "__module__", None) == __name__ and name[0] != "_"]
