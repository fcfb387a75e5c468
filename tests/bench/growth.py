"""How costs grow: ``python -m tests.bench.growth [--quick] [--plot docs/growth.svg]``.

A training step against the batch and the depth, hooks against the modules that have them, a network of Parameters against their number: each size
beside plain jax, and beside PyTorch where MSJAX_BENCH_TORCH names a Python that has it. Times are of the processor, medians. The last
column is the exponent from the size before last to the last one: 1 where the cost grows like the size, 2 where it is quadratic.
"""

import argparse
import gc
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SIZES = {
    "batch": (1, 4, 16, 64, 256),
    "depth": (2, 8, 32, 96),
    "hooks": (1, 10, 100, 1000),
    "parameters": (10, 100, 1000, 10_000),
}
QUICK = {"batch": (1, 2), "depth": (2, 3), "hooks": (1, 2), "parameters": (2, 4)}
TITLES = {
    "batch": "LeNet-5, a step against the batch",
    "depth": "Dense and ReLU 64 wide, against the depth",
    "hooks": "a hook on each of so many Dense layers",
    "parameters": "a network that adds up so many Parameters",
}
# Of more Parameters than these no sum is compiled: XLA itself takes 2.5 s of the processor for 1,000 and 19 s for 3,000, from plain jax, too.
COMPILED = 1000
# Beyond the other side's exponent, and absolutely.
STEEPER, QUADRATIC = 0.25, 1.6


def seconds(call, wait=lambda: None, rounds=5, least=0.02):
    """The median time of the processor that a call takes."""
    call()
    call()
    wait()
    count, found = 1, []
    while len(found) < rounds:
        begin = time.process_time()
        for _ in range(count):
            call()
        wait()
        taken = time.process_time() - begin
        if taken < least and not found:
            count *= 4
            continue
        found.append(taken / count)
    return statistics.median(found)


def once(call, wait=lambda: None):
    """The time of the processor that the first call takes, without a full collection of garbage, whose time is that of all objects."""
    gc.collect()
    gc.disable()
    try:
        begin = time.process_time()
        call()
        wait()
        return time.process_time() - begin
    finally:
        gc.enable()


class Msjax:
    """msjax's side of each measure: {name: value}."""

    name = "msjax"

    def __init__(self):
        import msjax as ms

        self.ms = ms

    def batch(self, n):
        from tests.bench import contenders, data

        data.EVERY["grown"] = ("lenet", (n, 1, 32, 32))
        found = {}
        for name, contender in (("compiled", "compiled"), ("eager", "pynative")):
            built = contenders.make("grown", contender)
            built._set_mode()
            found[name] = seconds(built.step, lambda built=built: [v.block_until_ready() for v in built.state()])
        return found

    def _layers(self, n, width):
        nn = self.ms.nn
        return nn.SequentialCell(*[layer for _ in range(n) for layer in (nn.Dense(width, width), nn.ReLU())])

    def _step(self, net, width, graph):
        from tests.bench import cells

        ms = self.ms
        x = ms.ops.ones((8, width), ms.float32)
        step = cells.training_step(ms, ms.nn.SequentialCell(net))
        labels = ms.ops.zeros((8,), ms.int32)

        def call():
            ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE)
            self.loss = step(x, labels)

        return call, lambda: self.loss._value.block_until_ready()

    def depth(self, n):
        found = {}
        for name, graph in (("compiled", True), ("eager", False)):
            call, wait = self._step(self._layers(n, 64), 64, graph)
            found[f"{name}, first"] = once(call, wait)
            found[name] = seconds(call, wait)
        return found

    def hooks(self, n):
        from tests.bench import cells

        ms, net = self.ms, self._layers(n, 16)
        dense = [cell for _, cell in cells.leaves(net) if isinstance(cell, ms.nn.Dense)]
        found = {"register": once(lambda: [cells.hook(cell) for cell in dense])}
        call, wait = self._step(net, 16, False)
        found["eager"] = seconds(call, wait)
        x, forward = ms.ops.ones((8, 16), ms.float32), ms.jit(net)

        def compiled():
            return forward(x)._value.block_until_ready()

        return found | {"compiled, first": once(compiled), "compiled": seconds(compiled)}

    def parameters(self, n):
        ms = self.ms

        class Sum(ms.nn.Cell):
            def __init__(self):
                super().__init__()
                self.weights = ms.ParameterTuple(
                    [ms.Parameter(ms.Tensor([1.0, 2.0], ms.float32), name=f"w{i}") for i in range(n)]
                )

            def construct(self, x):
                for weight in self.weights:
                    x = x + weight
                return x

        found = {}
        made = []
        found["register"] = once(lambda: made.append(Sum()))
        x = ms.Tensor([0.0, 0.0], ms.float32)
        for name, call in (("eager", made[0]), ("compiled", ms.jit(made[0])))[: 1 + (n <= COMPILED)]:
            ms.set_context(mode=ms.PYNATIVE_MODE)

            def result(call=call):
                return call(x)._value.block_until_ready()

            found[f"{name}, first"] = once(result)
            found[name] = seconds(result)
        found["names"] = seconds(lambda: dict(made[0].parameters_and_names()))
        return found


class Jax:
    """The same in plain jax."""

    name = "jax"

    def batch(self, n):
        from tests.bench import contenders, data

        data.EVERY["grown"] = ("lenet", (n, 1, 32, 32))
        built = contenders.make("grown", "jax.jit")
        return {"compiled": seconds(built.step, lambda: [v.block_until_ready() for v in built.state()[0].values()])}

    def _step(self, n, width):
        import jax
        import jax.numpy as jnp

        x, labels = jnp.ones((8, width)), jnp.zeros((8,), int)

        def loss(weights):
            y = x
            for w, b in weights:
                y = jax.nn.relu(y @ w.T + b)
            return -jnp.take_along_axis(jax.nn.log_softmax(y), labels[:, None], 1).mean()

        def step(weights, velocity):
            value, gradients = jax.value_and_grad(loss)(weights)
            velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradients)
            return jax.tree.map(lambda w, v: w - 0.01 * v, weights, velocity), velocity, value

        compiled = jax.jit(step, donate_argnums=(0, 1))
        state = [[(jnp.ones((width, width)) / width, jnp.zeros(width)) for _ in range(n)] for _ in range(2)]

        def call():
            *state[:], self.loss = compiled(*state)

        return call, lambda: self.loss.block_until_ready()

    def depth(self, n):
        call, wait = self._step(n, 64)
        return {"compiled, first": once(call, wait), "compiled": seconds(call, wait)}

    def hooks(self, n):
        """By hand: what hooks would see is returned."""
        import jax
        import jax.numpy as jnp

        weights = [(jnp.ones((16, 16)) / 16, jnp.zeros(16)) for _ in range(n)]

        @jax.jit
        def forward(x, weights):
            seen = []
            for w, b in weights:
                seen.append((x, x @ w.T + b))
                x = jax.nn.relu(seen[-1][1])
            return x, seen

        def compiled():
            return forward(jnp.ones((8, 16)), weights)[0].block_until_ready()

        return {"compiled, first": once(compiled), "compiled": seconds(compiled)}

    def parameters(self, n):
        import jax
        import jax.numpy as jnp

        if n > COMPILED:
            return {}
        weights = [jnp.array([1.0, 2.0]) for _ in range(n)]

        @jax.jit
        def total(x, weights):
            for weight in weights:
                x = x + weight
            return x

        def call():
            return total(jnp.zeros(2), weights).block_until_ready()

        return {"compiled, first": once(call), "compiled": seconds(call)}


class Torch:
    """The same in PyTorch, eager."""

    name = "torch"

    def batch(self, n):
        from tests.bench import data, torches

        data.EVERY["grown"] = ("lenet", (n, 1, 32, 32))
        return {"eager": seconds(torches.make("grown", "torch"))}

    def _layers(self, n, width):
        from torch import nn

        return nn.Sequential(*[layer for _ in range(n) for layer in (nn.Linear(width, width), nn.ReLU())])

    def _step(self, net, width):
        import torch

        x, labels = torch.ones(8, width), torch.zeros(8, dtype=torch.long)
        criterion, optimizer = torch.nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

        def step():
            optimizer.zero_grad()
            criterion(net(x), labels).backward()
            optimizer.step()

        return step

    def depth(self, n):
        step = self._step(self._layers(n, 64), 64)
        return {"eager, first": once(step), "eager": seconds(step)}

    def hooks(self, n):
        from tests.bench import torches

        net = self._layers(n, 16)
        found = {"register": once(lambda: torches.hook(net[::2]))}
        return found | {"eager": seconds(self._step(net, 16))}

    def parameters(self, n):
        import torch

        class Sum(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.tensor([1.0, 2.0])) for _ in range(n)])

            def forward(self, x):
                for weight in self.weights:
                    x = x + weight
                return x

        made = []
        found = {"register": once(lambda: made.append(Sum()))}

        def call():
            return made[0](torch.zeros(2))

        return found | {
            "eager, first": once(call),
            "eager": seconds(call),
            "names": seconds(lambda: dict(made[0].named_parameters())),
        }


SIDES = {side.name: side for side in (Msjax, Jax, Torch)}


def measure(side, what, sizes):
    """{name: {size: cost}} of one side, and the memory of its process so far, in a process of its own."""
    python = os.environ["MSJAX_BENCH_TORCH"] if side == "torch" else sys.executable
    environment = {**os.environ, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "OMP_NUM_THREADS": "1"}
    command = [python, "-m", "tests.bench.growth", "--side", side, what, *map(str, sizes)]
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{side}, {what}: {done.stderr.strip()[-400:]}")
    curves = {}
    for size, answer in zip(sizes, done.stdout.splitlines()[-len(sizes) :], strict=True):
        for name, value in json.loads(answer).items():
            curves.setdefault((side, name), {})[size] = value
    return curves


def exponent(curve):
    """How the cost grows from the size before last to the last one."""
    (n, a), (m, b) = list(curve.items())[-2:]
    return math.log(b / a) / math.log(m / n)


def verdict(curve, others):
    """What is wrong with a curve: "quadratic", "steeper" than the others, or nothing."""
    found = exponent(curve)
    if found > QUADRATIC:
        return "quadratic"
    return "steeper" if others and found > max(1.0, *map(exponent, others)) + STEEPER else ""


def show(what, curves):
    sizes = list(next(iter(curves.values())))
    print(f"\n{TITLES[what]}: ms (memory: MiB)\n{'':28}" + "".join(f"{n:>10}" for n in sizes) + "  exponent")
    for (side, name), curve in curves.items():
        others = [c for (s, m), c in curves.items() if s != "msjax" and m == name]
        said = verdict(curve, others) if side == "msjax" else ""
        scale = 1 if name == "memory" else 1e3
        cells = "".join(f"{scale * curve[n]:10.3g}" if n in curve else " " * 10 for n in sizes)
        print(f"{side + ': ' + name:28}{cells}{exponent(curve):10.2f}  {said}", flush=True)


def plot(found, path):
    """A drawing of the curves, in logarithmic scales: msjax's in blue, jax's in grey, PyTorch's in orange."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "msjax", "svg.fonttype": "none"}
    from matplotlib import pyplot

    colours = {"msjax": "#1f6fb4", "jax": "#777777", "torch": "#d9772b"}
    styles = {"compiled": "-", "eager": "--", "compiled, first": ":", "register": "-."}
    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7.5))
    for axis, (what, curves) in zip(axes.flat, found.items(), strict=False):
        for (side, name), curve in curves.items():
            if name in styles:
                points, look = [1e3 * v for v in curve.values()], {"color": colours[side], "marker": "."}
                axis.loglog(list(curve), points, styles[name], label=f"{side}, {name}", **look)
        axis.set_title(TITLES[what], fontsize=9)
        axis.set_ylabel("ms of the processor", fontsize=8)
        axis.tick_params(labelsize=8)
        axis.legend(fontsize=7, handlelength=3, framealpha=0.5)
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two small sizes of each")
    parser.add_argument("--only", nargs="*", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--plot", metavar="FILE", help="draw the curves")
    parser.add_argument("--side", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.side:
        from tests.bench.child import most_memory

        side, what, *sizes = arguments.side
        one = getattr(SIDES[side](), what)
        one(min(map(int, sizes)))  # what is imported and made once
        for size in map(int, sizes):
            print(json.dumps(one(size) | {"memory": most_memory()}), flush=True)
        return
    there = [side for side in SIDES if side != "torch" or os.environ.get("MSJAX_BENCH_TORCH")]
    all_curves = {}
    for what in arguments.only:
        curves = all_curves[what] = {}
        for side in there:
            curves |= measure(side, what, (QUICK if arguments.quick else SIZES)[what])
        show(what, curves)
    if arguments.plot:
        plot(all_curves, arguments.plot)


if __name__ == "__main__":
    main()
