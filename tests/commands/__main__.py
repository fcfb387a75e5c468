"""Runs commands in their smallest form: ``python -m tests.commands [NAME ...]``.

A command that has stopped working is seen here, not by whoever needs it next. Without names, all run that are not tests themselves.
"""

import argparse
import time

import tests.conftest  # noqa: F401 - the settings of tests: what one command has compiled, the next one finds
from tests.commands.smallest import COMMANDS, run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.commands", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: those that are not tests")
    for name in parser.parse_args().names or [name for name, command in COMMANDS.items() if not command.suite]:
        begin = time.perf_counter()
        print(f"python -m {name} {COMMANDS[name].words}", end=" ", flush=True)
        run(name)
        print(f"({time.perf_counter() - begin:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
