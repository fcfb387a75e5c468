"""`Dataset.device_que`: a pipeline that a thread of its own runs."""

from __future__ import annotations

import itertools
import threading

from msjax.core.base.checks import check_bool
from msjax.dataset.dataset import AsMany, Dataset


class TransferDataset(AsMany):
    """The dataset with a method `send(num_epochs)`, which reads its rows in a thread.

    No operator takes rows out of a queue here, so what `send` reads is dropped, as it is by MindSpore on a CPU: it is for what a pipeline does
    while it is read, such as its callbacks. An error ends the thread, which prints it.

    Args:
        send_epoch_end, create_data_info_queue (bool), queue_name (str): without effect. Default: True, False, "".

    Raises:
        TypeError: a wrong argument.

    Example:
        >>> import threading
        >>> seen, both = [], threading.Event()
        >>> def note(v):
        ...     seen.append(int(v))
        ...     if len(seen) == 2:
        ...         both.set()
        ...     return v
        >>> ds.NumpySlicesDataset([5, 6], shuffle=False).map(note).device_que().send(num_epochs=1)
        >>> both.wait(10), seen
        (True, [5, 6])
    """

    def __init__(self, dataset: Dataset, send_epoch_end: bool = True, create_data_info_queue: bool = False, queue_name: str = ""):
        check_bool(send_epoch_end, "send_epoch_end", "device_que")
        check_bool(create_data_info_queue, "create_data_info_queue", "device_que")
        self._inputs = (dataset,)
        self._goes_on, self._released = threading.Event(), False

    def send(self, num_epochs: int = -1) -> None:
        """Begin to read the rows of so many epochs; -1: until `release`."""
        rows = self.create_tuple_iterator(num_epochs=num_epochs, output_numpy=True)
        self._goes_on.set()
        threading.Thread(target=self._read, args=(rows, num_epochs), daemon=True).start()

    def _read(self, rows, epochs):
        for _ in range(epochs) if epochs > 0 else itertools.count():
            for _ in rows:
                self._goes_on.wait()
                if self._released:
                    return

    def stop_send(self) -> None:
        """Wait before the next row."""
        self._goes_on.clear()

    def continue_send(self) -> None:
        """Go on after `stop_send`."""
        self._goes_on.set()

    def release(self) -> None:
        """End."""
        self._released = True
        self._goes_on.set()
