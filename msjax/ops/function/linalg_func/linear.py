"""Matrix products, alone or plus another Tensor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_rank, check_value
from msjax.core.base.errors import describe
from msjax.core.base.typing import JaxArray, Number
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.dispatch.platforms import on_cpu, on_explicit_axes
from msjax.ops.dispatch.promotion import as_operand, broadcast, is_number, promote, rounded_once, spread, widened

__all__ = [
    "batch_dot", "bmm", "cross", "dot", "einsum", "einsum_ext", "ger", "inner", "kron", "matmul", "mm", "mv", "outer",
    "tensor_dot", "vecdot", "addbmm", "addmm", "addmv", "addr", "baddbmm", "baddbmm_ext", "bidense", "dense",
]  # fmt: skip


@operator(2, name="MatMul", int_grad=True, shape_error=RuntimeError)
def matmul(input: TensorLike, other: TensorLike) -> JaxArray:
    """The matrix product, batched over leading axes; of two vectors, their dot product.

    Args:
        input, other (Tensor): at least one axis each.

    Example:
        >>> print(ops.matmul(Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]])))
        [[11.]]
    """
    if is_number(input) or is_number(other):
        raise TypeError("the operands should be Tensors, not numbers.")
    if not input.ndim or not other.ndim:
        raise ValueError("the operands should have at least one axis each.")
    if input.shape[-1] != other.shape[max(other.ndim - 2, 0)]:
        raise RuntimeError(f"the shapes {input.shape} and {other.shape} can't be multiplied.")
    require_one_dtype(input, other)
    return jnp.matmul(input, other)


def require_one_dtype(*operands: Any) -> tuple[Any, ...]:
    """Products don't convert: MindSpore's kernels take operands of one dtype, and a silent conversion would hide a forgotten cast."""
    if any(x.dtype != operands[0].dtype for x in operands):
        raise TypeError(f"the operands should have one dtype, but have {', '.join(str(x.dtype) for x in operands)}.")
    return operands


@operator(2, name="mm", int_grad=True)
def mm(input: TensorLike, mat2: TensorLike) -> JaxArray:
    """The product of two matrices.

    Example:
        >>> print(ops.mm(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[ 7. 10.]
         [15. 22.]]
    """
    x, y = require_one_dtype(input, mat2)
    check_rank(x, 2, "input")
    check_rank(y, 2, "mat2")
    return jnp.matmul(x, y)


@operator(2, name="BatchMatMul", int_grad=True)
def bmm(input_x: TensorLike, mat2: TensorLike) -> JaxArray:
    """The product of two batches of matrices, of shapes (..., N, M) and (..., M, P).

    Example:
        >>> print(ops.bmm(ops.ones((1, 2, 3)), ops.ones((1, 3, 1))))
        [[[3.]
          [3.]]]
    """
    x, y = require_one_dtype(input_x, mat2)
    return jnp.matmul(x, y)


def _transposed(x, flag):
    return jnp.swapaxes(x, -1, -2) if flag else x


@operator(2, name="MatMul", int_grad=True)
def matmul_transposed(x: TensorLike, y: TensorLike, transpose_x: bool, transpose_y: bool) -> JaxArray:
    """The matrix product with either factor's last two axes exchanged first; the copy is left to the compiler."""
    x, y = require_one_dtype(x, y)
    return jnp.matmul(_transposed(x, transpose_x), _transposed(y, transpose_y))


@operator(2, name="mv", int_grad=True)
def mv(mat: TensorLike, vec: TensorLike) -> JaxArray:
    """The product of a matrix and a vector.

    Example:
        >>> print(ops.mv(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 2.0])))
        [ 5. 11.]
    """
    x, y = promote(mat, vec)
    check_rank(x, 2, "mat")
    check_rank(y, 1, "vec")
    return jnp.matmul(x, y)


@operator(2, name="dot", int_grad=True)
def dot(input: TensorLike, other: TensorLike) -> JaxArray:
    """The sum of products over the last axis of `input` and the last but one of `other` (the only one, of a vector).

    Example:
        >>> print(ops.dot(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[ 7. 10.]
         [15. 22.]]
    """
    return jnp.dot(*promote(input, other))


@operator(2, name="inner", int_grad=True)
def inner(input: TensorLike, other: TensorLike) -> JaxArray:
    """The sum of products over the last axes of both; of a number, the product.

    Example:
        >>> print(ops.inner(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        11.0
    """
    x, y = promote(input, other)
    return x * y if x.ndim == 0 or y.ndim == 0 else jnp.inner(x, y)


@operator(2, name="outer", int_grad=True)
def outer(input: TensorLike, vec2: TensorLike) -> JaxArray:
    """The products of all pairs of elements of two vectors, as a matrix.

    Example:
        >>> print(ops.outer(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        [[3. 4.]
         [6. 8.]]
    """
    x, y = (jnp.atleast_1d(v) for v in promote(input, vec2))
    check_rank(x, 1, "input")
    check_rank(y, 1, "vec2")
    x, y = spread(x[:, None], y[None, :])
    return x * y


ger = outer


@operator(2, name="kron", int_grad=True)
def kron(input: TensorLike, other: TensorLike) -> JaxArray:
    """The Kronecker product: blocks of `other`, scaled by the elements of `input`.

    Example:
        >>> print(ops.kron(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        [3. 4. 6. 8.]
    """
    x, y = promote(input, other)
    x_wide, y_wide = (v.astype(jnp.int8) if v.dtype == jnp.bool_ else widened(v) for v in (x, y))
    return jnp.kron(x_wide, y_wide).astype(x.dtype)


@operator(2, name="cross", int_grad=True)
def cross(input: TensorLike, other: TensorLike, dim: int | None = None) -> JaxArray:
    """The vector product along an axis of size 3: `dim`, by default the first such.

    Example:
        >>> print(ops.cross(Tensor([1.0, 0.0, 0.0]), Tensor([0.0, 1.0, 0.0])))
        [0. 0. 1.]
    """
    x, y = promote(input, other)
    if dim is None:
        sizes = jnp.broadcast_shapes(x.shape, y.shape)
        if 3 not in sizes:
            raise ValueError(f"one axis should have the size 3, but the shape is {sizes}.")
        dim = sizes.index(3)
    x, y = jnp.broadcast_arrays(x, y)
    if x.shape[dim] != 3:
        raise ValueError(f"axis {dim} should have the size 3, but the shape is {x.shape}.")
    return rounded_once(lambda x: jnp.cross(x, widened(y), axis=dim), x)


@operator(2, name="vecdot")
def vecdot(x: TensorLike, y: TensorLike, *, axis: int = -1) -> JaxArray:
    """The sum of products along an axis; of complex numbers, with the conjugate of `x`.

    Example:
        >>> print(ops.vecdot(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        11.0
    """
    x, y = promote(x, y)
    return jnp.sum(jnp.conj(x) * y, axis)


@operator(2, name="tensor_dot", int_grad=True)
def _tensor_dot(x1, x2, axes):
    return jnp.tensordot(*promote(x1, x2), axes)


def tensor_dot(x1: Tensor, x2: Tensor, axes: int | Sequence[int]) -> Tensor:
    """The sum of products over several axes.

    Args:
        x1, x2 (Tensor): any shapes.
        axes (int, tuple or list): an int n for the last n axes of `x1` with the first n of `x2`; or the axes of each.

    Example:
        >>> print(ops.tensor_dot(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]]), ((0, 1), (0, 1))))
        11.0
    """
    axes = freeze(axes)
    check_value(axes, not isinstance(axes, tuple) or len(axes) == 2, "be an int or hold two entries", "axes", "tensor_dot")
    if isinstance(axes, tuple):
        axes = tuple((a,) if isinstance(a, int) else a for a in axes)  # pyright: ignore[reportAssignmentType]
    return _tensor_dot(x1, x2, axes)


@operator(2, name="batch_dot", int_grad=True)
def batch_dot(x1: TensorLike, x2: TensorLike, axes: int | tuple[int, ...] | None = None) -> JaxArray:
    """For each element of a batch, the sum of products over one axis of each operand.

    Args:
        x1, x2 (Tensor): at least two axes each; the first is the batch.
        axes (int or pair of int, optional): the axis of each. Default: None, for the last of `x1` and the last but
            one (the last, of two axes) of `x2`.

    Returns:
        Tensor: the batch axis, then the other axes of `x1`, then those of `x2`; (batch, 1) if there are none.

    Example:
        >>> print(ops.batch_dot(ops.ones((2, 3)), ops.ones((2, 3))))
        [[3.]
         [3.]]
    """
    x, y = promote(x1, x2)
    if axes is None:
        axes = (x.ndim - 1, 1 if y.ndim == 2 else y.ndim - 2)
    elif isinstance(axes, int):
        axes = (axes, axes)
    first, second = axes[0] % x.ndim, axes[1] % y.ndim
    if not first or not second:
        raise ValueError(f"axis 0 is the batch and can't be summed over, but 'axes' is {axes}.")
    x = jnp.moveaxis(x, first, -1)
    y = jnp.moveaxis(y, second, 1)
    rest_x, rest_y = x.shape[1:-1], y.shape[2:]
    out = jnp.matmul(x.reshape(x.shape[0], -1, x.shape[-1]), y.reshape(y.shape[0], y.shape[1], -1))
    return out.reshape((x.shape[0], *rest_x, *rest_y)) if rest_x or rest_y else out.reshape(-1, 1)


# ---- products and sums in one


@partial(Op, "Einsum", int_grad=True)
def _EINSUM(*args):
    *operands, equation = args
    dtype = jnp.result_type(*[o.dtype for o in operands])
    return jnp.einsum(equation, *[o.astype(dtype) for o in operands], preferred_element_type=dtype)


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Sums of products in Einstein's notation.

    Args:
        equation (str): such as "ij,jk->ik". Or the operands and their lists of axis numbers in turn, then the
            list of the result's axes: einsum(x, [0, 1], y, [1, 2], [0, 2]).
        operands (Tensor): one for each term of the equation, or a tuple or list of them.

    Raises:
        TypeError: an operand is not a Tensor.

    Example:
        >>> print(ops.einsum("ij,ij->i", Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]])))
        [11.]
    """
    if not isinstance(equation, str):
        equation, operands = _in_letters((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    for operand in operands:
        if not isinstance(operand, Tensor):
            raise TypeError(f"For 'einsum', operands should be Tensors, but got {describe(operand)}.")
    return apply(_EINSUM, operands, (equation.replace(" ", ""),))


einsum_ext = einsum


def _in_letters(args):
    """An equation in letters from operands and axis numbers in turn."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def term(axes):
        return "".join("..." if a is Ellipsis else letters[int(a)] for a in axes)

    operands, axes = args[0 : len(args) // 2 * 2 : 2], args[1 : len(args) // 2 * 2 : 2]
    equation = ",".join(term(a) for a in axes)
    return (f"{equation}->{term(args[-1])}" if len(args) % 2 else equation), operands


# ---- plus another Tensor: addmm and its relatives, dense layers


def _fused(x, product, beta, alpha):
    x, product = spread(as_operand(x).astype(product.dtype), product)
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
    return out if bias is None else out + broadcast(bias, out.shape)


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
    return out if bias is None else out + broadcast(bias, out.shape)
