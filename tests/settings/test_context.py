"""Settings of the program."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import jax
import pytest

import msjax as ms
from msjax import Tensor, nn
from msjax.common.run_state import STATE
from msjax.engine.programs import disk_cache
from msjax.engine.settings.context import force_mode
from msjax.engine.settings.current import SETTINGS


@pytest.fixture(autouse=True)
def same_settings_after():
    kept, device = dict(SETTINGS.kept), jax.config.jax_default_device
    target = SETTINGS.device_target, SETTINGS.device_id
    yield
    SETTINGS.kept = kept
    SETTINGS.device_target, SETTINGS.device_id = target
    jax.config.update("jax_default_device", device)
    force_mode(None)


def test_modes():
    assert (ms.GRAPH_MODE, ms.PYNATIVE_MODE) == (0, 1)
    assert ms.get_context("mode") == ms.PYNATIVE_MODE
    ms.set_context(mode=ms.GRAPH_MODE)
    assert ms.get_context("mode") == 0
    ms.set_context(mode=1)
    assert ms.get_context("mode") == 1


def test_forced_mode_stands_against_the_program():
    force_mode(ms.GRAPH_MODE)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert ms.get_context("mode") == ms.GRAPH_MODE
    force_mode(None)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert ms.get_context("mode") == ms.PYNATIVE_MODE


def test_settings_without_effect_are_kept():
    assert ms.get_context("save_graphs") is False
    ms.set_context(save_graphs=True, max_device_memory="2GB", device_id=1)
    assert (ms.get_context("save_graphs"), ms.get_context("max_device_memory"), ms.get_context("device_id")) == (True, "2GB", 1)


BAD = [
    ({"nonsense": 1}, ValueError, "no setting 'nonsense'"),
    ({"mode": 2}, ValueError, "mode"),
    ({"mode": "graph"}, TypeError, "mode"),
    ({"mode": True}, TypeError, "mode"),
    ({"mode": None}, TypeError, "mode"),
    ({"device_target": "Cuda"}, ValueError, "device_target"),
    ({"device_target": 3}, TypeError, "device_target"),
    ({"pynative_synchronize": 1}, TypeError, "pynative_synchronize"),
    ({"hook_dialect": "pytorch"}, ValueError, "hook_dialect"),
    ({"hook_dialect": 1}, ValueError, "hook_dialect"),
    ({"jit_config": {"jit_level": ""}}, ValueError, "jit_level"),
]


@pytest.mark.parametrize("settings, error, words", BAD, ids=str)
def test_bad_settings(settings, error, words):
    before = SETTINGS.mode, SETTINGS.hook_dialect, SETTINGS.pynative_synchronize, SETTINGS.device_target
    with pytest.raises(error, match=f"'set_context'.*{words}"):
        ms.set_context(**settings)
    assert (SETTINGS.mode, SETTINGS.hook_dialect, SETTINGS.pynative_synchronize, SETTINGS.device_target) == before


def test_unknown_setting_read():
    with pytest.raises(ValueError, match=r"'get_context'.*'nonsense'"):
        ms.get_context("nonsense")


def test_device():
    assert ms.get_context("device_target") == ms.get_current_device() == "CPU"
    ms.set_context(device_target="CPU")
    assert ms.get_context("device_target") == "CPU"
    ms.set_device("CPU", 1)
    assert jax.numpy.asarray(Tensor([1.0]) * 2).devices() == {jax.devices("cpu")[1]}
    ms.set_context(device_target="CPU")
    assert jax.numpy.asarray(Tensor([1.0])).devices() == {jax.devices("cpu")[1]}
    with pytest.warns(UserWarning, match="device_target 'GPU', device 0, is not there"):
        ms.set_context(device_target="GPU")
    assert ms.get_context("device_target") == "GPU"
    assert (Tensor([1.0]) * 2).tolist() == [2.0]
    with pytest.warns(UserWarning, match="device 99"):
        ms.set_device("CPU", 99)


def test_pynative_synchronize_names_the_operator():
    class Adds(nn.Cell):
        def construct(self, x):
            return x + Tensor([1.0, 2.0, 3.0])

    ms.set_context(pynative_synchronize=True)
    assert ms.get_context("pynative_synchronize") is True
    assert (Tensor([1.0]) + 1).tolist() == [2.0]
    assert ms.grad(lambda x: x * x)(Tensor([3.0])).tolist() == [6.0]
    with pytest.raises(ValueError, match=r"in cell Adds"):
        Adds()(Tensor([1.0, 2.0]))


def test_parallel_settings():
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.STAND_ALONE)
    assert ms.get_auto_parallel_context("parallel_mode") == "stand_alone"
    assert ms.get_auto_parallel_context("device_num") == 1
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL)
    assert ms.get_auto_parallel_context("parallel_mode") == "data_parallel"
    ms.reset_auto_parallel_context()
    assert ms.get_auto_parallel_context("parallel_mode") == "stand_alone"
    with pytest.raises(ValueError, match="nonsense"):
        ms.get_auto_parallel_context("nonsense")


def waits(meet):
    meet.wait()


def test_threads_differentiate_independently():
    """Two threads, each inside its own gradient function at the same time."""
    meet = threading.Barrier(2, timeout=60)
    found, errors = {}, []

    def work(name, factor):
        def f(x):
            y = x * factor
            meet.wait()
            net = nn.ReLU()
            net.register_backward_hook(lambda cell, gi, go: waits(meet))
            return net(y) * x

        try:
            found[name] = ms.grad(f)(Tensor([1.0, 2.0])).tolist()
            assert not STATE.owners
        except BaseException as error:
            errors.append(error)
            meet.abort()

    threads = [threading.Thread(target=work, args=(i, float(i + 1))) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert errors == [] and found == {0: [2.0, 4.0], 1: [4.0, 8.0]}


@pytest.mark.long
def test_compiled_programs_are_kept_between_processes(tmp_path):
    names = ("jax_enable_compilation_cache", "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    script = (
        "import jax, msjax as ms; ms.set_context(enable_compile_cache=True, compile_cache_path={path!r}); x = ms.Tensor([1.0, 2.0]); "
        "compiled = []; jax.monitoring.register_event_listener(lambda event, **_: compiled.append(event)); "
        "print(x * 3, not compiled)"
    )
    command, environment = (
        [sys.executable, "-c", script.format(path=str(tmp_path))],
        {**os.environ, "JAX_COMPILATION_CACHE_DIR": ""},
    )
    for from_disk in (False, True):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == (f"[3. 6.] {from_disk}\n", "")
        (folder,) = tmp_path.iterdir()
        for program in folder.iterdir():
            if not program.name.startswith("msjax"):
                program.write_bytes(b"damaged")  # the next process does without it
    assert {name: getattr(jax.config, name) for name in names} == before
    with pytest.raises(TypeError, match="compile_cache_path"):
        ms.set_context(compile_cache_path=3)


def test_the_folder_of_compiled_programs(monkeypatch, tmp_path):
    monkeypatch.delenv("MSJAX_COMPILE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (kind,) = Path(disk_cache.folder()).relative_to(tmp_path / "msjax").parts
    assert disk_cache.folder("there") == os.path.join("there", kind)
    monkeypatch.setenv("MSJAX_COMPILE_CACHE", "elsewhere")
    assert disk_cache.folder() == os.path.join("elsewhere", kind) and not disk_cache.is_off()
    monkeypatch.setenv("MSJAX_COMPILE_CACHE", "off")
    assert disk_cache.is_off()


def test_the_oldest_programs_are_deleted_from_disk(tmp_path):
    for i in range(4):
        (tmp_path / f"{i}").write_bytes(bytes(100))
        os.utime(tmp_path / f"{i}", (i, i))
    disk_cache.trim(tmp_path, 250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3"]
    assert sum(size for _, size, _ in disk_cache.files(tmp_path)) == 200
    assert disk_cache.files(tmp_path / "missing") == []
    disk_cache.trim(tmp_path, 200)
    assert len(disk_cache.files(tmp_path)) == 2


@pytest.mark.parametrize(
    "name, value, error",
    [
        ("max_device_memory", 1, TypeError),
        ("enable_graph_kernel", 1, TypeError),
        ("save_graphs", "yes", TypeError),
        ("device_id", "cpu", TypeError),
        ("device_id", 4096, ValueError),
        ("max_call_depth", 0, ValueError),
        ("deterministic", "on", ValueError),
    ],
)
def test_settings_without_effect_are_checked(name, value, error):
    before = ms.get_context(name)
    with pytest.raises(error, match=name):
        ms.set_context(**{name: value})
    assert ms.get_context(name) == before
