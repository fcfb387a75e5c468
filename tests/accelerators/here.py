"""All that makes sense on the accelerator of this machine, in one command: tests, all operators, whole steps, the bench.

Each part is a process of its own, one after the other, and the process that starts them uses no device: a TPU belongs to one process, and a
process on a GPU takes most of its memory at once.
"""

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
_DEVICE = "import jax; d = jax.devices(); print(f'{d[0].platform} ({d[0].device_kind}), {len(d)} of them, jax {jax.__version__}')"


class Here(Target):
    """The devices of this machine, with all that XLA does for them."""

    def __init__(self):
        self.name, self.options = "here", {}
        self.platform = {"gpu": "cuda"}.get(jax.default_backend(), jax.default_backend())
        self.devices = np.array(jax.local_devices())

    def lower(self, fn, *args, donate=()):
        return jax.jit(fn, donate_argnums=donate).lower(*args)


# XLA optimizes as for users, and a test that starts a process finds memory left on the GPU.
_ENVIRONMENT = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "JAX_DISABLE_MOST_OPTIMIZATIONS": "0"}
# What tests expect is of products and convolutions of whole float32 numbers.
_OF_TESTS = {"JAX_DEFAULT_MATMUL_PRECISION": "highest"}


def _run(command, failed, name, more=None, **options):
    print(f"\n{name}", flush=True)
    environment = {**os.environ, **_ENVIRONMENT, **(more or {})}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, **options)
    if done.returncode:
        failed.append(f"here: {name}: ended with {done.returncode}")
    return done


def run(quick, table, failed):
    """Runs all parts, and writes the bench's table, for docs/benchmarks.md; PyTorch's rows if MSJAX_BENCH_TORCH names its Python."""
    device = _run(["-c", _DEVICE], failed, "device", stdout=subprocess.PIPE, text=True).stdout.strip()
    if not device:
        return
    print(device, flush=True)
    if device.startswith("cpu") and not quick:
        print("there is no GPU or TPU here: the quick form on the CPU, as a dry run")
        quick = True
    # One process: several would share the device's memory. What a test asks of other platforms, it says itself.
    _run(["-m", "pytest", "-q", *(QUICK if quick else [f"tests/{name}" for name in TESTS])], failed, "tests", _OF_TESTS)
    more = ["--quick"] if quick else []
    _run(["-m", "tests.accelerators", "--here", "--parts", "operators", "steps", *more], failed, "operators and steps")
    only = ["--quick", "--cases", "LeNet"] if quick else []
    bench = _run(["-m", "tests.bench", "--markdown", *only], failed, "bench", stdout=subprocess.PIPE, text=True).stdout
    print(bench, flush=True)
    Path(table).write_text(f"## {device}, {datetime.date.today().isoformat()}\n\n{bench}")
    print(f"the table for docs/benchmarks.md is in {table}")
