"""Operator classes of arithmetic, activations, reductions and linear algebra."""

from msjax.ops import activations, arrange, elementwise, linear, reduction, special
from msjax.ops.primitive import Primitive, plain_primitives

__all__ = ["MatMul", "Softmax"]

_PLAIN = plain_primitives(
    {
        "Add": elementwise.add,
        "Sub": elementwise.sub,
        "Mul": elementwise.mul,
        "Div": elementwise.true_divide,
        "RealDiv": elementwise.true_divide,
        "FloorDiv": elementwise.floor_divide,
        "FloorMod": elementwise.floor_mod,
        "Mod": elementwise.floor_mod,
        "Pow": elementwise.pow,
        "Maximum": elementwise.maximum,
        "Minimum": elementwise.minimum,
        "Neg": elementwise.neg,
        "Abs": elementwise.abs,
        "Square": elementwise.square,
        "Exp": elementwise.exp,
        "Log": elementwise.log,
        "Sqrt": elementwise.sqrt,
        "Rsqrt": elementwise.rsqrt,
        "Sin": elementwise.sin,
        "Cos": elementwise.cos,
        "Tanh": elementwise.tanh,
        "Erf": special.erf,
        "Equal": elementwise.equal,
        "NotEqual": elementwise.not_equal,
        "Greater": elementwise.greater,
        "GreaterEqual": elementwise.greater_equal,
        "Less": elementwise.less,
        "LessEqual": elementwise.less_equal,
        "ReLU": activations.relu,
        "Sigmoid": activations.sigmoid,
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
            x = arrange.swapaxes(x, -1, -2)
        if self.transpose_b:
            y = arrange.swapaxes(y, -1, -2)
        return linear.matmul(x, y)


def _reduction(name, function):
    def __init__(self, keep_dims=False):
        Primitive.__init__(self, name)
        self.keep_dims = keep_dims

    def __call__(self, x, axis=()):
        return function(x, axis if axis is not None else (), self.keep_dims)

    doc = f"{function.__doc__}\n\n    Args:\n        keep_dims (bool): whether reduced axes stay, with size 1. Default: False."
    return type(name, (Primitive,), {"__init__": __init__, "__call__": __call__, "__doc__": doc, "__module__": __name__})


_REDUCTIONS = {
    "ReduceSum": reduction.sum,
    "ReduceMean": reduction.mean,
    "ReduceMax": reduction.amax,
    "ReduceMin": reduction.amin,
    "ReduceProd": reduction.prod,
    "ReduceAll": reduction.all,
    "ReduceAny": reduction.any,
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
        return activations.softmax(x, self.axis)
