"""The contenders: each runs the same training step in another way.

`make(case, contender)` returns a Contender of msjax or jax. Those of other Pythons run in processes of their own (others.py).
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import msjax as ms
from tests.bench import cells, handwritten
from tests.bench.data import EVERY, SHORT, batch, weight


class Contender:
    """One way to make the training step.

    Args:
        step: a function that makes one step and returns the loss, not waited for.
        state: a function that returns arrays that are ready when the step is over.
        graph: True for MindSpore's graph mode.
        wait: called at the end, to wait for what isn't part of the state.
    """

    def __init__(self, step, state, graph=False, wait=None):
        self.step = step
        self.state = state
        self.graph = graph
        self.wait = wait

    def losses(self, count):
        """The losses of the next steps."""
        self._set_mode()
        losses = [float(np.asarray(self.step())) for _ in range(count)]
        if self.wait is not None:
            self.wait(count)
        return losses

    def time(self, steps):
        """Seconds of one step, the mean over some."""
        self._set_mode()
        begin = time.perf_counter()
        for _ in range(steps):
            self.step()
        jax.block_until_ready(self.state())
        if self.wait is not None:
            self.wait(steps)
        return (time.perf_counter() - begin) / steps

    def _set_mode(self):
        ms.set_context(mode=ms.GRAPH_MODE if self.graph else ms.PYNATIVE_MODE)


def make(case, contender):
    """The contender of that name (see `CONTENDERS`)."""
    return CONTENDERS[contender](case)


def network(case):
    """(net, inputs, labels) of msjax."""
    net = cells.networks(ms)[EVERY[case][0]]()
    net.set_train()
    for name, parameter in net.parameters_and_names():
        parameter.set_data(ms.Tensor(weight(name, parameter.shape)))
    return net, *(ms.Tensor(a) for a in batch(case))


# ---- msjax's own ways


def _cells(graph, register=None):
    def made(case):
        net, inputs, labels = network(case)
        if register is not None:
            register(net)
        step = cells.training_step(ms, net)
        return Contender(lambda: step(inputs, labels)._value, lambda: [p._value for p in net.get_parameters()], graph)

    return made


def observers(net):
    """A forward and a backward hook on every leaf cell, which do nothing."""
    for _, cell in cells.leaves(net):
        cells.hook(cell)


def modifiers(net):
    """A forward and a backward pre hook on every leaf cell, which damp what passes."""
    for _, cell in cells.leaves(net):
        cell.register_forward_hook(lambda cell, inputs, output: output * 0.99)
        cell.register_backward_pre_hook(lambda cell, grad_output: (grad_output[0] * 0.99,))


# ---- functionalized, under jax.jit


def _functional(register=None, capture=None):
    def made(case):
        net, inputs, labels = network(case)
        wait = register(net) if register is not None else None
        apply, trained, others = ms.functionalize(net)
        if capture is not None:
            apply = capture(net)

        def loss(trained, others, inputs, labels):
            found = apply(trained, others, inputs)
            (scores, new), seen = found if capture is not None else (found, None)
            picked = jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1)
            return -picked.mean(), (new, seen)

        def step(trained, velocity, others, inputs, labels):
            (value, (others, seen)), gradients = jax.value_and_grad(loss, has_aux=True)(trained, others, inputs, labels)
            trained, velocity = handwritten.momentum(trained, velocity, gradients)
            return trained, velocity, others, value, seen

        compiled = jax.jit(step, donate_argnums=(0, 1))
        return _stepping(lambda *state: compiled(*state, inputs._value, labels._value), trained, others, wait)

    return made


def _stepping(step, trained, others, wait=None):
    state = [
        {k: jnp.copy(v) for k, v in trained.items()},
        {k: jnp.zeros_like(v) for k, v in trained.items()},
        {k: jnp.copy(v) for k, v in others.items()},
    ]

    def one():
        *state[:], loss = step(*state)[:4]
        return loss

    return Contender(one, lambda: state, wait=wait)


def called_back(net):
    """A forward hook on every leaf cell, called on the host; returns a function that waits until all have run."""
    for _, cell in cells.leaves(net):
        cell.register_forward_hook(cells.observe)
    return lambda steps: ms.hooks.barrier()


def debug_callbacks(net):
    """`jax.debug.callback` at the same places; returns a function that waits."""

    def callback(value):
        pass

    def hook(cell, inputs, output):
        jax.debug.callback(callback, output._value)

    for _, cell in cells.leaves(net):
        cell.register_forward_hook(hook, traced=True)
    return lambda steps: jax.effects_barrier()


def waited_for(case):
    """Each step is waited for, as a guarded one is, or one whose loss is printed."""
    net, inputs, labels = network(case)
    step = cells.training_step(ms, net)
    return Contender(
        lambda: step(inputs, labels)._value.block_until_ready(), lambda: [p._value for p in net.get_parameters()], True
    )


class _Guarded(Contender):
    """A step in ``tools.guard``."""

    def __init__(self, net, *args):
        super().__init__(*args)
        self.guard = ms.tools.guard(net)

    def losses(self, count):
        with self.guard:
            return super().losses(count)

    def time(self, steps):
        self._set_mode()
        with self.guard:
            self.step()  # puts the hooks on, and finds the program that was compiled with them
            return super().time(steps)


def guarded(case):
    net, inputs, labels = network(case)
    step = cells.training_step(ms, net)
    return _Guarded(net, lambda: step(inputs, labels)._value, lambda: [p._value for p in net.get_parameters()], True)


class _Watched(Contender):
    def time(self, steps):
        return super().time(100)  # one of them with statistics, whichever is the first


def watched(case):
    """Statistics of all activations, gradients, Parameters and updates at each hundredth step, handed to a function.

    In a case that runs for its losses only, at each step: that is one program, not two.
    """
    net, inputs, labels = network(case)
    step = cells.training_step(ms, net)
    ms.tools.watch(net, every=1 if case in SHORT else 100, to=lambda data, step: None)
    return _Watched(lambda: step(inputs, labels)._value, lambda: [p._value for p in net.get_parameters()], True)


def size_of(array):
    """The statistic that is captured."""
    return jnp.abs(array).mean()


def captured(net):
    """The mean size of every leaf cell's output, as outputs of the step."""
    return ms.hooks.capture(net, [name for name, _ in cells.leaves(net)], statistic=size_of)


# ---- by hand


def _by_hand(at=handwritten.nothing, kernels=handwritten.Shared, eager=False):
    def made(case):
        net, inputs, labels = network(case)
        _, trained, others = ms.functionalize(net)
        others = {k: v for k, v in others.items() if k != "random_state"}
        step = handwritten.step_of(handwritten.loss_of(EVERY[case][0], at, kernels), eager)
        return _stepping(lambda *state: step(*state, inputs._value, labels._value), trained, others)

    return made


def _with_statistics(case):
    net, inputs, labels = network(case)
    _, trained, others = ms.functionalize(net)
    others = {k: v for k, v in others.items() if k != "random_state"}

    def loss(trained, others, inputs, labels):
        seen = {}

        def at(name, value):
            seen[name] = size_of(value)
            return value

        value, new = handwritten.loss_of(EVERY[case][0], at)(trained, others, inputs, labels)
        return value, (new, seen)

    def step(trained, velocity, others, inputs, labels):
        (value, (new, seen)), gradients = jax.value_and_grad(loss, has_aux=True)(trained, others, inputs, labels)
        trained, velocity = handwritten.momentum(trained, velocity, gradients)
        return trained, velocity, {**others, **new}, value, seen

    compiled = jax.jit(step, donate_argnums=(0, 1))
    return _stepping(lambda *state: compiled(*state, inputs._value, labels._value), trained, others)


def _damped(name, value):
    return handwritten.damp_gradient(value * 0.99)


CONTENDERS = {
    "pynative": _cells(False),
    "pynative, hooks": _cells(False, observers),
    "compiled": _cells(True),
    "compiled, observers": _cells(True, observers),
    "compiled, modifiers": _cells(True, modifiers),
    "compiled, waited for": waited_for,
    "compiled, guard": guarded,
    "compiled, watch": watched,
    "functionalized": _functional(),
    "functionalized, hooks": _functional(called_back),
    "functionalized, debug.callback": _functional(debug_callbacks),
    "functionalized, statistics": _functional(capture=captured),
    "jax.jit": _by_hand(),
    "jax.jit, plain": _by_hand(kernels=handwritten.Plain),
    "jax.jit, modifiers": _by_hand(_damped),
    "jax.jit, statistics": _with_statistics,
    "jax eager": _by_hand(kernels=handwritten.Plain, eager=True),
}
