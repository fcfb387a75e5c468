"""Handles of hooks: removal, with statements, and what they keep alive."""

import gc
import os
import pickle
import threading
import time
import weakref

import equinox as eqx
import pytest
from flax import nnx

import msjax as ms
from msjax import Parameter, Tensor, hooks, nn
from msjax.core.door import HookTable
from msjax.tools import hooks_of

X = Tensor([1.0, 2.0])


def nothing(*args):
    pass


REGISTER = {
    "forward_pre": lambda net: net.register_forward_pre_hook(nothing),
    "forward": lambda net: net.register_forward_hook(nothing),
    "backward_pre": lambda net: net.register_backward_pre_hook(nothing),
    "backward": lambda net: net.register_backward_hook(nothing),
    "state_dict_pre": lambda net: net.register_state_dict_pre_hook(nothing),
    "state_dict_post": lambda net: net.register_state_dict_post_hook(nothing),
    "load_state_dict_pre": lambda net: net.register_load_state_dict_pre_hook(nothing),
    "load_state_dict_post": lambda net: net.register_load_state_dict_post_hook(nothing),
}


@pytest.mark.parametrize("register", REGISTER.values(), ids=REGISTER)
def test_remove(register):
    net = nn.ReLU()
    assert not hooks_of(net)
    handle, other = register(net), register(net)
    assert handle.remove() is None and hooks_of(net)
    assert handle.remove() is None
    other.remove()
    assert not hooks_of(net)


@pytest.mark.parametrize("register", REGISTER.values(), ids=REGISTER)
def test_with(register):
    net = nn.ReLU()
    with pytest.raises(KeyError), register(net) as handle:
        assert hooks_of(net)
        raise KeyError
    assert not hooks_of(net)
    handle.remove()


def test_one_function_registered_twice_runs_twice():
    log = []
    net = nn.ReLU()

    def note(*args):
        log.append(1)

    first, second = net.register_forward_hook(note), net.register_forward_hook(note)
    assert first.id != second.id
    net(X)
    assert len(log) == 2
    first.remove()
    net(X)
    assert len(log) == 3
    second.remove()
    net(X)
    assert len(log) == 3


def test_removal_of_one_leaves_the_order_of_the_others():
    log = []
    net = nn.ReLU()
    handles = [net.register_forward_hook(lambda *args, i=i: log.append(i)) for i in range(4)]
    handles[1].remove()
    net(X)
    assert log == [0, 2, 3]


def test_handles_keep_neither_cell_nor_hook_alive():
    class Hook:
        def __call__(self, *args):
            pass

    net, hook = nn.ReLU(), Hook()
    handles = [net.register_forward_hook(hook), net.register_backward_hook(hook)]
    gone = weakref.ref(net), weakref.ref(hook)
    del net, hook
    gc.collect()
    assert gone[0]() is None and gone[1]() is None
    for handle in handles:
        handle.remove()


def test_removed_hook_is_let_go_of():
    class Hook:
        def __call__(self, *args):
            pass

    net, hook = nn.ReLU(), Hook()
    handle = net.register_forward_hook(hook)
    ms.grad(net)(X)
    gone = weakref.ref(hook)
    handle.remove()
    del hook
    gc.collect()
    assert gone() is None


def test_tensor_handles_keep_no_tensor_alive():
    x = Tensor([1.0])
    handle = x.register_hook(nothing)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None
    handle.remove()


def test_cell_with_hooks_goes_when_its_gradient_has_been_taken():
    net = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU())
    for _, cell in net.cells_and_names():
        cell.register_forward_hook(nothing)
        cell.register_backward_hook(nothing)
        cell.register_backward_pre_hook(nothing)
    ms.grad(net, None, net.trainable_params())(Tensor([[1.0, 2.0]]))
    gone = [weakref.ref(cell) for _, cell in net.cells_and_names()]
    del net, cell
    gc.collect()
    assert [r() for r in gone] == [None] * 3


def count():
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.long
def test_a_thousand_registrations_leave_no_object_behind():
    net, weight = nn.Dense(2, 2), Parameter(Tensor([1.0]), name="w")
    x = Tensor([1.0])

    def register_and_remove(n):
        for _ in range(n):
            for register in list(REGISTER.values())[:4]:
                register(net).remove()
            weight.register_hook(nothing).remove()
            x.register_hook(nothing).remove()

    register_and_remove(10)
    before = count()
    register_and_remove(1_000 // 6 + 1)
    # The registration itself keeps nothing; the interpreter and pytest may hold a few objects more or less.
    assert count() - before < 20
    assert not hooks_of(net) and weight.hooks() == [] and x.hooks() == []


def test_passes_with_hooks_leave_no_object_behind():
    net = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU())
    seen = []
    for _, cell in net.cells_and_names():
        cell.register_forward_hook(lambda cell, args, out: out * 1)
        cell.register_backward_hook(lambda cell, gi, go: seen.append(1) and None)
    gradient = ms.value_and_grad(net, None, net.trainable_params())
    x = Tensor([[1.0, 2.0]])

    def passes(n):
        for _ in range(n):
            gradient(x)
        seen.clear()

    passes(5)
    before = count()
    passes(100)
    assert count() - before < 20


def test_failing_passes_leave_no_object_behind():
    net = nn.Dense(2, 2)
    net.register_backward_hook(lambda cell, gi, go: 1 / 0)
    x = Tensor([[1.0, 2.0]])

    def passes(n):
        for _ in range(n):
            with pytest.raises(ZeroDivisionError):
                ms.grad(net)(x)

    passes(5)
    before = count()
    passes(100)
    assert count() - before < 20


def test_hooks_of_module_functions_can_be_pickled_with_the_cell():
    net = nn.Dense(2, 2)
    net.register_forward_hook(nothing)
    other = pickle.loads(pickle.dumps(net))
    x = Tensor([[1.0, 2.0]])
    assert other(x).tolist() == net(x).tolist()
    assert hooks_of(other) == {"forward": ["nothing"]}


@pytest.mark.parametrize(
    "make", [nn.ReLU, lambda: nnx.Linear(1, 1, rngs=nnx.Rngs(0)), eqx.nn.Identity], ids=["Cell", "nnx", "eqx"]
)
def test_threads_that_register_on_one_module_lose_none_and_leave_none(make, hasty_threads):
    model, wrong = hooks.hooked(make()), []

    def present():
        return [row.hook for row in hooks.registered(model)]

    def work():
        for _ in range(200):
            hook = lambda *given: None  # noqa: E731
            handle = hooks.register_forward_hook(model, hook)
            if hook not in present():
                wrong.append("lost")
            handle.remove()
            if hook in present():
                wrong.append("left")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and not present()


def test_threads_that_register_the_first_hook_of_a_parameter_lose_none(hasty_threads):
    def work():
        together.wait()
        parameter.register_hook(nothing)

    for _ in range(60):
        parameter, together = Parameter(Tensor([1.0])), threading.Barrier(4)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(parameter.hooks()) == 4


def test_a_failed_trace_keeps_what_other_threads_do_to_hooks_meanwhile():
    net = nn.ReLU()
    net.register_forward_hook(nothing)
    handle = net.register_backward_hook(nothing)

    def others():
        net.register_forward_pre_hook(nothing)
        handle.remove()

    @ms.jit
    def run(x):
        if not hooks_of(net).get("forward_pre"):
            thread = threading.Thread(target=others)
            thread.start()
            thread.join()
        net.register_backward_pre_hook(nothing)
        return x if float(x.sum()) > 0 else -x  # needs the value: all goes on in PyNative mode

    with pytest.warns(UserWarning, match="runs in PyNative mode"):
        run(X)
    assert {kind: len(found) for kind, found in hooks_of(net).items()} == {"forward_pre": 1, "forward": 1, "backward_pre": 1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_process_forked_while_another_thread_registers_hooks_can_register_some():
    held = threading.Event()

    def changes(table):
        held.set()
        time.sleep(0.2)
        return table

    thread = threading.Thread(target=HookTable.change, args=(nn.ReLU(), changes))
    thread.start()
    held.wait()
    if not (child := os.fork()):
        os._exit(not HookTable.changing.acquire(timeout=1))
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
