"""The attributes of Tensor that this floor and the tape's attach: its base, as type checkers see it."""

from msjax.common.bases import TensorBase
from msjax.engine.autograd.imperative import GradientMethods
from msjax.engine.autograd.memory import MemoryMethods
from msjax.ops.methods.array import ArrayMethods, CasterMethods
from msjax.ops.methods.elementwise import ElementwiseMethods
from msjax.ops.methods.inplace import InplaceMethods
from msjax.ops.methods.linear import LinearMethods
from msjax.ops.methods.operators import OperatorMethods
from msjax.ops.methods.picking import PickingMethods
from msjax.ops.methods.reductions import ReductionMethods


class TensorMethods(
    OperatorMethods,
    ElementwiseMethods,
    ReductionMethods,
    LinearMethods,
    ArrayMethods,
    CasterMethods,
    PickingMethods,
    InplaceMethods,
    GradientMethods,
    MemoryMethods,
    TensorBase,
):
    """What Tensor has besides what its own body defines."""
