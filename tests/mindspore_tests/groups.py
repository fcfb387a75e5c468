"""The groups of MindSpore's tests that are run: folders of its test repository, and which files of them."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import NamedTuple


class Group(NamedTuple):
    """Some test files.

    Attributes:
        folders: below ``tests/``; a word after a colon has to be in the files' names.
        most: so many tests that pass with MindSpore are looked for; files are tried in an order that is the same everywhere, but arbitrary.
        kept_apart: whether nobody looks at the single tests while they mend msjax, so that the group says how it does on others.
    """

    folders: tuple[str, ...]
    most: int = 60
    kept_apart: bool = False


GROUPS = {
    "hooks": Group(("st:hook", "ut/python:hook")),
    "nn": Group(("st/nn",)),
    "tensor": Group(("st/tensor",)),
    "mint": Group(("st/mint",), 30),
    "pynative": Group(("st/pynative",)),
    "compiler": Group(("st/compiler",)),
    "ops": Group(("st/ops",)),
    "ops_cpu": Group(("st/ops/cpu", "st/ops:cpu")),
    "ut_nn": Group(("ut/python/nn",)),
    "ut_pynative_mode": Group(("ut/python/pynative_mode",)),
    "fallback": Group(("ut/python/fallback",)),
    "metrics": Group(("ut/python/metrics",)),
    "train": Group(("ut/python/train", "ut/python/mindrecord", "ut/python/utils")),
    "dataset": Group(("ut/python/dataset",), 120),
    "numpy_scipy": Group(("st/numpy_native", "st/scipy_st"), 40),
    "sparse_vmap": Group(("st/sparse", "st/vmap", "ut/python/vmap", "st/container")),
    "optimizers": Group(("st/optimizer", "ut/python/optimizer", "st/parameter", "ut/python/amp")),
    "ut_ops": Group(("ut/python/ops", "ut/python/exec", "ut/python/ir", "ut/python/dynamic_sequence")),
    "graph_syntax": Group(("ut/python/graph_syntax", "st/probability"), kept_apart=True),
    "networks": Group(
        ("st/networks", "st/train", "ut/python/common", "ut/python/model", "ut/python/control_flow"), kept_apart=True
    ),
}


def files_of(group: Group, root: Path) -> list[str]:
    """The test files of a group, by their paths below the repository, in the order in which they are tried."""
    found = set()
    for folder in group.folders:
        folder, _, word = folder.partition(":")
        for path in (root / "tests" / folder).rglob("test_*.py"):
            if word in path.name:
                found.add(path.relative_to(root).as_posix())
    return sorted(found, key=lambda name: (zlib.crc32(name.encode()), name))
