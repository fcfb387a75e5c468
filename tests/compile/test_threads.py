"""Compiling and differentiating beside other threads that use the same network."""

import threading

import jax
import numpy as np

import msjax as ms
from msjax import nn
from msjax.tools import hooks_of


def test_two_threads_compile_and_register(hasty_threads):
    net, errors, done = nn.SequentialCell(*[nn.ReLU() for _ in range(3)]), [], threading.Event()

    def register():
        try:
            n = 0
            while not done.is_set():
                handle = net.register_forward_hook(lambda cell, args, out: None)
                setattr(net, f"attribute_{n % 50}", n)
                if n % 50 == 49:
                    for k in range(50):
                        delattr(net, f"attribute_{k}")
                assert tuple(v for v in range(20))
                handle.remove()
                n += 1
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=register)
    try:
        thread.start()
        for _ in range(4):
            ms.jit(net)(ms.Tensor(np.ones(2, np.float32)))
    finally:
        done.set()
        thread.join()
    assert not errors and not hooks_of(net)


# So long a thread waits for another one, which comes to its end earlier if it can.
MOMENT = 0.2


def dense():
    return nn.Dense(2, 1, weight_init="ones", bias_init="zeros")


def while_traced(net, x, work):
    """Call `work` in another thread while this one compiles a network; returns the compiled function."""
    threads = [threading.Thread(target=work)]

    @ms.jit
    def compiled(x):
        for thread in threads[1:]:  # not where the code is traced once more
            thread.start()
            thread.join(MOMENT)
            threads.remove(thread)
        return net(x) * 2

    threads.append(threads[0])
    compiled(x)
    threads[0].join()
    return compiled


def test_a_network_computes_in_one_thread_while_another_traces_it():
    net, x, found = dense(), ms.Tensor([[1.0, 2.0]]), []
    compiled = while_traced(net, x, lambda: found.extend([net(x).asnumpy().item(), net.weight.asnumpy().tolist()]))
    assert found == [3.0, [[1.0, 1.0]]] and compiled(x).asnumpy().item() == 6.0


def test_a_network_is_trained_in_one_thread_while_another_traces_it():
    net, x, found = dense(), ms.Tensor([[1.0, 2.0]]), []
    optimizer = nn.SGD(net.trainable_params(), 0.5)

    def train():
        out, grads = ms.value_and_grad(net, None, optimizer.parameters)(x)
        optimizer(grads)
        found.extend([out.asnumpy().item(), *[g.asnumpy().tolist() for g in grads], net.weight.asnumpy().tolist()])

    compiled = while_traced(net, x, train)
    assert found == [3.0, [[1.0, 2.0]], [1.0], [[0.5, 0.0]]]
    assert compiled(x).asnumpy().item() == 0.0  # 2 * (0.5 * 1 + 0 * 2 - 0.5)


def test_two_threads_differentiate_one_network():
    net, x, found, inside = dense(), ms.Tensor([[1.0, 2.0]]), [], threading.Event()

    def second(x):
        inside.set()
        first_is_done.wait(MOMENT)
        return net(x)

    def first(x):
        thread.start()
        inside.wait(MOMENT)
        return net(x)

    first_is_done = threading.Event()
    thread = threading.Thread(target=lambda: found.append(ms.grad(second, None, net.trainable_params())(x)))
    grads = ms.grad(first, None, net.trainable_params())(x)
    first_is_done.set()
    thread.join()
    for weight, bias in (grads, *found):
        assert weight.asnumpy().tolist() == [[1.0, 2.0]] and bias.asnumpy().tolist() == [1.0]
    assert len(found) == 1


def test_a_hook_differentiates_in_its_thread_while_another_waits_for_it_within_a_gradient_function():
    net, other, found, waiting = dense(), dense(), [], threading.Event()
    x = ms.Tensor([[1.0, 2.0]])

    def hook(cell, args, out):
        waiting.wait(MOMENT)
        found.append(ms.grad(other)(x).asnumpy().tolist())

    net.register_forward_hook(hook, observe=True)
    apply, params, buffers = ms.functionalize(net)
    jax.jit(apply)(params, buffers, x._value)

    def waits(x):
        waiting.set()
        ms.hooks.barrier()
        return x * len(found)

    assert ms.grad(waits)(x).asnumpy().tolist() == [[1.0, 1.0]] and found == [[[1.0, 1.0]]]


def test_guards_look_at_a_dict_again_that_another_thread_has_changed_meanwhile():
    class Changing(dict):
        """Another thread changes it while it is looked at for the first few times."""

        times = 5

        def copy(self):
            if self.times:
                self.times -= 1
                self[f"{self.times}"] = self.times
                raise RuntimeError("dictionary changed size during iteration")
            return dict(self)

    table = Changing(scale=2.0)
    double = ms.jit(lambda x: x * table["scale"])
    assert double(ms.Tensor([1.0])).tolist() == [2.0] and table.times == 0
    table["scale"] = 3.0
    assert double(ms.Tensor([1.0])).tolist() == [3.0]
