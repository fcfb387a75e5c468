"""Hooks of runs and traces that fail on the way."""

import pytest

import msjax as ms
from msjax import nn
from tests.differential.nets import Of, X


class Nested(nn.Cell):
    def __init__(self, inner=None):
        super().__init__()
        self.inner = inner

    def construct(self, x):
        return (x if self.inner is None else self.inner(x)) * 2


@pytest.mark.parametrize("failing", ["forward", "forward_pre"])
def test_hooks_with_always_call_run_after_an_observer_failed_but_in_a_compiled_program(failing):
    inner, log = Nested(), []
    net = Nested(inner)

    def fail(*args):
        raise KeyError("enough")

    getattr(inner, f"register_{failing}_hook")(fail)
    inner.register_forward_hook(lambda cell, args, out: log.append("not called"))
    for name, cell in (("outer", net), ("inner", inner)):

        def note(c, args, out, n=name):
            log.append((n, float(args[0]), out and float(out)))

        cell.register_forward_hook(note, always_call=True)
    net.register_forward_hook(lambda cell, args, out: 1 / 0, always_call=True, observe=True)
    with pytest.warns(UserWarning, match="in cell Nested.*raised ZeroDivisionError"), pytest.raises(KeyError, match="enough"):
        net(ms.Tensor(1.0))
    assert log == [("inner", 1.0, 2.0 if failing == "forward" else None), ("outer", 1.0, None)]
    log.clear()
    compiled = ms.jit(net)
    for _ in range(2):
        with pytest.raises(KeyError, match="enough"):
            compiled(ms.Tensor(1.0))
    assert log == []


@pytest.mark.parametrize("compiled", [False, True])
def test_a_hook_that_runs_after_a_failure_gets_the_inputs_that_an_earlier_hook_has_changed(compiled):
    log, net = [], nn.Identity()

    def fail(cell, inputs):
        log.append("pre")
        raise ValueError("no")

    net.register_forward_pre_hook(lambda cell, inputs: (inputs[0] * 2,))
    net.register_forward_pre_hook(fail)
    net.register_forward_hook(lambda cell, inputs, output: log.append(inputs[0].asnumpy().tolist()), always_call=True)
    with pytest.raises(ValueError, match="no"):
        (ms.jit(lambda x: net(x)) if compiled else net)(ms.Tensor(X))
        ms.hooks.barrier()
    assert log == (["pre"] if compiled else ["pre", [[2.0, -4.0, 6.0]]])


def test_a_trace_that_fails_takes_back_its_hooks_on_arguments():
    def fail(net, x):
        x.register_hook(lambda grad: log.append("inside"))
        gradient = ms.grad(lambda a: a * 2)(x)
        raise ValueError(f"of {gradient.shape}")

    log, net = [], Of(fail)
    for function in (net, ms.jit(net)):
        x = ms.Tensor(X)
        x.register_hook(lambda grad: log.append("outside"))
        log.clear()
        with pytest.raises(ValueError, match="of "):
            function(x)
        assert log == ["outside", "inside"]
