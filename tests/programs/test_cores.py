"""Whether other processes leave a core to a thread that compiles beside the program."""

import os
import time

import pytest

from msjax.engine.programs import cores as module
from msjax.engine.programs.cores import IdleCores


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
    monkeypatch.setattr(module, "_IDLE_CORES", cores((0, 0, 0), (1, free, 0)))
    # A script that was run just before must not matter.
    monkeypatch.setattr(os, "getloadavg", lambda: (50.0, 0.0, 0.0), raising=False)
    assert module.has_idle_core() is answer


@pytest.mark.parametrize("load, answer", [(0.5, True), (3.5, False)])
def test_load_average_decides_where_nothing_else_is_known(monkeypatch, load, answer):
    monkeypatch.setattr(module, "_IDLE_CORES", cores(None))
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    assert module.has_idle_core() is answer


def test_this_system_tells_or_says_that_it_can_not():
    reading = module._read_times()
    assert reading is None or (len(reading) == 3 and all(value >= 0 for value in reading))
    assert module.usable_cores() > 0
