"""Saves that fail, saves on other threads."""

import os
import time

import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor
from msjax.serialization import ckpt, save


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failed_save_leaves_the_old_file(error, tmp_path, monkeypatch):
    path = tmp_path / "w.ckpt"
    ms.save_checkpoint({"w": Tensor([1.0])}, str(path))
    before = path.read_bytes()

    def fails(file, entries, crc_check=False):
        file.write(b"half a file")
        raise error

    monkeypatch.setattr(ckpt, "write", fails)
    with pytest.raises(type(error)):
        ms.save_checkpoint({"w": Tensor([2.0])}, str(path))
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["w.ckpt"]


def test_what_a_format_cannot_hold_leaves_the_old_file(tmp_path):
    path = tmp_path / "w.safetensors"
    ms.save_checkpoint({"w": Tensor([1.0])}, str(path), format="safetensors")
    for append in ({"text": "abc"}, {"c": Tensor(np.ones(1, np.complex128))}):
        with pytest.raises(ValueError, match="can't hold"):
            ms.save_checkpoint({"w": Tensor([2.0])}, str(path), format="safetensors", append_dict=append)
    assert ms.load_checkpoint(str(path), format="safetensors")["w"].asnumpy().tolist() == [1.0]


def test_saving_and_loading_on_other_threads(tmp_path):
    w = Parameter(Tensor([1.0]), name="w")
    path = str(tmp_path / "w.ckpt")
    ms.save_checkpoint([w], path, async_save=True)
    w.set_data(Tensor([2.0]))
    while ms.async_ckpt_thread_status():
        pass
    assert ms.load_checkpoint_async(path).result()["w"].asnumpy().tolist() == [1.0]
    with pytest.raises(ValueError, match="no file"):
        ms.load_checkpoint_async(str(tmp_path / "none.ckpt")).result()


def test_of_two_files_of_one_name_the_later_one_stays(tmp_path, monkeypatch):
    path, waits = str(tmp_path / "w.ckpt"), [0.3, 0.0, 0.0]
    monkeypatch.setattr(save, "_write", lambda *args, write=save._write: (time.sleep(waits.pop(0)), write(*args)))
    for value, on_thread in ((1.0, True), (2.0, True), (3.0, False)):
        ms.save_checkpoint({"w": Tensor([value])}, path, async_save=on_thread)
    save.wait_for_writers()
    assert ms.load_checkpoint(path)["w"].asnumpy().tolist() == [3.0]
