"""The queue of hook calls: hooks slower than the program, hooks that fail, Ctrl-C and debuggers."""

import sys
import textwrap
import threading
import time
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import nn
from msjax.core.hooks.worker import WORKER  # its private counts are the bound that is tested: how many bytes and calls wait


def hooked(hook):
    """A function under jax.jit whose hook is called with each output."""
    net = nn.SequentialCell(nn.ReLU())
    net[0].register_forward_hook(lambda cell, inputs, output: hook(output.asnumpy()), observe=True)
    apply, params, buffers = ms.functionalize(net)
    return jax.jit(lambda x: apply(params, buffers, x)[0])


@pytest.fixture(autouse=True)
def no_earlier_programs(monkeypatch):
    """As in a process whose hooks have run no programs with hooks: once the queue is empty, those are waited for on all devices."""
    ms.hooks.barrier()
    monkeypatch.setattr(WORKER, "nested", False)
    monkeypatch.setattr(WORKER, "sharded", False)
    monkeypatch.setattr(WORKER, "_seconds", None)


@pytest.fixture
def small_queue():
    before = ms.get_context("hook_queue_bytes")
    ms.set_context(hook_queue_bytes=10_000)
    yield 10_000
    ms.set_context(hook_queue_bytes=before)


@pytest.mark.parametrize("nested", [False, True])
def test_a_program_waits_while_the_queue_holds_too_much(small_queue, nested, monkeypatch):
    # Whether another hook of this process has run a program with hooks makes no difference, but where the programs of hooks wait behind
    # those of other threads.
    if nested and jax.default_backend() != "cpu":
        pytest.skip("the queue of a GPU has no bound while programs of hooks are waited for")
    monkeypatch.setattr(WORKER, "nested", nested)
    monkeypatch.setattr(WORKER, "sharded", False)
    log, most = [], []

    def hook(value):
        most.append(WORKER._bytes)
        time.sleep(0.005)
        log.append(float(value[0]))

    f = hooked(hook)
    for i in range(100):
        # Each step is waited for here: barrier() lifts the bound for the programs that it waits for.
        f(jnp.full(250, float(i), jnp.float32)).block_until_ready()
        most.append(WORKER._bytes)
    assert max(most) <= small_queue
    ms.hooks.barrier()
    assert log == [float(i) for i in range(100)]
    assert max(most) <= small_queue and WORKER._bytes == 0


def test_a_value_larger_than_the_queue_goes_through(small_queue):
    log = []
    f = hooked(lambda value: log.append(value.nbytes))
    for _ in range(3):
        f(jnp.ones(10_000, jnp.float32))
    ms.hooks.barrier()
    assert log == [40_000] * 3


def test_a_hook_that_runs_programs_with_hooks_is_no_deadlock_in_a_full_queue(small_queue):
    inner_log, log = [], []
    inner = hooked(lambda value: inner_log.append(float(value[0])))

    def hook(value):
        log.append(float(inner(jnp.asarray(value) * 2)[0]))

    inner(jnp.ones(1250, jnp.float32))  # also known outside of hooks
    f = hooked(hook)
    for i in range(20):
        f(jnp.full(1250, float(i), jnp.float32))
    ms.hooks.barrier()
    assert log == [2.0 * i for i in range(20)] and inner_log == [1.0, *log]


@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (-1, ValueError), ("1", TypeError), (True, TypeError)])
def test_hook_queue_bytes_is_a_positive_int(value, error):
    with pytest.raises(error, match="hook_queue_bytes"):
        ms.set_context(hook_queue_bytes=value)


def wait_for_calls():
    """Until the thread has called what was queued, without a call of msjax's own."""
    end = time.monotonic() + 30
    while (WORKER._items or WORKER._root) and time.monotonic() < end:
        time.sleep(0.001)


def test_a_hook_that_fails_is_reported_at_once_raised_later_and_keeps_little(capfd):
    seen = []

    def bad(value):
        seen.append(weakref.ref(value))
        raise ZeroDivisionError("mine")

    f = hooked(bad)
    for i in range(50):
        f(jnp.full(1000, float(i)))
    wait_for_calls()
    reported = [line for line in capfd.readouterr().err.splitlines() if line.startswith("msjax:")]
    assert len(reported) == 1
    assert "forward hook" in reported[0] and "SequentialCell.0" in reported[0] and "ZeroDivisionError: mine" in reported[0]
    assert sum(ref() is not None for ref in seen) <= 1, "only the first failure keeps its traceback"
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        ms.hooks.barrier()
    assert len(seen) == 50
    notes = "\n".join(caught.value.__notes__)
    assert "SequentialCell.0" in notes and "50 calls of hooks failed" in notes and "50 times" in notes
    ms.hooks.barrier()


def test_a_hook_that_raises_keyboardinterrupt_stops_the_queue():
    log = []

    def hook(value):
        log.append(float(value[0]))
        if len(log) == 3:
            raise KeyboardInterrupt

    f = hooked(hook)
    for i in range(40):
        f(jnp.full(2, float(i)))
    with pytest.raises(KeyboardInterrupt):
        ms.hooks.barrier()
    assert log == [0.0, 1.0, 2.0]
    f(jnp.full(2, 7.0))
    ms.hooks.barrier()
    assert log == [0.0, 1.0, 2.0, 7.0]


@pytest.fixture
def run(forks, tmp_path):
    """A function that runs a script, with what it reads from its standard input."""

    def run(script, input=""):
        (tmp_path / "script.py").write_text(textwrap.dedent(SETUP) + textwrap.dedent(script))
        (tmp_path / "input").write_text(input)
        return forks.command("run", "--no-cache", tmp_path / "script.py", stdin=tmp_path / "input")

    return run


SETUP = """
    import os, signal, sys, threading, time
    import jax, jax.numpy as jnp
    import msjax as ms
    from msjax import nn

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so what they start
    log, ctrl_c = [], []

    def slow(cell, inputs, output):
        log.append(1)
        if len(log) == 3 and ctrl_c:
            os.kill(os.getpid(), signal.SIGINT)  # which interrupts the main thread
        time.sleep(0.2)

    def make(hook):
        net = nn.ReLU()
        net.register_forward_hook(hook, observe=True)
        apply, params, buffers = ms.functionalize(net)
        return jax.jit(lambda x: apply(params, buffers, x)[0])

    f = make(slow)
    f(jnp.ones(2))
    ms.hooks.barrier()
    log.clear()
    ctrl_c.append(True)
"""


@pytest.mark.long
def test_ctrl_c_in_the_barrier_stops_the_queue(run):
    done = run(
        """
        try:
            for _ in range(10):  # so few wait for nothing, so that the barrier is where the signal comes
                f(jnp.ones(2))
            ms.hooks.barrier()
        except KeyboardInterrupt:
            print("interrupted")
        ms.hooks.barrier()
        print(len(log) < 8)
        """
    )
    assert done.stdout.split() == ["interrupted", "True"], done


@pytest.mark.long
def test_ctrl_c_ends_the_calls_of_a_vmap_that_are_left(run):
    done = run(
        """
        g = jax.jit(jax.vmap(f))
        try:
            g(jnp.ones((40, 2)))
            ms.hooks.barrier()
        except KeyboardInterrupt:
            print("interrupted")
        ms.hooks.barrier()
        print(len(log) < 20)
        """
    )
    assert done.stdout.split() == ["interrupted", "True"], done


def test_programs_of_a_thread_do_not_outrun_their_hooks_for_long(monkeypatch):
    monkeypatch.setattr("msjax.core.hooks.worker._BEHIND", 0.1)
    ms.hooks.barrier()
    f, stop, most = hooked(lambda value: time.sleep(0.002)), threading.Event(), []
    f(jnp.ones(2))
    ms.hooks.barrier()

    def train():
        x = jnp.ones(2)
        while not stop.is_set():
            x = f(x)
            most.append(len(WORKER._items) * (WORKER._seconds or 0))

    thread = threading.Thread(target=train, daemon=True)
    thread.start()
    try:
        while len(most) < 400:
            time.sleep(0.01)
        ms.hooks.barrier()  # returns, though the thread goes on
        assert thread.is_alive()
    finally:
        stop.set()
        thread.join(20)
    # The average is that of the latest hooks.
    assert sorted(most)[len(most) // 2] < 0.5
    ms.hooks.barrier()


def test_few_calls_wait_before_the_first_hook_has_ended(monkeypatch):
    monkeypatch.setattr("msjax.core.hooks.worker._UNTIMED", 8)
    f, stop, ended, most = hooked(lambda value: ended.wait(20) and None), threading.Event(), threading.Event(), []

    def train():
        x = jnp.ones(2)
        while not stop.is_set():
            x = jax.block_until_ready(f(x))
            most.append(len(WORKER._items))

    thread = threading.Thread(target=train, daemon=True)
    thread.start()
    try:
        while len(most) < 8:
            time.sleep(0.01)
        time.sleep(0.1)
        assert max(most) <= 10
    finally:
        stop.set()
        ended.set()
        thread.join(20)
    ms.hooks.barrier()


@pytest.mark.long
def test_ctrl_c_elsewhere_ends_the_script_without_the_hooks_that_wait(run):
    done = run(
        """
        import atexit
        atexit.register(lambda: print("hooks", len(log) < 30))
        for _ in range(40):
            f(jnp.ones(2))
        time.sleep(60)
        """
    )
    assert done.returncode != 0 and "KeyboardInterrupt" in done.stderr and done.stdout.split() == ["hooks", "True"], done


@pytest.mark.long
def test_ctrl_c_reaches_a_loop_whose_programs_wait_for_hooks(run):
    done = run(
        """
        ms.set_context(hook_queue_bytes=10)
        try:
            for _ in range(40):
                f(jnp.ones(2))
            ms.hooks.barrier()  # on a busy machine jax may have taken all calls before the signal comes
        # Where the signal comes in jax's own frames around the callback, XLA makes an error of its own of it: a JaxRuntimeError, or a
        # ValueError from the fast path of a jitted call.
        except (KeyboardInterrupt, jax.errors.JaxRuntimeError, ValueError) as error:
            print("KeyboardInterrupt" in repr(error), len(log) < 30)
        """
    )
    assert done.stdout.split() == ["True", "True"], done


@pytest.mark.long
@pytest.mark.parametrize("stop", ["breakpoint()", "import pdb; pdb.set_trace()"])
def test_the_debugger_in_a_hook_has_a_prompt(stop, run):
    script = f"""
        def hook(cell, inputs, output):
            value = float(output.asnumpy()[0]) * 3
            {stop}
            print("went on with", value)

        g = make(hook)
        g(jnp.full(2, 5.0))
        ms.hooks.barrier()
        print("end")
        """
    done = run(script, input="p value\nvalue = 7\nc\n")
    assert "15.0" in done.stdout and "went on with 7" in done.stdout and done.stdout.endswith("end\n"), done


def test_leaving_the_debugger_stops_the_queue(run):
    done = run(
        """
        def hook(cell, inputs, output):
            log.append(1)
            breakpoint()
            print("went on")

        g = make(hook)
        for _ in range(10):
            g(jnp.ones(2))
        try:
            ms.hooks.barrier()
        except BaseException as error:
            print(type(error).__name__, len(log))
        """,
        input="q\n",
    )
    assert done.stdout.endswith("(Pdb) BdbQuit 1\n"), done


@pytest.mark.long
def test_thousands_of_steps_call_each_hook_once_in_order_and_leave_nothing(small_queue):
    import gc
    import resource

    calls, wrong = [0], []

    def hook(value):
        if value[0] != calls[0] % 3000:
            wrong.append((calls[0], float(value[0])))
        calls[0] += 1

    f = hooked(hook)
    for i in range(3000):
        f(np.full(250, i, np.float32))
        if i == 1000:
            ms.hooks.barrier()
            gc.collect()
            objects, memory = len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ms.hooks.barrier()
    assert calls == [3000] and wrong == []
    gc.collect()
    assert len(gc.get_objects()) - objects < 1000 and WORKER._bytes == 0 and not WORKER._items
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 20_000, "KiB"


def test_an_interrupt_of_before_drops_no_later_calls(monkeypatch):
    """As in the cells of a notebook that are run after one was interrupted."""
    monkeypatch.setattr(sys, "last_value", KeyboardInterrupt(), raising=False)
    called = threading.Event()
    hooked(lambda value: called.set())(1.0)
    assert called.wait(10)
