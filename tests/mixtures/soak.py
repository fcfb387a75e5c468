"""A long run of what users repeat: `python -m tests.mixtures.soak --minutes 20`.

Rounds of training steps, eager and compiled, of Cells and nnx modules, with hooks that come and go, blocks of tools that open and close, models that
are made and dropped, data pipelines and checkpoints. What the process holds (memory maps, memory, threads, open files) is noted after each round, and
is flat after the first minute, or the first quarter of a shorter run.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import threading
import time

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import msjax as ms
from msjax import dataset as ds, hooks, nn, tools

# How much more than after the warm-up each of them may be at the end.
LIMITS = {"maps": 60, "MB": 24, "threads": 0, "files": 2}


def held():
    """{name: how many of it} the process holds."""
    gc.collect()
    with open("/proc/self/maps", "rb") as file:
        maps = sum(1 for _ in file)
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return {
        "maps": maps,
        "MB": pages * os.sysconf("SC_PAGE_SIZE") >> 20,
        "threads": threading.active_count(),
        "files": len(os.listdir("/proc/self/fd")),
    }


class _Mlp(nnx.Module):
    def __init__(self):
        self.first, self.second = nnx.Linear(4, 8, rngs=nnx.Rngs(0)), nnx.Linear(8, 1, rngs=nnx.Rngs(1))

    def __call__(self, x):
        return self.second(jnp.tanh(self.first(x)))


class Soak:
    """What one round repeats, on models that stay."""

    def __init__(self, folder):
        self.folder = folder
        self.x, self.y = jnp.ones((2, 4), jnp.float32), jnp.zeros((2, 1), jnp.float32)
        self.model = _Mlp()
        self.optimizer = nnx.Optimizer(self.model, optax.sgd(1e-3), wrt=nnx.Param)
        self.net = nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 1))
        self.train = nn.TrainOneStepCell(nn.WithLossCell(self.net, nn.MSELoss()), nn.SGD(self.net.trainable_params(), 1e-3))
        train = self.train
        # Not through `self`: it would depend on all that this object holds.
        self.compiled = ms.jit(lambda x, y: train(x, y))
        self.seen = 0

        def loss(model, x, y):
            return jnp.mean((model(x) - y) ** 2)

        @hooks.jit
        def step(model, optimizer, x, y):
            value, grads = nnx.value_and_grad(loss)(model, x, y)
            optimizer.update(model, grads)
            return value

        self.step = step

    def look(self, *args):
        self.seen += 1

    def round(self, number):
        """One round; `number` is the round's."""
        x, y = ms.Tensor(self.x), ms.Tensor(self.y)
        for _ in range(3):
            self.step(self.model, self.optimizer, self.x, self.y)
            self.compiled(x, y)
            self.train(x, y)
        handle = hooks.register_forward_hook(self.model, self.look, "first", observe=True)
        self.step(self.model, self.optimizer, self.x, self.y)
        handle.remove()
        for cell in self.net:
            cell.register_backward_hook(lambda cell, gi, go: self.look()).remove()
        handle = self.net[0].register_forward_hook(lambda cell, args, out: out * 1.0)
        self.compiled(x, y)
        handle.remove()
        with tools.watch(self.model) as watched:
            for _ in range(2):
                self.step(self.model, self.optimizer, self.x, self.y)
                watched.next_step()
        with tools.guard(self.model):
            self.step(self.model, self.optimizer, self.x, self.y)
        dropped = nn.SequentialCell(nn.Dense(4, 8), nn.Tanh())
        dropped[0].register_forward_hook(self.look)
        ms.grad(dropped)(x)
        for row in (
            ds.NumpySlicesDataset({"x": np.ones((4, 2), np.float32)}, num_parallel_workers=2).batch(2).create_tuple_iterator()
        ):
            assert row[0].shape == (2, 2)
        ms.save_checkpoint(self.net, os.path.join(self.folder, "net.ckpt"))
        ms.load_param_into_net(self.net, ms.load_checkpoint(os.path.join(self.folder, "net.ckpt")))
        apply, params, buffers = ms.functionalize(self.net)
        apply(params, buffers, self.x)
        hooks.barrier()


def run(rounds=None, seconds=float("inf"), warm=60.0, show=False):
    """Run rounds; returns (what was held after the warm-up, at the end, how many rounds)."""
    with tempfile.TemporaryDirectory() as folder:
        soak, start, number, first, shown = Soak(folder), time.monotonic(), 0, None, 0.0
        while number != rounds and time.monotonic() - start < seconds:
            soak.round(number)
            number += 1
            passed = time.monotonic() - start
            if first is None and (number >= rounds // 4 if rounds else passed >= warm):
                first = held()
            if show and passed - shown > 20:
                shown = passed
                print(f"{passed:6.0f} s, round {number}: {held()}", flush=True)
        return first or held(), held(), number


def grown(first, last):
    """Of what more is held than `LIMITS` allows: {name: (then, now)}."""
    return {name: (first[name], last[name]) for name, limit in LIMITS.items() if last[name] - first[name] > limit}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mixtures.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    args = parser.parse_args()
    first, last, rounds = run(seconds=args.minutes * 60, warm=min(60, args.minutes * 15), show=True)
    print(f"{rounds} rounds; after the warm-up {first}, at the end {last}")
    more = grown(first, last)
    print(f"grown: {more}" if more else "flat")
    return 1 if more else 0


if __name__ == "__main__":
    raise SystemExit(main())
