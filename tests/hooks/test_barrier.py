"""barrier() is exact. It waits for what was started, without timers, and not for what comes later."""

import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import nn
from msjax.core.hooks.worker import WORKER  # its private marks say what the process has run before


def hooked(hook, cell=None):
    """A function under jax.jit whose hook is called with each output."""
    net = cell or nn.ReLU()
    net.register_forward_hook(lambda cell, inputs, output: hook(output.asnumpy()), observe=True)
    apply, params, buffers = ms.functionalize(net)
    return jax.jit(lambda x: apply(params, buffers, x)[0])


@jax.jit
def slow(x):
    """Takes a while; programs that use its result are only started when it is there."""
    return jax.lax.fori_loop(0, 60, lambda i, x: jnp.sin(x) @ x * 1e-3, x)


X = jnp.ones((256, 256))


def test_what_was_started_has_been_called_although_nobody_holds_its_result():
    log = []
    f = hooked(log.append)
    jax.block_until_ready(f(slow(X)))
    ms.hooks.barrier()
    log.clear()
    for _ in range(5):
        f(slow(X))
    ms.hooks.barrier()
    assert len(log) == 5


def test_all_hooks_of_each_step_have_been_called_after_the_barrier():
    log = []
    f = hooked(lambda value: log.append(float(value[0])))
    for i in range(200):
        f(jnp.full(2, float(i)))
        ms.hooks.barrier()
        assert log == [float(k) for k in range(i + 1)]


def test_results_that_another_thread_holds_are_waited_for():
    log, held, done = [], [], threading.Event()
    f = hooked(log.append)
    jax.block_until_ready(f(slow(X)))
    ms.hooks.barrier()
    log.clear()

    def start():
        held.append(f(slow(X)))
        done.wait()

    thread = threading.Thread(target=start)
    thread.start()
    while not held:
        time.sleep(0.001)
    ms.hooks.barrier()
    assert len(log) == 1
    done.set()
    thread.join()


def test_barrier_returns_while_another_thread_goes_on_training():
    log, stop = [], threading.Event()
    f = hooked(log.append)

    def train():
        x = jnp.ones(2)
        while not stop.is_set():
            x = f(x)

    thread = threading.Thread(target=train, daemon=True)
    thread.start()
    try:
        for _ in range(20):
            ms.hooks.barrier()  # returns at all
        assert thread.is_alive()
    finally:
        stop.set()
        thread.join()
    ms.hooks.barrier()


@pytest.mark.parametrize(("waits", "most"), [(False, 24), (True, 400)])
def test_a_thread_that_trains_is_not_far_ahead_of_its_hooks_when_a_barrier_is_called(waits, most, monkeypatch):
    ms.hooks.barrier()
    # Whether hooks' own programs are waited for, which may stand behind those of the thread: while they are, nothing holds it back.
    monkeypatch.setattr(WORKER, "nested", waits)
    monkeypatch.setattr(WORKER, "sharded", waits)
    log, started, stop = [], [0], threading.Event()
    hooks = [hooked(lambda value: time.sleep(0.002) or log.append(value)) for _ in range(4)]

    @jax.jit
    def step(x):
        for f in hooks:
            x = f(x)
        return x

    def train():
        x = jnp.ones(2)
        while not stop.is_set():
            started[0] += 4
            x = step(x)

    thread = threading.Thread(target=train, daemon=True)
    thread.start()
    try:
        ahead = []
        for _ in range(5):
            reached = len(log) + 60
            while len(log) < reached:
                time.sleep(0.005)
            before = started[0]
            ahead.append(before - len(log))
            ms.hooks.barrier()
            assert len(log) >= before - 4  # the step that was about to start may come after
        # Two steps have eight. What the thread starts during the barrier, however long that takes, isn't counted.
        assert sorted(ahead)[2] <= most
    finally:
        stop.set()
        thread.join()
    ms.hooks.barrier()


def test_where_nothing_is_pending_nothing_is_waited_for(monkeypatch):
    f = hooked(lambda value: None)
    jax.block_until_ready(f(jnp.ones(2)))
    ms.hooks.barrier()
    own, waits = threading.get_ident(), []

    def noted(wait):
        return lambda *args: (threading.get_ident() == own and waits.append(wait)) or wait(*args)

    monkeypatch.setattr(time, "sleep", noted(time.sleep))
    monkeypatch.setattr(threading.Condition, "wait", noted(threading.Condition.wait))
    for _ in range(20):
        ms.hooks.barrier()
    assert waits == []
    time.sleep(0)
    threading.Event().wait(0)
    assert len(waits) == 2


def test_a_barrier_within_a_hook_is_no_deadlock_and_a_hook_may_run_programs_with_hooks():
    inner_log, log = [], []
    inner = hooked(inner_log.append)

    def hook(value):
        inner(jnp.asarray(value) * 10)
        ms.hooks.barrier()
        log.append(value)

    f = hooked(hook)
    for _ in range(3):
        f(jnp.ones(2))
    ms.hooks.barrier()
    assert len(log) == 3
    np.testing.assert_array_equal(inner_log, [[10, 10]] * 3)


def test_hooks_are_waited_for_where_jit_is_disabled():
    log = []
    f = hooked(log.append)
    f(jnp.ones(2))
    ms.hooks.barrier()
    with jax.disable_jit():
        f(jnp.ones(2) * 2)
        ms.hooks.barrier()
    np.testing.assert_array_equal(log, [[1, 1], [2, 2]])
