"""Damaged and forged checkpoints."""

import json
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

import msjax as ms
from msjax import Tensor
from msjax.serialization import wire
from msjax.serialization.files import CorruptCheckpoint
from msjax.serialization.formats import FORMATS
from tests.serialization.entries import content, same, some_entries


def mutated(data, rng):
    """A copy with a few bytes changed, taken out, put in, doubled, or the end cut off."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at, length = int(rng.integers(0, len(data) + 1)), int(rng.integers(1, 9))
        match rng.integers(0, 6):
            case 0 if at < len(data):
                data[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = rng.bytes(length)
            case 3:
                data[at:at] = data[at : at + length]
            case 4 if at:
                del data[at:]
            case _:
                data[at : at + length] = rng.bytes(len(data[at : at + length]))
        if not data:
            break
    return bytes(data)


@pytest.mark.parametrize("format, number", [("ckpt", 1000), ("safetensors", 600)])
def test_mutated_files_give_a_clear_error_or_the_same(format, number, tmp_path):
    entries = some_entries()
    data = content(format, entries)
    path = tmp_path / f"mutated.{format}"
    rng = np.random.default_rng(20)
    refused = 0
    for _ in range(number):
        path.write_bytes(mutated(data, rng))
        try:
            found = ms.load_checkpoint(str(path), format=format, crc_check=True)
        except ValueError as error:
            assert str(path) in str(error)
            refused += 1
        else:
            assert same(found, entries)
    assert refused > 0.9 * number


@pytest.mark.parametrize("format", FORMATS)
def test_mutated_files_without_a_checksum_give_tensors_or_a_clear_error(format):
    data = content(format, some_entries(), crc_check=False)
    rng = np.random.default_rng(21)
    for _ in range(300):
        try:
            found = FORMATS[format].read(memoryview(mutated(data, rng)))
        except CorruptCheckpoint:
            continue
        assert all(isinstance(v, (str, np.ndarray)) for v in found.values())


@given(st.binary(max_size=80))
def test_any_bytes_give_tensors_or_a_clear_error(data):
    for codec in FORMATS.values():
        try:
            codec.read(memoryview(data), True)
        except CorruptCheckpoint as error:
            assert str(error)


def field(number, value):
    if isinstance(value, int):
        return wire.key(number, wire.VARINT) + wire.varint(value)
    return wire.header(number, len(value)) + value


def entry(tag=b"w", dims=(2,), kind=b"Float32", data=b"\0" * 8, more=b""):
    tensor = b"".join(field(1, d) for d in dims) + field(2, kind) + field(3, data)
    return field(1, field(1, tag) + field(2, tensor) + more)


def safetensors(header, data=b"\0" * 8):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def described(**changes):
    return {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("/tmp/msjax_pickle_was_run",)


FORGED = [
    ("ckpt", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "bytes has only"),
    ("ckpt", b"\x0a" + b"\xff" * 11, "ten bytes"),
    ("ckpt", entry(dims=(2**62,)), "impossible shape"),
    ("ckpt", entry(dims=(-2,)), "impossible shape"),
    ("ckpt", entry(dims=(2**40, 2**40)), "has 8 bytes"),
    ("ckpt", entry(dims=(0, 2**40), data=b""), "impossible shape"),
    ("ckpt", entry(dims=(1,) * 40, data=b"\0" * 4), "impossible shape"),
    ("ckpt", entry(dims=(3,)), "has 8 bytes"),
    ("ckpt", entry(kind=b"Float128"), "which there is not"),
    ("ckpt", entry(tag=b"\xff"), "UTF-8"),
    ("ckpt", entry(kind=b"Bool", data=b"\x02\x01"), "other than 0 and 1"),
    ("ckpt", entry(kind=b"str", data=b"abc"), "can't be read"),
    ("ckpt", entry() + entry(tag=b"v") + entry(), "two entries 'w'"),
    ("ckpt", entry(more=field(3, b"x")), "MapParameter"),
    ("ckpt", field(1, field(1, b"w")), "no name or no tensor"),
    ("ckpt", field(2, b"w"), "field 2"),
    ("ckpt", pickle.dumps(Bomb()), "checkpoint"),
    ("safetensors", b"1234", "too short"),
    ("safetensors", (2**63).to_bytes(8, "little") + b"{}", "header is said to have"),
    ("safetensors", safetensors(b"[" * 100_000), "JSON"),
    ("safetensors", safetensors([1]), "no JSON object"),
    ("safetensors", safetensors(described(data_offsets=[0, 2**62])), "beyond the data"),
    ("safetensors", safetensors(described(data_offsets=[8, 0])), "beyond the data"),
    ("safetensors", safetensors(described(shape=[2**62])), "impossible shape"),
    ("safetensors", safetensors(described(shape=[True, 2])), "wrongly"),
    ("safetensors", safetensors(described(dtype="F99")), "which there is not"),
    ("safetensors", safetensors(described(dtype=["F32"])), "which there is not"),
    ("safetensors", safetensors({"w": 1}), "wrongly"),
    ("safetensors", safetensors({**described(), "v": described()["w"]}), "overlap"),
    ("safetensors", safetensors(described(), b"\0" * 9), "gaps"),
    ("safetensors", safetensors(json.dumps(described())[:-1].encode() + b"," + json.dumps(described())[1:].encode()), "twice"),
]  # fmt: skip


@pytest.mark.parametrize("format, data, words", FORGED, ids=range(len(FORGED)))
def test_forged_files(format, data, words, tmp_path):
    path = tmp_path / f"forged.{format}"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=words) as caught:
        ms.load_checkpoint(str(path), format=format)
    assert str(path) in str(caught.value)
    assert not os.path.exists("/tmp/msjax_pickle_was_run")


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_checksum_that_is_missing(format, tmp_path):
    path = str(tmp_path / f"w.{format}")
    ms.save_checkpoint({"w": Tensor([1.0])}, path, format=format)
    with pytest.raises(ValueError, match="no checksum"):
        ms.load_checkpoint(path, format=format, crc_check=True)


def test_a_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "net.ckpt", tmp_path / "link.ckpt"
    target.write_bytes(b"old")
    link.symlink_to(target)
    ms.save_checkpoint({"w": ms.Tensor(3.0)}, str(link))
    assert link.is_symlink() and float(ms.load_checkpoint(str(target))["w"]) == 3.0
    assert [entry.name for entry in (tmp_path / "real").iterdir()] == ["net.ckpt"]


def test_permissions_follow_the_umask_without_changing_it(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask belongs to the whole process"))
        ms.save_checkpoint({"w": ms.Tensor(3.0)}, str(tmp_path / "net.ckpt"))
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert (tmp_path / "net.ckpt").stat().st_mode & 0o777 == 0o640
