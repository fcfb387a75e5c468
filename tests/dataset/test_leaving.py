"""Workers: their errors, their order, and that none is left behind."""

import gc
import multiprocessing
import os
import threading
import time

import numpy as np
import pytest

from msjax import dataset as ds
from msjax.dataset import parallel


def workers():
    return [t.name for t in threading.enumerate() if t.name.startswith("msjax-dataset")], multiprocessing.active_children()


@pytest.fixture(autouse=True)
def none_left():
    """No thread and no process of a pipeline is there after a test; nothing but reference counts ends them."""
    before = set(threading.enumerate())
    gc.disable()
    yield
    gc.enable()
    assert workers() == ([], [])
    assert set(threading.enumerate()) <= before


def numbers(n=100):
    return ds.NumpySlicesDataset({"v": np.arange(n)}, shuffle=False)


def with_threads(data):
    return data.map(lambda v: v + 1, ["v"], num_parallel_workers=3)


def with_processes(data):
    return data.map(lambda v: v + 1, ["v"], num_parallel_workers=2, python_multiprocessing=True)


def with_batches(data):
    return data.batch(2, per_batch_map=lambda v, info: (v,), input_columns=["v"], num_parallel_workers=2)


KINDS = pytest.mark.parametrize("pipeline", [with_threads, with_processes, with_batches])


@KINDS
def test_breaking_off_ends_the_workers(pipeline):
    for _ in pipeline(numbers()).batch(5).create_dict_iterator(num_epochs=1, output_numpy=True):
        assert workers() != ([], [])
        break


@KINDS
def test_deleting_an_iterator_ends_its_workers(pipeline):
    rows = pipeline(numbers()).repeat(2).create_tuple_iterator(output_numpy=True)
    next(rows)
    assert workers() != ([], [])
    del rows
    assert workers() == ([], [])


@KINDS
def test_stopping_an_iterator_ends_its_workers(pipeline):
    rows = pipeline(numbers()).shuffle(10).take(50).create_tuple_iterator(output_numpy=True)
    next(rows)
    rows.stop()
    assert workers() == ([], [])
    with pytest.raises(RuntimeError, match="stopped"):
        next(rows)


@KINDS
def test_take_and_zip_end_workers_early(pipeline):
    data = ds.zip((pipeline(numbers()).take(3), numbers(7).rename("v", "w")))
    rows = data.create_dict_iterator(num_epochs=2, output_numpy=True)
    assert [len(list(rows)) for _ in range(2)] == [3, 3]
    assert workers() == ([], [])


def test_the_consumers_error_ends_the_workers():
    with pytest.raises(ZeroDivisionError):
        for _ in with_threads(numbers()).create_dict_iterator():
            1 / 0  # noqa: B018
    # The error, which pytest keeps, refers to this test's frame, but the loop's iterator is gone.
    assert workers() == ([], [])


def test_threads_work_at_the_same_time():
    barrier = threading.Barrier(3, timeout=20)

    def meet(v):
        barrier.wait()
        return v

    ds.config.set_prefetch_size(3)
    try:
        data = numbers(6).map(meet, ["v"], num_parallel_workers=3)
        assert [int(v) for (v,) in data.create_tuple_iterator(output_numpy=True)] == list(range(6))
    finally:
        ds.config.set_prefetch_size(16)


def test_processes_are_others_and_take_closures_with_them():
    here, own = os.getpid(), {"offset": 5}
    data = numbers(40).map(
        lambda v: (v + own["offset"], np.array(os.getpid())), ["v"], ["v", "p"], 2, python_multiprocessing=True
    )
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert [int(row["v"]) for row in rows] == list(range(5, 45))
    assert here not in {int(row["p"]) for row in rows}


def test_results_come_in_order_although_some_take_longer():
    def slow_at_first(v):
        time.sleep(0.02 if v % 10 == 0 else 0)
        return v

    data = numbers(40).map(slow_at_first, ["v"], num_parallel_workers=4)
    assert [int(v) for (v,) in data.create_tuple_iterator(output_numpy=True)] == list(range(40))


def test_random_access_sources_are_read_in_threads():
    seen = set()

    class Source:
        def __getitem__(self, i):
            seen.add(threading.current_thread().name)
            time.sleep(0.001)
            return np.array(i)

        def __len__(self):
            return 40

    data = ds.GeneratorDataset(Source(), ["v"], shuffle=False, num_parallel_workers=2)
    assert [int(v) for (v,) in data.create_tuple_iterator(output_numpy=True)] == list(range(40))
    assert len(seen) == 2 and all(name.startswith("msjax-dataset") for name in seen)


def fails_at_seven(v):
    if v == 7:
        raise KeyError("seven")
    return v


@pytest.mark.parametrize(
    "options", [{}, {"num_parallel_workers": 3}, {"num_parallel_workers": 2, "python_multiprocessing": True}]
)
def test_errors_name_the_row_and_the_operation(options):
    data = numbers(20).map([lambda v: v, fails_at_seven], ["v"], **options)
    message = r"^map: row 7, columns \['v'\], operation fails_at_seven \(.*test_leaving.py:\d+\): KeyError: 'seven'$"
    with pytest.raises(RuntimeError, match=message) as caught:
        list(data)
    assert caught.value.__cause__ is not None
    del caught


def test_a_worker_process_that_dies_is_an_error():
    data = numbers(20).map(lambda v: os._exit(3) if v == 5 else v, ["v"], num_parallel_workers=2, python_multiprocessing=True)
    with pytest.raises(RuntimeError, match="a process of its workers ended"):
        list(data)


def test_debug_mode_runs_everything_in_the_callers_thread():
    seen = set()
    ds.config.set_debug_mode(True)
    try:
        list(numbers(5).map(lambda v: seen.add(threading.get_ident()) or v, ["v"], num_parallel_workers=4))
    finally:
        ds.config.set_debug_mode(False)
    assert seen == {threading.get_ident()}


def test_a_setting_gives_all_operations_workers(monkeypatch):
    seen = set()
    # Nothing public takes the setting back.
    monkeypatch.setitem(ds.config._VALUES, "num_parallel_workers", None)
    ds.config.set_num_parallel_workers(2)
    list(numbers(8).map(lambda v: time.sleep(0.001) or seen.add(threading.current_thread().name) or v, ["v"]))
    assert seen and all(name.startswith("msjax-dataset") for name in seen)


@pytest.mark.parametrize("busy", [True, False])
def test_cheap_rows_are_made_ahead_only_while_the_reader_is_busy(busy, monkeypatch):
    # However long rows take here, and whatever else the machine does.
    monkeypatch.setattr(parallel, "_CHEAP", float("inf"))
    monkeypatch.setattr(parallel, "_BUSY", -1 if busy else float("inf"))
    data = numbers(2000).map(lambda v: np.array(threading.current_thread().name), ["v"], ["v"], 2).batch(2)
    names = {
        name.partition("_")[0]
        for (batch,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        for name in batch.tolist()
    }
    assert names == {"msjax-dataset"} | (set() if busy else {threading.current_thread().name})


def test_processes_live_from_epoch_to_epoch():
    data = numbers(40).map(lambda v: os.getpid(), ["v"], num_parallel_workers=2, python_multiprocessing=True)
    rows = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    first, second = [{int(v) for (v,) in rows} for _ in range(2)]
    assert first == second and len(first) == 2
    assert workers() == ([], [])


@pytest.mark.parametrize("size", [10, 3 * 2**18])
def test_results_of_processes_stay_as_they_are(size):
    """Large ones lie in memory that the process writes its next results to, once no array needs them."""
    data = numbers(24).map(lambda v: np.full(size, v, np.int32), ["v"], num_parallel_workers=2, python_multiprocessing=True)
    rows = data.batch(1).create_tuple_iterator(output_numpy=True)
    assert [int(next(rows)[0][0, -1]) for _ in range(10)] == list(range(10))
    kept = [v[0, ::size] for (v,) in rows]
    kept[0] += 1
    assert [int(v[0]) for v in kept] == [11, *range(11, 24)]


def test_arguments_and_results_of_any_kind_reach_processes():
    source = [(np.full(70_000 * i, i, np.uint8), f"name {i}", np.array(i % 2 == 0)) for i in range(1, 9)]
    data = ds.GeneratorDataset(source, ["a", "text", "even"], shuffle=False)
    data = data.map(
        lambda a, text, even: (a[::2], {"text": text}, even), ["a", "text", "even"], None, 2, python_multiprocessing=True
    )
    for (a, text, even), (b, name, also) in zip(source, data.create_tuple_iterator(output_numpy=True)):
        assert (a[::2] == b).all() and name == {"text": text} and even == also


def test_a_result_that_can_not_leave_its_process_is_an_error():
    class Key:
        pass

    data = numbers(4).map(lambda v: {Key(): v}, ["v"], num_parallel_workers=2, python_multiprocessing=True)
    with pytest.raises(RuntimeError, match=r"^map: its result can't leave the process: .*Key"):
        list(data)
