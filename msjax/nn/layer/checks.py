"""Checks of the arguments of layers."""

from msjax.common.tensor import Tensor
from msjax.errors import describe


def positive_int(value, name, who):
    """The value, if it is a positive int; TypeError or ValueError that names layer and argument otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"For '{who}', '{name}' should be an int, but got {describe(value)}.")
    if value <= 0:
        raise ValueError(f"For '{who}', '{name}' should be positive, but got {value}.")
    return value


def check_bool(value, name, who):
    """The value, if it is a bool; TypeError otherwise."""
    if not isinstance(value, bool):
        raise TypeError(f"For '{who}', '{name}' should be a bool, but got {describe(value)}.")
    return value


def check_type(value, types, name, who):
    """The value, if it is of one of the types (and no bool, unless bool is one of them); TypeError otherwise."""
    types = types if isinstance(types, tuple) else (types,)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        expected = " or ".join(t.__name__ for t in types)
        raise TypeError(f"For '{who}', '{name}' should be of type {expected}, but got {describe(value)}.")
    return value


def check_tensor(value, name, who):
    """The value, if it is a Tensor; TypeError otherwise."""
    if not isinstance(value, Tensor):
        raise TypeError(f"For '{who}', '{name}' should be a Tensor, but got {describe(value)}.")
    return value


def check_init_shape(init, shape, name, who):
    """ValueError if an initial value is a Tensor of another shape than the Parameter's."""
    if isinstance(init, Tensor) and tuple(init.shape) != tuple(shape):
        raise ValueError(f"For '{who}', '{name}' should have shape {tuple(shape)}, but its shape is {tuple(init.shape)}.")
    return init
