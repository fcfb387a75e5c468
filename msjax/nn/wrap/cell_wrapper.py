"""Cells that wrap a network for training: loss, gradient, one step."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from msjax.common.parameter import Parameter, ParameterTuple
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_kind, check_type, check_value
from msjax.core.base.typing import Number
from msjax.engine.autograd.grad import GradOperation, value_and_grad
from msjax.nn.cell.base import Cell
from msjax.nn.optim.optimizer import map_tuples
from msjax.nn.wrap import loss_scale
from msjax.nn.wrap.grad_reducer import DistributedGradReducer, reducer_for

__all__ = [
    "ForwardValueAndGrad", "ParameterUpdate", "TrainOneStepCell", "TrainOneStepWithLossScaleCell", "WithEvalCell",
    "WithGradCell", "WithLossCell",
]  # fmt: skip


class WithLossCell(Cell):
    """A network and its loss: returns loss_fn(backbone(data), label).

    Args:
        backbone (Cell): the network.
        loss_fn (Cell): the loss.

    Inputs:
        - **data** (Tensor) - what the network takes.
        - **label** (Tensor) - what the loss takes beside the network's output.

    Outputs:
        Tensor, the loss.

    Example:
        >>> net = nn.WithLossCell(nn.ReLU(), nn.MSELoss())
        >>> print(net(Tensor([1.0, -1.0]), Tensor([3.0, 0.0])))
        2.0
    """

    def __init__(self, backbone: Cell, loss_fn: Cell):
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data: Tensor, label: Tensor) -> Tensor:
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Cell:
        """The network."""
        return self._backbone


class WithEvalCell(Cell):
    """A network and its loss for evaluation: returns (loss, output, label).

    Args:
        network (Cell): the network.
        loss_fn (Cell): the loss.
        add_cast_fp32 (bool): whether the output is converted to Float32. Default: False.
    """

    def __init__(self, network: Cell, loss_fn: Cell, add_cast_fp32: bool = False):
        super().__init__(auto_prefix=False)
        self.add_cast_fp32: bool = check_bool(add_cast_fp32, "add_cast_fp32", "WithEvalCell")
        self._network = network
        self._loss_fn = loss_fn

    def construct(self, data: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        outputs = self._network(data)
        if self.add_cast_fp32:
            label, outputs = loss_scale.to_float32(label), loss_scale.to_float32(outputs)
        return self._loss_fn(outputs, label), outputs, label


class WithGradCell(Cell):
    """The gradients of a network's loss with respect to its trainable Parameters.

    Args:
        network (Cell): the network.
        loss_fn (Cell, optional): the loss; without it, the network returns the loss.
        sens (Tensor or number, optional): the gradient that the loss is given. By default one.

    Outputs:
        tuple of Tensors, the gradients.
    """

    def __init__(self, network: Cell, loss_fn: Cell | None = None, sens: Tensor | Number | None = None):
        super().__init__(auto_prefix=False)
        self.network = network
        self.loss_fn = loss_fn
        self.weights: Any = ParameterTuple(network.trainable_params())
        self.sens = sens
        self._network_with_loss = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.set_train()

    def construct(self, *inputs: Any) -> Tensor:
        gradient = GradOperation(get_by_list=True, sens_param=self.sens is not None)
        return gradient(self._network_with_loss, self.weights)(*inputs, *(() if self.sens is None else (self.sens,)))


class ForwardValueAndGrad(Cell):
    """A network's value and its gradients.

    Args:
        network (Cell or callable): the network.
        weights (ParameterTuple, list or Parameter, optional): Parameters to differentiate with respect to, with
            `get_by_list`. By default the trainable ones.
        get_all (bool): True for the gradients of all inputs, as a tuple; False for that of the first.
        get_by_list (bool): True for the gradients of Parameters.
        sens_param (bool): True if the last argument is the gradient that arrives at the output.

    Outputs:
        (value, gradients), the latter as `ops.GradOperation` arranges them.

    Raises:
        TypeError: `network` can't be called, or a flag is not a bool.

    Example:
        >>> value, gradient = nn.ForwardValueAndGrad(nn.MSELoss())(Tensor([3.0]), Tensor([1.0]))
        >>> print(value, gradient)
        4.0 [4.]
    """

    def __init__(
        self,
        network: Cell | Callable[..., Any],
        weights: ParameterTuple | list[Any] | Parameter | None = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ):
        super().__init__(auto_prefix=False)
        fits = isinstance(network, (Cell, types.FunctionType, types.MethodType))
        check_kind(network, fits, "be a Cell or function", "network", "ForwardValueAndGrad")
        for name, flag in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            check_bool(flag, name, "ForwardValueAndGrad")
        if get_by_list and weights is None and not isinstance(network, Cell):
            raise TypeError("For 'ForwardValueAndGrad', get_by_list=True needs 'weights' unless the network is a Cell.")
        self.network = network
        self.weights = weights
        if isinstance(network, Cell):
            if weights is None and get_by_list:
                self.weights = ParameterTuple(network.trainable_params())
            network.set_grad()
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def construct(self, *inputs: Any) -> tuple[Tensor, Tensor]:
        args = inputs[:-1] if self.sens_param else inputs
        seen = []

        def network(*args):
            seen.append(self.network(*args))
            return seen[-1]

        gradient = GradOperation(get_all=self.get_all, get_by_list=self.get_by_list, sens_param=self.sens_param)
        grads = gradient(network, self.weights)(*args, *inputs[len(args) :])
        return seen[-1], grads


def gradients_of(network: Cell, weights: ParameterTuple, sens: float | Tensor) -> Callable[..., Any]:
    """A function of the network's arguments that returns (loss, gradients of weights), the loss weighted with `sens`."""
    if not isinstance(sens, Tensor) and sens == 1.0:
        return value_and_grad(network, None, weights)

    def weighted(*inputs):
        loss = network(*inputs)
        outputs = loss if isinstance(loss, (tuple, list)) else (loss,)
        total = [out * (sens.astype(out.dtype) if isinstance(sens, Tensor) else sens) for out in outputs]
        return tuple(total), loss

    gradient = value_and_grad(weighted, None, weights, has_aux=True)

    def value_and_gradients(*inputs):
        (_, loss), grads = gradient(*inputs)
        return loss, grads

    return value_and_gradients


class TrainOneStepCell(Cell):
    """One step of training: computes the loss, its gradients, and lets the optimizer update the weights.

    With several processes and the parallel mode "data_parallel" (`ms.set_auto_parallel_context`), the optimizer gets the sum or the
    mean of the gradients of all processes. The loss is that of this process.

    Args:
        network (Cell): returns the loss.
        optimizer (Cell): an optimizer; it says which Parameters are trained.
        sens (float, optional): the gradient that the loss is given. Default: 1.0.
        return_grad (bool): True to return (loss, {name: gradient}). Default: False.

    Outputs:
        Tensor, the loss before the step.

    Example:
        >>> net = nn.Dense(1, 1, weight_init="ones", has_bias=False)
        >>> step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
        >>> print(step(Tensor([[1.0]]), Tensor([[0.0]])), net.weight.value())
        1.0 [[0.8]]
    """

    def __init__(self, network: Cell, optimizer: Cell, sens: float | None = None, return_grad: bool = False):
        super().__init__(auto_prefix=False)
        self.network = network
        network.set_grad()
        self.optimizer = optimizer
        # Of an optimizer, `parameters` is a tuple.
        parameters: Any = optimizer.parameters
        self.weights = ParameterTuple(parameters)
        self.sens: float = 1.0 if sens is None else sens
        self.return_grad = return_grad
        self.grad_reducer: Cell = reducer_for(self.weights)
        reducer = self.grad_reducer if isinstance(self.grad_reducer, DistributedGradReducer) else None
        self.reducer_flag: bool = reducer is not None
        self.mean = reducer is not None and reducer.mean
        self.degree = 1 if reducer is None else round(1 / reducer.degree)
        # MindSpore programs that override `construct` use these.
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = GradOperation(get_by_list=True)
        self.hyper_map = map_tuples

    def construct(self, *inputs: Any) -> Any:
        loss, grads = gradients_of(self.network, self.weights, self.sens)(*inputs)
        grads = self.grad_reducer(grads)
        self.optimizer(grads)
        if self.return_grad:
            return loss, {p.name: g for p, g in zip(self.weights, grads)}
        return loss


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One step of training with a scaled loss: a step whose gradients overflow is left out.

    Args:
        network, optimizer: as in `TrainOneStepCell`.
        scale_sense (Tensor or Cell): the scale; or the cell that changes it, such as `DynamicLossScaleUpdateCell`.

    Outputs:
        (loss, overflow, scale): the loss before the step, whether it overflowed (a Bool Tensor), and the scale it had.

    Raises:
        TypeError: `scale_sense` is neither a Tensor nor a Cell.
        ValueError: its shape is neither () nor (1,).
    """

    def __init__(self, network: Cell, optimizer: Cell, scale_sense: Tensor | Cell):
        super().__init__(network, optimizer)
        self.loss_scaling_manager = None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            manager: Any = scale_sense
            scale_sense = Tensor(float(manager.get_loss_scale()))
        who = "TrainOneStepWithLossScaleCell"
        check_kind(scale_sense, isinstance(scale_sense, Tensor), "be a Tensor or Cell", "scale_sense", who)
        check_value(scale_sense, scale_sense.shape in ((), (1,)), "have shape () or (1,)", "scale_sense", who)
        self.scale_sense: Parameter = Parameter(scale_sense, name="scale_sense")

    def construct(self, *inputs: Any) -> tuple[Any, Any, Tensor]:
        scale = self.scale_sense.value()
        loss, grads = gradients_of(self.network, self.weights, scale)(*inputs)
        status, _ = self.start_overflow_check(loss, scale)
        grads = self.grad_reducer(loss_scale.unscale(grads, scale))
        overflow = self.process_loss_scale(self.get_overflow_status(status, grads))
        loss_scale.run_unless(overflow, self.optimizer, grads)
        return loss, overflow, scale

    def set_sense_scale(self, sens: Tensor) -> None:
        """Set the scale, if no cell changes it.

        Args:
            sens (Tensor): the scale.
        """
        check_type(sens, Tensor, "sens", "set_sense_scale")
        self.scale_sense.set_data(sens)

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[None, Any]:
        """accepted for compatibility with MindSpore: returns (None, compute_input); overflow is read from the gradients themselves."""
        return None, compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Tensor:
        """A Bool Tensor: whether a gradient is infinite or NaN."""
        return loss_scale.overflowed(compute_output)

    def process_loss_scale(self, overflow: Tensor) -> Any:
        """Pass `overflow` to the cell that updates the scale; returns it."""
        if self.loss_scaling_manager is None:
            return overflow
        return self.loss_scaling_manager(self.scale_sense, overflow)


class _VirtualDatasetCell(Cell):
    """Calls a network; in MindSpore's modes of automatic parallelism its inputs are split among the devices."""

    def __init__(self, backbone: Cell):
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *inputs: Any) -> Any:
        return self._backbone(*inputs)


class VirtualDatasetCellTriple(_VirtualDatasetCell):
    """Calls a network with three inputs; see `_VirtualDatasetCell`."""

    def construct(self, a: Any, b: Any, c: Any) -> Any:
        return self._backbone(a, b, c)


class ParameterUpdate(Cell):
    """Sets a Parameter to what it is called with.

    Args:
        param (Parameter): the Parameter.

    Raises:
        TypeError: `param` is not a Parameter.
        ValueError: what it is called with has another shape.
    """

    def __init__(self, param: Parameter):
        super().__init__(auto_prefix=False)
        self._param = check_type(param, Parameter, "param", "ParameterUpdate")

    def construct(self, x: Tensor) -> Any:
        if x.shape != self._param.shape:
            raise ValueError(f"For 'ParameterUpdate', the shape should be {self._param.shape}, but it is {x.shape}.")
        self._param.set_data(x)
        return x
