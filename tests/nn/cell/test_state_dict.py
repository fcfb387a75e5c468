"""State dicts of cells, and the hooks on them."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor
from tests.nn.cell.trees import Leaf, Root, paths


def test_state_dict():
    root = Root()
    state = root.state_dict()
    assert list(state) == paths(root)
    assert state["head.w"] is root.head.w
    assert list(state._metadata) == ["", "branch", "branch.left", "branch.right", "head"]
    assert next(iter(root.state_dict(prefix="net."))) == "net.branch.scale"
    mine = {"before": 1}
    assert root.state_dict(destination=mine) is mine and list(mine)[:2] == ["before", "branch.scale"]


def test_load_state_dict():
    root, other = Root(), Root()
    own = root.head.w
    other.head.w.set_data(Tensor([8.0, 9.0]))
    keys = root.load_state_dict(other.state_dict())
    assert str(keys) == repr(keys) == "<All keys matched successfully>" and keys == ([], [])
    assert root.head.w is own and own.tolist() == [8.0, 9.0] and own.name == "head.w"
    other.head.w[0] = 1.0
    assert own.tolist() == [8.0, 9.0]


def test_load_casts_and_takes_arrays():
    leaf = Leaf()
    leaf.load_state_dict({"w": Tensor([3, 4])})
    assert leaf.w.dtype is ms.float32 and leaf.w.tolist() == [3.0, 4.0]
    leaf.load_state_dict({"w": np.array([5.0, 6.0])})
    assert leaf.w.dtype is ms.float32 and leaf.w.tolist() == [5.0, 6.0]


LOADS = [
    ({}, r"missing key\(s\): 'w'"),
    ({"w": Tensor([1.0, 1.0]), "x.y": Tensor(1.0)}, r"unexpected key\(s\): 'x.y'"),
    ({"w": Tensor([1.0])}, r"'w' has shape \(1,\), but expected is \(2,\)"),
    ({"w": 3.0}, "'w' should be a Tensor"),
]


@pytest.mark.parametrize("state, words", LOADS, ids=range(len(LOADS)))
def test_load_errors_leave_everything_as_it_was(state, words):
    leaf = Leaf()
    with pytest.raises(RuntimeError, match=words):
        leaf.load_state_dict(state)
    assert leaf.w.tolist() == [1.0, 2.0]


def test_load_not_strict():
    leaf = Leaf()
    keys = leaf.load_state_dict({"x": Tensor(1.0)}, strict=False)
    assert keys.missing_keys == ["w"] and keys.unexpected_keys == ["x"]
    assert str(keys) == "_IncompatibleKeys(missing_keys=['w'], unexpected_keys=['x'])"
    with pytest.raises(RuntimeError, match="shape"):
        leaf.load_state_dict({"w": Tensor(1.0)}, strict=False)
    with pytest.raises(TypeError, match="dict"):
        leaf.load_state_dict(3)


def test_state_dict_hooks():
    seen = []
    root = Root()
    root.head.register_state_dict_pre_hook(lambda cell, prefix, keep_vars: seen.append(("pre", prefix, keep_vars)))
    handle = root.register_state_dict_post_hook(lambda cell, state, prefix, meta: state.__delitem__("head.w"))
    state = root.state_dict(keep_vars=True)
    assert seen == [("pre", "head.", True)] and "head.w" not in state
    handle.remove()
    assert "head.w" in root.state_dict()
    root.register_state_dict_post_hook(lambda *args: 1)
    with pytest.raises(RuntimeError, match="post hook"):
        root.state_dict()


def test_load_state_dict_hooks():
    leaf = Leaf()

    def rename(cell, state, prefix, meta, strict, missing, unexpected, errors):
        assert (cell, prefix, strict) == (leaf, "", True)
        state["w"] = state.pop("old")

    leaf.register_load_state_dict_pre_hook(rename)
    given = {"old": Tensor([3.0, 4.0])}
    leaf.load_state_dict(given)
    assert leaf.w.tolist() == [3.0, 4.0] and list(given) == ["old"]

    net = Leaf()
    handle = net.register_load_state_dict_post_hook(lambda cell, keys: keys.missing_keys.clear())
    assert net.load_state_dict({}) == ([], [])
    handle.remove()
    with pytest.raises(RuntimeError, match="missing"):
        net.load_state_dict({})


def test_load_post_hook_must_return_none():
    leaf = Leaf()
    leaf.register_load_state_dict_post_hook(lambda cell, keys: 1)
    with pytest.raises(RuntimeError, match="should return None"):
        leaf.load_state_dict(leaf.state_dict())
