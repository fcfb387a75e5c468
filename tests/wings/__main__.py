"""The hooks' wing alone: a copy of the package without MindSpore's side, and the tests that need nothing else.

``python -m tests.wings`` runs all of them, and takes a few minutes; tests/wings/test_wings.py runs some.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# What the copy has of msjax/: `core` is the wing, the others are its doors.
KEPT = ("__init__.py", "core", "hooks.py", "py.typed", "tools.py", "version.py")
# Where its tests are, with some of MindSpore's side's.
FOLDERS = ("base", "hooks", "jaxprs", "models", "study", "tools")
# `tools.detect_anomaly` is of PyNative mode.
OF_BOTH_WINGS = "tests/base/test_lazy.py::test_every_name_of_msjax_is_there[msjax.tools]"
_OFFERED = ("core", "hooks", "tools", "__file__", "__version__")


def _is_of_the_wing(name):
    return name == "msjax" or name.startswith(tuple(f"msjax.{room}" for room in _OFFERED))


@cache
def _needs(path):
    """(whether a test file can be imported without MindSpore's side, its test functions that can run without: [(name, whether it runs once)])."""
    tree = ast.parse(path.read_text())
    aliases = {
        alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    } & {"ms", "msjax"}  # fmt: skip
    defined = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    outside = [node for node in tree.body if node not in defined.values()]

    def is_free(nodes, seen):
        pending = list(nodes)
        for node in pending:
            pending += ast.iter_child_nodes(node)
            if isinstance(node, ast.Import) and not all(
                _is_of_the_wing(alias.name) or not alias.name.startswith("msjax") for alias in node.names
            ):
                return False
            if isinstance(node, ast.ImportFrom):
                if node.module == "msjax" and not all(alias.name in _OFFERED for alias in node.names):
                    return False
                if node.module.startswith("msjax.") and not _is_of_the_wing(node.module):
                    return False
                if node.module.partition(".")[0] == "tests" and not all(_needs(file)[0] for file in _files(node)):
                    return False
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
                if node.attr not in _OFFERED:
                    return False
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "ms." in node.value.replace("ms.hooks", ""):
                return False  # a script, most likely
            if isinstance(node, ast.Name) and node.id in defined and node.id not in seen:
                if not is_free([defined[node.id]], seen | {node.id}):
                    return False
            if isinstance(node, ast.arg) and node.arg in defined and node.arg not in seen:  # a fixture
                if not is_free([defined[node.arg]], seen | {node.arg}):
                    return False
        return True

    # Classes and decorators run when the file is imported; functions don't.
    at_import = [n for node in defined.values() for n in ([node] if isinstance(node, ast.ClassDef) else node.decorator_list)]
    importable = is_free([*outside, *at_import], frozenset())
    tests = [
        (name, not node.decorator_list)
        for name, node in defined.items()
        if name.startswith("test_") and is_free([node], frozenset({name}))
    ]
    return importable, tests


def _files(node):
    """The files of tests/ that an import names."""
    path = ROOT / node.module.replace(".", "/")
    whole = [path.with_suffix(".py")] if path.with_suffix(".py").exists() else [path / f"{alias.name}.py" for alias in node.names]
    return [file for file in whole if file.exists()]


def wing_tests():
    """{test file: names of the test functions that need nothing of MindSpore's side}."""
    return {path: [name for name, _ in _needs(path)[1]] for path in _files_of_the_wing()}


def few_wing_tests():
    """The same with one function of each file: the first that runs once."""
    once = {path: [name for name, runs_once in _needs(path)[1] if runs_once][:1] for path in _files_of_the_wing()}
    return {path: names for path, names in once.items() if names}


def _files_of_the_wing():
    files = [path for folder in FOLDERS for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))]
    return [path for path in files if _needs(path)[0] and _needs(path)[1]]


def copy_of_the_wing(folder):
    """Copy the wing, and all files of its tests, to a folder."""
    for name in KEPT:
        source = ROOT / "msjax" / name
        if source.is_dir():
            shutil.copytree(source, folder / "msjax" / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (folder / "msjax").mkdir(parents=True, exist_ok=True)
            shutil.copy(source, folder / "msjax" / name)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__", "expected", "data"))
    shutil.copy(ROOT / "pyproject.toml", folder)


def run_in_copy(folder, tests, *options):
    """Run tests, {file: names}, in a copy; returns what ran."""
    ids = [f"{path.relative_to(ROOT)}::{name}" for path, names in tests.items() for name in names]
    environment = {**os.environ, "PYTHONPATH": str(folder), "JAX_PLATFORMS": "cpu"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:pytest_msjax",
        "--deselect",
        OF_BOTH_WINGS,
        *options,
        *ids,
    ]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def main():
    tests = wing_tests()
    with tempfile.TemporaryDirectory() as name:
        copy_of_the_wing(Path(name))
        print(f"{sum(map(len, tests.values()))} test functions of {len(tests)} files, without MindSpore's side", flush=True)
        ran = run_in_copy(Path(name), tests, *sys.argv[1:])
    print(ran.stdout[-3000:], ran.stderr[-1000:])
    sys.exit(ran.returncode)


if __name__ == "__main__":
    main()
