"""Random mixtures against plain jax: `python -m tests.mixtures --cases 3000 --seed 0`.

Models of six kinds call each other, up to four deep, within loops, branches, rules and transformations of jax, with hooks that come and go, raise
and register others. Prints what differs, by cause, with the first case of each.
"""

import argparse
import gc
import importlib.metadata
import os
import time
from collections import Counter

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_force_host_platform_device_count=4"
    # A third of the time to compile; jaxlib 0.12 doesn't know the flag, and an unknown flag ends the process.
    + " --xla_cpu_use_fusion_emitters=false" * importlib.metadata.version("jaxlib").startswith("0.10."),
)

import jax

from tests.mixtures.mixture_cases import case as make
from tests.mixtures.mixture_compare import differences


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mixtures", description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ways", type=int, default=1, help="in how many ways each case runs")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    args = parser.parse_args()
    start, causes, first, done, differ, refused = time.time(), Counter(), {}, 0, 0, 0
    for number in range(args.first, args.first + args.cases):
        if time.time() - start > args.seconds:
            break
        case = make(args.seed, number)
        found = differences(case, args.ways)
        refused += any(what.startswith("refused") for _, what, _ in found)
        wrong = [each for each in found if not each[1].startswith("refused")]
        done, differ = done + 1, differ + bool(wrong)
        for way, what, detail in found:
            causes[way, what] += 1
            if (way, what) not in first:
                first[way, what] = number, case, detail
                print(f"case {number}: {way}: {what}: {detail[:300]}\n    {case}", flush=True)
        if done % 100 == 0:
            jax.clear_caches()
            gc.collect()
            print(f"{done} cases, {differ} differ, {refused} refused, {time.time() - start:.0f} s", flush=True)
    print(
        f"{done} cases, {differ} differ, {refused} refused, {time.time() - start:.0f} s, {time.process_time():.0f} s of the processor"
    )
    for (way, what), count in causes.most_common():
        print(f"{count:6d}  {way}: {what}")
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
