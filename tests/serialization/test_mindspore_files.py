"""Checkpoints that MindSpore wrote."""

import json
from pathlib import Path

import numpy as np

import msjax as ms
from msjax import Parameter, Tensor
from tests.serialization.entries import DATA, DTYPES, content


def test_a_networks_file():
    parameters = ms.load_checkpoint(str(DATA / "net.ckpt"))
    shapes = {
        "fc.weight": (2, 3),
        "fc.bias": (2,),
        "bn.moving_mean": (2,),
        "bn.moving_variance": (2,),
        "bn.gamma": (2,),
        "bn.beta": (2,),
    }
    assert {k: parameters[k].shape for k in shapes} == shapes
    np.testing.assert_allclose(parameters["fc.bias"].asnumpy(), [-0.23104942, -0.01928617], rtol=1e-6)
    assert parameters["name"] == "abc" and parameters["epoch"].dtype == ms.int64 and bool(parameters["flag"])
    assert all(isinstance(p, Parameter) and p.name == k for k, p in parameters.items() if k != "name")


def test_all_types():
    parameters = ms.load_checkpoint(str(DATA / "dtypes.ckpt"))
    assert [p.dtype for p in parameters.values()] == [*DTYPES, ms.float32, ms.float32]
    for name, p in list(parameters.items())[: len(DTYPES)]:
        want = np.array([[0, 1, 2], [1, 0, 3]])
        want = want.astype(bool) if name == "bool" else want
        assert np.array_equal(p.asnumpy().astype(np.complex128), want.astype(np.complex128)), name
    assert parameters["scalar"].shape == () and float(parameters["scalar"].asnumpy()) == 1.5


def test_written_files_are_mindspores_byte_for_byte(tmp_path):
    appended = {"epoch": 3, "lr": 0.5, "name": "abc", "flag": True, "t": Tensor([1.0, 2.0])}
    net = {k: v for k, v in ms.load_checkpoint(str(DATA / "net.ckpt")).items() if k not in appended}
    path = str(tmp_path / "a.ckpt")
    for original, arguments in (("net.ckpt", {"append_dict": appended}), ("net_crc.ckpt", {"crc_check": True})):
        ms.save_checkpoint(net, path, **arguments)
        assert Path(path).read_bytes() == (DATA / original).read_bytes()
    ms.save_checkpoint(ms.load_checkpoint(str(DATA / "dtypes.ckpt")), path)
    assert Path(path).read_bytes() == (DATA / "dtypes.ckpt").read_bytes()


def test_mindspores_safetensors_and_checksum():
    parameters = ms.load_checkpoint(str(DATA / "crc.safetensors"), format="safetensors", crc_check=True)
    assert parameters["a"].asnumpy().tolist() == [1.0, 2.0] and parameters["b"].asnumpy().tolist() == [1, 2]
    assert parameters["e"].shape == (0, 3) and bool(parameters["c"])
    header = json.loads(content("safetensors", {"a": np.ones(2, np.float32), "n": np.asarray(3)})[8:].split(b"}}")[0] + b"}}")
    assert header["__metadata__"]["format"] == "ms" and "crc_num" in header["__metadata__"]
