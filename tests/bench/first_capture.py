"""What `hooks.capture` adds to the first call of a program: ``python -m tests.bench.first_capture``.

A transformer (d=128, 4 layers, 8x64 tokens) returns the mean square of 33 of its values: by `capture` with a statistic, and with the
values returned by hand. The times are those of the processor, of tracing, lowering and compiling, nothing cached.
"""

import argparse
import itertools
import statistics
import time

import jax
import jax.numpy as jnp

import msjax as ms

D, HEADS, LAYERS = 128, 4, 4


def parameters(key, layers=LAYERS):
    shapes = {"q": (D, D), "k": (D, D), "v": (D, D), "o": (D, D), "up": (D, 4 * D), "down": (4 * D, D)}
    keys = iter(jax.random.split(key, layers * len(shapes)))
    return [{name: jax.random.normal(next(keys), shape) * 0.02 for name, shape in shapes.items()} for _ in range(layers)]


def normed(x):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def layer(x, w, name):
    h = name("norm1", normed(x))
    q, k, v = (name(n, (h @ w[n]).reshape(*x.shape[:-1], HEADS, -1)) for n in "qkv")
    pattern = name("pattern", jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])))
    x = x + name("attention", jnp.einsum("bhqk,bkhd->bqhd", pattern, v).reshape(x.shape) @ w["o"])
    return name("out", x + name("mlp", jax.nn.gelu(normed(x) @ w["up"]) @ w["down"]))


def model(params, x, name=ms.hooks.site):
    for w in params:
        x = layer(x, w, name)
    return name("final", normed(x)).sum()


def size(value):
    return (value * value).mean()


def by_hand(params, x):
    sizes = []

    def name(_, value):
        sizes.append(size(value))
        return value

    return model(params, x, name), sizes


def captured(params, x):
    return ms.hooks.capture(model, statistic=size)(params, x)


def first_call(fn, *args):
    """Seconds of tracing, lowering and compiling."""
    jax.clear_caches()
    times = [time.process_time()]
    traced = jax.jit(fn).trace(*args)
    times.append(time.process_time())
    lowered = traced.lower()
    times.append(time.process_time())
    lowered.compile()
    times.append(time.process_time())
    return [b - a for a, b in itertools.pairwise(times)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="paired repetitions")
    parser.add_argument("--layers", type=int, default=LAYERS, help="layers of the transformer")
    arguments = parser.parse_args()
    repeat = arguments.repeat
    args = parameters(jax.random.key(0), arguments.layers), jnp.ones((8, 64, D))
    first_call(by_hand, *args)
    pairs = [(first_call(captured, *args), first_call(by_hand, *args)) for _ in range(repeat)]
    print(f"{'':10}{'captured':>10}{'by hand':>10}{'ratio':>8}   (seconds, medians of {repeat})")
    for i, what in enumerate(("trace", "lower", "compile")):
        a, b = (statistics.median(pair[k][i] for pair in pairs) for k in (0, 1))
        print(f"{what:10}{a:10.3f}{b:10.3f}{a / b:8.2f}")
    ratio = statistics.median(sum(a) / sum(b) for a, b in pairs)
    print(f"{'all':10}{'':20}{ratio:8.2f}   (goal: at most 1.30)")


if __name__ == "__main__":
    main()
