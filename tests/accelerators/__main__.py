"""Compile all operators and training steps for chips that are not here, and print what hooks add to them.

    pip install -e '.[dev,accelerators]'
    python -m tests.accelerators [--targets h100 v5e] [--parts operators steps scale] [--chips 8 64] [--quick]
    python -m tests.accelerators --here [--quick] [--table PATH]

The second form runs on the accelerator of this machine (or, as a dry run, on its CPU). Exits with 1 if an operator, layer, loss or optimizer can't be compiled, forward and gradient, that should be, if hooks add a collective or a kernel that is not their own, or a step misses the figures to hold. One process at a
time can use libtpu.
"""

import argparse
import itertools
import os
import sys
import time

if "--here" not in sys.argv:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

from tests.accelerators import batches, here, more_rows, scale, steps
from tests.accelerators.models import LAYOUTS
from tests.accelerators.targets import Missing, Target

# {target: {chips: the shape of that many}}
SHAPES = {
    "h100": {8: "1x1x8", 64: "1x8x8", 256: "1x32x8"},
    "v5e": {8: "2x4", 64: "8x8", 256: "16x16"},
}
PARTS = ["operators", "steps", "scale"]
# msjax's step against that by hand: the largest ratio of kernels and of temporary memory.
HELD = 1.02
# Where that is not reached yet: what was seen, so that it gets no worse; docs/accelerators.md says why.
SEEN = {("v5e", "LeNet-5"): 1.13, ("h100", "Transformer"): 1.03}


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m tests.accelerators", description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="*", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument(
        "--dtypes",
        nargs="*",
        default=["float32", "bfloat16"],
        choices=["float32", "bfloat16", "float64"],
        help="of the operators",
    )
    parser.add_argument("--chips", nargs="*", type=int, default=[8, 64], choices=[8, 64, 256])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="every eighth operator for GPUs, for TPUs every fourth in bfloat16; LeNet-5; one layout on 8 GPUs",
    )
    parser.add_argument(
        "--here", action="store_true", help="on this machine's accelerator: tests, operators, steps and the bench"
    )
    parser.add_argument("--table", default="bench-here.md", metavar="PATH", help="with --here: where the bench's table goes")
    options = parser.parse_args(argv)
    failed, begin = [], time.time()
    if options.here:
        _here(options, failed)
        options.targets = []
    for name in options.targets:
        try:
            if "operators" in options.parts:
                _operators(Target(name), options.dtypes, options.quick, failed)
            if "steps" in options.parts:
                _steps(Target(name), options.quick, failed)
            if "scale" in options.parts and not (options.quick and name == "v5e"):
                _scale(name, [8] if options.quick else options.chips, options.quick, failed)
        except Missing as error:
            print(f"{name}: left out: {error}", flush=True)
    print("\n".join(["", "not held:", *failed]) if failed else "\nall figures are held", f"({time.time() - begin:.0f} s)")
    return 1 if failed else 0


def _here(options, failed):
    print(here.device())
    here.run_tests(options.quick, failed)
    target = here.Here()
    _operators(target, options.dtypes, options.quick, failed)
    _steps(target, options.quick, failed)
    here.run_bench(options.quick, options.table, failed)


def _operators(target, dtypes, quick, failed):
    name = target.name
    print(f"\n{name}: operators, layers, losses and optimizers, forward and gradient")
    for dtype in dtypes:
        begin = time.time()
        every = 1 if not quick else 8 if target.platform != "tpu" else 1 if dtype == "float32" else 4
        some = [row for row in more_rows.ROWS if row.traced][::every]
        with jax.enable_x64(dtype == "float64"):
            programs, refused = batches.all_traced(some, dtype)
            found = batches.failing(target, programs + batches.optimizer_steps(dtype))
        wrong = batches.unexpected(name, dtype, found, {program.name for program in programs})
        failed += [f"{name}, {dtype}: {line}" for line in wrong]
        print(
            f"{dtype:9} {len(programs) - len(found)} of {len(programs)} programs compile; "
            f"{len(refused)} calls refuse the dtype on any platform; {time.time() - begin:.0f} s",
            flush=True,
        )
        for call, error in found.items():
            print(f"    not compiled: {call}: {error.splitlines()[0][:150]}")


def _steps(target, quick, failed):
    name = target.name
    print(f"\n{name}, one chip: training step, msjax / jax by hand\n{'':14}{'kernels':>16}{'temporary, MB':>22}{'seconds':>9}")
    for network, case in steps.STEPS.items():
        if quick and network != "LeNet-5":
            continue
        begin = time.time()
        own, hand = (steps.compiled(target, make(case)) for make in (steps.of_msjax, steps.by_hand))
        memory = f"{own.temporary / 1e6:.2f} / {hand.temporary / 1e6:.2f}"
        print(f"{network:14}{f'{own.kernels} / {hand.kernels}':>16}{memory:>22}{time.time() - begin:9.1f}", flush=True)
        for what, a, b in (("kernels", own.kernels, hand.kernels), ("memory", own.temporary, hand.temporary)):
            # On a CPU, whose kernels are msjax's own, this is a dry run.
            most = SEEN.get((name, network), HELD)
            if a > b * most and target.platform != "cpu":
                failed.append(f"{name}, {network}: {what} {a} / {b} = {a / b:.3f}, at most {most}")


def _scale(name, chips, quick, failed):
    heading = f"{'':18}{'temporary, MB':>14}{'outputs, MB':>13}{'seconds':>9}  collectives"
    for count in chips:
        target = Target(name, SHAPES[name][count])
        for layout, explicit in [("both", False)] if quick else itertools.product(LAYOUTS, (False, True)):
            print(f"\n{name}, {count} chips, {layout}, {'explicit' if explicit else 'automatic'} axes\n{heading}")
            bare = None
            for delivery, added in scale.ADDED.items():
                if quick and delivery in ("guard", "watch"):
                    continue
                begin = time.time()
                program = scale.compiled(target, delivery, layout, explicit)
                kinds = ", ".join(f"{kind} {n}" for kind, n in program.collectives.items())
                numbers = f"{program.temporary / 1e6:14.2f}{program.outputs / 1e6:13.2f}{time.time() - begin:9.1f}"
                print(f"{delivery:18}{numbers}  {kinds}", flush=True)
                total = sum(program.collectives.values())
                bare = total if bare is None else bare
                if total > bare + added:
                    failed.append(
                        f"{name}, {count} chips, {layout}, {delivery}: {total} collectives, bare {bare}, at most {added} more"
                    )


if __name__ == "__main__":
    sys.exit(main())
