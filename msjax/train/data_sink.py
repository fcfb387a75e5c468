"""``ms.data_sink``: a function that takes its arguments from a dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msjax.core.base.checks import check_positive_int
from msjax.engine.compile.jit import jit

if TYPE_CHECKING:
    from msjax.dataset.dataset import Dataset


__all__ = ["data_sink"]


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
