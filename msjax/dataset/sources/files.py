"""What sources that read files share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msjax.core.base.checks import check_kind, check_str, check_value
from msjax.core.base.errors import describe


def check_folder(folder: str, who: str) -> str:
    """The path of a folder that is there."""
    check_kind(folder, isinstance(folder, (str, os.PathLike)), "be a path", "dataset_dir", who)
    if not os.path.isdir(folder):
        raise ValueError(f"For '{who}', 'dataset_dir' should be a folder, but there is none at {os.fspath(folder)!r}.")
    return os.fspath(folder)


def check_usage(usage: str | None, options: Sequence[str], who: str) -> str:
    """Which files to read: one of the options, "all" for None."""
    if usage is None:
        return "all"
    check_str(usage, "usage", who)
    check_value(usage, usage in options, f"be one of {', '.join(map(repr, options))}", "usage", who)
    return usage


def refuse_cache(cache: object, who: str) -> None:
    """NotImplementedError for a cache server."""
    if cache is not None:
        raise NotImplementedError(f"For '{who}', msjax has no cache server; leave 'cache' out.")


def check_decrypt(decrypt: Any, who: str) -> Callable[[str], bytes] | None:
    """The function that makes an image's bytes of its path; None: the file has them."""
    return None if decrypt is None else check_kind(decrypt, callable(decrypt), "be a function", "decrypt", who)


def file_bytes(path: str, decrypt: Callable[[str], bytes] | None = None) -> np.ndarray:
    """The bytes of a file, as uint8."""
    if decrypt is None:
        return np.fromfile(path, np.uint8)
    content = decrypt(path)
    if not isinstance(content, bytes):
        raise RuntimeError(f"The return value of the decrypt function is not of type bytes: {describe(content)}.")
    return np.frombuffer(content, np.uint8).copy()
