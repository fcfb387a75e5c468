"""Types of Tensors, operators and layers, as an editor shows them. Checked by pyright; not run."""

from collections.abc import Callable
from typing import Any, assert_type

import jax
import numpy as np

import msjax as ms
from msjax import nn, ops
from msjax.common.dtype import Type
from msjax.common.typing import TensorHook

x = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])
assert_type(x, ms.Tensor)

# operators
assert_type(x + 1, ms.Tensor)
assert_type(1 - x, ms.Tensor)
assert_type(2.0 * x, ms.Tensor)
assert_type(x / x, ms.Tensor)
assert_type(x @ x, ms.Tensor)
assert_type(-x, ms.Tensor)
assert_type(x**2, ms.Tensor)
assert_type(x > 0, ms.Tensor)
assert_type(x == x, ms.Tensor)
assert_type(x[0], ms.Tensor)
assert_type(x[:, None, ...], ms.Tensor)
x[0] = 1.0

# attributes
assert_type(x.dtype, Type)
assert_type(x.ndim, int)
assert_type(x.T, ms.Tensor)
assert_type(x.requires_grad, bool)
assert_type(x.grad, ms.Tensor | None)
assert_type(x.asnumpy(), np.ndarray)

# methods
assert_type(x.sum(), ms.Tensor)
assert_type(x.sum(axis=0, keepdims=True), ms.Tensor)
assert_type(x.mean(0), ms.Tensor)
assert_type(x.max(), ms.Tensor)
assert_type(x.astype(ms.float16), ms.Tensor)
assert_type(x.reshape(4, 1), ms.Tensor)
assert_type(x.reshape((4, 1)), ms.Tensor)
assert_type(x.transpose(1, 0), ms.Tensor)
assert_type(x.split(1), tuple[ms.Tensor, ...])
assert_type(x.sort(), tuple[ms.Tensor, ms.Tensor])
assert_type(x.int(), ms.Tensor)
assert_type(x.float(), ms.Tensor)
assert_type(x.add_(1), ms.Tensor)
assert_type(x.detach(), ms.Tensor)
assert_type(x.backward(), None)
for row in x:
    assert_type(row, ms.Tensor)

# operators of other kinds
assert_type(x & 1, ms.Tensor)
assert_type(1 | x, ms.Tensor)
assert_type(~x, ms.Tensor)
assert_type(x != 1, ms.Tensor)
assert_type([1, 2] + x, ms.Tensor)
assert_type(round(x), ms.Tensor)
assert_type(abs(x), ms.Tensor)
assert_type(1.0 in x, bool)
total: ms.Tensor | int = sum([x, x])
assert_type(max(x, x), ms.Tensor)

# methods by their arguments' names, MindSpore's older and newer ones
assert_type(x.maximum(other=x), ms.Tensor)
assert_type(x.abs(), ms.Tensor)
assert_type(x.max(1), tuple[ms.Tensor, ms.Tensor])
assert_type(x.max(initial=0), ms.Tensor)
assert_type(x.amax(0, keepdims=True), ms.Tensor)
assert_type(x.amax(dim=0, keepdim=True), ms.Tensor)
assert_type(x.median(dim=0), tuple[ms.Tensor, ms.Tensor])
assert_type(x.split(split_size=1, dim=0), tuple[ms.Tensor, ...])
assert_type(x.cumsum(dim=0), ms.Tensor)
assert_type(x.std(axis=0, ddof=1), ms.Tensor)
assert_type(x.argmax_with_value(axis=1), tuple[ms.Tensor, ms.Tensor])
assert_type(x.scatter_sub(indices=x, updates=1), ms.Tensor)
assert_type(x.unsorted_segment_sum(x, num_segments=2), ms.Tensor)
assert_type(x.type(), str)
assert_type(x.type(ms.float16), ms.Tensor)
assert_type(x.astype("float16"), ms.Tensor)
assert_type(x.flip(0), ms.Tensor)
assert_type(x.exp_(), ms.Tensor)
assert_type(x.masked_fill_(x > 0, value=1.0), ms.Tensor)
assert_type(x.is_leaf, bool)
assert_type(x.hooks(), list[TensorHook])
x.requires_grad = True
x.grad = None
assert_type(ms.Parameter(x).sum(), ms.Tensor)
assert_type({x: 1}, dict[ms.Tensor, int])

# functions
assert_type(ops.add(x, x), ms.Tensor)
assert_type(ops.add(input=x, other=1), ms.Tensor)
assert_type(ops.sin(x), ms.Tensor)
assert_type(ops.softmax(x, axis=-1), ms.Tensor)
assert_type(ops.matmul(x, x), ms.Tensor)
assert_type(ops.relu(x), ms.Tensor)
assert_type(ops.exp(x), ms.Tensor)
assert_type(ops.zeros((2, 3), ms.float32), ms.Tensor)
assert_type(ops.concat((x, x), axis=0), ms.Tensor)
assert_type(ops.sort(x), tuple[ms.Tensor, ms.Tensor])
assert_type(ms.tensor([1, 2]), ms.Tensor)

# layers and parameters
dense = nn.Dense(2, 3)
assert_type(dense, nn.Dense)
assert_type(dense.weight, ms.Parameter)
assert_type(ms.Parameter(x, name="w"), ms.Parameter)
assert_type(ms.Parameter(x).name, str)
assert_type(dense.weight + 1, ms.Tensor)
assert_type(dense.set_train(), nn.Dense)
assert_type(dense.trainable_params(), list[ms.Parameter])
for path, parameter in dense.parameters_and_names():
    assert_type(path, str)
    assert_type(parameter, ms.Parameter)
for _, cell in dense.cells_and_names():
    assert_type(cell, nn.Cell)


# functions of functions
def square(a: ms.Tensor, b: ms.Tensor) -> ms.Tensor:
    return a * b


assert_type(ms.grad(square)(x, x), ms.Tensor)
assert_type(ms.grad(square, (0, 1))(x, x), tuple[ms.Tensor, ...])
assert_type(ms.value_and_grad(square)(x, x), tuple[ms.Tensor, ms.Tensor])
assert_type(ms.grad(dense)(x), ms.Tensor)
assert_type(ms.jit(square)(x, b=x), ms.Tensor)
assert_type(ms.jit(square).compilations(), int)


@ms.jit
def compiled(a: ms.Tensor) -> ms.Tensor:
    return a


assert_type(compiled(x), ms.Tensor)


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(2, 3)

    @ms.jit
    def construct(self, a: ms.Tensor) -> ms.Tensor:
        return self.dense(a)


assert_type(Net().dense, nn.Dense)
assert_type(Net().construct(x), ms.Tensor)

apply, params, buffers = ms.functionalize(dense)
assert_type(apply, Callable[..., tuple[Any, dict[str, jax.Array]]])
assert_type(params, dict[str, jax.Array])
assert_type(buffers, dict[str, jax.Array])
