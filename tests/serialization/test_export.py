"""Exported networks are loaded and run."""

import sys

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn


def test_export(tmp_path, monkeypatch):
    net, x = nn.Dense(2, 3), Tensor(np.ones((4, 2), np.float32))
    with pytest.raises(ValueError, match="MINDIR, STABLEHLO, but got 'ONNX'"):
        ms.export(net, x, file_name=str(tmp_path / "net"), file_format="ONNX")
    ms.export(net, x, file_name=str(tmp_path / "net"))
    read = ms.load(str(tmp_path / "net.mindir"))
    np.testing.assert_allclose(nn.GraphCell(read)(x).asnumpy(), net(x).asnumpy(), rtol=1e-6)
    assert read.exported.platforms == ("cpu", "cuda", "tpu")
    (tmp_path / "other.mindir").write_bytes(b"\x08\x01")
    with pytest.raises(ValueError, match="MindSpore's own MindIR files can't be read"):
        ms.load(str(tmp_path / "other.mindir"))
    monkeypatch.setitem(sys.modules, "flatbuffers", None)
    with pytest.raises(ImportError, match=r"For 'export', jax needs the package flatbuffers .*: pip install 'msjax\[export\]'"):
        ms.export(net, x, file_name=str(tmp_path / "net"))


class Eigenvalues(nn.Cell):
    def construct(self, x):
        return ms.ops.eigvals(x)


def test_what_has_no_program_for_a_platform_is_exported_for_the_others(tmp_path):
    x = Tensor(np.diag([1.0, 2.0]).astype(np.float32))
    ms.export(Eigenvalues(), x, file_name=str(tmp_path / "net"))
    read = ms.load(str(tmp_path / "net.mindir"))
    assert read.exported.platforms == ("cpu",)
    np.testing.assert_allclose(nn.GraphCell(read)(x).asnumpy(), [1, 2], rtol=1e-6)


def test_functions_and_sparse_results(tmp_path):
    x = Tensor([[0.0, 5.0], [7.0, 0.0]])
    ms.export(ms.jit(lambda x: x * 2), x, file_name=str(tmp_path / "double"))
    assert nn.GraphCell(ms.load(str(tmp_path / "double.mindir")))(x).asnumpy().tolist() == [[0, 10], [14, 0]]
    csr = x.to_csr()
    ms.export(lambda v: ms.CSRTensor(csr.indptr, csr.indices, v, (2, 2)), csr.values, file_name=str(tmp_path / "sparse"))
    read = nn.GraphCell(ms.load(str(tmp_path / "sparse.mindir")))(csr.values)
    assert type(read) is ms.CSRTensor and read.to_dense().asnumpy().tolist() == x.asnumpy().tolist()


def test_a_damaged_program_is_refused(tmp_path):
    path = tmp_path / "relu.mindir"
    ms.export(nn.ReLU(), ms.Tensor([1.0]), file_name=str(path))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"relu.mindir' is damaged: its checksum"):
        ms.load(str(path))
