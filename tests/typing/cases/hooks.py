"""Types of hooks, of what registers them and of their handles. Checked by pyright; not run."""

from typing import Any, assert_type

import msjax as ms
from msjax import nn
from msjax.common.typing import TensorHook
from msjax.core.base.typing import BackwardHook, BackwardPreHook, ForwardHook, ForwardPreHook
from msjax.hooks import RemovableHandle

x = ms.Tensor(1.0)
net = nn.ReLU()


def forward_pre(cell: nn.Cell, args: tuple[Any, ...]) -> None: ...
def forward(cell: nn.ReLU, args: tuple[Any, ...], output: ms.Tensor) -> ms.Tensor:
    return output * 2


def backward_pre(cell: nn.Cell, grad_output: tuple[Any, ...]) -> None: ...
def backward(cell: nn.Cell, grad_input: tuple[Any, ...], grad_output: tuple[Any, ...]) -> None: ...
def gradient(grad: ms.Tensor) -> ms.Tensor:
    return grad * 2


first: ForwardPreHook = forward_pre
second: ForwardHook = forward
third: BackwardPreHook = backward_pre
fourth: BackwardHook = backward
fifth: TensorHook = gradient

assert_type(net.register_forward_pre_hook(forward_pre), RemovableHandle)
assert_type(net.register_forward_hook(forward), RemovableHandle)
assert_type(net.register_forward_hook(lambda cell, args, output: None), RemovableHandle)
assert_type(net.register_forward_hook(lambda cell, args, kwargs, output: None, with_kwargs=True), RemovableHandle)
assert_type(net.register_backward_pre_hook(lambda cell, grad_output: grad_output[0] * 10), RemovableHandle)
assert_type(net.register_backward_hook(backward), RemovableHandle)
assert_type(x.register_hook(gradient), RemovableHandle)
assert_type(x.register_hook(lambda grad: print(grad)), RemovableHandle)
assert_type(ms.Parameter(x).register_hook(gradient), RemovableHandle)
assert_type(x.register_post_accumulate_grad_hook(lambda tensor: print(tensor.grad)), RemovableHandle)

handle = net.register_forward_hook(forward)
assert_type(handle.remove(), None)
with handle as same:
    assert_type(same, RemovableHandle)

# Hooks with the arguments of another kind.
net.register_forward_pre_hook(backward)  # pyright: ignore[reportArgumentType]
net.register_forward_hook(forward_pre)  # pyright: ignore[reportArgumentType]
net.register_backward_hook(backward_pre)  # pyright: ignore[reportArgumentType]
x.register_hook(forward)  # pyright: ignore[reportArgumentType]
handle.detach()  # pyright: ignore[reportAttributeAccessIssue]
