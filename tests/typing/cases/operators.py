"""Types of operator classes, as an editor shows them. Checked by pyright; not run."""

from typing import assert_type

import msjax as ms
from msjax import ops
from msjax.ops import operations as P

x = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])

# One that only calls a function has that function's call.
assert_type(ops.Add(), ops.Add)
assert_type(ops.Add()(x, 1.0), ms.Tensor)
assert_type(ops.Add()(input=x, other=x), ms.Tensor)
assert_type(P.Abs()(x), ms.Tensor)
assert_type(ops.Ones()((2, 3), ms.float32), ms.Tensor)
assert_type(ops.Size()(x), int)
assert_type(ops.AssignAdd()(ms.Parameter(x), x), ms.Tensor)

# Attributes are given to the constructor, by place or by name, and not to the call.
assert_type(ops.Softmax(0)(x), ms.Tensor)
assert_type(ops.Softmax(axis=0).axis, int)
assert_type(ops.MatrixPower(2)(x), ms.Tensor)
assert_type(ops.Stack(axis=1)([x, x]), ms.Tensor)
assert_type(ops.TopK(sorted=False)(x, 1), tuple[ms.Tensor, ms.Tensor])
assert_type(ops.Renorm(2, dim=0, maxnorm=1.0).dim, int)
assert_type(ops.ScatterAdd(use_locking=True)(ms.Parameter(x), x, x), ms.Tensor)
assert_type(ops.Conv2D(4, kernel_size=3, pad_mode="same").pad_mode, str)

# Those that do more
assert_type(ops.ReduceSum(keep_dims=True)(x, 1), ms.Tensor)
assert_type(ops.ReduceSum().keep_dims, bool)
assert_type(ops.Argmax(output_type=ms.int64)(x), ms.Tensor)
assert_type(ops.StandardNormal(seed=1)((2, 3)), ms.Tensor)
assert_type(ops.SGD(nesterov=True)(x, x, 0.1, x, 0.9, x), ms.Tensor)
assert_type(ops.Adam()(x), tuple[ms.Tensor, ...])

# All are Primitives.
assert_type(ops.Add().add_prim_attr("a", 1)(x, x), ms.Tensor)
operators: list[ops.Primitive] = [ops.Add(), ops.Softmax()]


def apply(function: ops.Softmax, one: ops.Primitive) -> ms.Tensor:
    one(x)
    return function(x)


class Scaled(ops.Softmax):
    def __init__(self) -> None:
        super().__init__(axis=0)


assert_type(Scaled()(x), ms.Tensor)

ops.Add(1)  # pyright: ignore[reportCallIssue]
ops.Add()(x)  # pyright: ignore[reportCallIssue]
ops.Add()(x, "1")  # pyright: ignore[reportArgumentType]
ops.Softmax(axes=-1)  # pyright: ignore[reportCallIssue]
ops.Softmax("0")  # pyright: ignore[reportArgumentType]
ops.Softmax()(x, axis=1)  # pyright: ignore[reportCallIssue]
ops.Softmax().axes  # pyright: ignore[reportAttributeAccessIssue]
ops.MatrixPower()  # pyright: ignore[reportCallIssue]
ops.NoSuch  # pyright: ignore[reportAttributeAccessIssue]
P.NoSuch  # pyright: ignore[reportAttributeAccessIssue]
P.Tensor  # pyright: ignore[reportAttributeAccessIssue]
P.jnp  # pyright: ignore[reportAttributeAccessIssue]
