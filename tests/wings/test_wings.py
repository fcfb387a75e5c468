"""The two wings: hooks for JAX use nothing of MindSpore's side, and are used by it through one door."""

import ast
import subprocess
import sys

import pytest

from msjax.core import door
from tests.wings.__main__ import FOLDERS, ROOT, copy_of_the_wing, few_wing_tests, run_in_copy

# What is free to use beside the door: what has no state of hooks.
NEUTRAL = "msjax.core.base."
STATE = ("msjax.core.base.state",)
# Above both wings: `bridge` makes Cells known to hooks for JAX, and these offer names of both.
OF_BOTH = ("bridge", "__init__.py", "hooks.py", "tools.py")


def test_few_names_pass_the_door():
    tree = ast.parse((ROOT / "msjax/core/door.py").read_text())
    names = [alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert len(names) <= 25 and all(hasattr(door, name) for name in names)


def _imports(path):
    """(line, module, name) of what a file imports from msjax.core."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("msjax.core"):
            yield from ((node.lineno, node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, "") for alias in node.names if alias.name.startswith("msjax.core"))


@pytest.mark.long
def test_all_else_is_used_through_the_door():
    files = [path for path in sorted((ROOT / "msjax").rglob("*.py*")) if path.suffix in (".py", ".pyi")]
    files = [path for path in files if path.relative_to(ROOT / "msjax").parts[0] not in ("core", *OF_BOTH)]
    wrong = []
    for path in files:
        for line, module, name in _imports(path):
            full = f"{module}.{name}"
            neutral = full.startswith(NEUTRAL) and not any(full == one or full.startswith(f"{one}.") for one in STATE)
            if module != "msjax.core.door" and not neutral:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {full}")
    assert len(files) > 300 and not wrong, "\n".join(wrong)


def test_hooks_for_jax_import_nothing_of_the_rest():
    offered = ("msjax.core", "msjax.hooks", "msjax.version")
    wrong = []
    for path in sorted((ROOT / "msjax/core").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None) or ""]
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [name for name in names if name.partition(".")[0] == "msjax" and not name.startswith(offered)]
                wrong += [f"{path.relative_to(ROOT)}:{node.lineno} imports {name}" for name in names]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("part", range(4))
def test_hooks_for_jax_work_where_the_rest_is_deleted(part, tmp_path):
    copy_of_the_wing(tmp_path)
    tests = few_wing_tests()
    assert len(tests) >= 20 and {path.parent.name for path in tests} == set(FOLDERS)
    ran = run_in_copy(tmp_path, dict(list(tests.items())[part::4]))
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]


TOOLS = """
import sys
import jax.numpy as jnp
from flax import nnx
from msjax import tools
module = nnx.Sequential(nnx.Linear(2, 1, rngs=nnx.Rngs(0)), lambda x: jnp.log(x * 0))
fault = tools.find_nan(module, jnp.ones((1, 2)), on="inf", show=False)
there = [name for name in sys.modules if name.partition(".")[0] == "msjax"]
print(fault.operation, len(there) < 90, sorted({name.split(".")[1] for name in there if "." in name}))
"""


@pytest.mark.long
def test_find_nan_on_an_nnx_module_loads_nothing_of_mindspores_side():
    ran = subprocess.run([sys.executable, "-c", TOOLS], capture_output=True, text=True, check=True)
    assert ran.stdout == "log True ['core', 'hooks', 'tools', 'version']\n"
