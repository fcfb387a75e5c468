"""sync_wait and sync_update: rows that wait until the program has answered those before."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

from msjax.core.base.checks import check_int, check_type, is_int
from msjax.core.base.errors import check_function
from msjax.dataset import config
from msjax.dataset.dataset import AsMany, Dataset


class SyncWaitDataset(AsMany):
    """Let rows wait until `sync_update` is called on what is made of this dataset, so that the program can change how they are made.

    Args:
        condition_name (str): the name for `sync_update`.
        num_batch (int): how many rows pass before they wait. Default: 1.
        callback (callable, optional): what `sync_update` calls with its data.

    Rows that have waited for ``ds.config.get_callback_timeout()`` seconds go on, with a warning.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: the name is in use.

    Example:
        >>> size = [1]
        >>> data = ds.NumpySlicesDataset([1, 1, 1], ["x"]).sync_wait("size", callback=lambda n: size.append(n))
        >>> data = data.map(lambda x: x * size[-1], ["x"])
        >>> for (x,) in data.create_tuple_iterator(num_epochs=1):
        ...     print(x)
        ...     data.sync_update("size", data=int(x) + 5)
        1
        6
        11
    """

    def __init__(self, dataset: Dataset, condition_name: str, num_batch: int = 1, callback: Callable[..., Any] | None = None):
        self._inputs = (dataset,)
        self.name: str = check_type(condition_name, str, "condition_name", "sync_wait")
        check_int(num_batch, "num_batch", "sync_wait")
        if num_batch <= 0:
            raise ValueError(f"num_batch need to be greater than 0, but got {num_batch}.")
        if callback is not None:
            check_function(callback, "sync_wait")
        if self.name in conditions(dataset):
            raise RuntimeError(f"Condition name is already in use: {self.name!r}.")
        self._batch, self._callback = num_batch, callback
        self._open = num_batch
        self._waits = True
        self._changed = threading.Condition()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_changed"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _changed=threading.Condition())

    def _rows(self, run):
        for row in self._inputs[0]._rows(run.child()):
            with self._changed:
                seconds = config.get_callback_timeout()
                if self._waits and not self._changed.wait_for(lambda: self._open > 0 or not self._waits, seconds):
                    self._waits = False
                    warnings.warn(
                        f"For 'sync_wait', no sync_update({self.name!r}) came within {seconds} seconds; rows don't wait for it any "
                        "longer. ds.config.set_callback_timeout changes the time.",
                        stacklevel=2,
                    )
                self._open -= 1
            yield row

    def disable(self) -> None:
        """Let all rows pass."""
        with self._changed:
            self._waits = False
            self._changed.notify_all()

    def update(self, num_batch: int | None, data: Any) -> None:
        """Call the callback, and let further rows pass."""
        count = self._batch if num_batch is None else num_batch
        if not is_int(count) or count <= 0:
            raise RuntimeError(f"Sync_update batch size can only be positive integer, got: {num_batch}.")
        if self._callback is not None:
            self._callback(data)
        with self._changed:
            self._open += count
            self._changed.notify_all()


def conditions(dataset: Dataset) -> dict[str, SyncWaitDataset]:
    """The conditions of a pipeline by name."""
    found = {dataset.name: dataset} if isinstance(dataset, SyncWaitDataset) else {}
    for one in dataset._inputs:
        found |= conditions(one)
    return found
