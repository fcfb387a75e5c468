"""The base of Tensor: empty at run time, when code above attaches its attributes to the class; attached.pyi says what types these have."""

from msjax.common.bases import TensorBase as TensorMethods

__all__ = ["TensorMethods"]
