"""Classifying hooks as observers or modifiers by their code."""

import collections
import functools

import pytest

from msjax.core.hooks.hook import Hook

log, table, queue, lists = [], {}, collections.deque(), collections.defaultdict(list)


class Recorder:
    def __init__(self):
        self.log = []

    def hook(self, cell, args, output):
        self.log.append(output)

    def change(self, cell, args, output):
        return output * 2

    def __call__(self, cell, args, output):
        print(output)


recorder = Recorder()


def prints(cell, args, output):
    print("a", output)


def returns_early(cell, args, output):
    if output:
        return None
    print(1)


def returns_append(cell, args, output):
    return log.append(output)


def loops_and_raises(cell, args, output):
    for arg in args:
        print(arg)
    raise ValueError


def helper(output):
    log.append(output)


def calls_helper(cell, args, output):
    return helper(output)


def cleans_up(cell, args, output):
    with open(args) as file:
        try:
            file.write("1")
        finally:
            print(2)


OBSERVERS = [
    print,
    log.append,
    queue.append,
    prints,
    returns_early,
    returns_append,
    loops_and_raises,
    calls_helper,
    cleans_up,
    recorder.hook,
    recorder,
    functools.partial(prints, 1),
    lambda cell, args, output: print("x", output),
    lambda cell, args, output: log.append(output),
    lambda cell, args, output: log.append((cell, args[0], output.sum())),
    lambda cell, args, output: table.update({cell: output}),
    lambda cell, args, output: table.__setitem__("a", output),
    lambda cell, args, output: recorder.log.append(output),
    lambda cell, args, output, log=log: log.append(output),
    lambda cell, args, output: log.append(args if output else cell),
    lambda *args: print(f"{args[2]:.2f}", args[1], sep=","),
    lambda *args: print(*args),
    lambda grads: print([g.shape for g in grads]),
    lambda cell, args, output: lists["a"].append(output),
    lambda cell, args, output: table.setdefault("k", []).append(output),
    lambda cell, args, output: None,
    lambda cell, args, output: log.append(output) and None,
    lambda cell, args, output: print(output) or log.append(output),
    lambda cell, args, output: log.append(output) if cell else print(output),
]


def returns_something(cell, args, output):
    if output:
        return output


def appends_and_returns(cell, args, output):
    log.append(output)
    return output * 2


def yields(cell, args, output):
    yield output


MODIFIERS = [
    returns_something,
    appends_and_returns,
    yields,
    recorder.change,
    Recorder,
    max,
    lambda cell, args, output: output * 2,
    lambda cell, args, output: (output,),
    lambda cell, args, output: output.add(args),
    lambda cell, args, output: len(args),
    lambda cell, args, output: output if args else None,
    lambda cell, args, output: log.append(output) or output,
    lambda cell, args, output: output and None,
    lambda cell, args, output: len(args) and None,
    lambda cell, args, output: args and log.append(output),
    lambda cell, args, output: (print(output) and None) or output,
    lambda cell, args, output: table.setdefault("a", []),
    lambda cell, args, output: (log.append(output), output)[1],
    lambda cell, args, output: print(output) if cell else output,
    lambda grad: -grad,
]


@pytest.mark.parametrize("fn", OBSERVERS)
def test_observers(fn):
    assert Hook(fn).observes


@pytest.mark.parametrize("fn", MODIFIERS)
def test_modifiers(fn):
    assert not Hook(fn).observes


def test_what_a_name_stands_for_counts_when_it_is_asked():
    def hook(grad):
        return act(grad)

    act = print
    assert Hook(hook).observes
    act = abs
    assert not Hook(hook).observes
