"""Programs on disk: folders in which others can write, users without a home, edited sources, XLA's flags."""

import os
import stat

import jax
import jax.interpreters.ad
import pytest

from msjax.core.base import jax_slots
from msjax.engine.programs import disk_cache, store_key
from msjax.engine.programs.disk_cache import NotPrivate, make_private


def below(path, *names):
    for name in names:
        path = path / name
        path.mkdir()
    return path


FOLDERS = {
    "new": (lambda at: at / "a" / "b", True),
    "there": (lambda at: below(at, "a"), True),
    "readable": (lambda at: chmod(below(at, "a"), 0o755), True),
    "writable by all": (lambda at: chmod(below(at, "a"), 0o777), False),
    "writable by a group": (lambda at: chmod(below(at, "a"), 0o770), False),
    "sticky, but writable": (lambda at: chmod(below(at, "a"), 0o1777), False),
    "below a writable one": (lambda at: chmod(below(at, "a"), 0o777) / "b", False),
    "below a sticky one": (lambda at: chmod(below(at, "a"), 0o1777) / "b", True),
    "a link": (lambda at: link(below(at, "a"), at / "b"), True),
    "a link in a circle": (lambda at: link(at / "b", at / "b"), False),
    "a relative link": (lambda at: link("a", (below(at, "a"), at / "b")[1]), True),
    "a way back": (lambda at: below(at, "a", "b") / ".." / ".." / "c", True),
    "a file": (lambda at: ((at / "a").write_text(""), at / "a")[1], False),
    "below a file": (lambda at: ((at / "a").write_text(""), at / "a" / "b")[1], False),
}


def chmod(path, mode):
    path.chmod(mode)
    return path


def link(to, path):
    os.symlink(to, path)
    return path


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs owners of files")
@pytest.mark.parametrize("case", FOLDERS)
def test_folders_in_which_only_the_user_can_write(case, tmp_path):
    make, good = FOLDERS[case]
    path = make(chmod(tmp_path, 0o700))
    before = os.umask(0)
    try:
        if good:
            make_private(str(path))
            assert stat.S_IMODE(os.stat(path).st_mode) & 0o022 == 0
        else:
            with pytest.raises(NotPrivate):
                make_private(str(path))
    finally:
        os.umask(before)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs owners of files")
def test_folders_of_other_users(tmp_path, monkeypatch):
    path = below(tmp_path, "a")
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 12345)
    with pytest.raises(NotPrivate, match="belongs to another user"):
        make_private(str(path))


def test_there_is_one_warning_and_nothing_is_stored(tmp_path, monkeypatch):
    before = {name: jax.config.values[name] for name in ("jax_compilation_cache_dir", "jax_enable_compilation_cache")}
    monkeypatch.setattr(disk_cache, "_CHOSEN", {})
    disk_cache._warn.cache_clear()
    path = chmod(below(tmp_path, "a"), 0o777)
    try:
        with pytest.warns(UserWarning, match="Compiled programs are not kept on disk, since whoever can write there") as seen:
            disk_cache.enable(str(path))
            disk_cache.enable(str(path))
        assert len(seen) == 1 and str(path) in str(seen[0].message)
        assert disk_cache.chosen_folder() == "" and jax.config.values["jax_compilation_cache_dir"] is None
        assert os.listdir(path) == []
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        jax_slots.forget_cache_folder()


@pytest.mark.parametrize("home", ["~", "~unknown", "relative"])
def test_a_user_without_a_home_has_no_folder(home, monkeypatch):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "MSJAX_COMPILE_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: home)
    assert disk_cache.folder() == ""
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert disk_cache.folder() == ""
    disk_cache._warn.cache_clear()
    with pytest.warns(UserWarning, match="this user has no home"):
        assert disk_cache._private(disk_cache.folder()) == ""


# ---- sources


def test_an_edited_source_of_the_same_size_and_time(tmp_path, monkeypatch):
    source = tmp_path / "__init__.py"
    monkeypatch.setattr(store_key, "_FOLDER", tmp_path)
    monkeypatch.setattr(store_key, "_IMPORTED", 1 << 62)
    digests = []
    for number in (1, 2):
        source.write_text(f"NUMBER = {number}\n")
        os.utime(source, (10**9, 10**9))  # as tools do that keep its time
        digests += [store_key.sources_digest(), store_key.sources_digest()]
    assert digests[0] == digests[1] != digests[2] == digests[3] and None not in digests


def test_xla_says_which_flags_it_has(monkeypatch):
    flags = jax_slots.compiler_flags()
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    assert jax_slots.compiler_flags() == flags and len(flags) > 100
    stamp = store_key.process_stamp.__wrapped__
    monkeypatch.setattr(store_key, "sources_digest", lambda: "sources")
    here = stamp()
    monkeypatch.setenv("XLA_FLAGS", "FILE")
    assert stamp() == here
    monkeypatch.setattr(jax_slots, "compiler_flags", lambda: b"others")
    assert stamp() != here
