"""WaitedDSCallback: functions that are called between the steps of a training and the rows that are read for it."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from msjax.dataset import config
from msjax.dataset.callback import DSCallback
from msjax.train.callback import Callback, RunContext


class WaitedDSCallback(Callback, DSCallback):
    """The base of callbacks of `map` that wait for the training: give the same object to `map` and to `Model.train`.

    `sync_epoch_begin` is called before each epoch but the first, once the epoch of the training before it has ended, and `sync_step_begin` before
    each step but the first, once the step before it has. Rows wait for that for ``ds.config.get_callback_timeout()`` seconds.

    Args:
        step_size (int): the rows of a step, as the batch size is. Default: 1.

    Raises:
        RuntimeError: while rows are read: the training has not come so far in time, as where `step_size` is not the batch size.

    Example:
        >>> from msjax import dataset as ds
        >>> class Note(ds.WaitedDSCallback):
        ...     def sync_step_begin(self, train_run_context, ds_run_context):
        ...         print("before row", ds_run_context.cur_step_num)
        >>> note = Note()
        >>> for row in ds.NumpySlicesDataset([1, 2], ["v"], shuffle=False).map(lambda v: v, callbacks=note):
        ...     note.step_end(None)
        before row 2
    """

    def __init__(self, step_size: int = 1):
        super().__init__()
        DSCallback.__init__(self, step_size)
        self._told = threading.Condition()
        self._ended = {"epoch": 0, "step": 0}
        self._context_of_training: Any = None
        self._waits = True

    def sync_epoch_begin(self, train_run_context: RunContext, ds_run_context: SimpleNamespace) -> None:
        """Called before each epoch but the first."""

    def sync_step_begin(self, train_run_context: RunContext, ds_run_context: SimpleNamespace) -> None:
        """Called before each step but the first."""

    def ds_epoch_begin(self, ds_run_context: SimpleNamespace) -> None:
        """Wait for the end of the training's epoch, and call `sync_epoch_begin`."""
        if ds_run_context.cur_epoch_num > 1 and self._wait("epoch", ds_run_context.cur_epoch_num - 1):
            self.sync_epoch_begin(self._context_of_training, ds_run_context)

    def ds_step_begin(self, ds_run_context: SimpleNamespace) -> None:
        """Wait for the end of the training's step, and call `sync_step_begin`."""
        if ds_run_context.cur_step_num > self.step_size and self._wait(
            "step", (ds_run_context.cur_step_num - 1) // self.step_size
        ):
            self.sync_step_begin(self._context_of_training, ds_run_context)

    def epoch_end(self, run_context: RunContext) -> None:
        """Told by the training."""
        self._tell("epoch", run_context)

    def step_end(self, run_context: RunContext) -> None:
        """Told by the training."""
        self._tell("step", run_context)

    def end(self, run_context: RunContext) -> None:
        """Told by the training: rows wait no longer."""
        with self._told:
            self._waits = False
            self._told.notify_all()

    def _tell(self, what, run_context):
        with self._told:
            self._ended[what] += 1
            self._context_of_training = run_context
            self._told.notify_all()

    def _wait(self, what: str, number: int) -> Any:
        """Whether the training goes on, once so many of its epochs or steps have ended."""
        seconds = config.get_callback_timeout()
        with self._told:
            if not self._told.wait_for(lambda: not self._waits or self._ended[what] >= number, seconds):
                raise RuntimeError(
                    f"RuntimeError: ds_{what}_begin timed out after {seconds} second(s): {what} {number} of the training has not ended. "
                    "The callback has to be given to Model.train, too, and 'step_size' should be the size of a batch."
                )
            return self._waits

    def _begin(self, epoch):
        if epoch == 0:
            with self._told:
                self._ended, self._waits = {"epoch": 0, "step": 0}, True
        super()._begin(epoch)
