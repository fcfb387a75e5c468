# For type checkers, in place of attached.py: they can't see what is attached later, and the files that do that import Tensor.
from msjax.ops.methods.tensor_methods import TensorMethods as TensorMethods

__all__ = ["TensorMethods"]
