"""Compare the kernels that msjax chooses on CPUs with XLA's own, at the sizes of the benchmark's networks.

    python -m tests.bench.kernels [--batches N ...] [--networks NAME ...] [--operators] [--repeat N] [--markdown]

One line for each convolution or pooling that has a kernel of its own: for its result, and for its gradients, of which a network's first
layer has that of the weight only. For each batch size, msjax's time as part of XLA's: the median of pairs that are run in turns, and the times in
microseconds of the slower ones. `--operators` compiles with the options that PyNative mode's operators have.
"""

import argparse
import re
import statistics
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

from msjax.engine.programs.compiler_options import quick_options
from msjax.ops.function.nn_func import convolution_kernels, pooling_kernels
from tests.bench.data import MOBILENET
from tests.bench.handwritten import Plain

# So long one is run at once, in seconds, and from which ratio on a kernel loses: two runs of one program differ by so much.
SLICE, LOSES = 0.004, 1.1
# What in the text of a program says nothing about what it computes.
_NAMES = re.compile(
    r"metadata=\{[^}]*\}|HloModule [^,]*,|entry_computation_layout=\S*|(?s:FileNames.*?\n\n(?=%|ENTRY))|stack_frame_id=\d+"
)


def convolutions(network):
    """(image without its batch, weight, stride) of the convolutions of a network."""
    if network == "lenet":
        return [((1, 32, 32), (6, 1, 5, 5), 1), ((6, 14, 14), (16, 6, 5, 5), 1)]
    if network == "resnet18":
        found, channels, size = [((3, 64, 64), (64, 3, 7, 7), 2)], 64, 16
        for outputs in (64, 128, 256, 512):
            stride = 1 if outputs == 64 else 2
            found.append(((channels, size, size), (outputs, channels, 3, 3), stride))
            if stride == 2:
                found.append(((channels, size, size), (outputs, channels, 1, 1), 2))
            size //= stride
            found.append(((outputs, size, size), (outputs, outputs, 3, 3), 1))
            channels = outputs
        return found
    found, channels, size = [((3, 64, 64), (16, 3, 3, 3), 2)], 16, 32
    for kernel, width, outputs, _, _, stride in MOBILENET:
        if width != channels:
            found.append(((channels, size, size), (width, channels, 1, 1), 1))
        found.append(((width, size, size), (width, 1, kernel, kernel), stride))
        size //= stride
        found.append(((width, size, size), (outputs, width, 1, 1), 1))
        channels = outputs
    return [*found, ((96, 2, 2), (576, 96, 1, 1), 1)]


# (image without its batch, size of the windows, stride, padding).
POOLS = {"lenet": [((6, 28, 28), 2, 2, 0), ((16, 10, 10), 2, 2, 0)], "resnet18": [((64, 32, 32), 3, 2, 1)], "mobilenet": []}


def pairs(network, batch):
    """(name, {part: (msjax's function, XLA's, operands)}) of what has a kernel of its own."""
    for image, weight, stride in dict.fromkeys(convolutions(network)):
        pad, group = weight[-1] // 2 if network != "lenet" else 0, image[0] // weight[1]
        settings = (stride, stride), ((pad, pad), (pad, pad)), (1, 1), group
        x, w = _numbers(batch, *image), _numbers(*weight)
        way = convolution_kernels._cpu_rewrite(x.shape, weight, *settings)
        if way is not None:
            yield (
                f"{'x'.join(map(str, image))} by {'x'.join(map(str, weight))}, stride {stride}: {way.__name__}",
                _of_convolution(x, w, settings),
            )
    for image, size, stride, pad in POOLS[network]:
        yield (
            f"{'x'.join(map(str, image))}: largest of {size}x{size}, stride {stride}",
            _of_pooling(_numbers(batch, *image), size, stride, pad),
        )


def _numbers(*shape):
    return jnp.asarray(np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32))


def _of_convolution(x, w, settings):
    plain = convolution_kernels._plain
    ct = jax.jit(lambda x, w: plain(x, w, *settings))(x, w)

    need = (x.shape[1] > 3, True)

    def own(x, w, ct):
        return convolution_kernels._gradients(x, w, ct, need, *settings)

    def xlas(x, w, ct):
        return convolution_kernels._transposes(plain, plain, x, w, ct, need, settings)

    result = lambda x, w: convolution_kernels.convolve(x, w, *settings), lambda x, w: plain(x, w, *settings), (x, w)
    return {"result": result, "gradients": (own, xlas, (x, w, ct))}


def _of_pooling(x, size, stride, pad):
    settings = (size, size), (stride, stride), ((pad, pad), (pad, pad)), (1, 1)

    def both(x, ct):
        out, pull = pooling_kernels._max_pool_gradient((0,), x, *settings)
        return out, pull(ct)

    def plain(x, ct):
        out, pull = jax.vjp(lambda x: Plain.pool(x, size, stride, pad), x)
        return out, pull(ct)

    ct = Plain.pool(x, size, stride, pad)
    result = lambda x: pooling_kernels._max_pool(x, *settings), lambda x: Plain.pool(x, size, stride, pad), (x,)
    return {"result": result, "result and gradient": (both, plain, (x, ct))}


def ratio(own, plain, operands, options, repeat):
    """(the median of own / plain, the fastest of each in seconds); None where both are the same program."""
    programs = [jax.jit(fn, keep_unused=True).lower(*operands).compile(compiler_options=options) for fn in (own, plain)]
    if len({_NAMES.sub("", program.as_text()) for program in programs}) == 1:
        return None
    for got, want in zip(*(jax.tree.leaves(program(*operands)) for program in programs)):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3 * float(jnp.abs(want).max()))
    counts = [max(1, min(200, int(SLICE / _time(program, operands, 1)))) for program in programs]
    times = [[], []]
    for _ in range(repeat):
        for i in (0, 1, 1, 0):
            times[i].append(_time(programs[i], operands, counts[i]))
    halves = [[(a + b) / 2 for a, b in zip(seen[::2], seen[1::2])] for seen in times]
    return statistics.median(a / b for a, b in zip(*halves)), min(times[0]), min(times[1])


def _time(program, operands, count):
    out = None
    begin = time.perf_counter()
    for _ in range(count):
        out = program(*operands)
    jax.block_until_ready(out)
    return (time.perf_counter() - begin) / count


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m tests.bench.kernels", description=__doc__.splitlines()[0])
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 8, 32, 256], metavar="N", help="default: 1 8 32 256")
    parser.add_argument("--networks", nargs="*", choices=list(POOLS), default=list(POOLS), metavar="NAME", help=", ".join(POOLS))
    parser.add_argument("--operators", action="store_true", help="compile as PyNative mode does")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="pairs of pairs (default: 5)")
    parser.add_argument("--markdown", action="store_true", help="print tables for a page")
    arguments = parser.parse_args(argv)
    options, lost = (quick_options() if arguments.operators else {}), []
    edge = "| " if arguments.markdown else ""
    for network in arguments.networks:
        print(f"\n{edge}{network} | " + " | ".join(f"batch {n}" for n in arguments.batches) + " |" * bool(edge), flush=True)
        if arguments.markdown:
            print("| --- |" + " ---: |" * len(arguments.batches))
        every = [dict(pairs(network, batch)) for batch in arguments.batches]
        for name in dict.fromkeys(name for found in every for name in found):
            for part in next(found[name] for found in every if name in found):
                shown = []
                for batch, found in zip(arguments.batches, every):
                    seen = ratio(*found[name][part], options, arguments.repeat) if name in found else None
                    shown.append("XLA's" if seen is None else f"{seen[0]:.2f}")
                    if seen is not None and min(seen[0], seen[1] / seen[2]) > LOSES:
                        shown[-1] += f" ({seen[1] * 1e6:.0f} us, XLA {seen[2] * 1e6:.0f})"
                        lost.append(f"{network} {name}, {part}, batch {batch}: {shown[-1]}")
                if set(shown) != {"XLA's"}:
                    print(f"{edge}{name}, {part} | " + " | ".join(shown) + " |" * bool(edge), flush=True)
    print(f"\n{len(lost)} of them take more than {LOSES} of XLA's time" + "".join(f"\n  {line}" for line in lost))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
