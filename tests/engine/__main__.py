"""Prints the table: `python -m tests.engine [--owners cell nnx] [--ways jit_forward] [--kinds forward]`."""

import argparse
import re
import time
import warnings

from tests.engine import settings  # noqa: F401  before jax is loaded
from tests.engine.kinds import KINDS
from tests.engine.owners import OWNERS
from tests.engine.table import REFERENCE, WAYS, outcome, why_not


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.engine", description=__doc__)
    parser.add_argument("--owners", nargs="+", choices=OWNERS, default=list(OWNERS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[way for way in WAYS if way != REFERENCE])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--today", action="store_true", help="print the list of tests/engine/today.py")
    args = parser.parse_args()
    # Code that isn't compiled is not what is to be looked at.
    warnings.simplefilter("error", UserWarning)
    start, reasons, equal, count = time.time(), [], 0, 0
    width = max(len(f"{o} {w}") for o in args.owners for w in args.ways)
    print("\n".join(f"{'':{width}}  {'| ' * i}{kind}" for i, kind in enumerate(args.kinds)))
    for owner in args.owners:
        for way in args.ways:
            cells = []
            for kind in args.kinds:
                if why_not(owner, way, kind) is not None:
                    cells.append("-")
                    continue
                differs, count = outcome(owner, way, kind), count + 1
                equal += not differs
                cells.append("x" if differs else "=")
                if differs:
                    reasons.append((owner, way, kind, differs))
            print(f"{f'{owner} {way}':{width}}  {' '.join(cells)}", flush=True)
    print(f"\n{equal} of {count} equal the eager run; {time.time() - start:.0f} s\n")
    causes, today = {}, {}
    for owner, way, kind, differs in reasons:
        causes.setdefault(re.sub(r"\[.*\]|[-\d.]{3,}|'\w+'|(?<=of )[\w.]+", "_", differs), []).append((owner, way, kind, differs))
        today.setdefault((owner, way), []).append(kind)
    for of_cause in sorted(causes.values(), key=len, reverse=True):
        print(f"{len(of_cause):4d}  {of_cause[0][3][:400]}")
        places = {}
        for owner, way, kind, _ in of_cause:
            places.setdefault((owner, way), []).append(kind)
        print(*(f"        {owner} {way}: {' '.join(kinds)}" for (owner, way), kinds in places.items()), sep="\n")
    none = {why_not(o, w, k) for o in args.owners for w in args.ways for k in args.kinds} - {None}
    print("\nNo combination (-):", *sorted(none), sep="\n    ")
    if args.today:
        print("", *(f"{' '.join(place)}: {' '.join(kinds)}" for place, kinds in today.items()), sep="\n")
    return 1 if reasons else 0


if __name__ == "__main__":
    raise SystemExit(main())
