"""Layers, losses, optimizers and containers: MindSpore's ``nn``."""

from msjax.nn.activation import GELU, LeakyReLU, LogSoftmax, ReLU, Sigmoid, Softmax, Tanh, get_activation
from msjax.nn.basic import Dense, Dropout, Embedding, Flatten, Identity
from msjax.nn.cell import Cell
from msjax.nn.container import CellDict, CellList, SequentialCell
from msjax.nn.conv import Conv2d
from msjax.nn.learning_rate_schedule import LearningRateSchedule
from msjax.nn.loss import L1Loss, LossBase, MSELoss, SoftmaxCrossEntropyWithLogits
from msjax.nn.math import MatMul
from msjax.nn.norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, LayerNorm
from msjax.nn.optim import SGD, Adam, Momentum, Optimizer, RMSProp
from msjax.nn.pooling import AvgPool2d, MaxPool2d
from msjax.nn.wrap import TrainOneStepCell, WithLossCell
from msjax.offers import missing_name

__getattr__ = missing_name(__name__)
