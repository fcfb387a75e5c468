"""Hooks that are part of programs: what they read is a guard, like what other code reads."""

import numpy as np
import pytest

import msjax as ms
from msjax import nn

SCALE = {"global": 2.0}
X = ms.Tensor(np.array([[0.1, 0.2]], "float32"))


def _modifier(kind, factor):
    return {
        "forward_pre": lambda cell, args: (args[0] * factor(),),
        "forward": lambda cell, args, output: output * factor(),
        "backward_pre": lambda cell, grad_output: (grad_output[0] * factor(),),
        "backward": lambda cell, grad_input, grad_output: (grad_input[0] * factor(),),
    }[kind]


def _net():
    return nn.SequentialCell(nn.Dense(2, 2, "ones", "zeros"), nn.Tanh())


WAYS = {
    "gradient": lambda net: ms.jit(lambda x: ms.grad(net)(x)),
    "forward": lambda net: ms.grad(ms.jit(net)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["forward_pre", "forward", "backward_pre", "backward"])
def test_a_modifier_reads_what_its_closure_holds_now(kind, way):
    settings, found = {"k": 2.0}, []
    for make in (WAYS[way], ms.grad):
        net = _net()
        getattr(net[1], f"register_{kind}_hook")(_modifier(kind, lambda: settings["k"]))
        gradient = make(net)
        for settings["k"] in (2.0, 5.0, 2.0):
            found.append(gradient(X).asnumpy())
    for compiled, eager in zip(found[:3], found[3:]):
        np.testing.assert_allclose(compiled, eager, rtol=1e-5)
    assert not np.allclose(found[0], found[1])


def test_a_modifier_reads_globals_as_they_are_now():
    net = _net()
    net[1].register_backward_hook(_modifier("backward", lambda: SCALE["global"]))
    net[0].weight.register_hook(lambda grad: grad * SCALE["global"])
    weights = list(net.trainable_params())
    gradient = ms.jit(ms.value_and_grad(net, None, weights))
    first = gradient(X)[1][0].asnumpy()
    SCALE["global"] = 4.0
    try:
        np.testing.assert_allclose(gradient(X)[1][0].asnumpy(), first * 4, rtol=1e-5)
    finally:
        SCALE["global"] = 2.0


def test_what_observers_write_makes_no_new_programs():
    net, latest = _net(), {}

    def keep(cell, args, output):
        latest["norm"] = float(output.norm())

    net[1].register_forward_hook(keep)
    net[1].register_forward_hook(lambda cell, args, output: output * 2.0)
    compiled = ms.jit(net)
    for scale in (1.0, 2.0, 3.0):
        compiled(X * scale)
        assert latest["norm"] > 0
    assert compiled.compilations() == 1


def test_a_lifted_function_is_compiled_once_inside_of_another():
    lifted = ms.from_jax(lambda x: x * 2)
    compiled = ms.jit(lambda x: lifted(x) + 1)
    for _ in range(3):
        np.testing.assert_allclose(compiled(X).asnumpy(), X.asnumpy() * 2 + 1, rtol=1e-6)
    assert compiled.compilations() == 1


def test_a_lifted_function_calls_the_hooks_that_are_there_now():
    net, calls = _net(), []
    lifted = ms.from_jax(lambda x: net(ms.Tensor(x))._value)
    for expected in (0, 1, 1):
        handle = net[1].register_forward_hook(lambda *_: calls.append(1)) if expected == 1 and not calls else None
        lifted(X)
        ms.hooks.barrier()
        assert len(calls) == expected
        if handle is not None:
            handle.remove()


def test_numpy_scalars_are_compiled_for_by_value():
    compiled = ms.jit(lambda x, n: x * n if n > 2 else x)
    for value, programs in ((3, 1), (3, 1), (1, 2)):
        result = compiled(X, np.float32(value))
        np.testing.assert_allclose(result.asnumpy(), X.asnumpy() * value, rtol=1e-6)
        assert compiled.compilations() == programs


def test_a_text_has_the_value_at_the_time_of_the_print(capsys):
    def fn(x):
        print(x)
        x.mul_(x)
        return x

    ms.jit(fn)(ms.Tensor([3.0]))
    assert capsys.readouterr().out == "[3.]\n"
