"""All that makes sense on the accelerator of this machine, in one command: tests, all operators, whole steps, the bench."""

import datetime
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np

from tests.accelerators.targets import Target

ROOT = Path(__file__).parents[2]
# The tests that say something of the device; those of files, texts and processes don't.
TESTS = ["autograd", "common", "compile", "functional", "hooks", "models", "nn", "ops", "tools", "train"]
QUICK = ["tests/ops/test_pooling.py", "tests/accelerators/test_targets.py"]


class Here(Target):
    """The devices of this machine, with all that XLA does for them."""

    def __init__(self):
        self.name, self.platform, self.options = "here", jax.default_backend(), {}
        self.devices = np.array(jax.local_devices())

    def lower(self, fn, *args, donate=()):
        return jax.jit(fn, donate_argnums=donate).lower(*args)


def device():
    """The device of this machine, in words."""
    first = jax.devices()[0]
    return f"{first.platform} ({first.device_kind}), {jax.device_count()} of them, jax {jax.__version__}"


def run_tests(quick, failed):
    """The suite's tests that say something of the device."""
    print("\ntests", flush=True)
    chosen = QUICK if quick else [f"tests/{name}" for name in TESTS]
    # One process: several would share the device's memory. What a test asks of other platforms, it says itself.
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    if subprocess.run([sys.executable, "-m", "pytest", "-q", *chosen], cwd=ROOT, env=environment).returncode:
        failed.append("here: tests fail")


def run_bench(quick, path, failed):
    """The bench, whose table is written to a file for docs/benchmarks.md; PyTorch's rows if MSJAX_BENCH_TORCH names its Python."""
    print("\nbench", flush=True)
    command = [sys.executable, "-m", "tests.bench", "--markdown", *(["--quick", "--cases", "LeNet-5, batch 1"] if quick else [])]
    found = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    print(found.stdout, flush=True)
    if found.returncode:
        failed.append("here: the bench fails")
    today = datetime.date.today().isoformat()
    Path(path).write_text(f"## {device()}, {today}\n\n{found.stdout}")
    print(f"the table for docs/benchmarks.md is in {path}")
