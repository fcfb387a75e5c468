"""Cells that wrap a network for training: loss, gradient, one step."""

from msjax.autograd.grad import value_and_grad
from msjax.common.parameter import ParameterTuple
from msjax.nn.cell import Cell

__all__ = ["TrainOneStepCell", "WithLossCell"]


class WithLossCell(Cell):
    """A network and its loss: returns loss_fn(backbone(data), label).

    Args:
        backbone (Cell): the network.
        loss_fn (Cell): the loss.
    """

    def __init__(self, backbone, loss_fn):
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data, label):
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self):
        """The network."""
        return self._backbone


class TrainOneStepCell(Cell):
    """One step of training: computes the loss, its gradients, and lets the optimizer update the weights.

    Args:
        network (Cell): returns the loss.
        optimizer (Cell): an optimizer; it says which Parameters are trained.
        sens (float, optional): the gradient that the loss is given. Default: 1.0.
        return_grad (bool): True to return (loss, {name: gradient}). Default: False.

    Outputs:
        Tensor, the loss before the step.
    """

    def __init__(self, network, optimizer, sens=None, return_grad=False):
        super().__init__(auto_prefix=False)
        self.network = network
        self.optimizer = optimizer
        self.weights = ParameterTuple(optimizer.parameters)
        self.sens = 1.0 if sens is None else sens
        self.return_grad = return_grad
        self._gradients = value_and_grad(network, None, self.weights)

    def construct(self, *inputs):
        loss, grads = self._gradients(*inputs)
        if self.sens != 1.0:
            grads = tuple(g * self.sens for g in grads)
        self.optimizer(grads)
        if self.return_grad:
            return loss, {p.name: g for p, g in zip(self.weights, grads)}
        return loss
