"""Memory of a process that compiles many programs: ``python -m tests.bench.many_programs [--programs N] [--kept N] [--forward]``.

Each round has a gradient of its own length: two programs in PyNative mode; or one program, without the gradient. Linux ends a process
of 65,530 memory maps; a program has three.
"""

import argparse
import time

import numpy as np

import msjax as ms


def memory():
    """(memory maps, resident MiB) of this process, on Linux."""
    with open("/proc/self/maps") as maps, open("/proc/self/status") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        return sum(1 for _ in maps), resident // 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=40_000, help="how many are compiled (default: 40000)")
    parser.add_argument("--kept", type=int, default=ms.get_context("program_cache_size"), help="how many are kept")
    parser.add_argument("--forward", action="store_true", help="without gradients: half as long for each program")
    arguments = parser.parse_args()
    before = ms.get_context("program_cache_size")
    ms.set_context(program_cache_size=arguments.kept)
    try:
        compile_many(arguments)
    finally:  # others may go on in this process
        ms.set_context(program_cache_size=before)


def compile_many(arguments):
    run = ms.ops.neg if arguments.forward else ms.grad(lambda x: ms.ops.tanh(x))
    each = 1 if arguments.forward else 2
    rounds, begin = arguments.programs // each, time.perf_counter()
    print("programs  maps  MiB  seconds")
    for i in range(1, rounds + 1):
        run(ms.Tensor(np.ones(i, "float32")))
        if i % max(rounds // 20, 1) == 0:
            print(each * i, *memory(), f"{time.perf_counter() - begin:.0f}", sep="  ", flush=True)


if __name__ == "__main__":
    main()
