"""Attack the programs on disk with real processes.

    python -m tests.programs.attacks [--quick] [--list] [NAME ...]

Every attack runs scripts by `msjax run` with a folder of programs and without, and each result has to be the same to the last bit,
or there has to be a warning that nothing is kept. `--quick` takes the attacks that the tests take; NAME those with it in their name.
"""

import argparse
import sys
import tempfile
import time
import warnings

from tests.programs.attacks.attack_case import Case
from tests.programs.attacks.attack_table import ATTACKS, QUICK
from tests.programs.attacks.script_runs import Forks


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m tests.programs.attacks", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only the attacks of the tests")
    parser.add_argument("--list", action="store_true", help="print their names")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only attacks with one of these in their name")
    arguments = parser.parse_args(argv)
    chosen = [name for name in (QUICK if arguments.quick else ATTACKS) if _wanted(name, arguments.names)]
    if arguments.list:
        print(*chosen, sep="\n")
        return 0
    failed, bite, runs, known = [], 0, 0, {}
    begin = time.monotonic()
    forks = Forks()
    try:
        for name in chosen:
            since = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="attack-", ignore_cleanup_errors=True) as folder:
                case = Case(folder, forks, known)
                try:
                    ATTACKS[name](case)
                    said = "changes results" if case.bites else "ok"
                except AssertionError as error:
                    failed.append(name)
                    said = f"FAILED\n{error}"
            bite, runs = bite + case.bites, runs + case.runs
            print(f"{name} ({case.runs} runs, {time.monotonic() - since:.1f} s): {said}", flush=True)
    finally:
        forks.close()
    print(
        f"{len(chosen)} attacks, {bite} of which change results, {runs} runs of scripts in {time.monotonic() - begin:.0f} s: "
        f"{len(failed)} failed{': ' * bool(failed)}{'; '.join(failed)}"
    )
    return 1 if failed else 0


def _wanted(name, parts):
    return not parts or any(part in name for part in parts)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ResourceWarning)
    sys.exit(main())
