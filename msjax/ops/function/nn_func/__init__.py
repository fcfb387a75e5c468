"""Operators of neural networks: activations, convolution, pooling, normalization, losses."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.ops.function.nn_func.activations import *
    from msjax.ops.function.nn_func.attention import *
    from msjax.ops.function.nn_func.classification import *
    from msjax.ops.function.nn_func.convolution import *
    from msjax.ops.function.nn_func.ctc import *
    from msjax.ops.function.nn_func.dropouts import *
    from msjax.ops.function.nn_func.local_response import *
    from msjax.ops.function.nn_func.losses import *
    from msjax.ops.function.nn_func.normalization import *
    from msjax.ops.function.nn_func.pads import *
    from msjax.ops.function.nn_func.pooling import *
else:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.ops")
