"""ModelCheckpoint: saves a network at intervals during training."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import Any

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_int, check_kind, check_value
from msjax.core.base.errors import describe
from msjax.nn.cell.base import Cell
from msjax.serialization import save_checkpoint
from msjax.serialization.formats import find, no_encryption
from msjax.serialization.save import wait_for_writers
from msjax.train.callback.callback import Callback, RunContext


class CheckpointConfig:
    """When `ModelCheckpoint` saves, and what it keeps.

    Args:
        save_checkpoint_steps (int, optional): after how many steps it saves. Default: 1.
        save_checkpoint_seconds (int, optional): after how many seconds it saves, unless `save_checkpoint_steps` is given.
            Default: 0.
        keep_checkpoint_max (int, optional): how many files are kept at most; one if neither this nor the next is given. Default: 5.
        keep_checkpoint_per_n_minutes (int, optional): of the files of so many minutes the first is kept, and the last of all, unless
            `keep_checkpoint_max` is given. Default: 0.
        integrated_save (bool): accepted for compatibility with MindSpore, without effect.
        async_save (bool): whether files are written on another thread. Default: False.
        saved_network (Cell, optional): what is saved; by default the network that is trained, with its optimizer.
        append_info (list, optional): of "epoch_num", "step_num" and a dict of further entries.
        enc_key, enc_mode: encryption is not offered.
        exception_save (bool): whether the network is saved when training ends with an exception. Default: False.
        crc_check (bool): whether a checksum is saved, too. Default: False.
        remove_redundancy (bool): accepted for compatibility with MindSpore, without effect.
        format (str): "ckpt" or "safetensors". Default: "ckpt".

    Raises:
        TypeError, ValueError: an argument of a wrong type or value, or all of the first four empty.
    """

    integrated_save: bool
    async_save: bool
    saved_network: Cell | None
    exception_save: bool
    crc_check: bool
    format: str
    append_info: tuple[Any, ...]
    append_dict: dict[str, Any]

    def __init__(
        self, save_checkpoint_steps: int = 1, save_checkpoint_seconds: int = 0, keep_checkpoint_max: int = 5,
        keep_checkpoint_per_n_minutes: int = 0, integrated_save: bool = True, async_save: bool = False,
        saved_network: Cell | None = None, append_info: list[Any] | None = None, enc_key: bytes | str | None = None,
        enc_mode: str = "AES-GCM", exception_save: bool = False, crc_check: bool = False, remove_redundancy: bool = False,
        format: str = "ckpt",
    ):  # fmt: skip
        who = "CheckpointConfig"
        numbers = {
            "save_checkpoint_steps": save_checkpoint_steps,
            "save_checkpoint_seconds": save_checkpoint_seconds,
            "keep_checkpoint_max": keep_checkpoint_max,
            "keep_checkpoint_per_n_minutes": keep_checkpoint_per_n_minutes,
        }
        for name, value in numbers.items():
            if value is not None:
                check_int(value, name, who)
            check_value(value, value is None or value >= 0, "not be negative", name, who)
        if not any(numbers.values()):
            raise ValueError(f"For '{who}', {', '.join(numbers)} can't all be zero or None.")
        check_kind(saved_network, saved_network is None or isinstance(saved_network, Cell), "be a Cell", "saved_network", who)
        no_encryption(enc_key, "enc_key", who)
        find(format, who)
        # None for what another setting rules out.
        self.save_checkpoint_steps: int = save_checkpoint_steps or 0
        self.save_checkpoint_seconds: int | None = None if self.save_checkpoint_steps else save_checkpoint_seconds or 0
        self.keep_checkpoint_max: int = keep_checkpoint_max or (0 if keep_checkpoint_per_n_minutes else 1)
        self.keep_checkpoint_per_n_minutes: int | None = None if self.keep_checkpoint_max else keep_checkpoint_per_n_minutes or 0
        self.integrated_save, self.async_save, self.saved_network = integrated_save, async_save, saved_network
        self.exception_save, self.crc_check, self.format = bool(exception_save), crc_check, format
        self.append_info, self.append_dict = _append_info(append_info)

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """When it saves and what it keeps, by name; None for what was not asked for, or what another setting rules out."""
        names = "save_checkpoint_steps save_checkpoint_seconds keep_checkpoint_max keep_checkpoint_per_n_minutes".split()
        return {name: getattr(self, name) for name in names} | {"saved_network": self.saved_network}


def _append_info(given):
    """(which numbers of the run are saved, further entries)."""
    if given is None:
        return (), {}
    check_kind(given, isinstance(given, list) and given, "be a list", "append_info", "CheckpointConfig")
    names, entries = [], {}
    for item in given:
        if item in ("epoch_num", "step_num") if isinstance(item, str) else False:
            names.append(item)
        elif isinstance(item, dict):
            for name, value in item.items():
                if not isinstance(name, str) or not isinstance(value, (bool, int, float, str, Tensor)):
                    raise TypeError(f"For 'CheckpointConfig', 'append_info' can't hold {describe(name)}: {describe(value)}.")
            entries.update(item)
        else:
            raise TypeError(
                f"For 'CheckpointConfig', 'append_info' can hold 'epoch_num', 'step_num' and a dict, not {describe(item)}."
            )
    return tuple(names), entries


class ModelCheckpoint(Callback):
    """Saves the network while it is trained, as PREFIX-EPOCH_STEP.ckpt, or as NAME.ckpt where a function gives the name.

    Where files of a str are there already when it is first used, the prefix becomes PREFIX_1, PREFIX_2 and so on. Used for another run, it
    goes on with its files.

    Args:
        prefix (str or callable): the prefix, or a function of the run's parameters that gives the name of each file. Default: "CKP".
        directory (str or callable, optional): the folder, or a function that gives the one of each file; it is made if needed. By
            default the present one.
        config (CheckpointConfig, optional): when it saves, and what it keeps.
    """

    def __init__(
        self, prefix: str | Callable[..., Any] = "CKP", directory: str | Callable[..., Any] | None = None,
        config: CheckpointConfig | None = None,
    ):  # fmt: skip
        super().__init__()
        self._prefix = self._given_prefix = prefix if callable(prefix) else _check_prefix(prefix)
        fits = config is None or isinstance(config, CheckpointConfig)
        check_kind(config, fits, "be a CheckpointConfig", "config", "ModelCheckpoint")
        self._directory = directory if callable(directory) else os.path.abspath(directory or os.getcwd())
        self._config = config or CheckpointConfig()
        self._surplus: list[str] = []
        self._files = {}  # for each folder and prefix, the files that were saved there and are kept, and when
        self.latest_ckpt_file_name: str = ""

    def on_train_begin(self, run_context: RunContext) -> None:
        if not callable(self._directory):
            os.makedirs(self._directory, exist_ok=True)
            if not callable(self._given_prefix) and not self._files:
                self._prefix = self._free_prefix(self._directory, self._given_prefix)
        self._last_step, self._last_time = 0, time.time()

    def _free_prefix(self, directory, prefix):
        taken = re.compile(rf"{re.escape(prefix)}(?:_(\d+))?-\d+_\d+\.{self._config.format}")
        numbers = [int(found[1] or 0) for name in os.listdir(directory) if (found := taken.fullmatch(name))]
        return f"{prefix}_{max(numbers) + 1}" if numbers else prefix

    def on_train_step_end(self, run_context: RunContext) -> None:
        params, config = run_context.original_args(), self._config
        if config.save_checkpoint_steps:
            due = params.cur_step_num >= self._last_step + config.save_checkpoint_steps
        else:
            due = config.save_checkpoint_seconds and time.time() - self._last_time > config.save_checkpoint_seconds
        if due:
            self._save(params)

    def on_train_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        if params.cur_step_num > self._last_step:
            self._save(params)
        self._wait()

    def _wait(self):
        """Wait for the last file; files that it replaces go only when it is there."""
        wait_for_writers()
        for old in self._surplus:
            if os.path.exists(old):
                os.remove(old)
        self._surplus = []

    def __exit__(self, error: Any, *_: Any) -> None:
        if error is not None and self._config.exception_save and self._params is not None:
            self._save(self._params, suffix="_breakpoint")

    _params = None

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self._params = run_context.original_args()

    def _save(self, params, suffix=""):
        config = self._config
        self._wait()
        directory = os.path.abspath(self._directory(params)) if callable(self._directory) else self._directory
        if callable(self._prefix):
            prefix = name = _check_prefix(self._prefix(params))
        else:
            prefix, name = self._prefix, f"{self._prefix}-{params.cur_epoch_num}_{params.cur_step_in_epoch}"
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, f"{name}{suffix}.{config.format}")
        numbers = {"epoch_num": params.cur_epoch_num, "step_num": params.cur_step_num}
        append = {n: numbers[n] for n in config.append_info} | config.append_dict
        network = config.saved_network if config.saved_network is not None else params.train_network
        save_checkpoint(
            network,
            path,
            config.integrated_save,
            config.async_save,
            append or None,
            crc_check=config.crc_check,
            format=config.format,
        )
        self._last_step, self._last_time = params.cur_step_num, time.time()
        self.latest_ckpt_file_name = params.latest_ckpt_file = path
        params.last_save_ckpt_step = params.cur_step_num
        self._keep(self._files.setdefault((directory, prefix), {}), path)

    def _keep(self, files, path):
        most, minutes = self._config.keep_checkpoint_max, self._config.keep_checkpoint_per_n_minutes or 0
        files.pop(path, None)
        if most:
            surplus = list(files)[: max(0, len(files) + 1 - most)]
        else:
            surplus = [old for old, saved in files.items() if self._last_time - saved < minutes * 60][1:]
        files[path] = self._last_time
        for old in surplus:
            del files[old]
        self._surplus = surplus
        if not self._config.async_save:
            self._wait()


def _check_prefix(prefix):
    fits = isinstance(prefix, str) and prefix and "/" not in prefix
    return check_value(prefix, fits, "be a str without '/', or a function that gives one", "prefix", "ModelCheckpoint")
