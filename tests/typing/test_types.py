"""The types that an editor or a type checker shows are those of the code."""

import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
# Percent of the symbols of msjax whose types are known to `pyright --verifytypes`. Only to be raised. What it infers counts as known only for
# names: of an import, ``from ...elementary import abs`` in a class, or of something whose type is known, ``add_ = _add_``.
FLOOR = 80.0


def _pyright(*arguments, cwd) -> dict:
    """What pyright reports, as JSON."""
    pytest.importorskip("pyright", reason="pyright is not installed; it comes with `pip install -e '.[dev]'`")
    # --verifytypes takes no notice of --pythonpath: the environment says where jax is.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = os.environ | {"VIRTUAL_ENV": sys.prefix, "PATH": path, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pyright", *arguments, "--outputjson"]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=900)
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright can't run here: {(done.stdout + done.stderr).strip()[-300:]}")
    return json.loads(done.stdout)


@pytest.mark.long
def test_an_editor_shows_the_types_in_cases():
    report = _pyright("-p", "pyrightconfig.json", cwd=HERE)
    errors = [f"{Path(d['file']).name}:{d['range']['start']['line'] + 1}: {d['message']}" for d in report["generalDiagnostics"]]
    assert report["summary"]["filesAnalyzed"] >= 3
    assert not errors, "\n".join(errors)


# Packages whose names users write.
PACKAGES = (
    "", ".amp", ".common", ".dataset", ".experimental.optim", ".hooks", ".mint", ".mint.nn", ".mint.nn.functional", ".nn", ".nn.layer",
    ".numpy", ".ops", ".ops.operations", ".tools", ".train",
)  # fmt: skip


def _public_names(name) -> set:
    module = importlib.import_module(name)
    values = {n: vars(module).get(n) for n in getattr(module, "__all__", None) or dir(module) if not n.startswith("_")}
    own = {n: v for n, v in values.items() if getattr(v, "__module__", "").startswith("msjax") and not inspect.ismodule(v)}
    return {f"{name}.{n}" for n, v in own.items() if v.__module__ != "msjax.core.base.lazy"}


@pytest.mark.long
def test_known_types_stay_above_the_floor_and_names_are_known():
    report = _pyright("--verifytypes", "msjax", "--ignoreexternal", cwd=HERE)["typeCompleteness"]
    score = 100 * report["completenessScore"]
    assert score >= FLOOR, f"the types of {score:.1f} % of the symbols are known; at least {FLOOR} % should be"
    known = {name for s in report["symbols"] for name in (s["name"], *s.get("alternateNames", ()))}
    unknown = {name for package in PACKAGES for name in _public_names(f"msjax{package}")} - known
    assert not unknown, f"type checkers do not find {sorted(unknown)}"
