"""DSCallback: functions that are called while `map` is read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from msjax.core.base.checks import check_int
from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.dataset.waited_callback import WaitedDSCallback as WaitedDSCallback
else:
    __getattr__, __dir__ = on_first_use(__name__)

# The names of the methods, of which a callback has one at least.
TIMES = (
    "ds_begin", "ds_epoch_begin", "ds_epoch_end", "ds_step_begin", "ds_step_end",
    "sync_epoch_begin", "sync_step_begin",
)  # fmt: skip


class DSCallback:
    """The base of callbacks of `map`: define those of the ``ds_...`` methods that you need.

    Each gets an object with `cur_epoch_num`, `cur_step_num_in_epoch` and `cur_step_num`, which count from 1; a step is a row.

    Args:
        step_size (int): of so many rows, `ds_step_begin` and `ds_step_end` are called at the first. Default: 1.

    Example:
        >>> class Count(ds.DSCallback):
        ...     def ds_step_end(self, ds_run_context):
        ...         print("row", ds_run_context.cur_step_num)
        >>> data = ds.NumpySlicesDataset([1, 2], ["v"]).map(lambda v: v, callbacks=[Count()])
        >>> for row in data.create_dict_iterator(num_epochs=1):
        ...     pass
        row 1
        row 2
    """

    def __init__(self, step_size: int = 1):
        self.step_size: int = check_int(step_size, "step_size", "DSCallback", low=1)
        self._steps = self._in_epoch = self._epoch = 0

    def ds_begin(self, ds_run_context: SimpleNamespace) -> None:
        """Called before the first row of all."""

    def ds_epoch_begin(self, ds_run_context: SimpleNamespace) -> None:
        """Called before each epoch."""

    def ds_epoch_end(self, ds_run_context: SimpleNamespace) -> None:
        """Called after each epoch."""

    def ds_step_begin(self, ds_run_context: SimpleNamespace) -> None:
        """Called before a row is handed on."""

    def ds_step_end(self, ds_run_context: SimpleNamespace) -> None:
        """Called after a row has been handed on."""

    def _context(self, epoch=None):
        return SimpleNamespace(
            cur_epoch_num=self._epoch + 1 if epoch is None else epoch,
            cur_step_num_in_epoch=self._in_epoch,
            cur_step_num=self._steps,
            cur_step=self._steps,
        )

    def _begin(self, epoch):
        if epoch == 0:
            self._steps = 0
        self._epoch, self._in_epoch = epoch, 0
        if epoch == 0:
            self.ds_begin(self._context(0))
        self.ds_epoch_begin(self._context())

    def _step_begin(self):
        self._steps, self._in_epoch = self._steps + 1, self._in_epoch + 1
        if self._is_due():
            self.ds_step_begin(self._context())

    def _step_end(self):
        if self._is_due():
            self.ds_step_end(self._context())

    def _is_due(self):
        return (self._in_epoch - 1) % self.step_size == 0

    def _end(self):
        self.ds_epoch_end(self._context())
