"""Written by tests/typing/class_forms.py; don't edit. The classes of custom_ops.py with their types."""

from collections.abc import Callable
from typing import Any
from msjax.common.tensor import Tensor
from msjax.ops.primitive import Primitive

class Custom(Primitive):
    def __call__(self, *inputs: Any) -> Any: ...

class DynamicRNN(Primitive):
    cell_type: str
    direction: str
    cell_depth: int
    use_peephole: bool
    keep_prob: float
    cell_clip: float
    num_proj: int
    time_major: bool
    activation: str
    forget_bias: float
    is_training: bool
    def __init__(self, cell_type: str = ..., direction: str = ..., cell_depth: int = ..., use_peephole: bool = ..., keep_prob: float = ..., cell_clip: float = ..., num_proj: int = ..., time_major: bool = ..., activation: str = ..., forget_bias: float = ..., is_training: bool = ...) -> None: ...
    def __call__(self, x: Tensor, w: Tensor, b: Tensor, seq_length: None, init_h: Tensor, init_c: Tensor) -> Any: ...

class PrimitiveWithInfer(Primitive):
    def __call__(self, *args: Any) -> Any: ...

class PrimitiveWithCheck(Primitive):
    def __call__(self, *args: Any) -> Any: ...

def prim_arg_register(fn: Callable[..., Any]) -> Callable[..., Any]: ...

def prim_attr_register(fn: Callable[..., Any]) -> Callable[..., Any]: ...
