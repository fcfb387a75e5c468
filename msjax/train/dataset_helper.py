"""Functions, networks and loops of a program that take their arguments from a dataset: ``ms.data_sink`` and ``DatasetHelper``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from msjax.core.base.checks import check_bool, check_int, check_kind, check_positive_int
from msjax.engine.compile.jit import jit
from msjax.nn.cell.base import Cell

if TYPE_CHECKING:
    from msjax.dataset.dataset import Dataset

__all__ = ["DatasetHelper", "connect_network_with_dataset", "data_sink"]


def data_sink(
    fn: Callable[..., Any], dataset: Dataset, sink_size: int = 1, jit_config: object = None, input_signature: object = None
) -> Callable[[], Any]:
    """A function without arguments that runs another one on the next rows of a dataset.

    Args:
        fn (callable): takes the columns of a row.
        dataset (Dataset): where the rows come from; when it ends, it starts again.
        sink_size (int): how many rows one call runs. Default: 1.
        jit_config (JitConfig, optional): given, `fn` is compiled.
        input_signature: without effect.

    Returns:
        A function that returns what `fn` returned for the last row.

    Raises:
        ValueError: `sink_size` is not positive, or the dataset has no rows.

    Example:
        >>> import msjax as ms
        >>> from msjax.dataset import NumpySlicesDataset
        >>> rows = NumpySlicesDataset([1.0, 2.0, 3.0], ["x"], shuffle=False)
        >>> step = ms.data_sink(lambda x: x * 2, rows, sink_size=2)
        >>> print(step(), step())
        4.0 2.0
    """
    check_positive_int(sink_size, "sink_size", "data_sink")
    run = fn if jit_config is None else jit(fn)
    rows = RowSource(dataset, "data_sink")

    def sink():
        out = None
        for _ in range(sink_size):
            out = run(*rows.next())
        return out

    return sink


class RowSource:
    """The rows of a dataset one after the other; when it ends, it starts again.

    Args:
        dataset (Dataset): where the rows come from.
        name (str): who asks, for messages.
    """

    def __init__(self, dataset: Dataset, name: str):
        self._dataset, self._name = dataset, name
        self._rows: Any = iter(())

    def next(self) -> Any:
        """The next row."""
        for _ in range(2):
            for row in self._rows:
                return row
            self._rows = iter(self._dataset.create_tuple_iterator())
        raise ValueError(f"For '{self._name}', the dataset has no rows.")


class DatasetHelper:
    """Goes through a dataset: one epoch each time, as lists of Tensors.

    With `dataset_sink_mode`, the loop gets empty tuples instead, and the network that `connect_network_with_dataset` returns takes
    the rows itself, one at each call; the next loop goes on where the last one has stopped.

    Args:
        dataset (Dataset): the batches.
        dataset_sink_mode (bool): see above. Default: True.
        sink_size (int): how many rows one loop takes in that mode; -1 for as many as the dataset has. Default: -1.
        epoch_num (int): without effect; a dataset that has ended starts again.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> from msjax import DatasetHelper, dataset
        >>> rows = dataset.NumpySlicesDataset([1.0, 2.0, 3.0], ["x"], shuffle=False).batch(2)
        >>> for (x,) in DatasetHelper(rows, dataset_sink_mode=False):
        ...     print(x)
        [1. 2.]
        [3.]
    """

    def __init__(self, dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1):
        check_kind(dataset, hasattr(dataset, "create_tuple_iterator"), "be a Dataset", "dataset", "DatasetHelper")
        check_bool(dataset_sink_mode, "dataset_sink_mode", "DatasetHelper")
        for name, value, allowed in (("sink_size", sink_size, -1), ("epoch_num", epoch_num, None)):
            check_int(value, name, "DatasetHelper")
            if value < 1 and value != allowed:
                also = " or -1" if allowed else ""
                raise ValueError(f"For 'DatasetHelper', '{name}' should be positive{also}, but got {value}.")
        self._dataset, self._sinks, self._sink_size = dataset, dataset_sink_mode, sink_size
        self.rows: RowSource = RowSource(dataset, "DatasetHelper")

    @property
    def sinks(self) -> bool:
        """Whether the network takes the rows itself."""
        return self._sinks

    def __iter__(self) -> Iterator[Any]:
        if self._sinks:
            return iter([()] * self.sink_size())
        return map(list, self._dataset.create_tuple_iterator(num_epochs=1))

    def sink_size(self) -> int:
        """The number of rows that one loop takes."""
        return self._dataset.get_dataset_size() if self._sink_size == -1 else self._sink_size

    def types_shapes(self) -> tuple[list[Any], list[Any]]:
        """The data types and the shapes of the columns."""
        return self._dataset.output_types(), self._dataset.output_shapes()

    get_data_info = types_shapes

    def release(self) -> None:
        """Nothing: rows are read when they are taken."""

    continue_send = stop_send = release


class _Connected(Cell):
    """A network that takes its arguments from a helper's dataset."""

    def __init__(self, network: Cell, rows: RowSource):
        super().__init__(auto_prefix=False)
        self.network: Cell = network
        self._rows = rows

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # no `construct`, since rows are read outside of compiled code
        return self.network(*(args or self._rows.next()), **kwargs)


def connect_network_with_dataset(network: Cell, dataset_helper: DatasetHelper) -> Cell:
    """A Cell without arguments that calls a network on the next row of a helper's dataset.

    Args:
        network (Cell): takes the columns of a row.
        dataset_helper (DatasetHelper): made with ``dataset_sink_mode=True``.

    Raises:
        RuntimeError: the helper was made without it.

    Example:
        >>> from msjax import DatasetHelper, connect_network_with_dataset, dataset, nn
        >>> rows = dataset.NumpySlicesDataset([-1.0, 2.0], ["x"], shuffle=False).batch(1)
        >>> helper = DatasetHelper(rows, dataset_sink_mode=True)
        >>> net = connect_network_with_dataset(nn.ReLU(), helper)
        >>> for inputs in helper:
        ...     print(net(*inputs))
        [0.]
        [2.]
    """
    if not isinstance(dataset_helper, DatasetHelper) or not dataset_helper.sinks:
        raise RuntimeError(
            "The API 'connect_network_with_dataset' should be called in dataset sink mode: "
            "with a DatasetHelper that was made with dataset_sink_mode=True."
        )
    return _Connected(network, dataset_helper.rows)
