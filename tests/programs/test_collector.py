"""Full collections of garbage wait while programs are traced."""

import gc
import queue
import threading

import pytest

import msjax as ms
from msjax.engine.programs.compilation import full_collections_wait


def test_they_wait_until_the_last_of_several_threads_is_done():
    before, inside, done = gc.get_threshold(), threading.Event(), threading.Event()

    def other():
        with full_collections_wait():
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=other)
    with full_collections_wait():
        thread.start()
        assert inside.wait(10)
    assert gc.get_threshold()[:2] == before[:2] and gc.get_threshold()[2] > before[2]
    done.set()
    thread.join()
    assert gc.get_threshold() == before


def test_they_go_on_after_a_trace_that_fails_and_a_threshold_that_code_sets_stays():
    before = gc.get_threshold()
    seen = queue.SimpleQueue()  # a list would get its earlier items back

    def failing(x):
        seen.put(gc.get_threshold())
        raise KeyError("own")

    with pytest.raises(KeyError):
        ms.jit(failing)(ms.Tensor([1.0]))
    assert seen.get()[2] > before[2] and gc.get_threshold() == before
    try:
        with full_collections_wait():
            gc.set_threshold(700, 10, 33)
        assert gc.get_threshold() == (700, 10, 33)
    finally:
        gc.set_threshold(*before)
