"""Cell: members, names, walking, settings, state, text, errors."""

import copy
import gc
import weakref

import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, ParameterTuple, Tensor, nn, ops
from tests.x64 import present


class Leaf(nn.Cell):
    def __init__(self, fixed=False):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]))
        self.fixed = Parameter(Tensor([5.0]), requires_grad=False) if fixed else None

    def construct(self, x):
        return x * self.w


class Branch(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale = Parameter(Tensor(3.0), name="s")
        self.left = Leaf(fixed=True)
        self.right = Leaf()
        self.hidden = [Leaf()]
        self.pair = ParameterTuple([Parameter(1.0, name="pa"), Parameter(2.0, name="pb")])

    def construct(self, x):
        return self.right(self.left(x)) * self.scale


class Root(nn.Cell):
    def __init__(self):
        super().__init__()
        self.branch = Branch()
        self.head = Leaf()

    def construct(self, x):
        return self.head(self.branch(x))


def paths(cell):
    return [path for path, _ in cell.parameters_and_names()]


def names(cell):
    return [p.name for p in cell.get_parameters()]


BRANCH = ["scale", "pa", "pb", "left.w", "left.fixed", "right.w"]

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


# ---- settings


def test_set_train_reaches_all():
    root = Root()
    assert root.training is False
    assert root.set_train() is root
    assert all(c.training is True for _, c in root.cells_and_names())
    root.branch.set_train(False)
    assert (root.training, root.branch.left.training, root.head.training) == (True, False, True)
    assert root.set_train(0).training is False


def test_set_grad():
    leaf = Leaf()
    assert leaf.requires_grad is False
    assert leaf.set_grad() is leaf and leaf.requires_grad is True
    assert leaf.set_grad(False).requires_grad is False
    assert leaf.w.requires_grad is True


def test_apply_is_children_first():
    seen = []
    root = Root()
    assert root.apply(lambda c: seen.append(type(c).__name__)) is root
    assert seen == ["Leaf", "Leaf", "Branch", "Leaf", "Root"]


def test_flags():
    root = Root()
    assert root.get_flags() == {}
    assert root.add_flags(a=1) is root and root.get_flags() == {"a": 1}
    root.add_flags_recursive(b=2)
    assert root.get_flags() == {"a": 1, "b": 2} and root.head.get_flags() == {"b": 2}
    assert nn.Cell(flags={"x": 1}).get_flags() == {"x": 1} and nn.Cell.get_flags(nn.Cell()) == {}
    assert root.cls_name == "Root"


# ---- mixed precision


class Types(nn.Cell):
    """Notes the types in which it computes."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]))

    def construct(self, x, y=None):
        made = Tensor([1.0, 2.0], ms.float64)
        self.seen = {
            "input": x.dtype,
            "keyword": None if y is None else y.dtype,
            "weight": self.w.dtype,
            "product": (self.w * x).dtype,
            "with number": (x * 2.0).dtype,
            "float64": (made + made).dtype,
            "integers": (Tensor([1, 2]) + Tensor([1, 2])).dtype,
            "cast": x.astype(ms.float32).dtype,
            "index": x[0].dtype,
            "ones": ops.ones((2,), ms.float32).dtype,
        }
        return self.w * x


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float32], ids=str)
def test_to_float_computes_in_the_type(dtype):
    net = Types().to_float(dtype)
    out = net(Tensor([3.0, 4.0]), y=Tensor([1.0]))
    assert out.dtype is dtype and net.w.dtype is ms.float32
    assert net.seen == {
        "input": ms.float32,
        "keyword": ms.float32,
        "weight": ms.float32,
        "product": dtype,
        "with number": dtype,
        "float64": dtype,
        "integers": present(ms.int64),
        "cast": ms.float32,
        "index": ms.float32,
        "ones": ms.float32,
    }
    assert (Tensor([1.0]) * 2.0).dtype is ms.float32


def test_to_float_gradients_come_back_in_the_own_type():
    net = Types().to_float(ms.float16)
    dx, dw = ms.grad(net, 0, net.w)(Tensor([3.0, 4.0]))
    assert dx.dtype is ms.float32 and dw.dtype is ms.float32
    assert dx.tolist() == [1.0, 2.0] and dw.tolist() == [3.0, 4.0]


def test_to_float_is_set_for_all_inside_and_the_inner_setting_counts():
    net = nn.SequentialCell(Types(), Types())
    assert net.to_float(ms.float16) is net
    net[1].to_float(ms.float32)
    assert net(Tensor([1.0, 1.0])).dtype is ms.float32
    assert net[0].seen["product"] is ms.float16 and net[1].seen["product"] is ms.float32


def test_to_float_of_a_child_ends_with_the_child():
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.child = Types()

        def construct(self, x):
            before = (x * 2.0).dtype
            inner = self.child(x).dtype
            return before, inner, (x * 2.0).dtype

    net = Outer().to_float(ms.float16)
    net.child.to_float(ms.bfloat16)
    assert net(Tensor([1.0, 1.0])) == (ms.float16, ms.bfloat16, ms.float16)
    ms.set_context(pynative_synchronize=True)
    assert (Tensor([1.0]) * 2.0).dtype is ms.float32


def test_to_float_ends_with_the_call_even_if_it_fails():
    class Fails(nn.Cell):
        def construct(self, x):
            raise KeyError("no")

    with pytest.raises(KeyError):
        Fails().to_float(ms.float16)(Tensor([1.0]))
    assert (Tensor([1.0]) * Tensor([1.0])).dtype is ms.float32


def test_to_float_hooks_see_the_types():
    seen = []
    net = nn.Dense(2, 2).to_float(ms.float16)
    net.register_forward_hook(lambda cell, args, out: seen.append((args[0].dtype, out.dtype)))
    net.register_backward_hook(lambda cell, gi, go: seen.append((gi[0].dtype, go[0].dtype)))
    assert ms.grad(net)(Tensor([[1.0, 2.0]])).dtype is ms.float32
    assert seen == [(ms.float32, ms.float16)] * 2


def test_to_float_keeps_moving_statistics():
    net = nn.BatchNorm1d(2).to_float(ms.float16).set_train()
    x = np.array([[1.0, 2000.0], [3.0, 2001.0]], np.float32)
    assert net(Tensor(x)).dtype is ms.float16
    assert net.moving_mean.dtype is ms.float32 and net.moving_variance.dtype is ms.float32
    np.testing.assert_allclose(net.moving_mean.asnumpy(), 0.1 * x.astype(np.float16).mean(0, dtype=np.float32), rtol=1e-6)


@pytest.mark.parametrize("dtype", [ms.int32, ms.float64, "float16", None], ids=str)
def test_to_float_refuses(dtype):
    with pytest.raises(ValueError, match="to_float"):
        Leaf().to_float(dtype)


# ---- state


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


# ---- calling


def test_call_errors():
    with pytest.raises(AttributeError, match="'construct'"):
        nn.Cell()(Tensor(1.0))
    for args, kwargs in [((), {}), ((Tensor(1.0), Tensor(1.0)), {}), ((), {"y": Tensor(1.0)})]:
        with pytest.raises(TypeError, match="construct"):
            Leaf()(*args, **kwargs)
    assert Leaf()(x=Tensor([1.0, 1.0])).tolist() == [1.0, 2.0]


def test_construct_may_return_anything():
    class Returns(nn.Cell):
        def construct(self, value):
            return value

    for value in (None, 3, "text", [1], {"a": Tensor(1.0)}, (1, (2, Tensor(3.0)))):
        assert Returns()(value) is value


def test_error_names_the_cell_it_was_raised_in():
    class Fails(nn.Cell):
        def construct(self, x):
            raise KeyError("no")

    net = nn.SequentialCell(nn.ReLU(), Fails())
    with pytest.raises(KeyError) as caught:
        net(Tensor(1.0))
    assert caught.value.__notes__ == ["in cell SequentialCell.1 (Fails)"]


def test_operator_error_names_operator_cell_and_operands():
    class Adds(nn.Cell):
        def construct(self, x):
            return x + Tensor([1.0, 2.0, 3.0])

    with pytest.raises(ValueError, match=r"(?s)'[Aa]dd' in cell SequentialCell\.0 \(Adds\).*shape=\[2\].*shape=\[3\]"):
        nn.SequentialCell(Adds())(Tensor([1.0, 2.0]))


# ---- text


def test_repr():
    assert str(nn.Cell()) == "Cell()" and repr(nn.SequentialCell()) == "SequentialCell()"
    assert str(Root()) == ("Root(\n  (branch): Branch(\n    (left): Leaf()\n    (right): Leaf()\n  )\n  (head): Leaf()\n)")


def test_extend_repr():
    class Shown(Leaf):
        def extend_repr(self):
            return "k=1"

    assert str(Shown()) == "Shown(k=1)"
    shown = Shown()
    shown.act = nn.ReLU()
    assert str(shown) == "Shown(\n  k=1\n  (act): ReLU()\n)"


def test_cells_are_no_sequences():
    with pytest.raises(TypeError, match="can't be iterated"):
        iter(Leaf())
    with pytest.raises(TypeError):
        len(Leaf())
    assert bool(Leaf()) is True and Leaf() != Leaf()
    leaf = Leaf()
    assert {leaf: 1}[leaf] == 1


# ---- copies and lifetime


def test_deepcopy():
    root = Root()
    root.head.register_forward_hook(lambda cell, args, out: out * 10)
    other = copy.deepcopy(root)
    x = Tensor([1.0, 1.0])
    want = root(x).tolist()
    assert other(x).tolist() == want
    assert paths(other) == paths(root) and names(other) == names(root)
    assert not {id(p) for p in root.get_parameters()} & {id(p) for p in other.get_parameters()}
    other.head.w.set_data(Tensor([0.0, 0.0]))
    assert root(x).tolist() == want


def test_deepcopy_keeps_what_is_shared():
    leaf = Leaf()
    net = copy.deepcopy(nn.CellList([leaf, leaf]))
    assert net[0] is net[1] and net[0] is not leaf


def test_deepcopy_has_hooks_of_its_own():
    seen = []
    leaf = Leaf()
    handle = leaf.register_forward_hook(lambda cell, args, out: seen.append(cell))
    other = copy.deepcopy(leaf)
    handle.remove()
    x = Tensor([1.0, 1.0])
    leaf(x)
    other(x)
    assert seen == [other]


def test_cells_and_their_parameters_go_when_nothing_needs_them():
    root = Root()
    ms.grad(root, 0, root.trainable_params())(Tensor([1.0, 1.0]))
    gone = [weakref.ref(root), weakref.ref(root.branch.left), weakref.ref(root.head.w)]
    del root
    gc.collect()
    assert [r() for r in gone] == [None] * 3
