"""What everything is made of: Tensor, Parameter, data types, initializers. MindSpore's ``common``."""

from msjax.common import dtype, initializer
from msjax.common.dtype import *
from msjax.common.initializer import Initializer
from msjax.common.parameter import Parameter, ParameterTuple
from msjax.common.random import get_seed, set_seed
from msjax.common.tensor import Tensor, tensor
from msjax.lazy import module_placeholders

__getattr__ = module_placeholders(__name__)
