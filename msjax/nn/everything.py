"""All that ``nn`` offers beside Cell. Each topic's file says in ``__all__`` what it offers."""

from msjax.nn.activation import *
from msjax.nn.basic import *
from msjax.nn.conv import *
from msjax.nn.derivatives import *
from msjax.nn.dropout import *
from msjax.nn.dynamic_lr import *
from msjax.nn.embedding import *
from msjax.nn.global_hooks import *
from msjax.nn.image import *
from msjax.nn.learning_rate_schedule import *
from msjax.nn.loss import *
from msjax.nn.loss_scale import *
from msjax.nn.math import *
from msjax.nn.matrix import *
from msjax.nn.metrics import *
from msjax.nn.norm import *
from msjax.nn.optim import *
from msjax.nn.padding import *
from msjax.nn.pooling import *
from msjax.nn.rnn import *
from msjax.nn.sparse import *
from msjax.nn.time_distributed import *
from msjax.nn.transformer import *
from msjax.nn.utils import *
from msjax.nn.wrap import *
