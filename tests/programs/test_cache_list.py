"""The list of the programs that jax has stored: files that were exchanged, damaged or brought from elsewhere are not believed."""

import os
import shutil
import zlib

import pytest

from msjax.engine.programs import cache_list, disk_cache
from msjax.engine.programs.cache_list import CacheList

CONTENTS = {"jit_a-1-cache": zlib.compress(b"a" * 99), "jit_b-2-cache": zlib.compress(b"b" * 99), "other": b"no program"}


def fill(folder):
    for name, content in CONTENTS.items():
        (folder / name).write_bytes(content)
    made = CacheList(str(folder))
    made.add()
    return made


def kept(folder):
    """The programs that another process finds."""
    CacheList(str(folder)).verify()
    return sorted(path.name for path in folder.iterdir() if path.name.endswith("-cache"))


def swap(folder):
    a, b = folder / "jit_a-1-cache", folder / "jit_b-2-cache"
    a.rename(folder / "aside"), b.rename(a), (folder / "aside").rename(b)


def write(content):
    def change(folder):
        status = (folder / "jit_a-1-cache").stat()
        (folder / "jit_a-1-cache").write_bytes(content)
        os.utime(folder / "jit_a-1-cache", ns=(status.st_atime_ns, status.st_mtime_ns))

    return change


def link(folder):
    (folder / "jit_a-1-cache").rename(folder / "elsewhere")
    (folder / "jit_a-1-cache").symlink_to(folder / "elsewhere")


def pipe(folder):
    (folder / "jit_a-1-cache").unlink()
    os.mkfifo(folder / "jit_a-1-cache")


def of_list(change):
    def changed(folder):
        (path,) = folder.glob("msjax-written-*")
        path.write_bytes(change(path.read_bytes()))

    return changed


ATTACKS = {
    "nothing": (lambda folder: None, ["jit_a-1-cache", "jit_b-2-cache"]),
    "exchanged": (swap, []),
    "another content of the same size and time": (write(CONTENTS["jit_b-2-cache"]), ["jit_b-2-cache"]),
    "cut": (write(CONTENTS["jit_a-1-cache"][:-1]), ["jit_b-2-cache"]),
    "a link": (link, ["jit_b-2-cache"]),
    "a pipe": (pipe, ["jit_b-2-cache"]),
    "brought from elsewhere": (lambda folder: (folder / "jit_c-3-cache").write_bytes(b"x"), ["jit_a-1-cache", "jit_b-2-cache"]),
    "a list of bytes": (of_list(lambda data: b"\xff\0[1]\nnull\n"), []),
    "a list cut in its last line": (of_list(lambda data: data[:-30]), ["jit_a-1-cache"]),
    "a list with names exchanged": (
        of_list(
            lambda data: data.replace(b"jit_a-1", b"jit_c-3").replace(b"jit_b-2", b"jit_a-1").replace(b"jit_c-3", b"jit_b-2")
        ),
        [],
    ),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("case", ATTACKS)
def test_only_what_was_written_under_its_name_is_kept(case, tmp_path):
    fill(tmp_path)
    change, expected = ATTACKS[case]
    change(tmp_path)
    assert kept(tmp_path) == expected and (tmp_path / "other").exists()
    assert kept(tmp_path) == expected


def test_a_copied_folder_is_read_once(tmp_path, monkeypatch):
    fill((tmp_path / "a").mkdir() or tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert len(kept(tmp_path / "b")) == 2
    monkeypatch.setattr(cache_list, "_digest", None)
    assert len(kept(tmp_path / "b")) == 2


def test_lists_are_put_together(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_list, "_MOST_LISTS", 2)
    for i in range(4):
        (tmp_path / f"{i}-cache").write_bytes(zlib.compress(b"x"))
        made = CacheList(str(tmp_path))
        made.add()
    assert len(kept(tmp_path)) == 4 and len(list(tmp_path.glob("msjax-written-*"))) == 1
    disk_cache.trim(str(tmp_path), 0)
    assert [cache_list.is_list(path.name) for path in tmp_path.iterdir()] == [True]


def test_a_file_that_is_not_whole_yet(tmp_path):
    made = fill(tmp_path)
    whole = zlib.compress(b"c" * 99)
    (tmp_path / "c-cache").write_bytes(whole[:9])
    made.add()
    assert not made.has("c-cache")
    (tmp_path / "c-cache").write_bytes(whole)
    made.add()
    assert made.has("c-cache") and len(kept(tmp_path)) == 3
    # One that looked whole while another thread was writing it.
    (tmp_path / "c-cache").write_bytes(whole + b"more")
    made.add_at_exit()
    assert len(kept(tmp_path)) == 3
