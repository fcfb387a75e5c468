"""Hooks for all cells."""

import gc
import weakref

import pytest

import msjax as ms
from msjax import nn
from msjax.common.run_state import GLOBAL
from msjax.core.hooks.hook import EMPTY


def net_of_two():
    return nn.SequentialCell(nn.ReLU(), nn.Tanh())


def test_no_hooks_no_long_way():
    # Which way a call takes shows in nothing but its time; `_special` decides it.
    net = net_of_two()
    assert GLOBAL._hooks is EMPTY and not net._special
    handle = nn.register_cell_forward_hook(lambda cell, args, out: None)
    assert net._special
    handle.remove()
    handle.remove()
    assert GLOBAL._hooks is EMPTY and not net._special


def test_cells_made_later_and_cells_with_hooks_of_their_own():
    log = []
    with nn.register_cell_forward_pre_hook(lambda cell, args: log.append(type(cell).__name__)):
        net = net_of_two()
        own = net[0].register_forward_pre_hook(lambda cell, args: log.append("own"))
        net(ms.Tensor(1.0))
        own.remove()
        net(ms.Tensor(1.0))
    net(ms.Tensor(1.0))
    assert log == ["SequentialCell", "ReLU", "own", "Tanh", "SequentialCell", "ReLU", "Tanh"]


def test_prepended_with_keywords_and_always_called():
    class Broken(nn.Cell):
        def construct(self, x, *, scale):
            raise KeyError("broken")

    log = []
    with (
        nn.register_cell_forward_pre_hook(lambda cell, args, kwargs: log.append(kwargs["scale"]), with_kwargs=True),
        nn.register_cell_forward_pre_hook(lambda cell, args: log.append("first"), prepend=True),
        nn.register_cell_forward_hook(lambda cell, args, out: log.append(out), always_call=True),
        pytest.raises(KeyError),
    ):
        Broken()(ms.Tensor(1.0), scale=3)
    assert log == ["first", 3, None]


def test_wrong_return_names_hook_and_cell():
    with nn.register_cell_backward_hook(lambda cell, grad_input, grad_output: 3), pytest.raises(TypeError, match="ReLU"):
        ms.grad(nn.ReLU())(ms.Tensor(1.0))


def test_handle_keeps_nothing_alive():
    class Log:
        def __call__(self, cell, args, out):
            pass

    log = Log()
    gone = weakref.ref(log)
    handle = nn.register_cell_forward_hook(log)
    del log
    handle.remove()
    gc.collect()
    assert gone() is None
