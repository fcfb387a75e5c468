"""The formats of checkpoints by name; each module has `write(file, entries, crc_check)` and `read(data, crc_check)`."""

from __future__ import annotations

from typing import Any

from msjax.core.base.checks import check_one_of
from msjax.serialization import ckpt, safetensors

FORMATS = {"ckpt": ckpt, "safetensors": safetensors}


def find(name: str, who: str) -> Any:
    """The module of a format."""
    return FORMATS[check_one_of(name, FORMATS, "format", who)]


def no_encryption(key: Any, name: str, who: str) -> None:
    """NotImplementedError if a key is given."""
    if key is not None:
        raise NotImplementedError(f"For '{who}', encrypted checkpoints are not offered: leave '{name}' out.")
