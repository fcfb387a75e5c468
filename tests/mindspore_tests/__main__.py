"""Runs MindSpore's own tests: ``python -m tests.mindspore_tests PATH [--group NAME ...]``.

PATH is a checkout of MindSpore's public test repository (mindspore-ai/mindspore_test). Those of its tests run here that pass with the real MindSpore
on a CPU; ``passing.json`` names them, group by group. It is made by the same command, run with ``--record`` by a Python that has MindSpore. A table
says for each group how many pass there and here, and why the others do not.
"""

import argparse
import json
import os
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from tests.mindspore_tests.causes import cause
from tests.mindspore_tests.groups import GROUPS, files_of
from tests.mindspore_tests.run import run

PASSING = Path(__file__).with_name("passing.json")
_OF_A_FILE = 10  # tests at most, so that a group is made of many files


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mindspore_tests", description=__doc__)
    parser.add_argument("path", type=Path, metavar="PATH", help="a checkout of MindSpore's test repository")
    parser.add_argument("--group", nargs="*", choices=GROUPS, help="default: all but those that are kept apart")
    parser.add_argument("--record", action="store_true", help="run with the real MindSpore, and write down what passes")
    parser.add_argument("--seconds", type=int, default=60, help="how long a test may take")
    parser.add_argument("--failures", type=Path, metavar="FILE", help="write the failures to this file, as lines of JSON")
    args = parser.parse_args()
    names = args.group or [name for name, group in GROUPS.items() if not group.kept_apart]
    passing = json.loads(PASSING.read_text()) if PASSING.exists() else {}
    root, there, here = args.path.resolve(), 0, 0
    for name in names:
        start = time.monotonic()
        if args.record:
            passing[name] = _record(GROUPS[name], root, args.seconds)
            PASSING.write_text(json.dumps(passing, indent=0, sort_keys=True) + "\n")
            count = sum(map(len, passing[name].values()))
            print(f"{name:18} {count} pass ({time.monotonic() - start:.0f} s)", flush=True)
            continue
        tests = [f"{file}::{test}" for file, several in passing.get(name, {}).items() for test in several]
        found = run(root, tests, "msjax", args.seconds)
        failed = {test: _of(test, found) for test in tests if _of(test, found)["ends"] != "passed"}
        there, here = there + len(tests), here + len(tests) - len(failed)
        causes = Counter(cause(entry) for entry in failed.values())
        print(
            f"{name:18} {len(tests) - len(failed):4} of {len(tests):4} ({time.monotonic() - start:.0f} s)  "
            + ", ".join(f"{what} {count}" for what, count in causes.most_common()),
            flush=True,
        )
        if args.failures:
            with args.failures.open("a") as file:
                for test, entry in failed.items():
                    print(json.dumps({"group": name, "cause": cause(entry), **entry, "test": test}), file=file)
    if not args.record:
        print(f"{'all':18} {here:4} of {there:4}")


def _of(test, found):
    """How a test ended; of one whose file could not be imported, that."""
    names = (test, test.replace("bool_", "bool"), test.partition("::")[0])
    return next((found[name] for name in names if name in found), None) or {"test": test, "ends": "not run", "why": "not run"}


def _record(group, root, seconds):
    """{file: tests} of those that pass with MindSpore."""
    passing, count = {}, 0
    files = files_of(group, root)
    while files and count < group.most:
        several, files = files[:6], files[6:]
        for test, entry in run(root, several, "mindspore", seconds).items():
            if entry["ends"] == "passed" and count < group.most:
                file, _, rest = test.partition("::")
                if len(passing.setdefault(file, [])) < _OF_A_FILE:
                    passing[file].append(rest)
                    count += 1
    return passing


if __name__ == "__main__":
    raise SystemExit(main())
