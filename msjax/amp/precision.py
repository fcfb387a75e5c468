"""Which parts of a network are computed in 16 bits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from msjax import nn
from msjax.amp.by_operator import ByOperator
from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.core.base.checks import (
    check_callable,
    check_kind,
    check_one_given,
    check_one_of,
    check_options,
    check_type,
    check_value,
)
from msjax.engine.autograd.precision import computing_in
from msjax.nn.cell.base import Cell
from msjax.nn.cell.settings import compute_in
from msjax.nn.wrap.loss_scale import to_float32

if TYPE_CHECKING:
    from msjax.nn.wrap.cell_wrapper import TrainOneStepCell


_P = ParamSpec("_P")
_R = TypeVar("_R")
_LEVELS = ("O0", "O1", "O2", "O3", "auto")


def get_white_list() -> list[Any]:
    """The classes of cells that level O1 computes in 16 bits."""
    return [
        nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Conv1dTranspose, nn.Conv2dTranspose, nn.Conv3dTranspose, nn.Dense, nn.LSTMCell,
        nn.RNNCell, nn.GRUCell,
    ]  # fmt: skip


def get_black_list() -> list[Any]:
    """The classes of cells that level O2 computes in Float32."""
    return [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm]


class _OutputTo32(Cell):
    """A network whose floating outputs become Float32."""

    def __init__(self, backbone: Cell):
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *args, **kwargs):
        return to_float32(self._backbone(*args, **kwargs))

    @property
    def backbone_network(self):
        """The network."""
        return self._backbone


@overload
def auto_mixed_precision(network: Cell, amp_level: str = "O0", dtype: Type = mstype.float16) -> Cell: ...


@overload
def auto_mixed_precision(network: Callable[_P, _R], amp_level: str = "O0", dtype: Type = mstype.float16) -> Callable[_P, _R]: ...


def auto_mixed_precision(network: Any, amp_level: str = "O0", dtype: Type = mstype.float16) -> Any:
    """Compute a network in mixed precision. Its Parameters keep their types.

    Args:
        network (Cell or function): the network; its cells are changed. A function can have level "auto" only.
        amp_level (str): "O0" for no change; "O1" for the cells of `get_white_list` in 16 bits, with Float32 results; "O2" for
            all but the cells of `get_black_list` in 16 bits; "O3" for all in 16 bits. The results of O2 and O3 are Float32.
            "auto" chooses for each operator: products and convolutions in 16 bits, that of `nn.Dense` with its bias; exponentials, logarithms, powers, sums,
            normalizations and losses in Float32; sums with a bias and concatenation in the widest type of their operands; the
            others in the type that they get. `to_float` of a cell within goes before. Default: "O0".
        dtype (ms.dtype): ms.float16 or ms.bfloat16. Default: ms.float16.

    Returns:
        The network, for O2 and O3 in a cell around it; of a function, another one.

    Raises:
        TypeError: `network` is neither a Cell nor a function, or a function with another level than "auto".
        ValueError: an unknown level or another type.

    Example:
        >>> from msjax import Tensor, amp, bfloat16, nn
        >>> net = amp.auto_mixed_precision(nn.Dense(2, 2), "O3", bfloat16)
        >>> print(net(Tensor([[1.0, 2.0]])).dtype)
        Float32
    """
    check_one_of(amp_level, _LEVELS, "amp_level", "auto_mixed_precision")
    if amp_level == "auto" and not isinstance(network, Cell):
        check_callable(network, "network", "auto_mixed_precision")
        _check_type(dtype, "auto_mixed_precision")

        @functools.wraps(network)
        def run(*args, **kwargs):
            with computing_in(ByOperator(dtype)):
                return network(*args, **kwargs)

        return run
    _check(network, dtype, "auto_mixed_precision")
    if amp_level == "auto":
        compute_in(network, ByOperator(dtype))
        return network
    if amp_level == "O0":
        return network
    if amp_level == "O1":
        return _white(network, get_white_list(), dtype)
    return _black(network, get_black_list() if amp_level == "O2" else [], dtype)


def custom_mixed_precision(
    network: Cell, *, white_list: list[Any] | None = None, black_list: list[Any] | None = None, dtype: Type = mstype.float16
) -> Cell:
    """Compute a network in mixed precision, with custom lists of classes. Its Parameters keep their types.

    Args:
        network (Cell): the network; its cells are changed.
        white_list (list): classes of cells to compute in 16 bits, with Float32 results.
        black_list (list): classes of cells to compute in Float32, all others in 16 bits. Give one of both lists.
        dtype (ms.dtype): ms.float16 or ms.bfloat16. Default: ms.float16.

    Returns:
        The network; with `black_list` in a cell around it, which makes its results Float32.

    Raises:
        TypeError: `network` is not a Cell, or a list holds something else than classes of cells.
        ValueError: both lists or none, or another type.
    """
    _check(network, dtype, "custom_mixed_precision")
    check_one_given(("white_list", "black_list"), (white_list, black_list), "custom_mixed_precision")
    for name, classes in (("white_list", white_list), ("black_list", black_list)):
        if classes is not None:
            _check_classes(classes, name)
    return _white(network, white_list, dtype) if black_list is None else _black(network, black_list, dtype)


def _check(network, dtype, who):
    check_type(network, Cell, "network", who)
    _check_type(dtype, who)


def _check_type(dtype, who):
    check_value(dtype, dtype in (mstype.float16, mstype.bfloat16), "be ms.float16 or ms.bfloat16", "dtype", who)


def _check_classes(classes, name):
    check_kind(classes, isinstance(classes, (list, tuple)), "be a list", name, "custom_mixed_precision")
    for each in classes:
        check_kind(each, isinstance(each, type), "hold classes", name, "custom_mixed_precision")
        if not issubclass(each, Cell):
            raise NotImplementedError(
                f"For 'custom_mixed_precision', '{name}' can hold classes of cells only; single operators such as {each.__name__} "
                "are computed in the type of the cell that uses them."
            )


def _output_to_32(cell, args, output):
    return to_float32(output)


def _white(network, classes, dtype):
    for _, cell in network.cells_and_names():
        if isinstance(cell, tuple(classes)):
            cell.to_float(dtype)
            cell.register_forward_hook(_output_to_32)
    return network


def _black(network, classes, dtype):
    network.to_float(dtype)
    for _, cell in network.cells_and_names():
        if isinstance(cell, tuple(classes)):
            cell.to_float(mstype.float32)
    return _OutputTo32(network)


LEVEL_SETTINGS = ("cast_model_type", "keep_batchnorm_fp32", "loss_scale_manager")


def build_train_network(
    network: Cell, optimizer: Cell, loss_fn: Cell | None = None, level: str = "O0", boost_level: str = "O0", **kwargs: Any
) -> TrainOneStepCell:
    """A cell that makes one step of training in mixed precision.

    Args:
        network (Cell): the network.
        optimizer (Cell): an optimizer.
        loss_fn (Cell, optional): the loss; without it, the network returns the loss.
        level (str): see `auto_mixed_precision`. Default: "O0".
        boost_level (str): accepted for compatibility with MindSpore; "O0" only.
        cast_model_type (ms.dtype): ms.float16 or ms.float32, in the place of the level's.
        keep_batchnorm_fp32 (bool): whether the cells of `get_black_list` are computed in Float32.
        loss_scale_manager (LossScaleManager, optional): scales the loss; None for no scaling.

    Returns:
        Cell, a `nn.TrainOneStepCell`, or with a manager that leaves out steps, a `nn.TrainOneStepWithLossScaleCell`.

    Raises:
        TypeError, ValueError: a wrong argument.
    """
    who = "build_train_network"
    for name, cell in (("network", network), ("optimizer", optimizer)):
        check_type(cell, Cell, name, who)
    check_one_of(level, _LEVELS, "level", who)
    if boost_level != "O0":
        raise NotImplementedError(f"For '{who}', 'boost_level' other than 'O0' is not offered.")
    check_options(kwargs, LEVEL_SETTINGS, who, what="argument", error=ValueError)
    cast = kwargs.get("cast_model_type", mstype.float16 if level in ("O2", "O3") else mstype.float32)
    keep = kwargs.get("keep_batchnorm_fp32", level != "O3")
    manager = kwargs.get("loss_scale_manager")
    if level == "O1":
        network = auto_mixed_precision(network, "O1")
    elif level == "auto" and "cast_model_type" not in kwargs:
        network = _OutputTo32(auto_mixed_precision(network, "auto"))
    elif cast != mstype.float32:
        network = _black(network, get_black_list() if keep else [], cast)
    if loss_fn is not None:
        network = nn.WithLossCell(network, loss_fn)
    update = None if manager is None else manager.get_update_cell()
    if update is not None:
        return nn.TrainOneStepWithLossScaleCell(network, optimizer, update).set_train()
    sens = 1.0 if manager is None else manager.get_loss_scale()
    return nn.TrainOneStepCell(network, optimizer, sens).set_train()
