"""Checkpoints that are written and read again."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import msjax as ms
from msjax import Tensor, nn
from msjax.serialization import ckpt, wire
from msjax.serialization.formats import FORMATS
from tests.serialization.entries import DTYPES, content, same

names = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="/\\\0"), min_size=1, max_size=12).filter(
    lambda name: name not in ("__metadata__", "__msjax__") and not name.endswith(".npy")
)
shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@st.composite
def tensors(draw, dtypes=tuple(DTYPES)):
    dtype, shape = draw(st.sampled_from(dtypes)), draw(shapes)
    bits = draw(st.binary(min_size=0, max_size=16))
    raw = np.resize(np.frombuffer(bits or b"\0", np.uint8), int(np.prod(shape)) * dtype.np.itemsize)
    return (raw & 1 if dtype is ms.bool_ else raw).view(dtype.np).reshape(shape)


@given(
    st.dictionaries(
        names,
        st.one_of(tensors(), st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_round_trips(entries, crc_check):
    assert same(ckpt.read(memoryview(content("ckpt", entries, crc_check)), crc_check), entries)


@given(st.dictionaries(names, tensors([d for d in DTYPES if d is not ms.complex128]), min_size=1, max_size=4), st.booleans())
def test_round_trips_of_safetensors(entries, crc_check):
    assert same(FORMATS["safetensors"].read(memoryview(content("safetensors", entries, crc_check)), crc_check), entries)


@pytest.mark.parametrize("format", FORMATS)
def test_networks_go_to_files_and_back(format, tmp_path):
    net, other = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4)), nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4))
    path = str(tmp_path / "net")
    ms.save_checkpoint(net, path, format=format, append_dict={"step": 5})
    parameters = ms.load_checkpoint(f"{path}.{format}", net=other, format=format)
    assert same(net.parameters_dict(), other.parameters_dict()) and int(parameters["step"].asnumpy()) == 5


def test_big_tensors_stand_in_slices(monkeypatch):
    monkeypatch.setattr(ckpt, "SLICE_BYTES", 16)
    entries = {"a": np.arange(10, dtype=np.float32), "b": np.ones(2, np.float32)}
    data = content("ckpt", entries, False)
    # The slices stand in the file only; what reads it puts them together.
    values = [ckpt._read_value(value) for _, _, value in wire.fields(memoryview(data))]
    assert [(name, dims, len(part)) for name, dims, _, part in values] == [
        ("a", (10,), 16), ("a", (10,), 16), ("a", (10,), 8), ("b", (2,), 8),
    ]  # fmt: skip
    assert same(ckpt.read(memoryview(data)), entries)


def test_optimizers_state_is_saved(tmp_path):
    net = nn.Dense(2, 1)
    optimizer = nn.Adam(net.trainable_params(), 0.1)
    optimizer((Tensor([[1.0, 2.0]]), Tensor([1.0])))
    ms.save_checkpoint(optimizer, str(tmp_path / "o.ckpt"))
    again = nn.Adam(nn.Dense(2, 1).trainable_params(), 0.1)
    assert ms.load_param_into_net(again, ms.load_checkpoint(str(tmp_path / "o.ckpt"))) == ([], [])
    assert same(again.parameters_dict(), optimizer.parameters_dict())
