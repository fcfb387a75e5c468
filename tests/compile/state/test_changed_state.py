"""What compiled code has read changes: the next call gives the answer of PyNative mode."""

import collections
import dataclasses
import sys
import types

import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import Tensor, nn
from tests.compile.calls import PYNATIVE, f32, in_graph_mode

SETTINGS_OF_THE_TEST = {"scale": 2.0, "deep": {"bias": [1.0]}}


class Config:
    power = 2

    def __init__(self):
        self.offset = 1.0


CONFIG = Config()


class Base(nn.Cell):
    factor = 2.0


class Reads(Base):
    def __init__(self):
        super().__init__()
        self.scales = [1.0, 2.0]
        self.names = {"a": 3.0}
        self.config = Config()

    def construct(self, x):
        return x * self.scales[1] * self.names["a"] * self.factor + self.config.offset

    def construct_more(self, x):
        return x


@pytest.mark.parametrize("compiled", [ms.jit, in_graph_mode])
def test_changed_items_and_class_attributes(compiled):
    net = Reads()
    fast = compiled(net)
    x = f32(1)

    def same():
        ms.set_context(mode=PYNATIVE)
        expected = net(x).tolist()
        assert fast(x).tolist() == expected
        return expected

    same()
    net.scales[1] = 5.0
    assert same() == [31]
    net.names["a"] = 1.0
    same()
    Base.factor = 10.0
    try:
        assert same() == [51]
        Reads.factor = 1.0
        same()
        del Reads.factor
        same()
    finally:
        Base.factor = 2.0
    same()
    net.config.offset = 0.0
    same()


def test_changed_items_of_globals():
    @ms.jit
    def f(x):
        return x * SETTINGS_OF_THE_TEST["scale"] ** Config.power + SETTINGS_OF_THE_TEST["deep"]["bias"][0] + CONFIG.offset

    x = f32(1)
    plain = f.__wrapped__
    try:
        assert f(x).tolist() == plain(x).tolist() == [6]
        for change in (
            lambda: SETTINGS_OF_THE_TEST.update(scale=3.0),
            lambda: SETTINGS_OF_THE_TEST["deep"]["bias"].__setitem__(0, 0.0),
            lambda: setattr(Config, "power", 1),
            lambda: setattr(CONFIG, "offset", 5.0),
        ):
            change()
            assert f(x).tolist() == plain(x).tolist()
    finally:
        SETTINGS_OF_THE_TEST.update(scale=2.0, deep={"bias": [1.0]})
        Config.power, CONFIG.offset = 2, 1.0
    assert f(x).tolist() == [6]


def test_changed_arrays_and_defaults():
    table = np.array([2.0, 3.0])

    def scaled(x, by=2.0, *, offset=1.0):
        return x * by + offset

    f = ms.jit(lambda x: scaled(x) * float(table[1]))
    expected = [9.0, 15.0, 20.0, 25.0]
    for change, value in zip(
        (
            lambda: None,
            lambda: table.__setitem__(1, 5.0),
            lambda: setattr(scaled, "__defaults__", (3.0,)),
            lambda: scaled.__kwdefaults__.update(offset=2.0),
        ),
        expected,
    ):
        change()
        assert float(f(f32(1.0))) == value
    assert f.compilations() == 4


def test_what_methods_read_besides_attributes():
    config, table = [2.0], {"k": (1.0,)}

    class Net(nn.Cell):
        kinds = {"a": [1.0]}

        def helper(self, x):
            return x * self.kinds["a"][0] * table["k"][0]

        def construct(self, x):
            return self.helper(x) * config[0] * SETTINGS_OF_THE_TEST["scale"]

    net = Net()
    fast, gradient = ms.jit(net), in_graph_mode(ms.grad(net))

    def change_method():
        Net.helper = lambda self, x: x * 7

    changes = (
        lambda: config.__setitem__(0, 3.0),
        lambda: table.update(k=(5.0,)),
        lambda: Net.kinds["a"].insert(0, 4.0),
        change_method,
        lambda: setattr(net, "helper", lambda x: x),
        lambda: SETTINGS_OF_THE_TEST.update(scale=9.0),
    )
    try:
        for change in changes:
            for _ in range(2):
                assert fast(f32(1)).tolist() == gradient(f32(1)).tolist() == net(f32(1)).tolist()
            change()
        assert fast(f32(1)).tolist() == gradient(f32(1)).tolist() == net(f32(1)).tolist() == [27]
    finally:
        SETTINGS_OF_THE_TEST.update(scale=2.0)


def test_tensors_in_lists_are_exchanged():
    state = [f32(1)]
    f = ms.jit(lambda x: x * state[0])
    assert f(f32(2)).tolist() == [2]
    state[0] = f32(10)
    assert f(f32(2)).tolist() == [20]
    state.append(f32(0))
    assert f(f32(2)).tolist() == [20]


def test_changed_deques_namespaces_and_slots():
    @dataclasses.dataclass(slots=True)
    class Slotted:
        factor: float = 1.0

    recent, options, slotted = collections.deque([1.0, 2.0]), types.SimpleNamespace(scale=1.0), Slotted()

    @ms.jit
    def f(x):
        return x * recent[0] * options.scale * slotted.factor

    x = f32(1)
    assert f(x).tolist() == [1]
    recent[0] = 3.0
    assert f(x).tolist() == [3]
    options.scale = 2.0
    assert f(x).tolist() == [6]
    slotted.factor = 0.5
    assert f(x).tolist() == [3]


def test_changed_attributes_of_modules_and_functions_and_descriptors():
    options, other = types.ModuleType("options"), types.ModuleType("other")
    options.scale, other.scale = 1.0, 5.0

    def helper(x):
        return x * helper.factor

    helper.factor = 1.0
    table = {"power": 1.0}

    class Power:
        def __get__(self, instance, owner=None):
            return table["power"]

    class Net(nn.Cell):
        power = Power()

        def __init__(self):
            super().__init__()
            self.options = options

        def construct(self, x):
            return helper(x) * self.options.scale * options.scale * self.power

    net = Net()
    fast, x = ms.jit(net), f32(1)
    changes = (
        lambda: setattr(options, "scale", 2.0),
        lambda: setattr(helper, "factor", 3.0),
        lambda: table.update(power=0.5),
        lambda: setattr(net, "options", other),
        lambda: setattr(other, "scale", 4.0),
    )
    for change in changes:
        assert fast(x).tolist() == net(x).tolist()
        change()
    assert fast(x).tolist() == net(x).tolist() == [12]


def test_a_new_nan_is_the_old_one_and_minus_zero_is_not_zero():
    traced = []

    class Signed(ms.nn.Cell):
        def construct(self, x, by):
            traced.append(by)
            return ms.ops.atan2(x, by), ms.ops.atan2(x, self.by)

    net = Signed()
    run = ms.jit(lambda x, by: net(x, by))
    for number in ("nan", "nan", "0.0", "-0.0", "0.0"):
        net.by = float(number)
        out = run(ms.Tensor([0.0]), float(number))
        np.testing.assert_array_equal([o.asnumpy()[0] for o in out], np.float32([np.arctan2(0.0, net.by)] * 2))
    assert len(traced) == 3


class Plain:
    pass


class Derived(Plain):
    pass


PLAIN = Derived()


class Asks(nn.Cell):
    def __init__(self):
        super().__init__()
        self.config = Derived()


@pytest.mark.parametrize(
    "owner, read",
    [
        (Plain, lambda cell: getattr(Plain, "later", 1)),
        (Plain, lambda cell: Plain.later if hasattr(Plain, "later") else 1),
        (Derived, lambda cell: getattr(PLAIN, "later", 1)),
        (Plain, lambda cell: getattr(PLAIN, "later", 1)),
        (Plain, lambda cell: getattr(cell.config, "later", 1)),
        (Asks, lambda cell: getattr(cell, "later", 1)),
    ],
    ids=["class", "hasattr", "object", "base", "attribute", "cell"],
)
def test_attributes_that_classes_get_later(owner, read, monkeypatch):
    net = Asks()
    fast = ms.jit(lambda x: net(x) * read(net))
    net.construct = lambda x: x * 2
    assert fast(f32(1)).tolist() == [2]
    monkeypatch.setattr(owner, "later", 3, raising=False)
    assert fast(f32(1)).tolist() == [6]
    monkeypatch.undo()
    assert fast(f32(1)).tolist() == [2]


class Above:
    scale = 2.0


class Below(Above):
    pass


class WithNone:
    found = None


class WithSlot:
    __slots__ = ("found",)


def test_none_in_a_class_hides_what_its_base_has():
    program = ms.jit(lambda x: x if Below.scale is None else x * Below.scale)
    assert program(f32(3.0)).asnumpy() == 6
    Below.scale = None
    assert program(f32(3.0)).asnumpy() == 3
    del Below.scale
    assert program(f32(3.0)).asnumpy() == 6


DTYPE = np.float32


class HasType:
    dtype = np.float32


class CellWithType(nn.Cell):
    dtype = np.float32

    def construct(self, x):
        return x.astype(ms.float16) if self.dtype is np.float16 else x


@pytest.mark.parametrize(
    "owner, name, fn",
    [
        (sys.modules[__name__], "DTYPE", lambda x: x.astype(ms.float16) if DTYPE is np.float16 else x),
        (HasType, "dtype", lambda x: x.astype(ms.float16) if HasType.dtype is np.float16 else x),
        (CellWithType, "dtype", CellWithType()),
    ],
    ids=["global", "class", "cell"],
)
def test_a_name_that_stands_for_a_class_of_a_library(owner, name, fn, monkeypatch):
    program = ms.jit(fn)
    assert program(f32(3.0)).dtype is ms.float32
    monkeypatch.setattr(owner, name, np.float16)
    assert program(f32(3.0)).dtype is ms.float16


def test_none_under_a_new_name_of_a_module_is_seen():
    module = types.ModuleType("of_the_user")

    def of_module(x):
        late = getattr(module, "late", 5.0)
        return x if late is None else x * late

    program = ms.jit(of_module)
    assert program(f32(3.0)).asnumpy() == 15
    module.late = None
    assert program(f32(3.0)).asnumpy() == 3
    del module.late
    assert program(f32(3.0)).asnumpy() == 15


def _of_class(x):
    if WithNone.found is None:
        WithNone.found = 2.0
    return x * WithNone.found * float(x)


def _of_slot(x, owner=WithSlot()):  # noqa: B008
    if not hasattr(owner, "found"):
        owner.found = 2.0
    return x * owner.found * float(x)


def _of_closure():
    def fn(x):
        nonlocal found
        try:
            found  # noqa: B018
        except NameError:
            found = 2.0
        return x * found * float(x)

    if None:
        found = 0.0
    return fn


@pytest.mark.parametrize("fn", [_of_class, _of_slot, _of_closure()], ids=["class", "slot", "closure"])
def test_what_was_set_while_tracing_is_as_it_was_where_it_is_given_up(fn):
    with pytest.warns(UserWarning, match="can't be compiled"):
        assert ms.jit(fn)(f32(3.0)).asnumpy() == 18


def test_weights_of_an_nnx_module_in_a_cell():
    class Mixed(nn.Cell):
        def __init__(self):
            super().__init__()
            self.linear = nnx.Linear(2, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))

        def construct(self, x):
            return ms.from_jax(self.linear)(x)

    net, x = Mixed(), Tensor([[1.0, 2.0]])
    lifted = ms.from_jax(net.linear)
    ways = (ms.jit(net), lifted), (ms.jit(ms.grad(net)), ms.grad(lifted))
    assert [[f(x).tolist() for f in alike] for alike in ways] == [[[[3.0]]] * 2, [[[1.0, 1.0]]] * 2]
    net.linear.kernel[...] = net.linear.kernel[...] * 10
    assert [[f(x).tolist() for f in alike] for alike in ways] == [[[[30.0]]] * 2, [[[10.0, 10.0]]] * 2]
