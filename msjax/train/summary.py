"""SummaryRecord and SummaryCollector: values over the steps of a training, in event files that TensorBoard shows."""

from __future__ import annotations

import itertools
import os
import re
import socket
import time
import warnings
from typing import Any, Self

import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_int, check_one_of, check_str, check_type, check_value
from msjax.core.base.lazy import tensorboardx
from msjax.ops.operations.status_ops import take_summaries
from msjax.train.callback.callback import Callback, RunContext

__all__ = ["SummaryCollector", "SummaryRecord"]

# MindSpore's name, which MindArmour calls.
_get_summary_tensor_data = take_summaries

# Bytes of an event in a file beside its content.
_FRAME = 16


def _scalar(summary, tag, array):
    check_value(array, array.size == 1, "have one element", "a scalar", "SummaryRecord.add_value")
    return summary.scalar(tag, float(array.reshape(())))


def _histogram(summary, tag, array):
    array = array.astype(np.float64).reshape(-1)
    finite = array[np.isfinite(array)]
    counts, edges = np.histogram(finite, 30)
    return summary.histogram_raw(
        tag, finite.min(initial=np.inf), finite.max(initial=-np.inf), finite.size, finite.sum(), np.square(finite).sum(),
        edges[1:].tolist(), counts.tolist(),
    )  # fmt: skip


def _image(summary, tag, array):
    fits = array.ndim == 4 and array.shape[1] in (1, 3, 4)
    check_value(array, fits, "be of shape (N, channels, H, W)", "an image", "SummaryRecord.add_value")
    first = array[0]
    if array.dtype != np.uint8:
        first = first.astype(np.float64)
        low, high = first.min(), first.max()
        first = ((first - low) / (high - low or 1) * 255).astype(np.uint8)
    return summary.image(tag, first, dataformats="CHW")


_ENCODERS = {"scalar": _scalar, "histogram": _histogram, "tensor": _histogram, "image": _image}


class SummaryRecord:
    """Writes values of a training into an event file, which TensorBoard shows; needs the package tensorboardX.

    Args:
        log_dir (str): the folder; it is created if it is missing.
        file_prefix, file_suffix (str): the beginning and the end of the file's name.
        max_file_size (int, optional): in bytes; nothing is written beyond it.
        raise_exception (bool): whether an error while the file is written is raised; otherwise it is a warning. Default: False.
        num_process, network, export_options: kept for MindSpore's programs, without effect.

    Raises:
        ValueError: `max_file_size` is not positive.
        ModuleNotFoundError: tensorboardX is not installed.

    Example:
        >>> import tempfile
        >>> import msjax as ms
        >>> with tempfile.TemporaryDirectory() as folder, ms.SummaryRecord(folder) as record:
        ...     record.add_value("scalar", "loss", ms.Tensor(0.5))
        ...     record.record(1)
        True
    """

    def __init__(
        self,
        log_dir: str,
        file_prefix: str = "events",
        file_suffix: str = "_MS",
        num_process: int = 32,
        network: Any = None,
        max_file_size: int | None = None,
        raise_exception: bool = False,
        export_options: Any = None,
    ):
        check_value(log_dir, check_str(log_dir, "log_dir", "SummaryRecord"), "not be empty", "log_dir", "SummaryRecord")
        self._raise = check_bool(raise_exception, "raise_exception", "SummaryRecord")
        check_value(max_file_size, max_file_size is None or max_file_size > 0, "be positive", "max_file_size", "SummaryRecord")
        tensorboardx("SummaryRecord")
        from tensorboardX import summary
        from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
        from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]
        from tensorboardX.record_writer import RecordWriter

        self._summary, self._event, self._summaries = summary, Event, Summary
        os.makedirs(log_dir, exist_ok=True)
        self.log_dir: str = os.path.realpath(log_dir)
        # TensorBoard looks for files with "tfevents" in their names.
        end = f"{os.getpid()}.{socket.gethostname()}{file_suffix}"
        names = (f"{file_prefix}.out.tfevents.{second}.{end}" for second in itertools.count(int(time.time())))
        paths = (os.path.join(self.log_dir, name) for name in names)
        self.full_file_name: str = next(path for path in paths if not os.path.exists(path))
        self._left = max_file_size
        self._values = []
        self._mode = "train"
        self._file: Any = RecordWriter(self.full_file_name)
        self._write(file_version="brain.Event:2")

    def set_mode(self, mode: str) -> None:
        """Whether the values are of "train" or "eval"; those of "eval" get that as a prefix of their names."""
        self._mode = check_one_of(mode, ("train", "eval"), "mode", "set_mode")

    def add_value(self, plugin: str, name: str, value: Tensor) -> None:
        """Keep a value until `record`.

        Args:
            plugin (str): "scalar"; "histogram" or "tensor" for the distribution of the elements; "image" for the first of some images
                (N, channels, H, W). Others, such as "graph", are left out.
            name (str): the name of the curve.
            value (Tensor or number): the value.

        Raises:
            TypeError: the name is not a str.
            ValueError: the value has no fitting shape.
        """
        check_str(name, "name", "SummaryRecord.add_value")
        if plugin not in _ENCODERS:
            return
        array = value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
        tag = name if self._mode == "train" else f"eval/{name}"
        self._values += _ENCODERS[plugin](self._summary, tag, array).value

    def record(self, step: int, train_network: Any = None, plugin_filter: Any = None) -> bool:
        """Write the values that `add_value` has kept, and those of the network's summary operators (`ops.ScalarSummary` and others).

        Args:
            step (int): their step.
            train_network, plugin_filter: without effect.

        Returns:
            bool, whether they were written.
        """
        check_int(step, "step", "SummaryRecord.record")
        for name, value in take_summaries().items():
            tag, kind = name[:-1].rsplit("[:", 1)
            self.add_value(kind.lower(), tag, value)
        values, self._values = self._values, []
        return self._write(step=step, summary=self._summaries(value=values))

    def _write(self, **content):
        data = self._event(wall_time=time.time(), **content).SerializeToString()
        if self._left is not None:
            if len(data) + _FRAME > self._left:
                warnings.warn(f"The summary file {self.full_file_name} has reached its 'max_file_size'.", stacklevel=3)
                return False
            self._left -= len(data) + _FRAME
        try:
            self._file.write(data)
            self._file.flush()
        except (OSError, ValueError) as error:
            if self._raise:
                raise
            warnings.warn(f"The summary file {self.full_file_name} could not be written: {error}", stacklevel=3)
            return False
        return True

    @property
    def log_dir_path(self) -> str:
        """The folder."""
        return self.log_dir

    def flush(self) -> None:
        """Write what is kept in memory to the disk."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.close()


class SummaryCollector(Callback):
    """A callback that writes the loss, the learning rate and histograms of the Parameters into an event file.

    Args:
        summary_dir (str): the folder.
        collect_freq (int): every so many steps. Default: 10.
        collect_specified_data (dict, optional): {"collect_metric": False} leaves out the loss and the learning rate, {"histogram_regular":
            pattern} names the Parameters (None for none; by default all).
        keep_default_action (bool): whether what the dict does not name is collected. Default: True.
        num_process, custom_lineage_data, collect_tensor_freq, max_file_size, export_options: the size as in `SummaryRecord`; the
            others are without effect.

    Raises:
        TypeError, ValueError: a wrong `collect_freq`, `collect_specified_data` or `keep_default_action`.
    """

    def __init__(
        self,
        summary_dir: str,
        collect_freq: int = 10,
        num_process: int = 32,
        collect_specified_data: dict[str, Any] | None = None,
        keep_default_action: bool = True,
        custom_lineage_data: Any = None,
        collect_tensor_freq: int | None = None,
        max_file_size: int | None = None,
        export_options: Any = None,
    ):
        super().__init__()
        who = "SummaryCollector"
        chosen = {} if collect_specified_data is None else check_type(collect_specified_data, dict, "collect_specified_data", who)
        self._freq = check_int(collect_freq, "collect_freq", who, low=1)
        check_bool(keep_default_action, "keep_default_action", who)
        self._metric = check_bool(chosen.get("collect_metric", keep_default_action), "collect_metric", who)
        self._pattern = chosen.get("histogram_regular", "" if keep_default_action else None)
        self._record = SummaryRecord(summary_dir, max_file_size=max_file_size)

    def on_train_step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        step = params.cur_step_num
        if step % self._freq and step != 1:
            return
        loss = params.net_outputs
        loss = loss[0] if isinstance(loss, (tuple, list)) else loss
        if self._metric and isinstance(loss, Tensor):
            self._record.add_value("scalar", "loss", loss.mean())
        network = params.train_network
        optimizer = getattr(network, "optimizer", None) or params.get("optimizer")
        if self._metric and optimizer is not None and hasattr(optimizer, "get_lr"):
            rate = optimizer.get_lr()
            self._record.add_value("scalar", "learning_rate", rate[0] if isinstance(rate, (tuple, list)) else rate)
        if self._pattern is not None:
            # The training network's own ones are also the optimizer's state.
            for parameter in network.trainable_params() if optimizer is None else optimizer.parameters:
                if re.match(self._pattern, parameter.name):
                    self._record.add_value("histogram", parameter.name, parameter.value())
        self._record.record(step)

    def on_train_end(self, run_context: RunContext) -> None:
        self._record.close()
