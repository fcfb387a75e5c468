"""SummaryRecord writes files for TensorBoard."""

import struct
import sys

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor


def test_summaries(tmp_path, monkeypatch):
    from tensorboardX.proto.event_pb2 import Event

    with ms.SummaryRecord(str(tmp_path / "new"), max_file_size=4000) as record:
        record.add_value("scalar", "loss", Tensor(0.5))
        record.add_value("histogram", "weights", Tensor([1.0, 2.0, np.inf]))
        record.add_value("image", "digit", Tensor(np.arange(12.0, dtype="float32").reshape(1, 3, 2, 2)))
        record.add_value("graph", "net", Tensor(0.5))
        assert record.record(7)
        record.add_value("image", "noise", Tensor(np.random.default_rng(0).random((1, 3, 64, 64), "float32")))
        assert not record.record(8)  # the file would be too large
    (file,) = (tmp_path / "new").iterdir()
    data, events, at = file.read_bytes(), [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        events.append(Event.FromString(data[at + 12 : at + 12 + length]))
        at += length + 16
    assert "tfevents" in file.name and [e.file_version for e in events] == ["brain.Event:2", ""]
    loss, weights, digit = events[1].summary.value
    assert (events[1].step, loss.tag, loss.simple_value, weights.tag) == (7, "loss", 0.5, "weights")
    assert (weights.histo.min, weights.histo.max, weights.histo.num, weights.histo.sum) == (1, 2, 2, 3)
    assert (digit.image.height, digit.image.width, digit.image.colorspace) == (2, 2, 3)
    with pytest.raises(ValueError, match="one element"):
        record.add_value("scalar", "loss", Tensor([1.0, 2.0]))
    with pytest.warns(UserWarning, match="could not be written"):
        assert not record.record(9)
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ModuleNotFoundError, match=r"For 'SummaryRecord', .* pip install 'msjax\[tools\]'"):
        ms.SummaryRecord(str(tmp_path / "other"))
