"""Operators as classes: MindSpore's ``ops.operations``."""

from msjax.ops import activation, linalg, math, reduce, shape
from msjax.ops.gradient import HookBackward, InsertGradientOf
from msjax.ops.primitive import Primitive, plain_primitives

__all__ = ["HookBackward", "InsertGradientOf", "Primitive"]

_PLAIN = plain_primitives(
    {
        "Add": math.add,
        "Sub": math.sub,
        "Mul": math.mul,
        "Div": math.true_divide,
        "RealDiv": math.true_divide,
        "FloorDiv": math.floor_divide,
        "FloorMod": math.floor_mod,
        "Mod": math.floor_mod,
        "Pow": math.pow,
        "Maximum": math.maximum,
        "Minimum": math.minimum,
        "Neg": math.neg,
        "Abs": math.abs,
        "Square": math.square,
        "Exp": math.exp,
        "Log": math.log,
        "Sqrt": math.sqrt,
        "Rsqrt": math.rsqrt,
        "Sin": math.sin,
        "Cos": math.cos,
        "Tanh": math.tanh,
        "Erf": math.erf,
        "Equal": math.equal,
        "NotEqual": math.not_equal,
        "Greater": math.greater,
        "GreaterEqual": math.greater_equal,
        "Less": math.less,
        "LessEqual": math.less_equal,
        "ReLU": activation.relu,
        "Sigmoid": activation.sigmoid,
        "Reshape": shape.reshape,
        "Transpose": shape.transpose,
        "ExpandDims": shape.expand_dims,
        "Cast": shape.cast,
        "Select": shape.where,
    }
)
globals().update(_PLAIN)
__all__ += list(_PLAIN)


class MatMul(Primitive):
    """The product of two matrices.

    Args:
        transpose_a, transpose_b (bool): whether a matrix is transposed first.
    """

    def __init__(self, transpose_a=False, transpose_b=False):
        super().__init__("MatMul")
        self.transpose_a = transpose_a
        self.transpose_b = transpose_b

    def __call__(self, x, y):
        if self.transpose_a:
            x = shape.swapaxes(x, -1, -2)
        if self.transpose_b:
            y = shape.swapaxes(y, -1, -2)
        return linalg.matmul(x, y)


def _reduction(name, function):
    def __init__(self, keep_dims=False):
        Primitive.__init__(self, name)
        self.keep_dims = keep_dims

    def __call__(self, x, axis=()):
        return function(x, axis if axis is not None else (), self.keep_dims)

    doc = f"{function.__doc__}\n\n    Args:\n        keep_dims (bool): whether reduced axes stay, with size 1. Default: False."
    return type(name, (Primitive,), {"__init__": __init__, "__call__": __call__, "__doc__": doc, "__module__": __name__})


_REDUCTIONS = {
    "ReduceSum": reduce.sum,
    "ReduceMean": reduce.mean,
    "ReduceMax": reduce.amax,
    "ReduceMin": reduce.amin,
    "ReduceProd": reduce.prod,
    "ReduceAll": reduce.all,
    "ReduceAny": reduce.any,
}
for _name, _function in _REDUCTIONS.items():
    globals()[_name] = _reduction(_name, _function)
    __all__.append(_name)


class Softmax(Primitive):
    """exp(x) / sum(exp(x)) along an axis.

    Args:
        axis (int or tuple): Default: -1.
    """

    def __init__(self, axis=-1):
        super().__init__("Softmax")
        self.axis = axis

    def __call__(self, x):
        return activation.softmax(x, self.axis)


class Concat(Primitive):
    """Tensors joined along an axis that they have.

    Args:
        axis (int): Default: 0.
    """

    def __init__(self, axis=0):
        super().__init__("Concat")
        self.axis = axis

    def __call__(self, tensors):
        return shape.concat(tensors, self.axis)


class Stack(Primitive):
    """Tensors joined along a new axis.

    Args:
        axis (int): Default: 0.
    """

    def __init__(self, axis=0):
        super().__init__("Stack")
        self.axis = axis

    def __call__(self, tensors):
        return shape.stack(tensors, self.axis)


__all__ += ["Concat", "MatMul", "Softmax", "Stack"]
