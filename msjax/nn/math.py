"""Mathematical layers."""

from msjax.nn.cell import Cell
from msjax.ops import arrange, linear

__all__ = ["MatMul"]


class MatMul(Cell):
    """The matrix product of two Tensors; of two vectors, their dot product.

    Args:
        transpose_x1, transpose_x2 (bool): whether the last two axes of an input are exchanged first.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> print(nn.MatMul()(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])))
        11.0
    """

    def __init__(self, transpose_x1=False, transpose_x2=False):
        super().__init__()
        self.transpose_x1 = transpose_x1
        self.transpose_x2 = transpose_x2

    def construct(self, x1, x2):
        if self.transpose_x1:
            x1 = arrange.swapaxes(x1, -1, -2)
        if self.transpose_x2:
            x2 = arrange.swapaxes(x2, -1, -2)
        return linear.matmul(x1, x2)
