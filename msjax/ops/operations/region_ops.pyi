"""Written by tests/typing/class_forms.py; don't edit. The classes of region_ops.py with their types."""

from msjax.common.tensor import Tensor
from msjax.ops.primitive import Primitive

class ROIAlign(Primitive):
    pooled_height: int
    pooled_width: int
    spatial_scale: float
    sample_num: int
    roi_end_mode: int
    def __init__(self, pooled_height: int, pooled_width: int, spatial_scale: float, sample_num: int = ..., roi_end_mode: int = ...) -> None: ...
    def __call__(self, features: Tensor, rois: Tensor) -> Tensor: ...

class NMSWithMask(Primitive):
    iou_threshold: float
    def __init__(self, iou_threshold: float = ...) -> None: ...
    def __call__(self, bboxes: Tensor) -> tuple[Tensor, Tensor, Tensor]: ...
