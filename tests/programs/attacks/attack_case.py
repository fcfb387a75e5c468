"""The runs of one attack, in a folder of its own, and what is expected of them."""

import re
from pathlib import Path

from tests.programs.attacks.attacked_files import REFUSAL
from tests.programs.attacks.attacked_scripts import script
from tests.programs.attacks.script_runs import environment, run_new


class Failed(AssertionError):
    """A run gave something else than one that keeps no programs, without a warning."""


class Case:
    """An attack.

    Args:
        folder: an empty one.
        forks: `Forks`.
        known: {text: its run without programs on disk}, of earlier attacks, too.

    Attributes:
        store: the folder of programs.
        runs: how many there were.
        bites: whether two of them gave different results, as those of an attack that changes something.
    """

    def __init__(self, folder, forks, known):
        self.folder = Path(folder)
        self.store = self.folder / "store"
        self.forks = forks
        self.known = known
        self.runs = 0
        self.results = set()

    @property
    def bites(self):
        return len(self.results) > 1

    def place(self):
        """The folder in `store` that has the programs of this machine."""
        return next((path for path in self.store.iterdir() if path.is_dir()), self.store) if self.store.is_dir() else self.store

    def files(self):
        """The files of programs."""
        return sorted(self.place().iterdir())

    def write(self, text):
        """A script of a text; two scripts of one text are the same file."""
        path = self.folder / f"script{len(list(self.folder.glob('script*')))}.py"
        path.write_text(script(text))
        return path

    def without(self, text):
        """The run of a text without programs on disk."""
        if text not in self.known:
            self.runs += 1
            self.known[text] = self.forks.run(self.write(text), environment(), cache=False)
        self.results.add(self.known[text].out)
        return self.known[text]

    def begin(self, text, variables=(), **options):
        """Begin a run with programs on disk; `check` waits for it."""
        found = environment(**{"MSJAX_COMPILE_CACHE": self.store, **dict(variables)})
        return text, self.forks.begin(self.write(text), found, **options)

    def check(self, begun, *, compiles=None, warns=False):
        """Wait for a run, and compare it with one without programs on disk.

        Args:
            compiles: whether XLA compiles something; None for either.
            warns: whether there is a warning that nothing is kept; None for either.
        """
        text, running = begun
        self.runs += 1
        self.compare(self.forks.finish(running), self.without(text), compiles, warns)

    def run(self, text, variables=(), *, compiles=None, warns=False, **options):
        self.check(self.begin(text, variables, **options), compiles=compiles, warns=warns)

    def compare_new(self, text, variables, beginning="", python=()):
        """Run a text in new processes, without and with programs on disk, and compare."""
        path, found = self.write(f"{beginning}\n{text}"), environment(**{"MSJAX_COMPILE_CACHE": self.store, **variables})
        self.runs += 2
        expected = run_new(path, found, cache=False, python=python, cwd=self.folder)
        self.results.add(expected.out)
        self.compare(run_new(path, found, python=python, cwd=self.folder), expected, None, False)

    def compare(self, run, expected, compiles, warns):
        if (run.out, run.status) != (expected.out, expected.status):
            raise Failed(f"{self._shown(run)}\n-- without programs on disk:\n{self._shown(expected)}")
        warned = REFUSAL in run.err
        if warns is not None and warned is not warns:
            raise Failed(f"it warned: {warned}\n{self._shown(run)}")
        if not warned and _lines(run.err) != _lines(expected.err):
            raise Failed(f"stderr is {run.err!r}, without programs on disk {expected.err!r}")
        if compiles is not None and bool(run.compiled) is not compiles:
            raise Failed(f"it compiled {run.compiled} programs")

    def _shown(self, run):
        return f"exit status {run.status}\n{run.out}\n{run.err}"


def _lines(err):
    """What is on stderr, without times, places and numbers, and without what a traceback tells of msjax's own functions."""
    without = re.sub(r'  File "\S*/msjax/\S+", line .*\n(?:    .*\n)*', "", err)
    return re.sub(r"[0-9]+|/\S+|0x\w+", "N", without)
