"""Written by tests/typing/class_forms.py; don't edit. The classes of nn_ops.py with their types."""

from msjax.common.tensor import Tensor
from msjax.ops.primitive import Primitive
from msjax.base.typing import Axes, DTypeLike, Shape as _Shape, TensorLike

class Conv2D(Primitive):
    out_channel: int
    kernel_size: Axes
    mode: int
    pad_mode: str
    pad: Axes
    stride: Axes
    dilation: Axes
    group: int
    data_format: str
    def __init__(self, out_channel: int, kernel_size: Axes, mode: int = ..., pad_mode: str = ..., pad: Axes = ..., stride: Axes = ..., dilation: Axes = ..., group: int = ..., data_format: str = ...) -> None: ...
    def __call__(self, x: Tensor, weight: Tensor) -> Tensor: ...

class Conv3D(Primitive):
    out_channel: int
    kernel_size: Axes
    mode: int
    pad_mode: str
    pad: Axes
    stride: Axes
    dilation: Axes
    group: int
    data_format: str
    def __init__(self, out_channel: int, kernel_size: Axes, mode: int = ..., pad_mode: str = ..., pad: Axes = ..., stride: Axes = ..., dilation: Axes = ..., group: int = ..., data_format: str = ...) -> None: ...
    def __call__(self, x: Tensor, weight: Tensor) -> Tensor: ...

class Conv2DTranspose(Primitive):
    out_channel: int
    kernel_size: Axes
    pad_mode: str
    pad: Axes
    pad_list: Axes | None
    mode: int
    stride: Axes
    dilation: Axes
    group: int
    data_format: str
    def __init__(self, out_channel: int, kernel_size: Axes, pad_mode: str = ..., pad: Axes = ..., pad_list: Axes | None = ..., mode: int = ..., stride: Axes = ..., dilation: Axes = ..., group: int = ..., data_format: str = ...) -> None: ...
    def __call__(self, dout: Tensor, weight: Tensor, input_size: _Shape) -> Tensor: ...

class Conv2DBackpropInput(Primitive):
    out_channel: int
    kernel_size: Axes
    pad_mode: str
    pad: Axes
    pad_list: Axes | None
    mode: int
    stride: Axes
    dilation: Axes
    group: int
    data_format: str
    def __init__(self, out_channel: int, kernel_size: Axes, pad_mode: str = ..., pad: Axes = ..., pad_list: Axes | None = ..., mode: int = ..., stride: Axes = ..., dilation: Axes = ..., group: int = ..., data_format: str = ...) -> None: ...
    def __call__(self, dout: Tensor, weight: Tensor, input_size: _Shape) -> Tensor: ...

class Conv3DTranspose(Primitive):
    in_channel: int
    out_channel: int
    kernel_size: Axes
    mode: int
    pad_mode: str
    pad: Axes
    stride: Axes
    dilation: Axes
    group: int
    output_padding: int
    data_format: str
    def __init__(self, in_channel: int, out_channel: int, kernel_size: Axes, mode: int = ..., pad_mode: str = ..., pad: Axes = ..., stride: Axes = ..., dilation: Axes = ..., group: int = ..., output_padding: int = ..., data_format: str = ...) -> None: ...
    def __call__(self, dout: TensorLike, weight: TensorLike, bias: TensorLike | None = ...) -> Tensor: ...

class BiasAdd(Primitive):
    data_format: str
    def __init__(self, data_format: str = ...) -> None: ...
    def __call__(self, input_x: TensorLike, bias: TensorLike) -> Tensor: ...

class MaxPool(Primitive):
    kernel_size: Axes
    strides: Axes
    pad_mode: str
    data_format: str
    def __init__(self, kernel_size: Axes = ..., strides: Axes = ..., pad_mode: str = ..., data_format: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class MaxPool3D(Primitive):
    kernel_size: Axes
    strides: Axes
    pad_mode: str
    pad_list: Axes
    ceil_mode: bool | None
    data_format: str
    def __init__(self, kernel_size: Axes = ..., strides: Axes = ..., pad_mode: str = ..., pad_list: Axes = ..., ceil_mode: bool | None = ..., data_format: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class MaxPoolWithArgmax(Primitive):
    kernel_size: Axes
    strides: Axes
    pad_mode: str
    data_format: str
    def __init__(self, kernel_size: Axes = ..., strides: Axes = ..., pad_mode: str = ..., data_format: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]: ...

class AvgPool(Primitive):
    kernel_size: Axes
    strides: Axes
    pad_mode: str
    data_format: str
    def __init__(self, kernel_size: Axes = ..., strides: Axes = ..., pad_mode: str = ..., data_format: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class AvgPool3D(Primitive):
    kernel_size: Axes
    strides: Axes
    pad_mode: str
    pad: Axes
    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int
    data_format: str
    def __init__(self, kernel_size: Axes = ..., strides: Axes = ..., pad_mode: str = ..., pad: Axes = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int = ..., data_format: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class MaxPoolWithArgmaxV2(Primitive):
    kernel_size: Axes
    strides: Axes | None
    pads: Axes
    dilation: Axes
    ceil_mode: bool
    argmax_type: DTypeLike
    def __init__(self, kernel_size: Axes, strides: Axes | None = ..., pads: Axes = ..., dilation: Axes = ..., ceil_mode: bool = ..., argmax_type: DTypeLike = ...) -> None: ...
    def __call__(self, x: TensorLike) -> tuple[Tensor, Tensor]: ...

class MaxPool3DWithArgmax(Primitive):
    ksize: Axes
    strides: Axes
    pads: Axes
    dilation: Axes
    ceil_mode: bool
    data_format: str
    argmax_type: DTypeLike
    def __init__(self, ksize: Axes, strides: Axes, pads: Axes, dilation: Axes = ..., ceil_mode: bool = ..., data_format: str = ..., argmax_type: DTypeLike = ...) -> None: ...
    def __call__(self, x: TensorLike) -> tuple[Tensor, Tensor]: ...

class MaxUnpool2D(Primitive):
    ksize: Axes
    strides: Axes
    pads: Axes
    output_shape: Axes
    data_format: str
    def __init__(self, ksize: Axes, strides: Axes = ..., pads: Axes = ..., output_shape: Axes = ..., data_format: str = ...) -> None: ...
    def __call__(self, x: Tensor, argmax: Tensor) -> Tensor: ...

class MaxUnpool3D(Primitive):
    ksize: Axes
    strides: Axes
    pads: Axes
    output_shape: Axes
    data_format: str
    def __init__(self, ksize: Axes, strides: Axes = ..., pads: Axes = ..., output_shape: Axes = ..., data_format: str = ...) -> None: ...
    def __call__(self, x: Tensor, argmax: Tensor) -> Tensor: ...

class AdaptiveAvgPool2D(Primitive):
    output_size: int | tuple[int, ...]
    def __init__(self, output_size: int | tuple[int, ...]) -> None: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AdaptiveAvgPool3D(Primitive):
    output_size: int | tuple[int, ...]
    def __init__(self, output_size: int | tuple[int, ...]) -> None: ...
    def __call__(self, input: TensorLike) -> Tensor: ...

class AdaptiveMaxPool2D(Primitive):
    output_size: Axes
    def __init__(self, output_size: Axes) -> None: ...
    def __call__(self, input: Tensor) -> tuple[Tensor, Tensor]: ...

class AdaptiveMaxPool3D(Primitive):
    def __init__(self) -> None: ...
    def __call__(self, x: Tensor, output_size: _Shape) -> tuple[Tensor, Tensor]: ...

class LRN(Primitive):
    depth_radius: int
    bias: float
    alpha: float
    beta: float
    norm_region: str
    def __init__(self, depth_radius: int = ..., bias: float = ..., alpha: float = ..., beta: float = ..., norm_region: str = ...) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class RmsNorm(Primitive):
    epsilon: float
    def __init__(self, epsilon: float = ...) -> None: ...
    def __call__(self, x: TensorLike, gamma: TensorLike) -> tuple[Tensor, Tensor]: ...

class BatchNorm(Primitive):
    is_training: bool
    epsilon: float
    momentum: float
    data_format: str
    def __init__(self, is_training: bool = ..., epsilon: float = ..., momentum: float = ..., data_format: str = ...) -> None: ...
    def __call__(self, input_x: TensorLike, scale: TensorLike, bias: TensorLike, mean: Tensor, variance: Tensor) -> tuple[Tensor, ...]: ...

class LayerNorm(Primitive):
    begin_norm_axis: int
    begin_params_axis: int
    epsilon: float
    def __init__(self, begin_norm_axis: int = ..., begin_params_axis: int = ..., epsilon: float = ...) -> None: ...
    def __call__(self, input_x: TensorLike, gamma: TensorLike, beta: TensorLike) -> tuple[Tensor, Tensor, Tensor]: ...
