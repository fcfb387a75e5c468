"""What is loaded, into what, and arguments that are refused."""

import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, nn


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
        (lambda: ms.save_checkpoint(net, path, append_dict={"x": 2**63}), TypeError, "append_dict"),
        (lambda: ms.save_checkpoint(net, path, append_dict={"x": iter(())}), TypeError, "append_dict"),
        (lambda: ms.save_checkpoint(net, path, format="x"), ValueError, "format"),
        (lambda: ms.save_checkpoint(net, path, crc_check=1), TypeError, "crc_check"),
        (lambda: ms.save_checkpoint(net, path, async_save="x"), ValueError, "async_save"),
        (lambda: ms.save_checkpoint(net, path, foo=1), TypeError, "foo"),
        (lambda: ms.save_checkpoint(net, path, enc_key=b"0" * 16), NotImplementedError, "encrypted"),
        (lambda: ms.save_checkpoint(net, str(tmp_path / "no" / "a.ckpt")), FileNotFoundError, "no"),
        (lambda: ms.load_checkpoint(1), TypeError, "ckpt_file_name"),
        (lambda: ms.load_checkpoint(saved[:-5]), ValueError, "suffix"),
        (lambda: ms.load_checkpoint(saved, format="safetensors"), ValueError, "suffix"),
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


def test_several_prefixes_are_left_out_and_what_is_missing_is_told(caplog):
    net = nn.SequentialCell(nn.Dense(1, 1), nn.Dense(1, 1))
    given = {"a.0.weight": Parameter(Tensor([[7.0]])), "b.1.weight": Parameter(Tensor([[8.0]])), "c.0.bias": "a text"}
    assert ms.load_param_into_net(net, given) == (["0.bias", "1.bias"], [*given])
    assert [net[i].weight.asnumpy().item() for i in (0, 1)] == [7.0, 8.0]
    assert "2 Parameters of the network are not loaded: ['0.bias', '1.bias']" in caplog.text


def test_files_and_names_that_become_one_are_refused(saved, tmp_path):
    with pytest.raises(ValueError, match=r"'name_map' should give each of .* a name of its own"):
        ms.ckpt_to_safetensors(saved, name_map={"fc.bias": "fc.weight"})
    (tmp_path / "again").mkdir()
    ms.save_checkpoint({"w": Tensor([1.0])}, str(tmp_path / "again" / "net.ckpt"))
    with pytest.raises(ValueError, match="'file_path' should hold each name of a file once"):
        ms.ckpt_to_safetensors(str(tmp_path), str(tmp_path / "new"))
    assert not list(tmp_path.rglob("*.safetensors"))


def test_formats_are_converted(saved, tmp_path):
    ms.ckpt_to_safetensors(saved, name_map={"fc.bias": "fc.b"})
    new = str(tmp_path / "net.safetensors")
    assert sorted(ms.load_checkpoint(new, format="safetensors")) == ["bn.gamma", "fc.b", "fc.weight"]
    ms.safetensors_to_ckpt(str(tmp_path), str(tmp_path / "back"))
    assert sorted(ms.load_checkpoint(str(tmp_path / "back" / "net.ckpt"))) == ["bn.gamma", "fc.b", "fc.weight"]
    for wrong, kind in ((1, TypeError), (new, ValueError)):
        with pytest.raises(kind, match="file_path"):
            ms.ckpt_to_safetensors(wrong)
