"""A store of programs for tests: in a folder of their own, whatever the user's is."""

import contextlib

import jax

from msjax.core.base import jax_slots
from msjax.engine.programs import cache, disk_cache, store_key
from msjax.engine.programs.store import ProgramStore


@contextlib.contextmanager
def store_in(folder, jax_folder, monkeypatch):
    """A context with a new store in `folder` as that of the process; jax's own cache, which tells whether a program was compiled, is in
    `jax_folder`."""
    settings = {
        "jax_compilation_cache_dir": str(jax_folder),
        "jax_enable_compilation_cache": True,
        "jax_persistent_cache_min_compile_time_secs": 0.0,
    }
    before = {name: jax.config.values[name] for name in settings}

    def use(values):
        for name, value in values.items():
            jax.config.update(name, value)
        jax_slots.forget_cache_folder()

    use(settings)
    monkeypatch.setattr(disk_cache, "chosen_folder", lambda: str(folder))
    monkeypatch.setattr(cache, "STORE", ProgramStore())
    # So that nobody's editing of the package during the tests matters.
    monkeypatch.setattr(store_key, "process_stamp", lambda: "a version")
    yield cache.STORE
    cache.STORE._pending.clear()
    assert not cache.STORE.unusable
    use(before)
