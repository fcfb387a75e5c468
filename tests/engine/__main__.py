"""Prints the table: `python -m tests.engine [--owners cell nnx] [--ways jit_forward] [--kinds forward] [--whole]`.

Rows are owners and ways, columns are kinds: `=` equals the eager run, `x` does not, `-` makes no sense, `.` was not asked for.
"""

import argparse
import re
import time

from tests.engine import settings  # noqa: F401  before jax is loaded
from tests.engine.gradient_ways import WAYS
from tests.engine.kinds import KINDS
from tests.engine.owners import OWNERS
from tests.engine.table import combinations, forget, outcome, why_not


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.engine", description=__doc__)
    parser.add_argument("--owners", nargs="+", choices=OWNERS, default=list(OWNERS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--whole", action="store_true", help="also what joins two that aren't main owners, ways or kinds")
    args = parser.parse_args()
    asked, start, equal, reasons = set(combinations(args.whole)), time.time(), 0, []
    width = max(len(f"{o} {w}") for o in args.owners for w in args.ways)
    print("\n".join(f"{'':{width}}  {'| ' * i}{kind}" for i, kind in enumerate(args.kinds)))
    count = 0
    for owner in args.owners:
        for way in args.ways:
            marks = []
            for kind in args.kinds:
                if (owner, way, kind) in asked:
                    differs, count = outcome(owner, way, kind), count + 1
                    equal += not differs
                    marks.append("x" if differs else "=")
                    if differs:
                        reasons.append((owner, way, kind, differs))
                else:
                    marks.append("-" if why_not(owner, way, kind) else ".")
            forget()
            if set(marks) - {"-", "."}:
                print(f"{f'{owner} {way}':{width}}  {' '.join(marks)}", flush=True)
    print(f"\n{equal} of {count} equal the eager run; {time.time() - start:.0f} s\n")
    by_cause = {}
    for owner, way, kind, differs in reasons:
        cause = re.sub(r"\[.*\]|\(.*\)|[-\d.]{3,}|'\w+'|(?<=of )[\w.]+", "_", differs)
        by_cause.setdefault(cause, []).append((owner, way, kind, differs))
    for found in sorted(by_cause.values(), key=len, reverse=True):
        print(f"{len(found):4d}  {found[0][3][:400]}")
        for line in _lines([place[:3] for place in found]):
            print(f"        {line}")
    none = {why_not(o, w, k) for o in args.owners for w in args.ways for k in args.kinds} - {None}
    print("\nNo combination (-):", *sorted(none), sep="\n    ")
    return 1 if reasons else 0


def _lines(places):
    by_place = {}
    for owner, way, kind in places:
        by_place.setdefault((owner, way), []).append(kind)
    return [f"{owner} {way}: {' '.join(kinds)}" for (owner, way), kinds in by_place.items()]


if __name__ == "__main__":
    raise SystemExit(main())
