"""Members of cells: names, walking, attributes, insertion."""

import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, nn
from tests.nn.cell.trees import BRANCH, Branch, Leaf, Root, names, paths

# ---- names and walking


def test_own_parameters_come_before_those_of_children():
    assert paths(Branch()) == BRANCH
    assert paths(Root()) == [f"branch.{p}" for p in BRANCH] + ["head.w"]


def test_parameters_get_the_path_of_every_enclosing_cell():
    assert names(Branch()) == ["s", "pa", "pb", "left.w", "left.fixed", "right.w"]
    assert names(Root()) == [f"branch.{p}" for p in BRANCH] + ["head.w"]


def test_parameter_without_a_name_takes_its_attribute():
    leaf = Leaf()
    assert leaf.w.name == "w" and leaf.w.is_named


def test_auto_prefix_off_leaves_names_alone():
    class Plain(nn.Cell):
        def __init__(self):
            super().__init__(auto_prefix=False)
            self.leaf = Leaf()

    assert names(Plain()) == ["w"] and paths(Plain()) == ["leaf.w"]


def test_late_members_are_named_by_the_cell_they_join():
    root = Root()
    root.branch.left.extra = Parameter(Tensor([1.0]), name="e")
    root.late = Leaf()
    assert "branch.left.extra" in paths(root) and root.branch.left.extra.name == "e"
    assert root.late.w.name == "late.w"


def test_one_cell_under_two_names():
    class Twice(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a = Leaf()
            self.b = self.a

    net = Twice()
    assert list(net.name_cells()) == ["a"] and [n for n, _ in net.cells_and_names()] == ["", "a"]
    assert paths(net) == ["a.w"] and names(net) == ["b.w"]
    assert list(net.state_dict()) == ["a.w", "b.w"]
    assert str(net) == "Twice(\n  (a): Leaf()\n  (b): Leaf()\n)"
    assert net.load_state_dict(net.state_dict()) == ([], [])


def test_names_of_a_parameter_tuple_don_t_pile_up():
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a = Branch()
            self.b = self.a

    assert "a.pa" in paths(Outer()) and "b.pa" in names(Outer())


def test_shared_parameter_is_listed_once():
    shared = Parameter(Tensor([1.0]), name="mine")

    class Two(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a = shared
            self.b = shared

    assert paths(Two()) == ["a"] and names(Two()) == ["mine"]


def test_walks():
    root = Root()
    assert [n for n, _ in root.cells_and_names()] == ["", "branch", "branch.left", "branch.right", "head"]
    assert [n for n, _ in root.cells_and_names(name_prefix="net")][:2] == ["net", "net.branch"]
    assert dict(root.cells_and_names())["branch.left"] is root.branch.left
    assert list(root.name_cells()) == ["branch", "head"]
    assert list(root.cells()) == [root.branch, root.head]
    assert next(n for n, _ in root.parameters_and_names(name_prefix="net")) == "net.branch.scale"
    assert [n for n, _ in root.branch.parameters_and_names(expand=False)] == ["scale", "pa", "pb"]
    assert [p.name for p in root.get_parameters(expand=False)] == []
    assert root.get_sub_cell("branch.left") is root.branch.left and root.get_sub_cell("") is root
    for missing in ("branch.nope", "branch.scale", "x", "branch.left.w"):
        with pytest.raises(AttributeError, match="has no cell"):
            root.get_sub_cell(missing)


def test_trainable_or_not():
    root = Root()
    assert [p.name for p in root.untrainable_params()] == ["branch.left.fixed"]
    assert len(root.trainable_params()) == len(list(root.get_parameters())) - 1
    assert root.trainable_params(recurse=False) == [] and len(root.branch.trainable_params(recurse=False)) == 3
    assert list(root.parameters_dict()) == names(root)
    assert root.parameters_dict()["head.w"] is root.head.w
    assert list(root.branch.parameters_dict(recurse=False)) == ["branch.scale", "branch.pa", "branch.pb"]
    assert set(root.init_parameters_data()) == set(root.get_parameters())


def test_update_and_check_names():
    root = Root()
    root.check_names()
    root.update_parameters_name("pre.")
    assert names(root) == ["pre." + p for p in paths(root)]
    root.head.w.name = "pre.branch.scale"
    with pytest.raises(ValueError, match=r"'pre\.branch\.scale'"):
        root.check_names()


def test_cells_and_parameters_in_plain_lists_are_no_members():
    class Lists(nn.Cell):
        def __init__(self):
            super().__init__()
            self.cells_ = [Leaf()]
            self.parameters_ = [Parameter(1.0)]
            self.by_name = {"a": Leaf()}

    assert paths(Lists()) == [] and list(Lists().cells()) == []


# ---- attributes


def test_number_assigned_to_a_parameter_sets_its_data_in_graph_mode():
    class Count(nn.Cell):
        def __init__(self, start, value):
            super().__init__()
            self.count = Parameter(Tensor(start, ms.int32), name="count")
            self.value = value

        def construct(self, x):
            self.count = self.value
            return x + self.count

    x = Tensor(1, ms.int32)
    with pytest.raises(TypeError, match="'count' of cell Count is a Parameter"):
        Count(3, 0)(x)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        for value, expected in ((0, 0), (True, 1)):
            net = Count(3, value)
            assert net(x).item() == 1 + expected and net.count.item() == expected and isinstance(net.count, Parameter)
        for start, value in ((3, 2.5), ([3], 0), (3, "0")):
            with pytest.raises(TypeError, match="'count' of cell Count is a Parameter"):
                Count(start, value)(x)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_tensor_assigned_to_a_parameter_sets_its_data():
    leaf = Leaf()
    own = leaf.w
    leaf.w = Tensor([[7, 8]])
    assert leaf.w is own and own.tolist() == [[7.0, 8.0]] and own.dtype is ms.float32 and own.name == "w"


REPLACEMENTS = [
    ("w", 3, TypeError, "Parameter"),
    ("w", np.ones(2), TypeError, "Parameter"),
    ("w", nn.ReLU(), KeyError, "Parameter"),
    ("leaf", 3, TypeError, "cell"),
    ("leaf", Tensor(1.0), TypeError, "cell"),
    ("leaf", lambda x: x, TypeError, "cell"),
    ("leaf", Parameter(1.0), KeyError, "cell"),
]


@pytest.mark.parametrize("name, value, error, word", REPLACEMENTS, ids=lambda v: str(v)[:12])
def test_members_are_replaced_by_their_kind_only(name, value, error, word):
    net = Leaf()
    net.leaf = nn.Tanh()
    before = net.__dict__[name]
    with pytest.raises(error, match=f"{name!r} of cell Leaf is a {word}"):
        setattr(net, name, value)
    assert getattr(net, name) is before and paths(net) == ["w"]


def test_members_are_replaced_by_their_kind_and_none():
    root = Root()
    root.head = nn.Dense(2, 2)
    assert names(root)[-2:] == ["head.weight", "head.bias"]
    root.branch.scale = Parameter(Tensor(4.0), name="t")
    assert root.branch.scale.name == "t"
    root.branch.scale = None
    assert root.branch.scale is None and "branch.scale" not in paths(root)
    root.branch = None
    assert root.branch is None and [n for n, _ in root.cells_and_names()] == ["", "head"]
    del root.head
    assert paths(root) == [] and not hasattr(root, "head")


def test_plain_attributes_become_members_later():
    c = nn.Cell()
    c.a, c.b, c.c = None, 3, Tensor(1.0)
    c.a, c.b, c.c = Parameter(1.0), nn.ReLU(), Parameter(2.0)
    assert paths(c) == ["a", "c"] and list(c.name_cells()) == ["b"]


def test_members_before_super_init():
    class Early(nn.Cell):
        def __init__(self, value):
            self.plain = 1
            self.member = value
            super().__init__()

    for value in (nn.ReLU(), Parameter(1.0)):
        with pytest.raises(AttributeError, match=r"super\(\).__init__\(\)"):
            Early(value)
    assert Early(3).member == 3


def test_missing_attribute_names_the_class():
    with pytest.raises(AttributeError, match=r"Leaf has no attribute 'nope'"):
        _ = Leaf().nope


def test_insert_child_to_cell():
    leaf = Leaf()
    assert leaf.insert_child_to_cell("k", nn.Dense(1, 1)) is None
    assert paths(leaf) == ["w", "k.weight", "k.bias"]
    assert leaf.k.weight.name == "weight"
    leaf.insert_child_to_cell("k", nn.ReLU())
    assert list(leaf.name_cells()) == ["k"] and paths(leaf) == ["w"]


def test_insert_param_to_cell():
    leaf = Leaf()
    leaf.insert_param_to_cell("k", Parameter(1.0))
    assert leaf.k.name == "k"
    leaf.insert_param_to_cell("k", Parameter(2.0, name="other"))
    assert leaf.k.name == "other" and leaf.k.item() == 2.0
    leaf.insert_param_to_cell("a.b", Parameter(1.0), check_name_contain_dot=False)
    assert "a.b" in paths(leaf)
    leaf.insert_param_to_cell("none", None)
    assert leaf.none is None


INSERTS = [
    (3, TypeError),
    ("", KeyError),
    ("a.b", KeyError),
    ("construct", KeyError),
    ("training", KeyError),
    ("plain", KeyError),
]


@pytest.mark.parametrize("name, error", INSERTS, ids=str)
def test_insert_refuses_names(name, error):
    leaf = Leaf()
    leaf.plain = 1
    with pytest.raises(error, match="insert_child_to_cell"):
        leaf.insert_child_to_cell(name, nn.ReLU())
    with pytest.raises(error, match="insert_param_to_cell"):
        leaf.insert_param_to_cell(name, Parameter(1.0))


def test_insert_refuses_values_and_other_kinds():
    leaf = Leaf()
    leaf.act = nn.ReLU()
    with pytest.raises(TypeError, match="should be a Cell"):
        leaf.insert_child_to_cell("k", 3)
    with pytest.raises(TypeError, match="should be a Parameter"):
        leaf.insert_param_to_cell("k", Tensor(1.0))
    with pytest.raises(KeyError, match="'w'"):
        leaf.insert_child_to_cell("w", nn.ReLU())
    with pytest.raises(KeyError, match="'act'"):
        leaf.insert_param_to_cell("act", Parameter(1.0))
