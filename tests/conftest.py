"""Settings of all tests: 64-bit types as MindSpore has them, eight CPU devices, fixed seeds, a clean program state.

`.ci/run` runs those of tensors, cells, hooks and compilation once more with jax's own settings, 64-bit types off and LLVM's optimizations on.
"""

import collections
import gc
import importlib.metadata
import importlib.util
import os
import sys

os.environ.setdefault("JAX_ENABLE_X64", "1")
# The size of XLA's thread pool. With as many threads as devices, programs for all of them may wait for one another for ever.
os.environ.setdefault("NPROC", "16")
# Most of the time of a run goes into compiling the same small programs: workers and later runs share them.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", os.path.join(os.path.dirname(os.path.dirname(__file__)), ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# Nor does a process that tests start compile the modules that another one has compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Compiling is half of the rest: LLVM's optimizations are left out. What XLA itself does to a program stays the same.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

# Nor is each equation of a program told the line of Python that it comes from: a twentieth of the time of all tests.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")

# So is XLA's newer way to generate code for fused loops, which takes a third of that time again. jaxlib 0.12 doesn't know the
# flag, and an unknown flag ends the process.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_force_host_platform_device_count=8"
    + " --xla_cpu_use_fusion_emitters=false"
    * (os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] == "1" and importlib.metadata.version("jaxlib").startswith("0.10.")),
)

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
hypothesis.settings.load_profile("ci")

# A test with so many cases or more runs in shares, and so do the tests that are marked as long.
CASES = 3


def pytest_addoption(parser):
    parser.addoption(
        "--share",
        metavar="K/N",
        default=os.environ.get("TEST_SHARE"),
        help=f"of each test with {CASES} cases or more, and of the long tests, only every N-th, from the K-th; all of the others "
        "(default: $TEST_SHARE)",
    )


def pytest_collection_modifyitems(config, items):
    share = config.getoption("--share")
    if not share:
        return
    first, of = map(int, share.split("/"))
    if not 1 <= first <= of:
        raise pytest.UsageError(f"--share {share}: the first number is one of 1 to {of}.")
    cases = collections.defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    shared = [group for group in cases.values() if len(group) >= CASES]
    shared.append(
        [item for item in items if item.get_closest_marker("long") and len(cases[item.nodeid.partition("[")[0]]) < CASES]
    )
    left_out = {item for group in shared for at, item in enumerate(group) if at % of != first - 1}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


# tests/wings runs tests of hooks for JAX where MindSpore's side is deleted.
ONLY_THE_WING = importlib.util.find_spec("msjax.engine") is None


@pytest.fixture(autouse=True)
def clean_state():
    """Every test starts in PyNative mode, with the default dialect and seeds set, and leaves no scope open."""
    np.random.seed(0)
    if ONLY_THE_WING:
        yield
        return
    import msjax as ms
    from msjax.common.run_state import ROOT, STATE
    from msjax.engine.settings.current import SETTINGS

    ms.set_seed(0)
    SETTINGS.mode, SETTINGS.hook_dialect = ms.PYNATIVE_MODE, "tutorial"
    ms.set_context(pynative_synchronize=False)
    kept = dict(SETTINGS.kept)
    yield
    ms.reset_auto_parallel_context()
    SETTINGS.kept.clear()
    SETTINGS.kept.update(kept)
    assert STATE.scope is ROOT and STATE.recording and not STATE.owners
    SETTINGS.mode, SETTINGS.hook_dialect = ms.PYNATIVE_MODE, "tutorial"
    ms.set_context(pynative_synchronize=False)


@pytest.fixture(autouse=True, scope="module")
def small_heap():
    """jax keeps what it has traced, and msjax collects garbage: without this a run spends a quarter of its time on looking through
    what earlier files left for good. And jax keeps the MLIR module of each program: beside 2,000 of them it takes three times as
    long to lower one more, so that they are dropped now and then.
    """
    yield
    if _mlir_contexts() > 500:
        import jax

        jax.clear_caches()
        gc.unfreeze()
    gc.collect()
    gc.freeze()


def _mlir_contexts():
    if "jax" not in sys.modules:
        return 0
    from jaxlib.mlir import ir

    return ir.Context._get_live_count()


@pytest.fixture(autouse=True)
def same_precision():
    """What runs as a MindSpore program sets how products are rounded, for its whole process."""
    if ONLY_THE_WING:
        yield
        return
    import jax

    from msjax.engine.settings.current import SETTINGS

    before, conv = jax.config.jax_default_matmul_precision, SETTINGS.conv_tf32
    yield
    if jax.config.jax_default_matmul_precision != before:
        jax.config.update("jax_default_matmul_precision", before)
    SETTINGS.conv_tf32 = conv


@pytest.fixture
def hasty_threads():
    """Threads that take turns all the time: what one of them leaves half done, the other one sees."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="session")
def forks():
    """A process that has imported msjax; scripts run in forks of it, which takes a tenth of the time of a new process."""
    if not sys.platform.startswith("linux"):
        pytest.skip("forks, and names pipes of other processes")
    from tests.programs.attacks.script_runs import Forks

    made = Forks()
    yield made
    made.close()


@pytest.fixture
def no_alias_left():
    """A test may install msjax as mindspore; the next one starts without."""
    import jax

    import msjax

    finders, x64 = list(sys.meta_path), jax.config.jax_enable_x64
    version, module = msjax.__version__, msjax.Tensor.__module__
    yield
    sys.meta_path[:] = finders
    msjax.__version__, msjax.Tensor.__module__ = version, module
    for name in [name for name in sys.modules if name.partition(".")[0] == "mindspore"]:
        del sys.modules[name]
    jax.config.update("jax_enable_x64", x64)
