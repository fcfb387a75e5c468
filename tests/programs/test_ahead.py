"""Programs that threads compile ahead: who gets them, who waits, and what happens to those that nobody needs."""

import inspect
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import ops
from msjax.engine.autograd.op import Op, apply
from msjax.engine.programs import cache as module
from msjax.engine.programs.ahead import Ahead
from msjax.engine.programs.cache import ProgramCache

X = jnp.arange(3.0)


@pytest.fixture
def ahead(monkeypatch):
    """The threads of caches, on a machine with several cores."""
    made = Ahead()
    monkeypatch.setattr(module, "AHEAD", made)
    monkeypatch.setattr(module, "has_core_for_threads", lambda: True)
    return made


@pytest.fixture
def tasks(ahead, monkeypatch):
    """What threads would do, for the test to do."""
    found = []
    monkeypatch.setattr(ahead, "submit", lambda key, task: found.append(task))
    return found


def traced_in():
    """(the threads in which functions were traced, a cache of x * key)"""
    threads = []

    def function(key):
        def scaled(x):
            threads.append(threading.current_thread().name)
            return x * key

        return scaled

    return threads, ProgramCache(function)


def test_two_threads_work_at_a_time_and_end():
    ahead, both, done = Ahead(), threading.Barrier(2), []

    def task():
        both.wait(10)  # only two at once pass
        done.append(threading.current_thread())

    for key in "ab":
        ahead.submit(key, task)
    for key in "ab":
        ahead.take(key)
    assert len(set(done)) == 2 and not any(thread.is_alive() for thread in done)


def test_a_task_is_taken_back_or_waited_for():
    ahead, begun, go_on, done = Ahead(), threading.Semaphore(0), threading.Event(), []

    def task(key):
        begun.release()
        go_on.wait(10)
        done.append(key)

    for key in "abc":
        ahead.submit(key, lambda key=key: task(key))
    assert begun.acquire(timeout=10) and begun.acquire(timeout=10)
    ahead.take("c")  # both threads are busy
    waiting = threading.Thread(target=lambda: (ahead.take("a"), done.append("taken")))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive() and not done
    go_on.set()
    waiting.join(10)
    ahead.take("b")
    assert done.index("a") < done.index("taken") and sorted(done) == ["a", "b", "taken"]


def test_a_task_that_fails_leaves_nobody_waiting():
    ahead, done = Ahead(), threading.Event()

    def task():
        raise ValueError

    for key in range(3):
        ahead.submit(key, task)
    ahead.submit("last", done.set)
    assert done.wait(10)


def test_what_was_compiled_ahead_is_not_compiled_again(ahead):
    threads, cache = traced_in()
    cache.compile_ahead(2, [X])
    assert cache[2](X).tolist() == [0, 2, 4] and cache[2](X).tolist() == [0, 2, 4]
    assert threads == ["msjax-compile"]
    cache.compile_ahead(2, [X])
    assert not ahead._waiting and not ahead._running


def test_what_has_not_begun_is_compiled_where_it_is_needed(ahead):
    threads, cache = traced_in()
    go_on = threading.Event()
    for key in "ab":
        ahead.submit(key, lambda: go_on.wait(10))
    cache.compile_ahead(2, [X])
    assert cache[2](X).tolist() == [0, 2, 4]
    go_on.set()
    assert threads == [threading.current_thread().name] and not ahead._waiting


def test_an_error_belongs_to_the_call(ahead):
    def function(key):
        def fails(x):
            raise ValueError(f"no {key}")

        return fails

    cache = ProgramCache(function)
    cache.compile_ahead("gradient", [X])
    for _ in range(2):
        with pytest.raises(ValueError, match="no gradient"):
            cache["gradient"](X)


def test_nothing_is_compiled_ahead_on_a_single_core(tasks, monkeypatch):
    monkeypatch.setattr(module, "has_core_for_threads", lambda: False)
    traced_in()[1].compile_ahead(2, [X])
    assert not tasks


def test_a_recorded_operator_has_its_gradient_compiled_ahead_once(tasks):
    op, x = Op("tanh", ops.tanh.op.fn), ms.Tensor(np.array([0.5, 1.5], np.float32))
    assert apply(op, (x,)).shape == (2,) and not tasks
    for _ in range(2):
        gradient = ms.grad(lambda x: apply(op, (x,)))(x)
        assert np.allclose(gradient.asnumpy(), 1 - np.tanh([0.5, 1.5]) ** 2)
    assert len(tasks) == 1


def test_what_jax_traces_has_nothing_compiled_ahead(tasks):
    op, x = Op("tanh", ops.tanh.op.fn), ms.Tensor(np.array([0.5, 1.5], np.float32))
    jax.jit(lambda v: ms.grad(lambda x: apply(op, (x,)))(ms.Tensor(v))._value)(x.asnumpy())
    assert not tasks


_EXIT = """
import os, runpy, sys, threading, time
ahead, begun = runpy.run_path(sys.argv[1])["Ahead"](), threading.Semaphore(0)  # without msjax, whose import takes long

def task(name):
    begun.release()
    time.sleep(0.1)
    print(name)

for name in "abcd":
    ahead.submit(name, lambda name=name: task(name))
begun.acquire(), begun.acquire()
child = os.fork()
if not child:
    ahead.take("a")  # the parent's threads are not here
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


def test_at_exit_what_runs_ends_and_what_waits_is_dropped():
    command = [sys.executable, "-W", "ignore", "-c", _EXIT, inspect.getfile(Ahead)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert sorted("".join(run.stdout.split())) == ["a", "b"] and not run.stderr
