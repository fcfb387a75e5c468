"""A function of two inputs and a Parameter, its gradients, and gradients as lists."""

from msjax import Parameter, Tensor

X, Y = Tensor([1.0, 2.0]), Tensor([5.0, 6.0])


def weights():
    return Parameter(Tensor([3.0, 4.0]), name="w"), Parameter(Tensor([1.0, 1.0]), name="v")


def numbers(value):
    """Tensors in containers as lists."""
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return type(value)(numbers(v) for v in value)
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items()}
    return value


W, V = weights()


def f(x, y):
    return x * y * W


DX, DY, DW, DV = [15.0, 24.0], [3.0, 8.0], [5.0, 12.0], [0.0, 0.0]


def cube(x):
    return x * x * x
