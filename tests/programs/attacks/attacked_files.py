"""Attacks on the folder of programs: damaged and exchanged files, folders of others, full disks, several processes at once.

Each is a function of a `Case`, which it has run scripts and check what they print.
"""

import os
import pickle
import shutil
import stat
from pathlib import Path

from tests.programs.attacks.attacked_scripts import OPERATORS, PROGRAMS

REFUSAL = "Compiled programs are not kept on disk"


class Evil:
    """What runs code where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


# ---- files


def _each(change):
    """An attack that changes each file by itself; `change` gets its content and returns another one."""

    def attack(case):
        for path in case.files():
            path.write_bytes(change(path.read_bytes()))

    return attack


def _of_the_store(case):
    """msjax's own files: jax believes what it finds under a name."""
    return [path for path in case.files() if path.name.startswith("msjax-")]


def _turned(case):
    paths = _of_the_store(case)
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents[1:] + contents[:1]):
        path.write_bytes(content)


def _renamed(case):
    paths = _of_the_store(case)
    aside = [path.rename(path.with_name(f"aside-{i}")) for i, path in enumerate(paths)]
    for path, other in zip(paths, aside[1:] + aside[:1]):
        other.rename(path)


def _pickles(case):
    for path in case.files():
        path.write_bytes(pickle.dumps(Evil(case.folder / "unpickled")))


def _link_elsewhere(case):
    (case.folder / "elsewhere").mkdir()
    for path in case.files():
        other = case.folder / "elsewhere" / path.name
        path.rename(other)
        path.symlink_to(other)


def _made(make):
    def attack(case):
        for path in case.files():
            path.unlink()
            make(path)

    return attack


def _owned(uid):
    def attack(case):
        for path in case.files():
            os.chown(path, uid, uid)

    return attack


FILES = {
    "empty": _each(lambda data: b""),
    "cut to a byte": _each(lambda data: data[:1]),
    "cut to 20 bytes": _each(lambda data: data[:20]),
    "cut to a half": _each(lambda data: data[: len(data) // 2]),
    "without the last byte": _each(lambda data: data[:-1]),
    "with a byte more": _each(lambda data: data + b"\0"),
    "a bit of the beginning": _each(lambda data: bytes([data[0] ^ 1]) + data[1:]),
    "a bit of the digest": _each(lambda data: data[:24] + bytes([data[24] ^ 1]) + data[25:]),
    "a bit of the middle": _each(
        lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
    ),
    "a bit of the end": _each(lambda data: data[:-1] + bytes([data[-1] ^ 1])),
    "zeros": _each(lambda data: bytes(len(data))),
    "text": _each(lambda data: b"no program\n" * 50),
    "pickles": _pickles,
    "exchanged in turn": _turned,
    "renamed in turn": _renamed,
    "links": _link_elsewhere,
    "links to nothing": _made(lambda path: path.symlink_to(f"{path}.nothing")),
    "pipes": _made(lambda path: os.mkfifo(path)),
    "folders": _made(lambda path: path.mkdir()),
    "not readable": lambda case: [path.chmod(0) for path in case.files()],
    "readable only": lambda case: [path.chmod(0o400) for path in case.files()],
    "deleted, half of them": lambda case: [path.unlink() for path in case.files()[::2]],
    "deleted with the folder": lambda case: shutil.rmtree(case.place()),
    "among others": lambda case: [
        (case.place() / name).write_bytes(b"x") for name in ("a", "b-cache", "msjax-0", ".c.msjax-1.tmp", "-cache")
    ],
    "of another user": _owned(12345),
}
NEED_ROOT = {"of another user"}


# ---- folders


def _mode(mode):
    def prepare(at):
        (at / "a").mkdir()
        (at / "a").chmod(mode)
        return at / "a"

    return prepare


def _below(mode):
    def prepare(at):
        return _mode(mode)(at) / "b" / "c"

    return prepare


def _linked(inner_mode=0o700, below=""):
    def prepare(at):
        (at / "outer").mkdir(0o700)
        (at / "inner").mkdir()
        (at / "inner").chmod(inner_mode)
        (at / "outer" / "link").symlink_to(at / "inner")
        return at / "outer" / "link" / below

    return prepare


def _file(at):
    (at / "a").write_text("")
    return at / "a"


def _circle(at):
    (at / "a").symlink_to(at / "a")
    return at / "a"


def _of_user(uid, below=""):
    def prepare(at):
        (at / "a").mkdir()
        os.chown(at / "a", uid, uid)
        return at / "a" / below

    return prepare


def _of_group(gid):
    def prepare(at):
        (at / "a").mkdir()
        os.chown(at / "a", -1, gid)
        (at / "a").chmod(0o775)
        return at / "a"

    return prepare


# Folder by folder, whether programs are kept in it.
FOLDERS = {
    "new": (lambda at: at / "a" / "b", True),
    "readable by all": (_mode(0o755), True),
    "writable by all": (_mode(0o777), False),
    "writable by a group of another user": (_of_group(12345), False),
    "below a sticky one": (_below(0o1777), True),
    "a link": (_linked(), True),
    "below a link": (_linked(below="b"), True),
    "a link to a writable one": (_linked(inner_mode=0o777), False),
    "a file": (_file, False),
    "below a file": (lambda at: _file(at) / "b", False),
    "a link in a circle": (_circle, False),
    "of another user": (_of_user(12345), False),
    "below one of another user": (_of_user(12345, "b"), False),
    "relative": (lambda at: Path("inner"), True),
    "with spaces and letters": (lambda at: at / "ä b'\"\n", True),
}
# Variables of the environment that say where the folder is, and whether programs are kept.
PLACES = {
    "no home": ({"HOME": None, "XDG_CACHE_HOME": None, "user": 12345}, False),
    "an empty home": ({"HOME": "", "XDG_CACHE_HOME": None, "user": 12345}, False),
    "a relative home": ({"HOME": "home", "XDG_CACHE_HOME": None}, False),
    "a relative cache": ({"XDG_CACHE_HOME": "cache", "HOME": "home"}, False),
    "a home": ({"HOME": "{at}/home", "XDG_CACHE_HOME": None}, True),
    "a cache": ({"HOME": None, "XDG_CACHE_HOME": "{at}/cache"}, True),
    "a home that can't be made": ({"HOME": "/proc/home", "XDG_CACHE_HOME": None}, False),
}


def modes(folder):
    """The permissions of a folder and of those in it. jax's files have what the process's umask leaves, and the folder protects them."""
    return {stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")] if path.is_dir()}


# What they compute.
COMPUTED_FILES, COMPUTED_FOLDERS = PROGRAMS, OPERATORS.partition("\n")[0]
