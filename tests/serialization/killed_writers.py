"""Writes files in processes that end in the middle: `python -m tests.serialization.killed_writers FOLDER`.

For each point below a folder gets old files of two rows. A child process writes new ones of five rows over them, and ends at that point: killed
by a signal, or because no file may become longer than a few bytes, as on a full disk.
"""

import os
import resource
import signal
import sys

import numpy as np

import msjax as ms
from msjax.core.base import whole_files
from msjax.mindrecord import FileWriter, writer as writer_module

# (what is written, the function of `os` that kills the process, at which of its calls)
POINTS = [
    ("records", "fsync", 1),
    ("records", "fsync", 4),
    ("records", "remove", 1),
    ("records", "replace", 1),
    ("records", "replace", 2),
    ("records", "replace", 3),
    ("records", "replace", 4),
    ("checkpoint", "fsync", 1),
    ("checkpoint", "replace", 1),
    ("records", "full", 0),
    ("checkpoint", "full", 0),
]


def write_records(folder, rows):
    writer = FileWriter(f"{folder}/r", shard_num=2, overwrite=True)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema({"n": {"type": "int32"}, "x": {"type": "float32", "shape": [2]}})
    writer.write_raw_data([{"n": rows, "x": np.full(2, i, np.float32)} for i in range(rows)])
    writer.commit()


def write_checkpoint(folder, rows):
    ms.save_checkpoint({"w": ms.Tensor(np.full(1000, rows, np.float32))}, f"{folder}/c.ckpt")


def end_at(function, call):
    """Let this process die at a call of a function of `os`, or let no file become longer than 2000 bytes."""
    if function == "full":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        return
    real, calls = getattr(os, function), []

    def last(*args):
        calls.append(args)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)

    for module in (whole_files, writer_module):
        setattr(module.os, function, last)


def run(folder):
    for number, (what, function, call) in enumerate(POINTS):
        place = f"{folder}/{number}"
        os.mkdir(place)
        write = write_records if what == "records" else write_checkpoint
        write(place, 2)
        child = os.fork()
        if not child:
            end_at(function, call)
            try:
                write(place, 5)
            except OSError:
                os._exit(28)
            os._exit(0)
        print(number, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    run(sys.argv[1])
