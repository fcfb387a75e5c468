"""save_checkpoint."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from msjax.common.arrays import concrete
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_kind, check_one_of, check_options, check_str, check_type
from msjax.core.base.errors import describe
from msjax.nn.cell.base import Cell
from msjax.serialization.files import writing
from msjax.serialization.formats import find, no_encryption

_KNOWN = (
    "save_obj", "ckpt_file_name", "integrated_save", "async_save", "append_dict", "enc_key", "enc_mode", "choice_func", "crc_check",
    "format", "incremental", "remove_redundancy", "global_step_num", "execute_mode",
)  # fmt: skip
_WRITERS: list[Any] = []
_LOCK = threading.Lock()


def save_checkpoint(
    save_obj: Any, ckpt_file_name: str, integrated_save: bool = True, async_save: bool | str = False,
    append_dict: dict[str, Any] | None = None, enc_key: bytes | str | None = None, enc_mode: str = "AES-GCM",
    choice_func: Callable[..., Any] | None = None, crc_check: bool = False, format: str = "ckpt", **kwargs: Any,
) -> None:  # fmt: skip
    """Save the Parameters of a network to a file.

    The data goes to a temporary file, which replaces the old one only when it is complete.

    Args:
        save_obj: a Cell; a dict of Parameters or Tensors by name; or a list of Parameters or of dicts
            {"name": ..., "data": ...}.
        ckpt_file_name (str): the file; the suffix of the format is added where it is missing.
        integrated_save (bool): accepted for compatibility with MindSpore, without effect.
        async_save (bool or str): whether the file is written on another thread; True, "thread" or "process".
        append_dict (dict, optional): further numbers, bools, str, Parameters or Tensors to save, by name.
        enc_key, enc_mode: encryption is not offered.
        choice_func (callable, optional): says of a name whether it is saved.
        crc_check (bool): whether a checksum is saved, too. Default: False.
        format (str): "ckpt" for MindSpore's own format, or "safetensors". Default: "ckpt".
        **kwargs: MindSpore's `incremental`, `remove_redundancy`, `global_step_num` and `execute_mode`, without effect.

    Raises:
        TypeError: an argument of a wrong type.
        ValueError: an unknown format, or an entry that the format can't hold.
        NotImplementedError: `enc_key` is given.

    Example:
        >>> import msjax as ms, tempfile, os
        >>> from msjax import nn
        >>> path = os.path.join(tempfile.mkdtemp(), "dense.ckpt")
        >>> ms.save_checkpoint(nn.Dense(3, 2), path, append_dict={"epoch": 7})
        >>> print(list(ms.load_checkpoint(path)))
        ['weight', 'bias', 'epoch']
    """
    who = "save_checkpoint"
    check_str(ckpt_file_name, "ckpt_file_name", who)
    for name, flag in (("integrated_save", integrated_save), ("crc_check", crc_check)):
        check_bool(flag, name, who)
    check_one_of(async_save, (False, True, "thread", "process"), "async_save", who)
    check_options(kwargs, _KNOWN, who, what="argument")
    no_encryption(enc_key, "enc_key", who)
    codec = find(format, who)
    entries = {name: value for name, value in _entries(save_obj).items() if choice_func is None or choice_func(name)}
    entries |= _appended(append_dict)
    if not ckpt_file_name.endswith("." + format):
        ckpt_file_name += "." + format
    path = os.path.realpath(ckpt_file_name)
    for earlier in list(_WRITERS):
        if earlier.path == path:
            earlier.join()  # of two files of one name the later one stays
    if async_save:
        # jax arrays are immutable, so a later training step does not change what is being written.
        writer = _Writer(target=_write, args=(codec, ckpt_file_name, entries, crc_check), name="save_checkpoint")
        writer.path = path
        writer.start()
        with _LOCK:
            _WRITERS[:] = [w for w in _WRITERS if w.is_alive()] + [writer]
    else:
        _write(codec, ckpt_file_name, entries, crc_check)


def _write(codec, path, entries, crc_check):
    with writing(path) as file:
        codec.write(file, {name: v if isinstance(v, str) else np.asarray(v) for name, v in entries.items()}, crc_check)


def async_ckpt_thread_status() -> bool:
    """True while a file is being written by ``save_checkpoint(..., async_save=True)``."""
    return any(writer.is_alive() for writer in _WRITERS)


class _Writer(threading.Thread):
    path: str = ""
    error: BaseException | None = None

    def run(self) -> None:
        try:
            super().run()
        except BaseException as error:
            self.error = error
            raise


def wait_for_writers() -> None:
    """Wait for all files that are being written on other threads; an error of one of them is raised."""
    for writer in list(_WRITERS):
        writer.join()
        error, writer.error = writer.error, None
        if error is not None:
            raise error


def _entries(save_obj) -> dict[str, Any]:
    if isinstance(save_obj, Cell):
        return {name: concrete(p, "save_checkpoint") for name, p in save_obj.parameters_dict().items()}
    if isinstance(save_obj, dict):
        pairs = save_obj.items()
    elif isinstance(save_obj, list):
        pairs = [_pair(item) for item in save_obj]
    else:
        raise TypeError(f"For 'save_checkpoint', 'save_obj' should be a Cell, list or dict, but got {describe(save_obj)}.")
    entries = {}
    for name, value in pairs:
        fits = isinstance(name, str) and isinstance(value, Tensor)
        check_kind((name, value), fits, "give Parameters or Tensors by name", "save_obj", "save_checkpoint")
        entries[name] = concrete(value, "save_checkpoint")
    return entries


def _pair(item):
    if isinstance(item, Parameter):
        return item.name, item
    if isinstance(item, dict) and {"name", "data"} <= set(item):
        return item["name"], item["data"]
    raise TypeError(
        "For 'save_checkpoint', a list should hold Parameters or dicts with the keys 'name' and 'data', but got "
        f"{describe(item)}."
    )


def _appended(append_dict) -> dict[str, Any]:
    if append_dict is None:
        return {}
    check_type(append_dict, dict, "append_dict", "save_checkpoint")
    entries = {}
    for name, value in append_dict.items():
        if isinstance(value, Iterator):
            value = next(value, None)
        fits = isinstance(name, str) and isinstance(value, (bool, int, float, str, Tensor))
        fits = fits and not (isinstance(value, int) and not -(2**63) <= value < 2**63)
        should = "hold numbers (of 64 bits), bools, str, Parameters or Tensors by name"
        check_kind({name: value}, fits, should, "append_dict", "save_checkpoint")
        if isinstance(value, Tensor):
            entries[name] = concrete(value, "save_checkpoint")
        elif isinstance(value, str):
            entries[name] = value
        else:
            kind = np.bool_ if isinstance(value, bool) else np.int64 if isinstance(value, int) else np.float32
            entries[name] = np.asarray(value, kind)
    return entries
