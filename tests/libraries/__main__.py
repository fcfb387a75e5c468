"""Run whole libraries, unmodified, and compare each loss with the real MindSpore's.

    python -m tests.libraries --sources PATH [--only NAME ...] [--record PYTHON] [--work FOLDER]

`PATH` has the libraries' sources, by name: mindcv, mindyolo, mindaudio, and models (MindSpore's official ones). The packages that they
need are taken from this Python, and from `PATH/packages` if there is one. Nothing is fetched. `--record` runs the programs with another
Python, which has MindSpore, twice each, and writes what it gave to `losses.json`: which losses, and how many of them its other run gave, too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from tests.libraries.programs import PROGRAMS, Program

HERE = pathlib.Path(__file__).parent
RECORDED = HERE / "losses.json"
ROOT = HERE.parents[1]
SAME = 1e-5  # how far apart two runs of the real one are that agree
LONGEST = 550  # seconds for one command


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.libraries", description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=pathlib.Path, required=True, help="the folder of the libraries' sources")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="only programs with one of these in their name")
    parser.add_argument("--record", metavar="PYTHON", help="run with the MindSpore of this Python, and write down its losses")
    parser.add_argument("--runs", type=int, default=2, metavar="N", help="with --record: how often (default: 2)")
    parser.add_argument("--work", type=pathlib.Path, help="where to work (default: a folder that is deleted at the end)")
    arguments = parser.parse_args(argv)
    chosen = [p for p in PROGRAMS if not arguments.only or any(n.lower() in p.name.lower() for n in arguments.only)]
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        base = (arguments.work or pathlib.Path(folder)).resolve()
        for program in chosen:
            source = (arguments.sources / program.folder).resolve()
            if not source.is_dir():
                print(f"{program.name}: no source at {source}")
                failed += 1
            elif arguments.record:
                runs = [
                    Run(program, source, base / f"recorded {n}", arguments.sources, arguments.record)
                    for n in range(arguments.runs)
                ]
                recorded[program.name] = record(runs)
                print(f"{program.name}: {recorded[program.name]}", flush=True)
                RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
            else:
                failed += not report(program, Run(program, source, base, arguments.sources, None), recorded.get(program.name))
    return min(failed, 1)


class Run:
    """The commands of one program, run one after the other.

    Attributes:
        losses (list[float]): the losses in what they print.
        step (float): the median time from one loss to the next, in seconds; nan for fewer than three.
        error (str | None): the end of the output of a command that failed.
    """

    def __init__(self, program: Program, source: pathlib.Path, base: pathlib.Path, sources: pathlib.Path, python: str | None):
        work = base / re.sub(r"\W+", "_", program.name)
        place = work / program.place
        place.mkdir(parents=True, exist_ok=True)
        program.make(work, source)
        source = changed(program, source, work)
        self.losses: list[float] = []
        self.error: str | None = None
        times: list[float] = []
        paths = [*([] if python else [ROOT]), *(source / p for p in program.paths), (sources / "packages").resolve()]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONUNBUFFERED": "1"}
        if python:  # MindSpore's launcher starts what `python` is
            environment["PATH"] = os.pathsep.join([str(pathlib.Path(python).parent), environment["PATH"]])
        for command in program.commands:
            # mindcv saves the optimizer's state at the same time as the network.
            checkpoints = sorted(work.rglob("*.ckpt"), key=lambda f: (not f.name.startswith("optim_"), f.stat().st_mtime))
            names = {"work": work, "source": source, "checkpoint": checkpoints[-1] if checkpoints else "none"}
            script, *words = (word.format(**names) for word in command)
            start = [str(HERE / "start.py"), str(program.seed)] if program.seed is not None else []
            call = [*launcher(python, program.workers, work), *start, str(source / script), *words]
            begin = time.monotonic()
            process = subprocess.Popen(
                call, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
            )
            lines = []
            for line in process.stdout:
                lines.append(line)
                for loss in re.findall(program.loss, line):
                    self.losses.append(float(loss))
                    times.append(time.monotonic())
                if time.monotonic() - begin > LONGEST:
                    process.kill()
            (work / f"{pathlib.Path(script).stem}.log").write_text("".join(lines))
            if process.wait():
                self.error = f"{script} ended with {process.returncode}: {''.join(lines[-4:]).strip()}"
                break
        steps = [b - a for a, b in itertools.pairwise(times)]
        self.step = statistics.median(steps) if len(steps) > 1 else float("nan")


def changed(program: Program, source: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    """The folder of a program's source: a copy with its settings changed, where it has such in Python code."""
    if not program.changes:
        return source
    copy = work / "source"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy)
    for name, old, new in program.changes:
        text = (copy / name).read_text()
        if old not in text:
            raise ValueError(f"{program.name}: {name} has no {old!r}")
        (copy / name).write_text(text.replace(old, new))
    return copy


def launcher(python: str | None, workers: int, work: pathlib.Path) -> list[str]:
    """The words before the script."""
    if python is None:
        return [sys.executable, "-m", "msjax", "run", *(["--workers", str(workers)] if workers > 1 else [])]
    if workers == 1:
        return [python]
    folder = pathlib.Path(python).parent
    numbers = [f"--worker_num={workers}", f"--local_worker_num={workers}", "--master_port=18118", "--join=True"]
    return [str(folder / "msrun"), *numbers, f"--log_dir={work}/launched"]


def record(runs: list[Run]) -> dict[str, object]:
    """What runs of the real MindSpore gave, for the file."""
    first, last = runs[0], runs[-1]
    apart = [abs(a - b) for a, b in zip(first.losses, last.losses, strict=False)]
    same = next((n for n, difference in enumerate(apart) if difference > SAME), len(apart))
    found: dict[str, object] = {"runs": len(runs), "losses": first.losses, "same": same, "step": round(first.step, 4)}
    return found | ({"error": first.error} if first.error else {})


def report(program: Program, run: Run, real: dict | None) -> bool:
    """Print what happened; return whether all is well: it ran to the end, or as far as the real one, and gave the same losses.

    Losses are compared as far as two runs of the real one agree.
    """
    name, there = program.name, (real or {}).get("error")
    if run.error:
        print(
            f"{name}: STOPPED after {len(run.losses)} losses{f' (MindSpore, too: {there})' if there else ''}: {run.error}",
            flush=True,
        )
        return bool(there)
    text = f"{name}: ran, {len(run.losses)} losses, {run.step:.3f} s a step"
    if there:
        text += f"; MindSpore stops after {len(real.get('losses', ()))}: {there.splitlines()[-1]}"
    if not real or not real.get("losses"):
        print(text + ("" if real else "; MindSpore's are not recorded"), flush=True)
        return True
    count = real["same"] if program.comparable is None else min(real["same"], program.comparable)
    apart = [abs(a - b) for a, b in zip(run.losses, real["losses"][:count], strict=False)]
    good = len(apart) == count and max(apart, default=0.0) <= program.close
    both = f"{count} of its {len(real['losses'])} losses can be compared ({real['runs']} runs)"
    print(
        f"{text}; MindSpore {real['step']:.3f} s, {both}; largest difference from these {max(apart, default=0.0):.2g}", flush=True
    )
    if not good:
        print(f"  DIFFERENT\n  here:  {run.losses}\n  there: {real['losses'][:count]}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main())
