"""Layers: MindSpore's ``nn.layer``."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.nn.layer.activation import *
    from msjax.nn.layer.attention import *
    from msjax.nn.layer.basic import *
    from msjax.nn.layer.combined import *
    from msjax.nn.layer.container import *
    from msjax.nn.layer.conv import *
    from msjax.nn.layer.dense import *
    from msjax.nn.layer.dropout import *
    from msjax.nn.layer.embedding import *
    from msjax.nn.layer.image import *
    from msjax.nn.layer.layer_norm import *
    from msjax.nn.layer.math import *
    from msjax.nn.layer.matrix import *
    from msjax.nn.layer.normalization import *
    from msjax.nn.layer.padding import *
    from msjax.nn.layer.pooling import *
    from msjax.nn.layer.rnn_cells import *
    from msjax.nn.layer.rnns import *
    from msjax.nn.layer.timedistributed import *
    from msjax.nn.layer.transformer import *
else:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.nn")
