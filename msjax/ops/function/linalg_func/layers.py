"""Matrix products plus another Tensor: addmm and its relatives, dense layers."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.typing import JaxArray, Number
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.platforms import on_cpu, on_explicit_axes
from msjax.ops.dispatch.promotion import as_operand, promote
from msjax.ops.function.linalg_func.linear import require_one_dtype

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm", "baddbmm_ext", "bidense", "dense"]


def _fused(x, product, beta, alpha):
    x = as_operand(x).astype(product.dtype)
    return jnp.asarray(beta, product.dtype) * x + jnp.asarray(alpha, product.dtype) * product


@operator(3, numbers=("beta", "alpha"), name="addmm", int_grad=True)
def addmm(input: TensorLike, mat1: TensorLike, mat2: TensorLike, *, beta: Number = 1, alpha: Number = 1) -> JaxArray:
    """beta * input + alpha * (mat1 @ mat2), of matrices.

    Example:
        >>> print(ops.addmm(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[ 8. 12.]
         [18. 26.]]
    """
    return _fused(input, jnp.matmul(*require_one_dtype(mat1, mat2)), beta, alpha)


@operator(3, numbers=("beta", "alpha"), name="addmv", int_grad=True)
def addmv(input: TensorLike, mat: TensorLike, vec: TensorLike, *, beta: Number = 1, alpha: Number = 1) -> JaxArray:
    """beta * input + alpha * (mat @ vec), of a matrix and a vector.

    Example:
        >>> print(ops.addmv(Tensor([1.0, 2.0]), Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([3.0, 4.0])))
        [12. 27.]
    """
    return _fused(input, jnp.matmul(*promote(mat, vec)), beta, alpha)


@operator(3, numbers=("beta", "alpha"), name="addr", int_grad=True)
def addr(x: TensorLike, vec1: TensorLike, vec2: TensorLike, *, beta: Number = 1, alpha: Number = 1) -> JaxArray:
    """beta * x + alpha * outer(vec1, vec2).

    Example:
        >>> print(ops.addr(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        [[ 4.  6.]
         [ 9. 12.]]
    """
    a, b = promote(vec1, vec2)
    return _fused(x, a[:, None] * b[None, :], beta, alpha)


@operator(3, numbers=("beta", "alpha"), name="addbmm", int_grad=True)
def addbmm(input: TensorLike, batch1: TensorLike, batch2: TensorLike, *, beta: Number = 1, alpha: Number = 1) -> JaxArray:
    """beta * input + alpha * (the sum of the products of two batches of matrices).

    Example:
        >>> print(ops.addbmm(Tensor([[1.0, 2.0], [3.0, 4.0]]), ops.ones((3, 2, 2)), ops.ones((3, 2, 2))))
        [[ 7.  8.]
         [ 9. 10.]]
    """
    return _fused(input, jnp.einsum("bij,bjk->ik", *promote(batch1, batch2)), beta, alpha)


@operator(3, numbers=("beta", "alpha"), name="baddbmm", int_grad=True)
def baddbmm(input: TensorLike, batch1: TensorLike, batch2: TensorLike, beta: Number = 1, alpha: Number = 1) -> JaxArray:
    """beta * input + alpha * (the products of two batches of matrices).

    Example:
        >>> print(ops.baddbmm(ops.ones((1, 2, 2)), ops.ones((1, 2, 3)), ops.ones((1, 3, 2))))
        [[[4. 4.]
          [4. 4.]]]
    """
    return _fused(input, jnp.matmul(*promote(batch1, batch2)), beta, alpha)


def baddbmm_ext(input: TensorLike, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * input + alpha * (the products of two batches of matrices); see `baddbmm`.

    Example:
        >>> print(ops.baddbmm_ext(ops.ones((1, 2, 2)), ops.ones((1, 2, 3)), ops.ones((1, 3, 2)), beta=0))
        [[[3. 3.]
          [3. 3.]]]
    """
    return baddbmm(input, batch1, batch2, beta, alpha)


@operator(3, name="Dense")
def dense(input: TensorLike, weight: TensorLike, bias: Tensor | None = None) -> JaxArray:
    """input @ weight.T + bias, over the last axis of `input`.

    Args:
        input (Tensor): shape (..., in).
        weight (Tensor): shape (out, in), or (in,).
        bias (Tensor, optional): shape (out,). Default: None.

    Example:
        >>> print(ops.dense(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]]), Tensor([0.5])))
        [[11.5]]
    """
    require_one_dtype(input, weight, *(() if bias is None else (bias,)))
    out = jnp.tensordot(input, weight, ((-1,), (-1,)))
    return out if bias is None else out + bias


def _dense_gradient(slots, input, weight, bias):
    """The output and its gradient (see `TracedVJP`), which keeps the operands themselves and no transposed copy of the weight."""
    out = dense.op.fn(input, weight, bias)  # first, since it says what is no operand
    broadcast = bias is not None and bias.shape != out.shape[-1:]
    if weight.ndim != 2 or broadcast or on_explicit_axes(input, weight):
        return None

    def pull(input, weight, ct):
        d_input = jnp.tensordot(ct, weight, 1) if 0 in slots else None
        return d_input, _of_weight(input, ct) if 1 in slots else None, ct.sum(tuple(range(ct.ndim - 1))) if 2 in slots else None

    return out, jax.tree_util.Partial(pull, input, weight)


# For an output of up to so many elements, XLA's products along the rows of their first operand are faster on some processors, with the transposed
# copy that they need: 0.4 to 1 of the time on one, 0.6 to 1.3 on another, where larger ones took 1.0 to 1.5, as 1,024 columns of 1,024 rows are
# copied in 2 to 6 ms. Without the barrier, XLA would make the copy a part of the slower product.
_TURNED = 1 << 17


def _of_weight(x, ct):
    def rows(x, ct):
        return jnp.tensordot(ct, x, (tuple(range(x.ndim - 1)),) * 2)

    def flat(x, ct):
        x, turned = x.reshape(-1, x.shape[-1]), ct.reshape(-1, ct.shape[-1]).T
        return jnp.matmul(jax.lax.optimization_barrier(turned) if ct.size <= _TURNED else turned, x)

    return rows(x, ct) if ct.size == ct.shape[-1] else on_cpu(flat, rows, x, ct)


dense.op.fn.gradient = _dense_gradient
# The order in which backward() reports to their hooks: as PyTorch's linear, the bias first.
dense.op.accumulation_order = (2, 0, 1)


@operator(4, name="bidense")
def bidense(input1: TensorLike, input2: TensorLike, weight: TensorLike, bias: Tensor | None = None) -> JaxArray:
    """input1 @ weight[k] @ input2 + bias[k] for each k, over the last axes.

    Args:
        input1 (Tensor): shape (..., in1).
        input2 (Tensor): shape (..., in2).
        weight (Tensor): shape (out, in1, in2).
        bias (Tensor, optional): shape (out,). Default: None.

    Example:
        >>> print(ops.bidense(ops.ones((1, 2)), ops.ones((1, 3)), ops.ones((4, 2, 3))))
        [[6. 6. 6. 6.]]
    """
    out = jnp.einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias
