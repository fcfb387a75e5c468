"""How arrays lie on devices: `Layout`, as a jax sharding; and the ways of MindSpore to ask for it, which change no number."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from msjax.communication.management import get_group_size
from msjax.core.base.checks import check_int, check_kind, check_one_of, check_type, check_value
from msjax.nn.cell.base import Cell

__all__ = ["AutoParallel", "Layout", "shard"]

_Axis = str | tuple[str, ...]


class Layout:
    """Devices as a grid with named sides, and along which of these each axis of an array is cut; a call gives the latter.

    Args:
        device_matrix (tuple of int): how many devices there are along each side.
        alias_name (tuple of str): the names of the sides.
        rank_list (list of int, optional): the numbers of the devices. Default: from 0.

    Raises:
        TypeError, ValueError: no such names or numbers.

    Example:
        >>> from msjax.parallel import Layout
        >>> grid = Layout((1, 1), ("data", "model"))
        >>> grid("data", "None").to_dict()["tensor_map"]
        (1, -1)
        >>> tuple(grid("data", "model").sharding().spec)
        ('data', 'model')
    """

    def __init__(self, device_matrix: tuple[int, ...], alias_name: tuple[str, ...], rank_list: list[int] | None = None):
        who = "Layout"
        check_type(device_matrix, tuple, "device_matrix", who)
        for side in device_matrix:
            check_int(side, "device_matrix", who, low=1)
        check_type(alias_name, tuple, "alias_name", who)
        for name in alias_name:
            check_kind(name, isinstance(name, str), "hold str", "alias_name", who)
        check_value(alias_name, len(alias_name) == len(device_matrix), "name each side", "alias_name", who)
        fits = len({*alias_name}) == len(alias_name) and "None" not in alias_name
        check_value(alias_name, fits, "hold names once, and not 'None'", "alias_name", who)
        count = math.prod(device_matrix)
        check_kind(rank_list, rank_list is None or isinstance(rank_list, list), "be a list of int", "rank_list", who)
        self._ranks = [*range(count)] if rank_list is None else rank_list
        check_value(rank_list, len(self._ranks) == count, f"have {count} numbers", "rank_list", who)
        self._sides, self._names = device_matrix, alias_name
        self._cuts: tuple[_Axis, ...] = ()

    def __call__(self, *tensor_map: _Axis) -> Layout:
        """The layout of an array.

        Args:
            tensor_map (str or tuple of str): for each axis the side that it is cut along, "None" for none, or several sides.

        Raises:
            ValueError: a name that no side has, or one twice.
        """
        used = [name for axis in tensor_map for name in (axis if isinstance(axis, tuple) else (axis,)) if name != "None"]
        for name in used:
            check_value(name, name in self._names, f"be one of {self._names}", "an axis", "Layout")
        check_value(tensor_map, len({*used}) == len(used), "name a side once", "the axes", "Layout")
        made = Layout(self._sides, self._names, self._ranks)
        made._cuts = tensor_map
        return made

    def to_dict(self) -> dict[str, Any]:
        """The layout in MindSpore's form: sides are counted from the last, and -1 is none."""

        def number(axis):
            if isinstance(axis, tuple):
                return tuple(map(number, axis))
            return -1 if axis == "None" else len(self._names) - 1 - self._names.index(axis)

        return {
            "device_matrix": self._sides, "tensor_map": tuple(map(number, self._cuts)), "interleaved_parallel": False,
            "alias_name": self._names, "rank_list": self._ranks,
        }  # fmt: skip

    def sharding(self) -> NamedSharding:
        """The layout for jax: of arrays, of `functionalize`'s parameters, of the arguments of `jax.jit`.

        Raises:
            ValueError: there are not so many devices.
        """
        devices = jax.devices()
        fits = max(self._ranks) < len(devices)
        check_value(self._ranks, fits, f"be numbers of the {len(devices)} devices", "rank_list", "Layout")
        mesh = Mesh(np.array([devices[rank] for rank in self._ranks]).reshape(self._sides), self._names)
        return NamedSharding(mesh, PartitionSpec(*(None if axis == "None" else axis for axis in self._cuts)))


def shard(
    fn: Callable[..., Any], in_strategy: Sequence[Any], out_strategy: Sequence[Any] | None = None,
    parameter_plan: dict[str, Any] | None = None, device: str = "Ascend", level: int = 0,
) -> Callable[..., Any]:  # fmt: skip
    """A function that computes what another does.

    Where arrays lie changes no result; jax computes where its arguments lie, which `Layout.sharding` says.

    Args:
        fn (function or Cell): the other.
        in_strategy, out_strategy, parameter_plan, device, level: without effect here.

    Raises:
        TypeError: `fn` can't be called.
    """
    check_kind(fn, callable(fn), "be a function or a Cell", "fn", "shard")

    @functools.wraps(fn if not isinstance(fn, Cell) else fn.construct)
    def sharded(*args, **kwargs):
        return fn(*args, **kwargs)

    return sharded


class AutoParallel(Cell):
    """A network in one process, called as the network itself is; its settings have no effect.

    Args:
        network (Cell): the network.
        parallel_mode (str): "semi_auto", "sharding_propagation" or "recursive_programming". Default: "semi_auto".

    Raises:
        TypeError, ValueError: a wrong argument.
        NotImplementedError: several processes, or stages of a pipeline.

    Example:
        >>> from msjax import Tensor, nn
        >>> from msjax.parallel.layouts import AutoParallel
        >>> net = AutoParallel(nn.ReLU())
        >>> net.enable_gradients_mean()
        >>> print(net(Tensor([-1.0, 2.0])))
        [0. 2.]
    """

    def __init__(self, network: Cell, parallel_mode: str = "semi_auto"):
        super().__init__(auto_prefix=False)
        self.network: Cell = check_type(network, Cell, "network", "AutoParallel")
        modes = "semi_auto", "sharding_propagation", "recursive_programming"
        check_one_of(parallel_mode, modes, "parallel_mode", "AutoParallel")
        if get_group_size() > 1:
            raise NotImplementedError(
                "For 'AutoParallel', several processes are not offered: they train in data parallelism; or functionalize the network and give "
                "its parameters the shardings of Layout."
            )

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        return self.network(*args, **kwargs)

    def pipeline(
        self, stages: int = 1, output_broadcast: bool = False, interleave: bool = False, scheduler: str = "1f1b"
    ) -> None:
        """Accepted for one stage.

        Raises:
            NotImplementedError: more than one.
        """
        if check_int(stages, "stages", "pipeline", low=1) > 1:
            raise NotImplementedError(f"For 'AutoParallel', a pipeline of {stages} stages is not offered; one stage is.")


def _without_effect(self: AutoParallel, *args: Any, **kwargs: Any) -> None:
    """Accepted for compatibility with MindSpore, without effect in one process."""


for _name in (
    "comm_fusion", "dataset_strategy", "disable_gradient_fp32_sync", "disable_loss_repeated_mean",
    "disable_strategy_file_only_for_trainable_params", "dump_local_norm", "enable_device_local_norm", "enable_fp32_communication",
    "enable_gradients_mean", "hsdp", "no_init_parameters_in_compile", "print_local_norm", "set_group_ckpt_save_file", "transformer_opt",
):  # fmt: skip
    setattr(AutoParallel, _name, _without_effect)
