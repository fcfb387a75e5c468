"""The list of the programs that jax has stored: files that were exchanged or damaged since are not believed."""

import os
import shutil
import zlib

import pytest

from msjax.engine.programs.disk_cache import delete_changed, list_new, trim

CONTENTS = {"jit_a-1-cache": zlib.compress(b"a" * 99), "jit_b-2-cache": zlib.compress(b"b" * 98), "other": b"no program"}


def fill(folder):
    for name, content in CONTENTS.items():
        (folder / name).write_bytes(content)
    list_new(str(folder))


def kept(folder):
    """The programs that another process finds."""
    delete_changed(str(folder))
    return sorted(path.name for path in folder.iterdir() if path.name.endswith("-cache"))


def swap(folder):
    a, b = folder / "jit_a-1-cache", folder / "jit_b-2-cache"
    a.rename(folder / "aside"), b.rename(a), (folder / "aside").rename(b)


def write(content):
    return lambda folder: (folder / "jit_a-1-cache").write_bytes(content)


def link(folder):
    (folder / "jit_a-1-cache").rename(folder / "elsewhere")
    (folder / "jit_a-1-cache").symlink_to(folder / "elsewhere")


def pipe(folder):
    (folder / "jit_a-1-cache").unlink()
    os.mkfifo(folder / "jit_a-1-cache")


def of_list(change):
    return lambda folder: (folder / "msjax-written").write_bytes(change((folder / "msjax-written").read_bytes()))


ATTACKS = {
    "nothing": (lambda folder: None, ["jit_a-1-cache", "jit_b-2-cache"]),
    "exchanged": (swap, []),
    "another content": (write(CONTENTS["jit_b-2-cache"]), ["jit_b-2-cache"]),
    "cut": (write(CONTENTS["jit_a-1-cache"][:-1]), ["jit_b-2-cache"]),
    "a link": (link, ["jit_b-2-cache"]),
    "a pipe": (pipe, ["jit_b-2-cache"]),
    "deleted": (lambda folder: (folder / "jit_a-1-cache").unlink(), ["jit_b-2-cache"]),
    "a list with lines that are none": (
        of_list(lambda data: b"\xff\0[1]\nnull\n[]\n7\n" + data),
        ["jit_a-1-cache", "jit_b-2-cache"],
    ),
    "a list cut in its last line": (of_list(lambda data: data[:-5]), ["jit_a-1-cache", "jit_b-2-cache"]),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("case", ATTACKS)
def test_a_file_that_was_changed_is_deleted(case, tmp_path):
    fill(tmp_path)
    change, expected = ATTACKS[case]
    change(tmp_path)
    assert kept(tmp_path) == expected and (tmp_path / "other").exists()
    assert kept(tmp_path) == expected


def test_what_was_written_anew_after_it_was_deleted_is_listed(tmp_path):
    fill(tmp_path)
    (tmp_path / "jit_a-1-cache").write_bytes(b"no program")
    assert kept(tmp_path) == ["jit_b-2-cache"]
    fill(tmp_path)
    assert kept(tmp_path) == ["jit_a-1-cache", "jit_b-2-cache"]
    swap(tmp_path)
    assert kept(tmp_path) == []


def test_a_file_that_is_not_whole_is_not_listed(tmp_path):
    fill(tmp_path)
    whole = zlib.compress(b"c" * 99)
    (tmp_path / "c-cache").write_bytes(whole[:9])
    list_new(str(tmp_path))
    (tmp_path / "c-cache").write_bytes(whole)
    assert len(kept(tmp_path)) == 3
    list_new(str(tmp_path))
    (tmp_path / "c-cache").write_bytes(whole[:9])
    assert len(kept(tmp_path)) == 2


def test_a_copied_folder_with_its_times_is_believed(tmp_path):
    (tmp_path / "a").mkdir()
    fill(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert len(kept(tmp_path / "b")) == 2


def test_the_list_does_not_grow_for_ever_and_is_not_deleted(tmp_path):
    for size in range(40):
        for name in ("a-cache", "b-cache"):
            (tmp_path / name).write_bytes(zlib.compress(os.urandom(size + 100)))
        list_new(str(tmp_path))
    assert len(kept(tmp_path)) == 2
    assert len((tmp_path / "msjax-written").read_bytes().split()) < 20
    trim(str(tmp_path), 0)
    assert os.listdir(tmp_path) == ["msjax-written"]
