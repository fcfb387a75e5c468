"""What hooks on a flax nnx model cost: ``python -m tests.bench.nnx_hooks``.

A training step of a transformer (d=128, 4 layers, 8x64 tokens, 52 modules) under nnx.jit, and under hooks.jit in several ways. One
repetition times both in the order a b b a, one row after the other; the table shows the medians of the ratios.
"""

import argparse
import statistics
import time

import jax
import optax
from flax import nnx

import msjax as ms
from msjax import hooks, nn

D, HEADS, LAYERS, WORDS = 128, 4, 4, 256


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm1, self.norm2 = nnx.LayerNorm(D, rngs=rngs), nnx.LayerNorm(D, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(num_heads=HEADS, in_features=D, decode=False, rngs=rngs)
        self.up, self.down = nnx.Linear(D, 4 * D, rngs=rngs), nnx.Linear(4 * D, D, rngs=rngs)
        self.drop1, self.drop2 = nnx.Dropout(0.0, rngs=rngs), nnx.Dropout(0.0, rngs=rngs)

    def __call__(self, x):
        x = x + self.drop1(self.attention(self.norm1(x)))
        return x + self.drop2(self.down(nnx.gelu(self.up(self.norm2(x)))))


class Model(nnx.Module):
    def __init__(self, rngs, layers):
        self.embed = nnx.Embed(WORDS, D, rngs=rngs)
        self.blocks = nnx.List([Block(rngs) for _ in range(layers)])
        self.norm, self.head = nnx.LayerNorm(D, rngs=rngs), nnx.Linear(D, WORDS, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def mean_square(value):
    return (value * value).mean()


def loss(model, tokens, statistics=False):
    call = hooks.capture(model, statistic=mean_square) if statistics else lambda tokens: (model(tokens), None)
    logits, found = call(tokens)
    return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:]).mean(), found


def step(model, optimizer, tokens, statistics=False):
    (value, found), gradients = nnx.value_and_grad(loss, has_aux=True)(model, tokens, statistics)
    optimizer.update(model, gradients)
    return value, found


def statistics_step(model, optimizer, tokens):
    return step(model, optimizer, tokens, True)


def contender(jit, layers, fn=step, observe=False, removed=False):
    """A function that runs one step and returns its seconds; ready, compiled."""
    model = Model(nnx.Rngs(0), layers)
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    tokens = jax.random.randint(jax.random.key(0), (8, 64), 0, WORDS)
    seen, traces = [], []

    def counted(model, optimizer, tokens):
        traces.append(1)
        return fn(model, optimizer, tokens)

    run = jit(counted)

    def timed():
        start = time.perf_counter()
        seen.clear()
        jax.block_until_ready((run(model, optimizer, tokens), seen))
        if jit is nnx.jit:
            hooks.barrier()
        return time.perf_counter() - start

    timed()
    if observe:
        handle = hooks.register_forward_hook(model, lambda module, args, output: seen.append(output), "*")
        timed()
        assert len(seen) == 4 + 12 * layers
    if removed:
        handle.remove()
        timed()
        assert not seen
    # What runs after the removal is the program that ran before the hooks came.
    assert len(traces) == 1 + observe
    return timed


ROWS = {
    "no hooks": (1.03, {"jit": hooks.jit}),
    "a statistic of every module": (1.05, {"jit": hooks.jit, "fn": statistics_step}),
    "an observer on every module": (1.25, {"jit": hooks.jit, "observe": True}),
    "the observers removed": (1.0, {"jit": hooks.jit, "observe": True, "removed": True}),
    "the observers under nnx.jit": (None, {"jit": nnx.jit, "observe": True}),
}


def registration(model):
    """Milliseconds to put a hook on every module, and to take it off."""
    start = time.perf_counter()
    hooks.register_forward_hook(model, print, "*").remove()
    return 1e3 * (time.perf_counter() - start)


class Nothing(nnx.Module):
    def __call__(self, x):
        return x


class NothingInCell(nn.Cell):
    def construct(self, x):
        return x


def eager_observer(model, x, calls=200):
    """Microseconds of the processor that an observer of each module costs in a model that computes nothing, and only calls twenty parts."""

    def timed():
        start = time.process_time()
        for _ in range(calls):
            model(x)
        return 1e6 * (time.process_time() - start) / calls / 21

    timed()
    plain = timed()
    with hooks.register_forward_hook(model, lambda module, args, output: None, "*"):
        timed()
        observed = timed(), timed()
    return (sum(observed) - plain - timed()) / 2


def eager_observers(repeat):
    """(the same on an nnx module, on a cell), medians of pairs in the order a b b a."""
    module, cell = nnx.Sequential(*[Nothing() for _ in range(20)]), nn.SequentialCell(*[NothingInCell() for _ in range(20)])
    array = jax.numpy.ones(3)
    given = (module, array), (cell, ms.Tensor(array))
    times = [[eager_observer(*given[which]) for which in (0, 1, 1, 0)] for _ in range(repeat)]
    return (statistics.median((a + d) / 2 for a, _, _, d in times), statistics.median((b + c) / 2 for _, b, c, _ in times))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=60, help="paired repetitions")
    parser.add_argument("--layers", type=int, default=LAYERS, help="layers of the transformer")
    arguments = parser.parse_args()
    repeat, layers = arguments.repeat, arguments.layers
    plain = contender(nnx.jit, layers)
    contenders = {name: contender(layers=layers, **how) for name, (_, how) in ROWS.items()}
    times = {name: [] for name in ROWS}
    for _ in range(repeat):
        for name, timed in contenders.items():
            a, b, c, d = timed(), plain(), plain(), timed()
            times[name].append((a, b, c, d))
    print(
        f"{'hooks.jit / nnx.jit':32}{'ratio':>8}{'fastest':>9}{'goal':>8}{'ms':>8}   (medians of {repeat}; ratio of the fastest steps; it)"
    )
    for name, (goal, _) in ROWS.items():
        ratio = statistics.median((a + d) / (b + c) for a, b, c, d in times[name])
        own, other = (min(min(row[i], row[j]) for row in times[name]) for i, j in ((0, 3), (1, 2)))
        print(f"{name:32}{ratio:8.3f}{own / other:9.3f}{goal or '':>8}{1e3 * own:8.1f}")
    model = Model(nnx.Rngs(0), layers)
    times = [registration(model) for _ in range(100)]
    print(f"{'register and remove, ms, fastest':32}{min(times):8.3f}{1.0:8}")
    on_module, on_cell = eager_observers(repeat)
    print(f"{'observer, eager: module / cell':32}{on_module / on_cell:8.3f}{1.5:8}   ({on_module:.1f} and {on_cell:.1f} us)")


if __name__ == "__main__":
    main()
