"""Code that changes Python's state while it runs: attributes, containers, names and hooks. Each run does so once, in every way to run it."""

import collections
import random
import warnings
from typing import Any

import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from msjax.tools import Fault, guard
from tests.compile.calls import f32


class State:
    total = 0

    def __init__(self):
        self.k, self.list, self.dict, self.items = 1.0, [], {}, [1.0] * 40
        self.recent = collections.deque([1.0, 2.0], maxlen=2)


# ---- how often such a function is compiled


def grows(state, x):
    state.list.append(1)
    return x * 2


def grows_a_full_deque(state, x):
    state.recent.append(3.0)
    return x * 2


def grows_and_reads(state, x):
    state.list.append(1)
    return x * len(state.list)


def counts(state, x):
    state.k += 1
    return x * state.k


def settles(state, x):
    state.k = 5.0
    return x * state.k


def replaces(state, x):
    state.list = [1.0, 2.0]
    return x * state.list[1]


def shrinks(state, x):
    state.items.pop()
    return x * len(state.items)


# (what it does, how often it is compiled in ten calls, whether it runs in PyNative mode then).
COMPILATIONS = {
    "a list that grows": (grows, 1, False),
    "a deque that is full": (grows_a_full_deque, 1, False),
    "a list that grows and is read": (grows_and_reads, 3, True),
    "a number that grows": (counts, 3, True),
    "a number that is set once": (settles, 2, False),
    "a list that is made anew": (replaces, 2, False),
    "a list that shrinks": (shrinks, 3, True),
}


@pytest.mark.parametrize("row", COMPILATIONS)
def test_table_of_compilations(row, recwarn):
    function, compilations, in_pynative = COMPILATIONS[row]
    mine, eager = State(), State()
    compiled = ms.jit(lambda x: function(mine, x))
    for _ in range(10):
        assert compiled(f32(2)).tolist() == function(eager, f32(2)).tolist()
    assert compiled.compilations() == compilations
    assert len([w for w in recwarn if "each run changes a Python value" in str(w.message)]) == in_pynative


# ---- what it changes, around gradients


def number(state, net):
    state.k += 1
    return state.k


def item(state, net):
    state.dict["n"] = state.dict.get("n", 0) + 1
    return state.dict["n"]


def list_that_is_read(state, net):
    state.list.append(1.0)
    return len(state.list)


def class_of_a_plain_object(state, net):
    type(state).total += 1
    return type(state).total


def class_of_a_cell(state, net):
    type(net).total = type(net).total + 1
    return net.total


def switch(state, net):
    state.k = 3.0 - state.k
    return state.k


def numpys_generator(state, net):
    state.k = np.random.randint(1000)
    return state.k


def pythons_generator(state, net):
    state.k = random.randrange(1000)
    return state.k


def hook_of_a_parameter(state, net):
    net.weight.register_hook(lambda grad: grad * 2)
    return 2.0


def hook_of_a_cell(state, net):
    net.inner.register_forward_hook(lambda cell, inputs, output: output * 2)
    return 2.0


def hook_that_is_taken_off(state, net):
    handle = net.inner.register_forward_hook(lambda cell, inputs, output: output * 3)
    found = net.inner(net.weight).sum()
    handle.remove()
    return found


def hook_that_an_earlier_run_registered(state, net):
    if state.items[0] == 1.0:
        state.items[0] = net.weight.register_hook(lambda grad: grad * 3)
    else:
        state.items[0].remove()
        state.items[0] = 1.0
    return 2.0


CHANGES = [
    number, item, numpys_generator, pythons_generator, list_that_is_read, class_of_a_plain_object, class_of_a_cell, switch, hook_of_a_parameter, hook_of_a_cell,
    hook_that_is_taken_off, hook_that_an_earlier_run_registered,
]  # fmt: skip


def net_of(changes, stops):
    class Net(nn.Cell):
        total = 0

        def __init__(self, state):
            super().__init__()
            self.state, self.inner = state, nn.ReLU()
            self.weight = ms.Parameter(np.array([1, 2], np.float32), name="weight")

        def construct(self, x):
            factor = changes(self.state, self)
            y = self.inner(x * self.weight) * factor
            return (y + ops.stop_gradient(x) if stops else y).sum()

    return Net


def forward(net, compiled) -> Any:
    return ms.jit(net) if compiled else net


def backward(net, compiled):
    function = forward(net, compiled)

    def run(x):
        loss, net.weight.grad = function(x), None
        net.state.k += 10  # after the forward pass, before the backward pass
        loss.backward()
        net.state.k -= 10
        return loss, net.weight.grad

    return run


def gradient_of_compiled(net, compiled):
    return ms.value_and_grad(forward(net, compiled), 0, [net.weight])


def compiled_gradient(net, compiled):
    function = ms.value_and_grad(net, 0, [net.weight])
    return ms.jit(function) if compiled else function


def values(found):
    return [values(each) for each in found] if isinstance(found, (list, tuple)) else found.tolist()


def what_happens(changes, stops, way, compiled):
    state, seen = State(), []
    State.total = 0
    random.seed(1)
    np.random.seed(1)
    net = net_of(changes, stops)(state)
    run = way(net, compiled)
    for n in range(5):
        found = values(run(f32(1, 2)))
        hooks = len(net.weight._hooks.hooks) if net.weight._hooks else 0, len(net.inner._hooks.all())
        seen.append((found, state.k, dict(state.dict), [*state.list], State.total, net.total, hooks))
        if n == 2:
            state.k = 1.0  # a state that was there before
    return seen


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("way", [forward, backward, gradient_of_compiled, compiled_gradient])
@pytest.mark.parametrize("changes", CHANGES, ids=lambda changes: changes.__name__)
@pytest.mark.filterwarnings("ignore:.*runs in PyNative mode")
def test_table_of_changes_in_gradients(changes, way, stops):
    assert what_happens(changes, stops, way, True) == what_happens(changes, stops, way, False)


def test_a_hook_on_an_argument_is_registered_once():
    """The program is traced a second time, since `stop_gradient` leaves open which results carry a gradient."""
    calls, given = [], f32(1, 2)
    weight = ms.Parameter(f32(1, 1), name="weight")

    def function(x):
        x.register_hook(lambda grad: calls.append("within"))
        return (x * weight + ops.stop_gradient(x)).sum()

    given.register_hook(lambda grad: calls.append("before"))
    assert ms.jit(ms.grad(function))(given).tolist() == [1, 1]
    assert calls == ["before", "within"]


def second_derivative(function):
    first = ms.grad(lambda x: function(x) ** 2)
    return ms.grad(lambda x: first(x).sum())


def test_a_gradient_of_a_gradient_runs_the_code_once():
    answers = []
    for compiled in (False, True):
        net = net_of(number, False)(State())
        second = second_derivative(forward(net, compiled))
        answers.append([(second(f32(1, 2)).tolist(), net.state.k) for _ in range(3)])
    assert answers[0] == answers[1]


def test_a_call_whose_arguments_share_memory_runs_the_code_once():
    def function(x, y):
        state.k += 1
        x[0] = y[1] * state.k
        return x.sum()

    answers = []
    for run in (function, ms.jit(function)):
        state, whole = State(), f32(1, 2, 3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answers.append([(run(whole[:2], whole[1:]).tolist(), whole.tolist(), state.k) for _ in range(3)])
    assert answers[0] == answers[1] and "several of its arguments share" in str(caught[0].message)


def test_a_guard_looks_for_the_fault_in_the_state_of_the_run_that_it_rejects():
    class Net(nn.Cell):
        n = 0

        def construct(self, x):
            self.n += 1
            return x / (self.n - 1)

    for compiled in (False, True):
        net = Net()
        with guard(net), pytest.raises(Fault) as raised:
            forward(net, compiled)(f32(0))
        assert (raised.value.operation, net.n) == ("Div", 1)


def test_a_failed_trace_leaves_hooks_and_classes_as_they_were():
    class Net(nn.Cell):
        total = 0

        def construct(self, x):
            type(self).total += 1
            self.register_forward_hook(lambda cell, inputs, output: None)
            return x * 2 if x.max() > 0 else x

    net = Net()
    with pytest.warns(UserWarning, match="runs in PyNative mode"):
        assert ms.jit(net)(f32(1)).tolist() == [2]
    assert Net.total == 1 and len(net._hooks.all()) == 1
