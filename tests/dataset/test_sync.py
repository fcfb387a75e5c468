"""sync_wait and sync_update: rows wait for the program's answer to those before."""

import copy

import pytest

from msjax import dataset as ds


def test_rows_wait_for_updates():
    factor = [0]
    data = ds.NumpySlicesDataset([1, 2, 3, 4], ["x"], shuffle=False)
    data = data.sync_wait("factor", 2, factor.append).map(lambda x: x + factor[-1], ["x"])
    got = []
    for number, (x,) in enumerate(data.create_tuple_iterator(num_epochs=1)):
        got.append(int(x))
        if number % 2:
            data.sync_update("factor", data=10 * number)
    assert got == [1, 2, 13, 14] and factor == [0, 10, 30]
    assert data.get_dataset_size() == 4 and copy.deepcopy(data).get_dataset_size() == 4


def test_rows_go_on_when_no_update_comes(monkeypatch):
    monkeypatch.setattr(ds.config, "get_callback_timeout", lambda: 0.01)
    data = ds.NumpySlicesDataset([1, 2, 3], ["x"], shuffle=False).sync_wait("never")
    with pytest.warns(UserWarning, match=r"no sync_update\('never'\) came within 0.01 seconds"):
        assert [int(x) for (x,) in data.create_tuple_iterator(num_epochs=1)] == [1, 2, 3]


@pytest.mark.parametrize(
    "act, kind, words",
    [
        (lambda d: d.sync_update("b"), RuntimeError, "Condition name not found: 'b'; there are a"),
        (lambda d: d.sync_update("a", -1), RuntimeError, "can only be positive integer, got: -1"),
        (lambda d: d.sync_wait("a"), RuntimeError, "already in use: 'a'"),
        (lambda d: d.sync_wait("b", 0), ValueError, "greater than 0"),
        (lambda d: d.sync_wait("b", 1.5), TypeError, "'num_batch' should be an int"),
        (lambda d: d.sync_wait("b", callback=3), TypeError, "callable"),
        (lambda d: d.sync_wait(3), TypeError, "condition_name"),
        (lambda d: d.shuffle(2), RuntimeError, "No shuffle after sync operators"),
    ],
)
def test_errors(act, kind, words):
    data = ds.NumpySlicesDataset([1, 2], ["x"]).sync_wait("a").batch(1)
    with pytest.raises(kind, match=words):
        act(data)


def test_rows_pass_after_disable_sync():
    data = ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False).sync_wait("c").map(lambda v: v + 1)
    data.disable_sync()
    assert [int(v) for (v,) in data.create_tuple_iterator(output_numpy=True)] == [2, 3, 4]
