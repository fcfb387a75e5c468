"""The differential run of operators and layers: ``python -m tests.kernels --cases 10000``.

Compares outputs, gradients and second derivatives with what PyTorch and MindSpore computed (`record.py` recorded it), in PyNative
mode, under `jax.jit` and under `jax.vmap`, and prints a small program for each difference. Elements in which the two differ are
left out; so are names without a row (`left_out.py` says why) and rows that neither library computes. Several processes can share a
run: `--part 0/2`, `--part 1/2`.
"""

import argparse
import os
import time
from collections import Counter

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import jax

from tests.kernels import records
from tests.kernels.against_records import compare
from tests.kernels.cases import DRAWS, PER_ROW, make
from tests.kernels.tables import ROWS


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.kernels", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--rows", default="", help="only rows whose text has this in it")
    parser.add_argument("--part", default="0/1", help="only this part of the rows")
    parser.add_argument("--each", type=int, default=2, help="how many differences of a row are printed")
    args = parser.parse_args()
    recorded, start, counts, states, reasons = records.load(), time.time(), Counter(), Counter(), Counter()
    part, parts = map(int, args.part.split("/"))
    rows = [row for row in ROWS if args.rows in row.key and row.key in recorded][part::parts]
    each = min(PER_ROW, -(-args.cases // len([row for row in ROWS if row.key in recorded])))
    for row in rows:
        printed = 0
        for number in range(each):
            record = recorded[row.key][number]
            verdict, detail = compare(make(row, number), record)
            counts[verdict] += 1
            reasons.update([detail] * (verdict == "decided"))
            states[record[0]] += 1
            if verdict in ("differs", "raises", "takes") and printed < args.each:
                printed += 1
                print(f"\n{verdict}: {make(row, number)}\n  {detail}", flush=True)
            if number % DRAWS == DRAWS - 1:
                jax.clear_caches()
    names = ("both agree", "PyTorch alone", "MindSpore alone", "both refuse", "nothing to compare")
    print(f"\n{sum(counts.values())} cases of {len(rows)} rows, {time.time() - start:.0f} s: {dict(counts)}")
    print("recorded: " + ", ".join(f"{name} {states[i]}" for i, name in enumerate(names)))
    for why, count in reasons.items():
        print(f"decided, {count} cases: {why}")
    return 1 if counts["differs"] + counts["raises"] + counts["takes"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
