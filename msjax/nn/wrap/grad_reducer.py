"""DistributedGradReducer."""

from __future__ import annotations

from collections.abc import Sequence

from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_positive_int
from msjax.engine.processes.groups import PROCESSES, WORLD_NAMES
from msjax.engine.settings import parallel
from msjax.nn.cell.base import Cell
from msjax.nn.layer.basic import Identity
from msjax.ops.function.collectives import broadcast, reduce_gradients

__all__ = ["DistributedGradReducer"]


class DistributedGradReducer(Cell):
    """Adds up the gradients of all processes; with `mean`, divides the sum by their number.

    Args:
        parameters (list of Parameters): those to which the gradients belong.
        mean (bool, optional): whether the sum is divided. By default the setting gradients_mean of
            `ms.set_auto_parallel_context`.
        degree (int, optional): by what it is divided. By default the setting device_num, or else the number of processes.
        fusion_type (int): without effect: all gradients are reduced by one program.
        group (str): the group of processes. Default: all.

    Inputs:
        - **grads** (tuple of Tensors) - of the same shapes and dtypes in each process; None stays None.

    Outputs:
        tuple of Tensors of the same shapes and dtypes.

    Raises:
        TypeError: `mean` is not a bool, or `degree` is not an int.
        ValueError: `degree` is not positive.
        RuntimeError: there is no such group, or this process is not in it.

    Example:
        >>> reducer = nn.DistributedGradReducer([], mean=True)
        >>> print(reducer((Tensor([1.0, 2.0]),))[0])  # one process
        [1. 2.]
    """

    def __init__(
        self,
        parameters: Sequence[Parameter],
        mean: bool | None = None,
        degree: int | None = None,
        fusion_type: int = 1,
        group: str = WORLD_NAMES[0],
    ):
        super().__init__(auto_prefix=False)
        if mean is None:
            mean = parallel.get_auto_parallel_context("gradients_mean")
        if degree is None:
            degree = parallel.device_num() or PROCESSES.group(group).size
        self.group = group
        self.mean: bool = check_bool(mean, "mean", "DistributedGradReducer")
        # As in MindSpore: what the sum is multiplied by.
        self.degree: float = 1 / check_positive_int(degree, "degree", "DistributedGradReducer")

    def construct(self, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        there = [g for g in grads if g is not None]
        reduced = iter(reduce_gradients(there, self.degree if self.mean else 1.0, self.group))
        return tuple([None if g is None else next(reduced) for g in grads])


def reducer_for(parameters: Sequence[Parameter]) -> Cell:
    """What a training cell does with its gradients, according to `ms.set_auto_parallel_context`: nothing, or it adds them up over
    all processes. With the setting parameter_broadcast, it also gives all processes the Parameters of process 0.
    """
    if not parallel.reduces_gradients():
        return Identity()
    if parallel.get_auto_parallel_context("parameter_broadcast") and PROCESSES.group().size > 1:
        for parameter, value in zip(parameters, broadcast([p.value() for p in parameters], 0)):
            parameter.set_data(value)
    return DistributedGradReducer(parameters)
