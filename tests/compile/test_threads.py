"""Compiling beside other threads."""

import threading

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
