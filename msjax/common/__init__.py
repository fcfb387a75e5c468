"""Tensor, Parameter, data types and initializers: MindSpore's ``common``."""

from typing import TYPE_CHECKING

from msjax.common import dtype as dtype, initializer as initializer
from msjax.common.dtype import *
from msjax.common.initializer import Initializer as Initializer
from msjax.common.parameter import Parameter as Parameter, ParameterTuple as ParameterTuple
from msjax.common.random import get_seed as get_seed, set_seed as set_seed
from msjax.common.tensor import Tensor as Tensor, tensor as tensor
from msjax.core.base.lazy import on_first_use

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
