"""Callbacks for training that is interrupted: BackupAndRestore goes on where it was, OnRequestExit ends it in order."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from typing import Any

from msjax.core.base.checks import check_value
from msjax.serialization import export, load_checkpoint, load_param_into_net, save_checkpoint
from msjax.train.callback.callback import Callback, RunContext


class BackupAndRestore(Callback):
    """Saves the network and its optimizer after epochs; a run that was interrupted goes on behind the last epoch that was saved.

    Args:
        backup_dir (str): the folder of the file ``backup.ckpt``; it is made if needed.
        save_freq (str or int): "epoch", or after how many epochs it saves. Default: "epoch".
        delete_checkpoint (bool): whether the file is deleted when training ends. Default: True.

    Raises:
        ValueError: an argument of a wrong type or value.
    """

    def __init__(self, backup_dir: str, save_freq: str | int = "epoch", delete_checkpoint: bool = True):
        super().__init__()
        who = type(self).__name__
        check_value(backup_dir, isinstance(backup_dir, str), "be a str", "backup_dir", who)
        whole = isinstance(save_freq, int) and not isinstance(save_freq, bool) and save_freq > 0
        check_value(save_freq, save_freq == "epoch" or whole, "be 'epoch' or a positive int", "save_freq", who)
        self._delete = check_value(delete_checkpoint, isinstance(delete_checkpoint, bool), "be a bool", "delete_checkpoint", who)
        self._every: int = 1 if isinstance(save_freq, str) else save_freq
        self._file = os.path.join(os.path.abspath(backup_dir), "backup.ckpt")

    def on_train_begin(self, run_context: RunContext) -> None:
        """Load what an earlier run has saved."""
        if os.path.exists(self._file):
            params = run_context.original_args()
            found = load_checkpoint(self._file)
            check_value(
                self._file,
                "epoch_num" in found,
                "have an 'epoch_num', as this callback writes it",
                "the file",
                "BackupAndRestore",
            )
            params.finished_epochs = int(found.pop("epoch_num"))
            load_param_into_net(params.train_network, found)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Save, if it is time to."""
        params = run_context.original_args()
        if params.cur_epoch_num % self._every == 0:
            os.makedirs(os.path.dirname(self._file), exist_ok=True)
            save_checkpoint(params.train_network, self._file, append_dict={"epoch_num": params.cur_epoch_num})

    def on_train_end(self, run_context: RunContext) -> None:
        """Delete the file."""
        if self._delete and os.path.exists(self._file):
            os.remove(self._file)


class OnRequestExit(Callback):
    """Ends training or evaluation after the current step, once a signal has come or a file asks for it, and saves the network.

    Args:
        save_ckpt (bool): whether the network that is trained is saved as ``FILE_train.ckpt``. Default: True.
        save_mindir (bool): whether its program is saved as ``FILE_train.mindir``, if the step's inputs are known. Default: True.
        file_name (str): the beginning of the files' names. Default: "Net".
        directory (str): the folder. Default: "./".
        config_file (str, optional): a JSON file; ``{"GracefulExit": 1}`` in it asks to end. Default: None.
        sig (int): the signal. Default: signal.SIGTERM.

    Raises:
        ValueError: an argument of a wrong type or value.
    """

    def __init__(
        self, save_ckpt: bool = True, save_mindir: bool = True, file_name: str = "Net", directory: str = "./",
        config_file: str | None = None, sig: int = signal.SIGTERM,
    ):  # fmt: skip
        super().__init__()
        who = type(self).__name__
        for name, flag in (("save_ckpt", save_ckpt), ("save_mindir", save_mindir)):
            check_value(flag, isinstance(flag, bool), "be a bool", name, who)
        for name, text in (("file_name", file_name), ("directory", directory)):
            check_value(text, isinstance(text, str) and text, "be a str", name, who)
        check_value(sig, isinstance(sig, int) and sig == signal.SIGTERM, "be signal.SIGTERM", "sig", who)
        check_value(config_file, config_file is None or isinstance(config_file, str), "be a str", "config_file", who)
        self._saves, self._exports, self._signal, self._config_file = save_ckpt, save_mindir, signal.Signals(sig), config_file
        self._path = os.path.join(os.path.abspath(directory), file_name)
        self._asked, self._before = False, None

    def _begin(self, _run_context):
        self._asked = False
        if threading.current_thread() is threading.main_thread():  # Python allows no other one to
            self._before = signal.signal(self._signal, self._ask)

    def _ask(self, *_):
        self._asked = True

    def _step_end(self, run_context):
        if self._config_file is not None and os.path.exists(self._config_file):
            with open(self._config_file, encoding="utf-8") as file, contextlib.suppress(json.JSONDecodeError):  # written now
                self._asked = self._asked or json.load(file).get("GracefulExit") == 1
        if self._asked:
            run_context.request_stop()

    def on_train_end(self, run_context: RunContext) -> None:
        """Save, if it was asked to end."""
        params = run_context.original_args()
        if self._asked:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            if self._saves:
                save_checkpoint(params.train_network, f"{self._path}_train.ckpt")
            if self._exports and params.train_dataset_element is not None:
                export(params.network, *params.train_dataset_element[:1], file_name=f"{self._path}_train", file_format="MINDIR")

    def __exit__(self, *error: Any) -> None:
        if self._before is not None:
            signal.signal(self._signal, self._before)
            self._before = None

    on_train_begin = on_eval_begin = _begin
    on_train_step_end = on_eval_step_end = _step_end


class CheckpointManager:
    """The checkpoint files of one prefix in a folder, the oldest first."""

    def __init__(self):
        self.ckpoint_filelist: list[str] = []

    @property
    def ckpoint_num(self) -> int:
        """How many there are."""
        return len(self.ckpoint_filelist)

    def update_ckpoint_filelist(self, directory: str, ckpt_prefix: str, ckpt_format: str = "ckpt") -> None:
        """Look at the folder: PREFIX.ckpt, and PREFIX-EPOCH_STEP.ckpt."""
        names = [name for name in os.listdir(directory) if os.path.splitext(name)[1] == f".{ckpt_format}"]
        fitting = [name for name in names if name == f"{ckpt_prefix}.{ckpt_format}" or name.startswith(f"{ckpt_prefix}-")]
        paths = [os.path.join(os.path.realpath(directory), name) for name in fitting]
        self.ckpoint_filelist = sorted(paths, key=lambda path: (os.path.getmtime(path), path))

    def remove_ckpoint_file(self, file_name: str) -> None:
        """Delete one."""
        os.remove(file_name)
        self.ckpoint_filelist = [path for path in self.ckpoint_filelist if path != os.path.realpath(file_name)]

    def remove_oldest_ckpoint_file(self) -> None:
        """Delete the oldest one."""
        self.remove_ckpoint_file(self.ckpoint_filelist[0])

    def keep_one_ckpoint_per_minutes(self, minutes: int, cur_time: float) -> None:
        """Delete those of the last so many minutes, but for the first of them."""
        check_value(minutes, minutes > 0, "be positive", "minutes", "keep_one_ckpoint_per_minutes")
        recent = [path for path in self.ckpoint_filelist if cur_time - os.path.getmtime(path) <= minutes * 60]
        for path in recent[1:]:
            self.remove_ckpoint_file(path)
