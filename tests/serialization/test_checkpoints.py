"""Checkpoints: MindSpore's own files, round trips, damaged and forged files, saves that fail."""

import copy
import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import msjax as ms
from msjax import Parameter, Tensor, nn
from msjax.serialization import ckpt, load_sharded, save_sharded, wire
from msjax.serialization.files import CorruptCheckpoint
from msjax.serialization.formats import FORMATS

DATA = Path(__file__).parent.parent / "data"
DTYPES = [ms.bool_, ms.int8, ms.int16, ms.int32, ms.int64, ms.uint8, ms.uint16, ms.uint32, ms.uint64, ms.float16, ms.float32]
DTYPES += [ms.float64, ms.bfloat16, ms.complex64, ms.complex128]


def same(a, b):
    """The same names, types, shapes and bits."""
    if list(a) != list(b):
        return sorted(a) == sorted(b) and same({k: a[k] for k in sorted(a)}, {k: b[k] for k in sorted(b)})
    return all(_same(a[k], b[k]) for k in a)


def _same(x, y):
    if isinstance(x, str) or isinstance(y, str):
        return x == y
    x, y = (np.asarray(v._value) if isinstance(v, Tensor) else v for v in (x, y))
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def some_entries():
    rng = np.random.default_rng(0)
    return {
        "fc.weight": rng.normal(size=(3, 4)).astype(np.float32),
        "fc.bias": rng.normal(size=3).astype(ml_dtypes.bfloat16),
        "count": np.asarray(7, np.int64),
        "empty": np.zeros((0, 3), np.float16),
        "flags": np.array([True, False, True]),
    }


def content(codec, entries, crc_check=True):
    file = io.BytesIO()
    FORMATS[codec].write(file, entries, crc_check)
    return file.getvalue()


# ---- files of the real MindSpore


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
        assert np.array_equal(np.asarray(p._value).astype(np.complex128), want.astype(np.complex128)), name
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


# ---- round trips

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
    for codec in ("ckpt", "npz"):
        assert same(FORMATS[codec].read(memoryview(content(codec, entries, crc_check)), crc_check), entries)


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


# ---- damaged and forged files


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


@pytest.mark.parametrize("format, number", [("ckpt", 1000), ("safetensors", 600), ("npz", 400)])
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


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def npy(array, **arguments):
    file = io.BytesIO()
    np.save(file, array, **arguments)
    return file.getvalue()


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
    ("npz", b"PK\x03\x04", "zip"),
    ("npz", zipped({"w.npy": npy(np.array([Bomb()], object), allow_pickle=True)}), "which there is not"),
    ("npz", zipped({"w.npy": npy(np.ones(2))[:-4]}), "has 12 bytes"),
    ("npz", zipped({"w.npy": npy(np.ones(2)).replace(b"(2,)", b"(9,)")}), "has 16 bytes"),
    ("npz", zipped({"w.npy": b"abc"}), "header"),
    ("npz", zipped({"w.npy": npy(np.array(["a"]))}), "which there is not"),
    ("npz", zipped({"__msjax__.npy": npy(np.frombuffer(b'{"w": "str"}', np.uint8))}), "special"),
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


def test_overlapping_entries(tmp_path):
    """Two entries of the directory that share one compressed body."""
    path = tmp_path / "overlap.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        buffer = io.BytesIO()
        np.save(buffer, np.zeros(1000, "float32"))
        archive.writestr("a.npy", buffer.getvalue())
        twin = copy.copy(archive.getinfo("a.npy"))
        twin.filename = "b.npy"
        archive.filelist.append(twin)
        archive.NameToInfo["b.npy"] = twin
    with pytest.raises(ValueError, match=r"'a\.npy' and 'b\.npy' overlap"):
        ms.load_checkpoint(str(path), format="npz")


def test_names_with_nul(tmp_path):
    with pytest.raises(ValueError, match=r"NUL"):
        ms.save_checkpoint({"a\0b": ms.Tensor(1.0)}, str(tmp_path / "nul.npz"), format="npz")


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


def test_a_zip_directory_that_lies(tmp_path):
    data = bytearray(zipped({"w.npy": npy(np.ones(2, np.float32))}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = (2**31).to_bytes(4, "little")
    path = tmp_path / "lie.npz"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="impossible"):
        ms.load_checkpoint(str(path), format="npz")


# ---- saves that fail, saves on other threads


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


# ---- arguments


@pytest.fixture
def saved(tmp_path):
    path = str(tmp_path / "net.ckpt")
    ms.save_checkpoint({"fc.weight": Tensor([[1.0]]), "fc.bias": Tensor([2.0]), "bn.gamma": Tensor([3.0])}, path)
    return path


def test_what_is_loaded_can_be_chosen(saved, tmp_path):
    load = ms.load_checkpoint
    assert list(load(saved, filter_prefix="bn")) == ["fc.weight", "fc.bias"]
    assert list(load(saved, filter_prefix=("bn", "fc.w"))) == ["fc.bias"]
    assert list(load(saved, specify_prefix="bn")) == ["bn.gamma"]
    assert list(load(saved, choice_func=lambda name: name.endswith("bias"))) == ["fc.bias"]
    with pytest.raises(ValueError, match="left to load"):
        load(saved, filter_prefix=["bn", "fc"])
    other = str(tmp_path / "other.ckpt")
    ms.save_checkpoint(load(saved), other, choice_func=lambda name: "fc" in name)
    assert list(load(other)) == ["fc.weight", "fc.bias"]


def test_wrong_arguments(saved, tmp_path):
    net, path = nn.Dense(1, 1), str(tmp_path / "a.ckpt")
    for call, kind, words in [
        (lambda: ms.save_checkpoint(1, path), TypeError, "save_obj"),
        (lambda: ms.save_checkpoint(net, 1), TypeError, "ckpt_file_name"),
        (lambda: ms.save_checkpoint([{"name": "a"}], path), TypeError, "'name' and 'data'"),
        (lambda: ms.save_checkpoint({"a": 1}, path), TypeError, "Parameters or Tensors"),
        (lambda: ms.save_checkpoint(net, path, append_dict={"x": [1]}), TypeError, "append_dict"),
        (lambda: ms.save_checkpoint(net, path, append_dict=[1]), TypeError, "append_dict"),
        (lambda: ms.save_checkpoint(net, path, format="x"), ValueError, "format"),
        (lambda: ms.save_checkpoint(net, path, crc_check=1), TypeError, "crc_check"),
        (lambda: ms.save_checkpoint(net, path, async_save="x"), ValueError, "async_save"),
        (lambda: ms.save_checkpoint(net, path, foo=1), TypeError, "foo"),
        (lambda: ms.save_checkpoint(net, path, enc_key=b"0" * 16), NotImplementedError, "encrypted"),
        (lambda: ms.save_checkpoint(net, str(tmp_path / "no" / "a.ckpt")), FileNotFoundError, "no"),
        (lambda: ms.load_checkpoint(1), TypeError, "ckpt_file_name"),
        (lambda: ms.load_checkpoint(saved[:-5]), ValueError, "suffix"),
        (lambda: ms.load_checkpoint(saved, format="npz"), ValueError, "suffix"),
        (lambda: ms.load_checkpoint(path), ValueError, "no file"),
        (lambda: ms.load_checkpoint(saved, net=1), TypeError, "'net'"),
        (lambda: ms.load_checkpoint(saved, filter_prefix=1), TypeError, "filter_prefix"),
        (lambda: ms.load_checkpoint(saved, specify_prefix=""), ValueError, "specify_prefix"),
        (lambda: ms.load_checkpoint(saved, dec_key=b"0" * 16), NotImplementedError, "encrypted"),
        (lambda: ms.load_param_into_net(1, {}), TypeError, "'net'"),
        (lambda: ms.load_param_into_net(net, [1]), TypeError, "parameter_dict"),
        (lambda: ms.load_param_into_net(net, {"weight": np.ones((1, 1))}), TypeError, "parameter_dict"),
    ]:
        with pytest.raises(kind, match=words):
            call()


def test_parameters_are_put_into_networks():
    net = nn.SequentialCell(nn.Dense(1, 1))
    put = ms.load_param_into_net

    def p(value, dtype=ms.float32):
        return Parameter(Tensor(np.array(value), dtype), name="p")

    assert put(net, {"0.weight": p([[5.0]]), "x": p(1.0)}) == (["0.bias"], ["x"])
    assert net[0].weight.asnumpy().tolist() == [[5.0]]
    assert put(net, {"backbone.0.weight": p([[6.0]])}) == (["0.bias"], ["backbone.0.weight"])
    assert net[0].weight.asnumpy().tolist() == [[6.0]]
    assert put(net, {"backbone.0.weight": p([[7.0]])}, strict_load=True)[0] == ["0.weight", "0.bias"]
    assert put(net, {"0.weight": p([[7.0]], ms.bfloat16)})[0] == ["0.bias"] and net[0].weight.dtype == ms.float32
    for bad, strict, words in (
        (p([[1.0, 2.0]]), False, "shape"),
        (p([[1]], ms.int32), False, "type"),
        (p([[1.0]], ms.float16), True, "type"),
    ):
        with pytest.raises(RuntimeError, match=words):
            put(net, {"0.bias": p([9.0]), "0.weight": bad}, strict_load=strict)
        assert net[0].bias.asnumpy().tolist() != [9.0]


def test_formats_are_converted(saved, tmp_path):
    ms.ckpt_to_safetensors(saved, name_map={"fc.bias": "fc.b"})
    new = str(tmp_path / "net.safetensors")
    assert sorted(ms.load_checkpoint(new, format="safetensors")) == ["bn.gamma", "fc.b", "fc.weight"]
    ms.safetensors_to_ckpt(str(tmp_path), str(tmp_path / "back"))
    assert sorted(ms.load_checkpoint(str(tmp_path / "back" / "net.ckpt"))) == ["bn.gamma", "fc.b", "fc.weight"]
    for wrong, kind in ((1, TypeError), (new, ValueError)):
        with pytest.raises(kind, match="file_path"):
            ms.ckpt_to_safetensors(wrong)


@pytest.mark.filterwarnings("ignore")
def test_sharded_checkpoints(tmp_path):
    pytest.importorskip("orbax.checkpoint")
    mesh = jax.make_mesh((2,), ("x",), devices=jax.devices()[:2])
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    tree = {"w": jax.device_put(jnp.arange(8.0), sharding), "b": Tensor([1.0, 2.0])}
    save_sharded(tmp_path / "c", tree)
    found = load_sharded(tmp_path / "c", like=tree)
    assert found["w"].sharding == sharding and found["w"].tolist() == list(range(8)) and found["b"].tolist() == [1.0, 2.0]
    assert load_sharded(tmp_path / "c")["w"].tolist() == list(range(8))
    with pytest.raises(ValueError):
        save_sharded(tmp_path / "c", tree)
    save_sharded(tmp_path / "c", {"w": jnp.zeros(2)}, overwrite=True)
    assert load_sharded(tmp_path / "c")["w"].tolist() == [0.0, 0.0]
