"""Conversion between checkpoint formats."""

from __future__ import annotations

import os
import re
from typing import Any

from msjax.core.base.checks import check_kind, check_value
from msjax.serialization.files import reading, writing
from msjax.serialization.formats import FORMATS


def ckpt_to_safetensors(
    file_path: str,
    save_path: str | None = None,
    name_map: dict[str, Any] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Convert .ckpt files to .safetensors files.

    Args:
        file_path (str): a file, or a folder whose .ckpt files are converted.
        save_path (str, optional): the folder of the new files; by default each stands beside the old one.
        name_map (dict, optional): new names of Parameters by their old ones.
        file_name_regex (str, optional): a regular expression that the names of a folder's files should match.
        processes_num (int): accepted for compatibility with MindSpore, without effect.

    Raises:
        TypeError, ValueError: a wrong argument, or a file that can't be converted.
    """
    _convert(file_path, save_path, name_map, file_name_regex, "ckpt", "safetensors")


def safetensors_to_ckpt(
    file_path: Any, save_path: Any = None, name_map: Any = None, file_name_regex: Any = None, processes_num: int = 1
) -> None:
    """Convert .safetensors files to .ckpt files; the arguments are those of `ckpt_to_safetensors`."""
    _convert(file_path, save_path, name_map, file_name_regex, "safetensors", "ckpt")


def _convert(file_path, save_path, name_map, file_name_regex, old, new):
    who = f"{old}_to_{new}"
    for name, value, kind in (
        ("file_path", file_path, str), ("save_path", save_path, str), ("name_map", name_map, dict),
        ("file_name_regex", file_name_regex, str),
    ):  # fmt: skip
        check_kind(value, isinstance(value, kind) or (value is None and name != "file_path"), f"be a {kind.__name__}", name, who)
    if os.path.isdir(file_path):
        pattern = re.compile(file_name_regex or ".*")
        files = [
            os.path.join(folder, name)
            for folder, _, names in os.walk(file_path)
            for name in sorted(names)
            if name.endswith("." + old) and pattern.fullmatch(name.removesuffix("." + old))
        ]
    else:
        files = [file_path]
    fits = files and all(f.endswith("." + old) for f in files)
    check_value(file_path, fits, f"be a .{old} file or a folder of such", "file_path", who)
    names = [os.path.basename(path) for path in files]
    check_value(file_path, save_path is None or len({*names}) == len(names), "hold each name of a file once", "file_path", who)
    for path in files:
        with reading(path) as data:
            entries = FORMATS[old].read(data)
            renamed = {(name_map or {}).get(name, name): value for name, value in entries.items()}
            check_value(name_map, len(renamed) == len(entries), f"give each of {[*entries]} a name of its own", "name_map", who)
            folder = os.path.dirname(path) if save_path is None else save_path
            os.makedirs(folder or ".", exist_ok=True)
            with writing(os.path.join(folder, os.path.basename(path).removesuffix(old) + new)) as file:
                FORMATS[new].write(file, renamed)
