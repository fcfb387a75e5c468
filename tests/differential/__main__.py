"""The long run: `python -m tests.differential --cases 10000 --seed 0 [--ways jit graph ...]`.

Prints the differences by cause, each with its smallest program. Compiling takes most of the time: `--in-turn` runs each case in one
of the compiled ways, and in all others. In every fifth case, cells call nnx modules with hooks, too. Several processes can share a run: `--first 0 --cases 5000`, `--first 5000 --cases 5000`.
"""

import argparse
import gc
import importlib.metadata
import os
import time
from collections import Counter

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# Kernels are compiled as plain LLVM code, in one piece: three times as fast. jaxlib 0.11 and 0.12 don't know the first flag, and an unknown flag ends the process.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_parallel_codegen_split_count=1"
    + " --xla_cpu_use_fusion_emitters=false" * importlib.metadata.version("jaxlib").startswith("0.10."),
)

import jax

from tests.differential.compare import ALL, differences, in_turn
from tests.differential.generate import case as make
from tests.differential.render import program
from tests.differential.shrink import shrink


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ways", nargs="+", choices=ALL, default=ALL)
    parser.add_argument("--modules", action="store_true", help="let cells call nnx modules in every case")
    parser.add_argument("--in-turn", action="store_true", help="run each case in one of the compiled ways only")
    parser.add_argument("--no-shrink", action="store_true", help="print the first case of each cause as it is")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    args = parser.parse_args()
    start, causes, examples, done, differ = time.time(), Counter(), {}, 0, 0
    for number in range(args.first, args.first + args.cases):
        if time.time() - start > args.seconds:
            break
        case = make(args.seed, number, args.modules or number % 5 == 4)
        found = differences(case, program(case), in_turn(args.ways, number) if args.in_turn else args.ways)
        done, differ = done + 1, differ + bool(found)
        for way, cause, detail in found:
            causes[way, cause] += 1
            if (way, cause) not in examples:
                examples[way, cause] = number, case, detail
                print(f"case {number}: {way}: {cause}", flush=True)
        if done % 50 == 0:
            jax.clear_caches()
            # msjax collects garbage where a program seems to keep a tracer: leave out what stays anyway.
            gc.collect()
            gc.freeze()
            print(f"{done} cases, {differ} differ, {time.time() - start:.0f} s", flush=True)
    print(f"\n{done} cases, {differ} differ, {time.time() - start:.0f} s; by cause:")
    for (way, cause), count in causes.most_common():
        print(f"{count:6d}  {way}: {cause}")
    for (way, cause), (number, case, detail) in examples.items():
        if not args.no_shrink:
            case = shrink(case, lambda c, w=way, why=cause: any(f[1] == why for f in differences(c, program(c), [w])))
            detail = next((d for _, why, d in differences(case, program(case), [way]) if why == cause), detail)
        print(f"\n# {'=' * 100}\n# case {number}, {way}: {cause}\n# " + detail.replace("\n", "\n# "))
        print(
            program(case)
            + f"\nif __name__ == '__main__':\n    from tests.differential.compare import show\n\n    show({way!r}, __file__)"
        )
    return 1 if causes else 0


if __name__ == "__main__":
    raise SystemExit(main())
