"""The two wings: hooks for JAX use nothing of MindSpore's side, and are used by it through one door."""

import subprocess
import sys

from tests.wings.__main__ import copy_of_the_wing, run_in_copy, wing_tests


def test_hooks_for_jax_work_where_the_rest_is_deleted(tmp_path):
    copy_of_the_wing(tmp_path)
    tests = wing_tests(("hooks", "jaxprs", "tools"))
    assert sum(map(len, tests.values())) >= 20
    ran = run_in_copy(tmp_path, tests)
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


def test_find_nan_on_an_nnx_module_loads_nothing_of_mindspores_side():
    ran = subprocess.run([sys.executable, "-c", TOOLS], capture_output=True, text=True, check=True)
    assert ran.stdout == "log True ['core', 'hooks', 'tools', 'version']\n"
