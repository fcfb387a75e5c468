"""SummaryRecord writes files for TensorBoard."""

import os
import struct
import sys
import time

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn, ops, train
from msjax.ops.operations.status_ops import take_summaries
from tests.train.regression import batches, make


def _events(folder):
    from tensorboardX.proto.event_pb2 import Event

    (file,) = folder.iterdir()
    assert "tfevents" in file.name
    data, events, at = file.read_bytes(), [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        events.append(Event.FromString(data[at + 12 : at + 12 + length]))
        at += length + 16
    return events


class _Summarized(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 2, weight_init="ones", has_bias=False)

    def construct(self, x):
        y = self.fc(x)
        ops.TensorSummary()("y", y)
        ops.ScalarSummary()("total", y.sum())
        ops.ImageSummary()("image", y.reshape(1, 1, 2, 2))
        return y.sum()


def _plain(net):
    return net


def _gradient(net):
    return ms.grad(net, None, net.trainable_params())


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize("way", [_plain, _gradient, lambda net: ms.jit(_gradient(net))], ids=["forward", "gradient", "ms.jit"])
def test_operators_of_a_network_give_the_values_of_each_run(tmp_path, mode, way):
    ms.set_context(mode=mode)
    take_summaries()  # those of the docstrings' examples, if this process has run them
    run = way(_Summarized())
    with ms.SummaryRecord(str(tmp_path)) as record:
        for step in (1, 2):
            run(Tensor(np.full((2, 3), step, "float32")))
            assert record.record(step)
        assert record.record(3)  # nothing came
    _, first, second, third = _events(tmp_path)
    assert [value.tag for value in second.summary.value] == ["image", "total", "y"] and not third.summary.value
    assert [event.summary.value[1].simple_value for event in (first, second)] == [12, 24]
    assert second.summary.value[2].histo.max == 6


def test_operators_refuse_values_of_other_shapes():
    with pytest.raises(ValueError, match=r"For 'ScalarSummary', the shape of 'loss' should be that of one element, .*\(2,\)"):
        ops.ScalarSummary()("loss", Tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"For 'ImageSummary', .*'photo'.* should be \(N, .*\(2,\)"):
        ops.ImageSummary()("photo", Tensor([1.0, 2.0]))
    assert not take_summaries()


def test_records_of_one_second_have_files_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1e9)
    with ms.SummaryRecord(str(tmp_path)) as one, ms.SummaryRecord(str(tmp_path)) as other:
        assert one.full_file_name != other.full_file_name and len(os.listdir(tmp_path)) == 2


def test_summaries(tmp_path, monkeypatch):
    with ms.SummaryRecord(str(tmp_path / "new"), max_file_size=4000) as record:
        record.add_value("scalar", "loss", Tensor(0.5))
        record.add_value("histogram", "weights", Tensor([1.0, 2.0, np.inf]))
        record.add_value("image", "digit", Tensor(np.arange(12.0, dtype="float32").reshape(1, 3, 2, 2)))
        record.add_value("graph", "net", Tensor(0.5))
        assert record.record(7)
        record.add_value("image", "noise", Tensor(np.random.default_rng(0).random((1, 3, 64, 64), "float32")))
        with pytest.warns(UserWarning, match="has reached its 'max_file_size'"):
            assert not record.record(8)
    events = _events(tmp_path / "new")
    assert [e.file_version for e in events] == ["brain.Event:2", ""]
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


@pytest.mark.parametrize(
    "settings, tags",
    [
        ({}, {"loss", "learning_rate", "fc.weight", "fc.bias"}),
        ({"collect_specified_data": {"collect_metric": False, "histogram_regular": ".*weight"}}, {"fc.weight"}),
        ({"collect_specified_data": {"collect_metric": True}, "keep_default_action": False}, {"loss", "learning_rate"}),
    ],
)
def test_a_collector_writes_what_is_asked_for_every_so_many_steps(settings, tags, tmp_path):
    make().train(3, batches(), train.SummaryCollector(str(tmp_path), collect_freq=3, **settings))
    _, *events = _events(tmp_path)
    assert [event.step for event in events] == [1, 3, 6]
    assert [{value.tag for value in event.summary.value} for event in events] == [tags] * 3


@pytest.mark.parametrize(
    "wrong, kind",
    [
        ({"collect_freq": 0}, ValueError), ({"collect_freq": "a"}, TypeError), ({"collect_specified_data": 3}, TypeError),
        ({"collect_specified_data": {"collect_metric": 1}}, TypeError), ({"keep_default_action": 1}, TypeError),
    ],
)  # fmt: skip
def test_wrong_settings_of_a_collector(wrong, kind, tmp_path):
    with pytest.raises(kind, match="SummaryCollector"):
        train.SummaryCollector(str(tmp_path), **wrong)
