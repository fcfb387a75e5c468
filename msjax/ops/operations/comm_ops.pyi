"""Written by tests/typing/class_forms.py; don't edit. The classes of comm_ops.py with their types."""

from collections.abc import Sequence
from typing import Any
from msjax.common.tensor import Tensor
from msjax.ops.primitive import Primitive
from msjax.base.typing import DTypeLike, TensorLike

class AllReduce(Primitive):
    op: str
    group: str
    def __init__(self, op: str = ..., group: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class AllGather(Primitive):
    group: str
    def __init__(self, group: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class ReduceScatter(Primitive):
    op: str
    group: str
    def __init__(self, op: str = ..., group: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class Broadcast(Primitive):
    root_rank: int
    group: str
    def __init__(self, root_rank: int, group: str = ...) -> None: ...
    def __call__(self, values: Sequence[Tensor]) -> tuple[Tensor, ...]: ...

class CollectiveScatter(Primitive):
    src_rank: int
    group: str
    def __init__(self, src_rank: int = ..., group: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class Reduce(Primitive):
    dest_rank: int
    op: str
    group: str
    def __init__(self, dest_rank: int, op: str = ..., group: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class CollectiveGather(Primitive):
    dest_rank: int
    group: str
    def __init__(self, dest_rank: int, group: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class AlltoAll(Primitive):
    split_count: int
    split_dim: int
    concat_dim: int
    group: str
    def __init__(self, split_count: int, split_dim: int, concat_dim: int, group: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class Send(Primitive):
    sr_tag: int
    dest_rank: int
    group: str
    group_back: str
    def __init__(self, sr_tag: int, dest_rank: int, group: str = ..., group_back: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class Receive(Primitive):
    sr_tag: int
    src_rank: int
    shape: Sequence[Any]
    dtype: DTypeLike
    group: str
    group_back: str
    def __init__(self, sr_tag: int, src_rank: int, shape: Sequence[Any], dtype: DTypeLike, group: str = ..., group_back: str = ...) -> None: ...
    def __call__(self, x: TensorLike | None = ...) -> Tensor: ...

class Barrier(Primitive):
    group: str
    def __init__(self, group: str = ...) -> None: ...
    def __call__(self) -> None: ...

class ReduceOp:
    AVG: str
    MAX: str
    MIN: str
    PROD: str
    SUM: str
