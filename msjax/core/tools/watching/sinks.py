"""Where the statistics of `watch` go: a page, TensorBoard, W&B, a CSV file, a plot in a notebook, or any function; files and plots in a thread of
their own, so that no step of training waits for a disk or a drawing."""

from __future__ import annotations

import contextlib
import contextvars
import csv
import importlib
import io
import os
import queue
import re
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from msjax.core.base.checks import check_path
from msjax.core.base.errors import check_arity, describe, has_note
from msjax.core.base.lazy import tensorboardx
from msjax.core.page.run import SCALARS

# Between two pieces the thread sleeps so long, in seconds: one that only lets go of Python's lock has it again before a thread that
# waits for it is awake.
_PAUSE = 0.0005
# While the thread works, other threads that wait for Python's lock get it after so many seconds. A step of training lets go of the lock
# at each call of a program; at Python's 5 ms it would wait that long each time.
_TURN = 0.0001


class Sink:
    """Where the statistics of steps go."""

    def __call__(self, step: int, rows: list[Any], /) -> Any:
        """Write the rows of a step."""
        raise NotImplementedError

    def number(self, step: int, name: str, value: Any, /) -> None:
        """Write a number of a step, which need not be computed yet."""

    def broken(self, *said: Any) -> None:
        """Write what a rule said; see `msjax.core.tools.watching.rules.Broken`."""

    def wait(self) -> None:
        """Wait until all that has come is written."""

    def close(self) -> None:
        """Wait, and end what it has opened itself, so that all is in its files."""


class Behind(Sink):
    """Writes what it gets in the order in which it comes, but later.

    Args:
        sink (Sink): what writes. It is never called twice at a time. A generator writes in pieces, between which the program that trains
            goes first. Numbers and what rules said it gets at once.

    A failure is raised by the next call, or by `wait`; what has come after it is not written.
    """

    def __init__(self, sink: Any):
        self.sink = sink
        self.number, self.broken = sink.number, sink.broken
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def __call__(self, step: int, rows: list[Any]) -> None:
        self._raise()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="msjax-watch", daemon=True)
            self._thread.start()
        # In a notebook, the context says which cell a plot belongs to.
        self._jobs.put((contextvars.copy_context(), step, rows))

    def wait(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
        self._raise()

    def close(self) -> None:
        self.wait()
        self.sink.close()

    def _run(self):
        while (job := self._jobs.get()) is not None:
            context, step, rows = job
            if self._error is None:
                try:
                    with TURNS.short():
                        context.run(self._write, step, rows)
                except Exception as error:
                    note_step(error, step)
                    self._error = error

    def _write(self, step, rows):
        for _ in self.sink(step, rows) or ():
            if self._jobs.empty():  # neither is there more to write, nor does anybody wait
                time.sleep(_PAUSE)

    def _raise(self):
        error, self._error = self._error, None
        if error is not None:
            raise error


class _Turns:
    """How long a thread of Python keeps its lock from the others, shorter while any of some threads works."""

    def __init__(self):
        self._lock, self._working, self._usual = threading.Lock(), 0, 0.0

    @contextlib.contextmanager
    def short(self) -> Iterator[None]:
        """Turns are short in the block."""
        with self._lock:
            if not self._working:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(_TURN, self._usual))
            self._working += 1
        try:
            yield
        finally:
            with self._lock:
                self._working -= 1
                if not self._working:
                    sys.setswitchinterval(self._usual)


TURNS = _Turns()


def note_step(error: Exception, step: int) -> None:
    """Have an exception say at which step a sink has failed; once."""
    if not has_note(error, "watch: 'to' failed"):
        error.add_note(f"watch: 'to' failed at step {step} and gets no more rows; all of them are in .rows")


_OTHERWISE = "A .csv file or a function as 'to' needs nothing."
STATISTICS = (*SCALARS, "histogram")


# So often, in seconds, TensorBoard's files are brought to the disk: on some machines, all else stands still meanwhile.
_FLUSH = 30
# So many lines of a plot are named beside it: more are no longer told apart, and take long to draw.
_NAMED = 32


class Histogram(NamedTuple):
    """Counts of values between edges; `edges` has one more entry than `counts`."""

    counts: np.ndarray
    edges: np.ndarray


class WatchRow(NamedTuple):
    """The statistics of one array at one step.

    Attributes:
        step: the number of the step, from 1.
        kind: "activation", "gradient", "parameter" or "update".
        name: the cell's path (with "#1" for its second call), or the Parameter's.
        mean, std, norm: of the values; NaN in the values makes them NaN.
        zeros: the share of values that are 0.
        min, max: of the finite values; NaN if there are none.
        nan, inf: how many values are NaN, and infinite.
        histogram: of the finite values.
        statistics: the names of those of all these that were computed; the others are NaN, and the histogram has no counts.
    """

    step: int
    kind: str
    name: str
    mean: float
    std: float
    norm: float
    zeros: float
    min: float
    max: float
    nan: float
    inf: float
    histogram: Histogram
    statistics: tuple[str, ...] = STATISTICS

    @property
    def tag(self) -> str:
        """The row's name in dashboards: its kind, a slash and its place."""
        return f"{self.kind}/{self.name or '(model)'}"

    @property
    def scalars(self) -> tuple[float, ...]:
        """The values of `SCALARS`, in their order."""
        return self[3:11]

    @property
    def computed(self) -> dict[str, float]:
        """{name: value} of those of `SCALARS` that were computed."""
        return {name: value for name, value in zip(SCALARS, self.scalars) if name in self.statistics}


def sink_of(to: Any) -> Sink:
    """What writes to a destination, see `watch`; TypeError if it is none."""
    if isinstance(to, (list, tuple)):
        return _Several([sink_of(one) for one in to if one is not None])
    if to == "plot":
        return Behind(LivePlot())
    if isinstance(to, (str, os.PathLike)):
        check_path(to, "to", "watch")
        if os.fspath(to).endswith(".csv"):
            return Behind(_Csv(os.fspath(to)))
        if os.fspath(to).endswith(".html"):
            from msjax.core.page.document import PageSink

            return Behind(PageSink(to))
        return Behind(_EventFile(os.fspath(to)))
    if hasattr(to, "add_scalar") and hasattr(to, "add_histogram_raw"):
        return Behind(_SummaryWriter(to))
    if callable(to):
        check_arity(to, "watch", ("data",), "to", ("step",))
        return _Function(to)
    raise TypeError(
        f"For 'watch', 'to' should be a folder for TensorBoard, a .csv or .html file, a SummaryWriter, 'plot' or a function, but got {describe(to)}."
    )


def _of_each(name):
    def call(self, *given):
        for sink in self.sinks:
            getattr(sink, name)(*given)

    return call


class _Several(Sink):
    def __init__(self, sinks: list[Sink]):
        self.sinks = sinks

    __call__, number, broken, wait, close = map(_of_each, ("__call__", "number", "broken", "wait", "close"))


class _Csv(Sink):
    def __init__(self, path):
        self.path = path
        with open(path, "w", newline="") as file:
            csv.writer(file).writerow(["step", "kind", "name", *SCALARS])

    def __call__(self, step, rows):
        with open(self.path, "a", newline="") as file:
            csv.writer(file).writerows(
                [step, row.kind, row.name, *(f"{v:.9g}" if n in row.statistics else "" for n, v in zip(SCALARS, row.scalars))]
                for row in rows
            )


class _EventFile(Sink):
    """A file for TensorBoard, with one event for each step: an event for each number takes ten times as long to write."""

    def __init__(self, folder):
        package = tensorboardx("watch", _OTHERWISE)
        self.proto = importlib.import_module("tensorboardX.proto.summary_pb2")
        own = f".{os.getpid()}.{secrets.token_hex(4)}"  # two files of one second would have one name
        self.writer = package.FileWriter(folder, flush_secs=_FLUSH, filename_suffix=own)

    def close(self):
        self.writer.close()

    def __call__(self, step, rows):
        values = []
        for row in rows:
            tag = re.sub(r"[^-/\w.]", "_", row.tag)  # what TensorBoard's tags may have
            values += [self.proto.Summary.Value(tag=f"{tag}/{name}", simple_value=v) for name, v in row.computed.items()]
            if row.histogram.counts.sum():
                raw = _raw(row)
                limits, counts = raw.pop("bucket_limits"), raw.pop("bucket_counts")
                histogram = self.proto.HistogramProto(**raw, bucket_limit=limits, bucket=counts)
                values.append(self.proto.Summary.Value(tag=tag, histo=histogram))
            yield
        self.writer.add_summary(self.proto.Summary(value=values), step)


class _SummaryWriter(Sink):
    """A SummaryWriter of the user's, which stays open."""

    def __init__(self, writer):
        self.writer = writer

    def close(self):
        self.writer.flush()

    def __call__(self, step, rows):
        for row in rows:
            for name, value in row.computed.items():
                self.writer.add_scalar(f"{row.tag}/{name}", value, step)
                yield
            if row.histogram.counts.sum():
                self.writer.add_histogram_raw(row.tag, **_raw(row), global_step=step)
                yield


def _raw(row):
    """The arguments of TensorBoard's functions for a histogram that has been counted."""
    counts, edges = row.histogram
    middle = (edges[:-1] + edges[1:]) / 2
    return {
        "min": row.min, "max": row.max, "num": int(counts.sum()), "sum": float((middle * counts).sum()),
        "sum_squares": float((middle**2 * counts).sum()), "bucket_limits": edges[1:].tolist(), "bucket_counts": counts.tolist(),
    }  # fmt: skip


class _Function(Sink):
    """Calls a function as W&B's ``log``: ``fn({"activation/fc1/mean": 0.1, ...}, step=100)``."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, step, rows):
        data = {f"{row.tag}/{name}": value for row in rows for name, value in row.computed.items()}
        wandb = sys.modules.get("wandb") if (getattr(self.fn, "__module__", None) or "").startswith("wandb") else None
        for row in rows:
            if "histogram" in row.statistics:
                found = row.histogram if wandb is None else wandb.Histogram(np_histogram=tuple(row.histogram))
                data[f"{row.tag}/histogram"] = found
        self.fn(data, step=step)


class LivePlot(Sink):
    """A plot of the norms over the steps, redrawn in a notebook whenever statistics come; `figure` is matplotlib's."""

    def __init__(self):
        self.figure: Any = None
        self._lines: dict[str, dict[str, list[tuple[int, float]]]] = {}
        self._shown: Any = None
        # What is imported and made once takes half a second: now, not in the midst of training.
        self.draw().savefig(io.BytesIO(), format="png")

    def __call__(self, step: int, rows: list[WatchRow]) -> None:
        for row in rows:
            self._lines.setdefault(row.kind, {}).setdefault(row.name, []).append((step, row.norm))
        self.draw()
        with contextlib.suppress(ImportError):
            notebook = importlib.import_module("IPython.display")  # a notebook has it; msjax needs it nowhere else
            # As a picture: IPython shows a Figure as one only where pyplot has been imported.
            buffer = io.BytesIO()
            self.figure.savefig(buffer, format="png", dpi=90)
            picture = notebook.Image(data=buffer.getvalue(), format="png")
            if self._shown is None:
                self._shown = notebook.display(picture, display_id=True)
            else:
                self._shown.update(picture)

    def draw(self) -> Any:
        """The figure with all that has come: a panel for each kind, a line for each name."""
        from matplotlib.figure import Figure

        kinds = list(self._lines)
        names = dict.fromkeys(name for kind in kinds for name in self._lines[kind])
        colors = {name: f"C{i}" for i, name in enumerate(names)}  # a name has the same one in all panels
        self.figure = Figure(figsize=(5 * max(len(kinds), 1), 3.4), layout="constrained")
        for axes, kind in zip(self.figure.subplots(1, max(len(kinds), 1), squeeze=False)[0], kinds):
            for name, points in self._lines[kind].items():
                axes.plot(*zip(*points), marker=".", color=colors[name], label=name or "(model)")
            norms = [norm for points in self._lines[kind].values() for _, norm in points if norm > 0]
            axes.set(title=f"norm of {kind}s", xlabel="step")
            # A dead layer's 0 has its place, too.
            axes.set_yscale("symlog", linthresh=0.5 * min(norms, default=1.0))
            if len(self._lines[kind]) > _NAMED:
                axes.set_title(f"norm of {len(self._lines[kind])} {kind}s")
            shown = axes.lines[:_NAMED]
            axes.legend(handles=shown, fontsize="x-small", ncols=1 + len(shown) // 16, loc="upper left", bbox_to_anchor=(1, 1))
        return self.figure
