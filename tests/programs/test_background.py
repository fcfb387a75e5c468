"""Threads that compile beside the program: their tasks, and whether other processes leave a core to them."""

import os
import threading
import time

import pytest

from msjax.engine.programs import background
from msjax.engine.programs.background import Background, IdleCores


def cores(*readings, cores=2):
    """IdleCores that read what is given: (seconds, seconds of idle cores, own seconds), long ago."""
    given = iter([None if r is None else (r[0] - 1e6, *r[1:]) for r in readings])
    return IdleCores(lambda: next(given), cores)


def test_first_question_compares_with_the_import():
    assert cores((0, 100, 0), (10, 115, 1)).available() == pytest.approx(1.6)


def test_own_time_counts_as_available_and_that_of_others_does_not():
    alone = cores((0, 100, 0), (1, 100.2, 1.8), (2, 100.2, 3.8), (3, 100.2, 4.8))
    assert [alone.available() for _ in range(3)] == pytest.approx([2, 2, 1])


def test_no_more_than_the_quota_is_available():
    assert cores((0, 0, 0), (1, 60, 1), cores=1.25).available() == 1.25


def test_readings_are_not_taken_in_quick_succession():
    taken = []

    def read():
        taken.append(time.monotonic() + 60 * (len(taken) == 1))
        return taken[-1], len(taken), 0.0

    idle = IdleCores(read, 8)
    assert idle.available() == idle.available() == idle.available() == pytest.approx(1 / 60, rel=0.01)
    assert len(taken) == 2


@pytest.mark.parametrize("free, answer", [(1.9, True), (1.5, True), (1.2, False), (0.4, False)])
def test_a_thread_needs_most_of_a_core_beside_the_program(monkeypatch, free, answer):
    monkeypatch.setattr(background, "_IDLE_CORES", cores((0, 0, 0), (1, free, 0)))
    # A script that was run just before must not matter.
    monkeypatch.setattr(os, "getloadavg", lambda: (50.0, 0.0, 0.0), raising=False)
    assert background.has_idle_core() is answer


@pytest.mark.parametrize("load, answer", [(0.5, True), (3.5, False)])
def test_load_average_decides_where_nothing_else_is_known(monkeypatch, load, answer):
    monkeypatch.setattr(background, "_IDLE_CORES", cores(None))
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    assert background.has_idle_core() is answer


def test_this_system_tells_or_says_that_it_can_not():
    reading = background._read_times()
    assert reading is None or (len(reading) == 3 and all(value >= 0 for value in reading))
    assert background.usable_cores() > 0


def test_several_threads_compile_ahead():
    background = Background()
    both, done = threading.Barrier(2), []

    def task():
        both.wait(10)  # only two at once pass
        done.append(threading.current_thread())

    for key in "ab":
        background.submit(key, task)
    for thread in list(background._running):
        thread.join()
    assert len(set(done)) == 2 and not background._running


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_a_task_that_ends_its_thread_leaves_nobody_waiting(end, monkeypatch):
    tasks, begun, go_on, raised = Background(), threading.Event(), threading.Event(), []
    monkeypatch.setattr(threading, "excepthook", lambda args: raised.append(args.exc_type))

    def task():
        begun.set()
        go_on.wait(10)
        raise end

    tasks.submit("a", task)
    assert begun.wait(10)
    (worker,) = tasks._running
    taken, stopped = (threading.Thread(target=wait, daemon=True) for wait in (lambda: tasks.take("a"), tasks._stop))
    taken.start()
    go_on.set()
    taken.join(10)
    worker.join(10)
    assert not taken.is_alive() and not tasks._running and raised == [end]
    done = threading.Event()
    tasks.submit("b", done.set)  # another thread takes the next one
    assert done.wait(10)
    stopped.start()
    stopped.join(10)
    assert not stopped.is_alive()


def test_a_task_is_taken_back_or_waited_for():
    tasks, begun, go_on, done = Background(), threading.Semaphore(0), threading.Event(), []

    def task(key):
        begun.release()
        go_on.wait(10)
        done.append(key)

    for key in "abc":
        tasks.submit(key, lambda key=key: task(key))
        if key != "c":
            assert begun.acquire(timeout=10)
    tasks.take("c")  # both threads are busy
    waiting = threading.Thread(target=lambda: tasks.take("a"), daemon=True)
    waiting.start()
    time.sleep(0.05)
    assert waiting.is_alive() and not done
    go_on.set()
    waiting.join(10)
    assert not waiting.is_alive() and "a" in done
    tasks._stop()
    assert sorted(done) == ["a", "b"]
