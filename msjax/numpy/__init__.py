"""numpy's functions on Tensors: MindSpore's ``numpy``.

Names that ops has, too, are the same operators. What MindSpore leaves out of numpy is left out here.
"""

from typing import TYPE_CHECKING

from msjax.common.dtype import (
    bool_ as bool_,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from msjax.core.base.lazy import on_first_use
from msjax.numpy.arrange import *
from msjax.numpy.creation import *
from msjax.numpy.dtypes import *
from msjax.numpy.elementwise import *
from msjax.numpy.elementwise import around as around, round as round
from msjax.numpy.histograms import *
from msjax.numpy.linear import *
from msjax.numpy.picking import *
from msjax.numpy.reduction import *

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
