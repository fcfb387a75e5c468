"""Print the table of benchmarks.

    python -m tests.bench [--quick] [--rows PART ...] [--cases NAME ...] [--repeat N] [--markdown]

Every contender runs the same training steps; their losses are compared before anything is timed, and `--quick` does no more than
that: each row once, with networks of fewer blocks. One repetition of a row
times a few steps of its two contenders in the order a b b a, so that a machine that slows down or speeds up meanwhile affects
both. PyTorch and MindSpore run in processes of their own, with the Pythons that MSJAX_BENCH_TORCH and MSJAX_BENCH_MINDSPORE
name; without these, their rows are left out.
"""

import argparse
import importlib.metadata
import os
import platform
import statistics
import sys
import tempfile

if "--quick" in sys.argv:
    # Nearly all of a quick run is compiling, and this takes a third of the time. Other versions of jaxlib may not know the flags.
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    if importlib.metadata.version("jaxlib").startswith("0.10."):
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1")

import jax
import numpy as np

import msjax as ms
from tests.bench import small
from tests.bench.contenders import CONTENDERS, make
from tests.bench.data import CASES, NAMED, SHORT
from tests.bench.others import Others, Unavailable, once
from tests.bench.rows import ROWS

# So long one contender is timed at once, in seconds, and in no more than so many steps; steps before, so that caches are its own.
SLICE, MOST, WARM = 0.03, 50, 2
SMALL = "Small things"
CHECKED = 3  # steps whose losses are compared
FIRST_CALLS = ("compiled", "jax.jit", "pynative", "torch", "torch.compile", "mindspore pynative", "mindspore graph")


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="each row once, with small networks, for its losses: nothing is timed"
    )
    parser.add_argument("--rows", nargs="*", metavar="NAME", help="only rows with one of these in their name")
    parser.add_argument("--cases", nargs="*", metavar="NAME", help="only cases with one of these in their name")
    parser.add_argument("--repeat", type=int, default=30, metavar="N", help="paired repetitions (default: 30)")
    parser.add_argument("--markdown", action="store_true", help="print the medians as the tables of docs/benchmarks.md")
    arguments = parser.parse_args(argv)
    table = Page() if arguments.markdown else Table()
    table.machine()
    others = Others()
    try:
        for case in SHORT if arguments.quick else [*CASES, *(NAMED if arguments.cases else ())]:
            if wanted(case, arguments.cases):
                rows = [r for r in ROWS if wanted(r.name, arguments.rows) and r.only in (None, case)]
                if arguments.quick:
                    losses(case, rows, others)
                else:
                    steps(case, rows, arguments.repeat, others, table)
    finally:
        others.close()
    repeats, number = (1, {"number": 1}) if arguments.quick else (arguments.repeat, {})
    if wanted(SMALL, arguments.rows):
        table.heading(SMALL)
        table.row("a + b / jax.jit(add)(a, b)", *small.add(repeats, **number), 1.3)
        table.row("import msjax / import jax, flax.nnx", *small.importing(1 if arguments.quick else max(5, repeats // 3)), 1.05)
        table.row(
            "ten hooks under jax.jit, waited for at each step / jax.debug.callback",
            *small.callbacks(repeats, True, **number),
            0.5,
        )
        table.row("the same, waited for after 100 steps", *small.callbacks(repeats, False, **number), 0.15)
        table.row("hooks.barrier() with nothing pending, ms", small.empty_barrier(repeats, **number), (), 0.05)
        times = small.construction(repeats, **number)
        table.row("nn.Cell(), microseconds", times, (), 10)
    if wanted("first step and memory", arguments.rows):
        first_calls([case for case in (list(SHORT)[:1] if arguments.quick else CASES) if wanted(case, arguments.cases)], table)
    table.end()


def wanted(name, parts):
    """True if there is no choice, or one of its parts is in the name."""
    return not parts or any(p.lower() in name.lower() for p in parts)


def losses(case, rows, others):
    """Compare the losses of one case, and say of which rows."""
    _, missing = start(case, rows, others, 2)
    print(f"\n{case}")
    for row in rows:
        why = next((f"left out: {name}: {missing[name]}" for name in row.contenders() if name in missing), "the same losses")
        print(f"{row.name:50} {why}", flush=True)


def start(case, rows, others, count):
    """({name: (contender, its first losses)} of the rows' contenders, {name: why} of those that aren't here); the losses are equal."""
    running, missing = {}, {}
    for name in dict.fromkeys(name for row in rows for name in row.contenders()):
        try:
            contender = make(case, name) if name in CONTENDERS else others.make(case, name)
            running[name] = contender, contender.losses(count)
        except Unavailable as error:
            missing[name] = str(error)
    check(case, running)
    return running, missing


def steps(case, rows, repeats, others, table):
    """Compare and time the training steps of one case."""
    # Otherwise the first repetitions of a large network time the program that runs until the optimized one is compiled.
    ms.set_deterministic(True)
    running, missing = start(case, rows, others, CHECKED)
    counts = {}
    for name, (contender, _) in running.items():
        contender.time(1)
        seconds = contender.time(1)
        counts[name] = max(1, min(MOST, int(SLICE / seconds)))
    there = [row for row in rows if not any(name in missing for name in row.contenders())]
    times = {row: {name: [] for name in row.contenders()} for row in there}
    for _ in range(repeats):
        for row in there:
            found = dict.fromkeys(row.contenders(), 0.0)
            for name in [*found, *reversed(found)]:
                contender, _ = running[name]
                if counts[name] > WARM:
                    contender.time(WARM)
                found[name] += contender.time(counts[name]) / 2
            for name, seconds in found.items():
                times[row][name].append(seconds)
    table.heading(case)
    for row in rows:
        if row in times:
            fastest = [min(times[row][row.a]), min(times[row][row.b])]
            table.row(row.name, row.ratios(times[row]), fastest, row.target_of(case))
        else:
            name = next(name for name in row.contenders() if name in missing)
            table.left_out(row.name, f"{name}: {missing[name]}")


def check(case, running):
    """All contenders compute the same losses, those with modifiers among themselves."""
    for reference, members in (
        ("jax.jit", [n for n in running if "modifiers" not in n]),
        ("jax.jit, modifiers", [n for n in running if "modifiers" in n]),
    ):
        if not members:
            continue
        reference = reference if reference in running else members[0]
        expected = running[reference][1]
        for name in members:
            message = f"{case}: losses of {name!r} against those of {reference!r}"
            np.testing.assert_allclose(running[name][1][0], expected[0], rtol=1e-4, err_msg=message)
            # Each step amplifies what the one before rounded in another way; in deep networks with small batches the most.
            np.testing.assert_allclose(running[name][1], expected, rtol=2e-2, atol=1e-4, err_msg=message)


def first_calls(cases, table):
    """The first step of some contenders, with compilation, and their memory, each in a process of its own."""
    table.first_heading()
    for case in cases:
        for name in FIRST_CALLS:
            try:
                found = once(case, name)
            except Unavailable as error:
                table.first_left_out(case, name, error)
                continue
            table.first(case, name, found)
        for name in ("compiled", "pynative"):
            with tempfile.TemporaryDirectory() as folder:
                once(case, name, folder)
                found = once(case, name, folder)
            table.first(case, f"{name}, programs on disk", found)


class Table:
    """Prints the tables row by row."""

    def _line(self, fields):
        print("  ".join(f.ljust(w) if i == 0 else f.rjust(w) for i, (f, w) in enumerate(zip(fields, self.widths))), flush=True)

    def _head(self, title, columns, widths):
        self.widths = widths
        print(f"\n{title}")
        self._line(["", *columns])

    def machine(self):
        """What the figures were taken with."""
        import flax
        import jaxlib

        import msjax

        versions = f"msjax {msjax.__version__}, jax {jax.__version__}, jaxlib {jaxlib.__version__}, flax {flax.__version__}"
        device = jax.devices()[0]
        print(f"{versions}, Python {platform.python_version()}; {device.device_kind}, {os.cpu_count()} cores ({cpu_name()})")

    def heading(self, title, ours="this", theirs="that"):
        self._head(title, ("median", "min", "max", f"{ours}, ms", f"{theirs}, ms", "target", ""), (48, 7, 7, 7, 9, 9, 7, 8))

    def row(self, name, ratios, fastest, target):
        median = statistics.median(ratios)
        shown = [f"{1e3 * t:.3g}" for t in fastest] or ["", ""]
        verdict = "" if target is None else "met" if median <= target else "not met"
        limit = "" if target is None else f"{target:g}"
        self._line([name, *(f"{v:.3f}" for v in (median, min(ratios), max(ratios))), *shown, limit, verdict])

    def left_out(self, name, why):
        print(f"{name.ljust(self.widths[0])}  left out: {why}", flush=True)

    def first_heading(self):
        self._head("First step and memory", ("seconds of the first step", "MiB at most"), (52, 28, 12))

    def first(self, case, name, found):
        self._line([f"{case}: {name}", f"{found['first']:.2f}", f"{found['memory']:.0f}"])

    def first_left_out(self, case, name, why):
        self._line([f"{case}: {name}", f"left out: {why}", ""])

    def end(self):
        """Prints what is left."""


class Page(Table):
    """Gathers the medians, and prints them as the tables of docs/benchmarks.md: a column for each case, bold where a target is missed."""

    def __init__(self):
        self.title = ""
        self.tables = {}

    def _put(self, table, row, column, text):
        self.tables.setdefault(table, {}).setdefault(row, {})[column] = text

    def heading(self, title, ours="this", theirs="that"):
        self.title = title

    def row(self, name, ratios, fastest, target):
        median = statistics.median(ratios)
        table, column = ("", "median") if self.title == SMALL else ("ratios", self.title)
        text = f"{median:.3f}" if table == "" else f"{median:.2f}"
        self._put(table, name, column, text if target is None or median <= target else f"**{text}**")
        if target is not None:
            others = [t for t in self.tables[table][name].get("target", "").split(" or ") if t not in ("", f"{target:g}")]
            self._put(table, name, "target", " or ".join([f"{target:g}", *others]))

    def left_out(self, name, why):
        pass

    def first_heading(self):
        pass

    def first(self, case, name, found):
        self._put("first step, s, and memory, MiB", case, name, f"{found['first']:.2f}, {found['memory']:.0f}")

    def first_left_out(self, case, name, why):
        pass

    def end(self):
        for title, rows in self.tables.items():
            columns = list(dict.fromkeys(column for cells in rows.values() for column in cells if column != "target"))
            columns += ["target"] * any("target" in cells for cells in rows.values())
            print(f"\n| {title} | " + " | ".join(columns) + " |\n| --- |" + " ---: |" * len(columns))
            for name, cells in rows.items():
                print(f"| {name} | " + " | ".join(cells.get(column, "") for column in columns) + " |")


def cpu_name():
    """The processor's name, where the system tells."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    except OSError:
        return platform.machine() or sys.platform


if __name__ == "__main__":
    main()
