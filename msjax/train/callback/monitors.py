"""Callbacks that report progress: LossMonitor, TimeMonitor, History."""

from __future__ import annotations

import time

import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_int
from msjax.train.callback.callback import Callback, RunContext, loss_of


class LossMonitor(Callback):
    """Prints the loss of steps of training and of `Model.eval`, and with `Model.fit` the metrics of each epoch.

    Args:
        per_print_times (int): after how many steps it prints; 0 for never. Default: 1.

    Raises:
        TypeError, ValueError: `per_print_times` is not an int, or negative.
        ValueError: a loss that is to be printed is infinite or no number.
    """

    def __init__(self, per_print_times: int = 1):
        super().__init__()
        self._per_print_times = check_int(per_print_times, "per_print_times", "LossMonitor", low=0)
        self._last_print_time = 0

    def begin(self, run_context: RunContext) -> None:
        self._last_print_time = 0

    def step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        if not self._per_print_times or params.cur_step_num - self._last_print_time < self._per_print_times:
            return
        self._last_print_time = params.cur_step_num
        epoch, loss = params.get("cur_epoch_num", 1), loss_of(params.net_outputs)
        step = (params.cur_step_num - 1) % (params.batch_num or params.cur_step_num) + 1
        if isinstance(params.net_outputs, Tensor) and not np.isfinite(loss):
            raise ValueError(
                f"In epoch: {epoch} step: {step}, loss is NAN or INF, training process cannot continue, terminating training."
            )
        print(f"epoch: {epoch} step: {step}, loss is {loss}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        metrics = params.get("metrics")
        if metrics:
            print(f"Eval result: epoch {params.cur_epoch_num}, metrics: {metrics}")


class TimeMonitor(Callback):
    """Prints how long an epoch and a step take.

    Args:
        data_size (int, optional): the number of steps that a step's time is taken from. By default those of the epoch.
        data_time (bool): whether it prints also how long a step waits for its data. Default: False.
    """

    def __init__(self, data_size: int | None = None, data_time: bool = False):
        super().__init__()
        if data_size is not None and check_int(data_size, "data_size", "TimeMonitor", low=0) == 0:
            raise ValueError("For 'TimeMonitor', 'data_size' should be positive, but got 0.")
        check_bool(data_time, "data_time", "TimeMonitor")
        self.data_size, self.data_time = data_size, data_time
        self._start = self._last = time.perf_counter()
        self._steps = 0
        self._fetching = 0.0

    def epoch_begin(self, run_context: RunContext) -> None:
        self._start = self._last = time.perf_counter()
        self._steps = 0
        self._fetching = 0.0

    def step_begin(self, run_context: RunContext) -> None:
        self._fetching += time.perf_counter() - self._last

    def step_end(self, run_context: RunContext) -> None:
        self._steps += 1
        self._last = time.perf_counter()

    def epoch_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        if not self._steps:
            return
        epoch = (time.perf_counter() - self._start) * 1000
        steps = self.data_size or self._steps
        step = epoch / steps
        text = f"{params.get('mode', '').title()} epoch time: {epoch:5.3f} ms, per step time: {step:5.3f} ms"
        if self.data_time:
            text += f" (data time: {1000 * self._fetching / steps:5.3f} ms)"
        print(text, flush=True)


class History(Callback):
    """Keeps what each epoch returned: `epoch` has the numbers of epochs, `history` the means of the outputs and, with `Model.fit`, metrics."""

    def __init__(self):
        super().__init__()
        self.history = {}
        self.epoch = {}

    def on_train_begin(self, run_context: RunContext) -> None:
        self.epoch = {}
        network = run_context.original_args().get("network")
        if network is not None:
            network.__dict__["history"] = self

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        self.epoch.setdefault("epoch", []).append(params.get("cur_epoch_num", 1))
        output = params.get("net_outputs")
        if isinstance(output, (tuple, list)) and output and isinstance(output[0], Tensor):
            output = output[0]
        output = np.mean(output.asnumpy()) if isinstance(output, Tensor) else output
        for name, value in {"net_output": output, **(params.get("metrics") or {})}.items():
            self.history.setdefault(name, []).append(value)
