"""Guards as data: which changes of Python's state a compiled function notices, and what a walk finds."""

import copy
import functools
import gc
import types
import weakref

import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from msjax.engine.compile import guards as kinds
from msjax.engine.compile.walk import Walk


def f32(*values):
    return ms.Tensor(np.array(values, np.float32))


FACTOR = 2.0
SCALAR = np.float32(2)
TABLE = {"a": [1.0, 2.0], "deep": {"er": {"still": {"down": 1.0}}}}
LONG = [1.0] * 2000
ARRAY, LARGE = np.array([1.0, 2.0]), np.ones(1 << 15)
MODULE = types.ModuleType("a_module_of_the_users")
MODULE.scale = 2.0


class Settings:
    power = 2

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)


class Other(Settings):
    power = 3


class Slotted:
    __slots__ = ("k",)


OBJECT, SLOTTED, CLASS = Settings(k=2.0, items=[1.0]), Slotted(), Settings
SLOTTED.k = 2.0


class ByComputedName(nn.Cell):
    def __init__(self):
        super().__init__()
        self.factors, self.which = [2.0], "factors"

    def construct(self, x):
        return getattr(self, "with_" + self.which)(x * getattr(self, self.which)[0])

    def with_factors(self, x):
        return x + FACTOR


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.k, self.unused, self.items_, self.log = 2.0, 1.0, [2.0, 3.0], []
        self.first, self.second = [2.0], [3.0]
        self.one, self.two = Settings(k=2.0), Settings(k=3.0)
        self.chosen, self.object = self.first, self.one
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(x) * self.k * self.items_[0] * self.chosen[0] * self.object.k + self.first[0] * 0 + self.second[0] * 0


def scaled(x, by=2.0):
    return x * by


SAME, NEW, REFUSED = "same program", "new program", "PyNative mode"


def of_function(function, change, undo=None):
    """A row of the table: what is compiled, a change, how it is taken back."""
    return lambda: (function, change, undo)


def of_net(change, undo=None, net=None):
    net = net or Net()
    return lambda: (net, lambda: change(net), undo and (lambda: undo(net)))


def changed(name, value):
    """A function that binds a global name of this file."""
    return lambda: globals().__setitem__(name, value)


TABLE_OF_CHANGES = {
    # Names
    "a global number": (NEW, of_function(lambda x: x * FACTOR, changed("FACTOR", 3.0), changed("FACTOR", 2.0))),
    "a global number, bound to an equal one": (SAME, of_function(lambda x: x * FACTOR, changed("FACTOR", float("2.0")))),
    "a scalar of numpy": (
        NEW,
        of_function(lambda x: x * SCALAR, changed("SCALAR", np.float32(3)), changed("SCALAR", np.float32(2))),
    ),
    "a scalar of numpy, bound to an equal one": (SAME, of_function(lambda x: x * SCALAR, changed("SCALAR", np.float32(2)))),
    "a scalar of numpy, of another type": (
        NEW,
        of_function(lambda x: x * SCALAR, changed("SCALAR", np.float16(2)), changed("SCALAR", np.float32(2))),
    ),
    "a global that the code doesn't name": (SAME, of_function(lambda x: x * 2, changed("FACTOR", 2.0))),
    "a global class": (NEW, of_function(lambda x: x**CLASS.power, changed("CLASS", Other), changed("CLASS", Settings))),
    "an attribute of a class": (
        NEW,
        of_function(lambda x: x**Settings.power, lambda: setattr(Settings, "power", 1), lambda: setattr(Settings, "power", 2)),
    ),
    "an attribute of a module": (
        NEW,
        of_function(lambda x: x * MODULE.scale, lambda: setattr(MODULE, "scale", 5.0), lambda: setattr(MODULE, "scale", 2.0)),
    ),
    "a default argument": (
        NEW,
        of_function(
            lambda x: scaled(x), lambda: setattr(scaled, "__defaults__", (3.0,)), lambda: setattr(scaled, "__defaults__", (2.0,))
        ),
    ),
    # Containers
    "an item of a list in a dict": (
        NEW,
        of_function(lambda x: x * TABLE["a"][1], lambda: TABLE["a"].__setitem__(1, 7.0), lambda: TABLE["a"].__setitem__(1, 2.0)),
    ),
    "an item at the fourth level": (
        NEW,
        of_function(
            lambda x: x * TABLE["deep"]["er"]["still"]["down"],
            lambda: TABLE["deep"]["er"]["still"].update(down=8.0),
            lambda: TABLE["deep"]["er"]["still"].update(down=1.0),
        ),
    ),
    "an equal list in the place of a list": (SAME, of_function(lambda x: x * TABLE["a"][1], lambda: TABLE.update(a=[1.0, 2.0]))),
    "an item of a long list": (
        NEW,
        of_function(lambda x: x * LONG[1500], lambda: LONG.__setitem__(1500, 3.0), lambda: LONG.__setitem__(1500, 1.0)),
    ),
    "an item of an array": (
        NEW,
        of_function(lambda x: x * float(ARRAY[1]), lambda: ARRAY.__setitem__(1, 3.0), lambda: ARRAY.__setitem__(1, 2.0)),
    ),
    "an attribute of an object": (
        NEW,
        of_function(lambda x: x * OBJECT.k, lambda: setattr(OBJECT, "k", 3.0), lambda: setattr(OBJECT, "k", 2.0)),
    ),
    "an item of an object's list": (
        NEW,
        of_function(lambda x: x * OBJECT.items[0], lambda: OBJECT.items.insert(0, 3.0), lambda: OBJECT.items.pop(0)),
    ),
    "a slot": (NEW, of_function(lambda x: x * SLOTTED.k, lambda: setattr(SLOTTED, "k", 3.0), lambda: setattr(SLOTTED, "k", 2.0))),
    # Cells
    "a setting of a cell": (NEW, of_net(lambda net: setattr(net, "k", 3.0), lambda net: setattr(net, "k", 2.0))),
    "a setting of a cell, to an equal value": (SAME, of_net(lambda net: setattr(net, "k", 2.0))),
    "a scalar of numpy as a setting of a cell": (
        NEW,
        of_net(lambda net: setattr(net, "k", np.float32(3)), lambda net: setattr(net, "k", 2.0)),
    ),
    "an item of a cell's list": (
        NEW,
        of_net(lambda net: net.items_.__setitem__(0, 5.0), lambda net: net.items_.__setitem__(0, 2.0)),
    ),
    "a list of a cell that code finds by a computed name": (
        NEW,
        of_net(lambda net: net.factors.__setitem__(0, 5.0), lambda net: net.factors.__setitem__(0, 2.0), ByComputedName()),
    ),
    "a list of a cell that no code names": (SAME, of_net(lambda net: net.log.append(1.0))),
    "a global of a method that code finds by a computed name": (
        NEW,
        of_function(ByComputedName(), changed("FACTOR", 3.0), changed("FACTOR", 2.0)),
    ),
    "another of two lists of a cell": (
        NEW,
        of_net(lambda net: setattr(net, "chosen", net.second), lambda net: setattr(net, "chosen", net.first)),
    ),
    "another of two objects of a cell": (
        NEW,
        of_net(lambda net: setattr(net, "object", net.two), lambda net: setattr(net, "object", net.one)),
    ),
    "another cell": (NEW, of_net(lambda net: setattr(net, "relu", nn.Tanh()))),
    "the mode of training": (NEW, of_net(lambda net: net.set_train(), lambda net: net.set_train(False))),
    "a forward hook": (NEW, of_net(lambda net: net.relu.register_forward_hook(lambda cell, args, out: out * 2))),
    "an observing hook": (NEW, of_net(lambda net: net.relu.register_forward_hook(lambda cell, args, out: None))),
    "the dialect of hooks": (
        NEW,
        of_net(lambda net: ms.set_context(hook_dialect="mindspore-1"), lambda net: ms.set_context(hook_dialect="tutorial")),
    ),
    "the same dialect": (SAME, of_net(lambda net: ms.set_context(hook_dialect="tutorial"))),
    "a setting without effect": (SAME, of_net(lambda net: ms.set_context(save_graphs=False))),
    "a group of processes": (
        NEW,
        of_net(lambda net: ms.communication.create_group("guards", [0]), lambda net: ms.communication.destroy_group("guards")),
    ),
}


@pytest.mark.parametrize("row", TABLE_OF_CHANGES)
def test_table_of_changes(row):
    expected, make = TABLE_OF_CHANGES[row]
    function, change, undo = make()
    compiled, x = ms.jit(function), f32(2)
    assert compiled(x).tolist() == function(x).tolist()
    assert compiled(x).tolist() == function(x).tolist() and compiled.compilations() == 1
    change()
    try:
        for _ in range(2):
            assert compiled(x).tolist() == function(x).tolist()
        assert compiled.compilations() == (2 if expected == NEW else 1)
    finally:
        if undo is not None:
            undo()
    if undo is not None:
        for _ in range(2):
            assert compiled(x).tolist() == function(x).tolist()
        assert compiled.compilations() == 2, "the first program serves the first state again"


# ---- what counts among the arguments


def test_tensors_in_containers_among_the_arguments_are_told_by_their_signature():
    f = ms.jit(lambda pair, *, more: pair[0] * pair[1][0] + more["k"])
    for n in range(4):
        assert f((f32(n), [f32(2)]), more={"k": np.ones(1, np.float32)}).tolist() == [2 * n + 1]
    assert f.compilations() == 1
    assert f((f32(1), [f32(2, 3)]), more={"k": np.ones(1, np.float32)}).tolist() == [3, 4]
    assert f.compilations() == 2


def test_objects_among_the_arguments_are_guarded_in_every_call():
    f, settings = ms.jit(lambda x, *rest: x * rest[0].k if rest else x), Settings(k=2.0)
    assert f(f32(1)).tolist() == [1] and f(f32(1), settings).tolist() == [2]
    f(f32(1))
    settings.k = 3.0
    assert f(f32(1), settings).tolist() == [3] and f(f32(1)).tolist() == [1]
    assert f.compilations() == 3
    settings.k = 2.0
    assert f(f32(1), settings).tolist() == [2] and f.compilations() == 3
    nested = [settings]
    g = ms.jit(lambda x, several: x * several[0].k)
    assert g(f32(1), nested).tolist() == [2]
    settings.k = 4.0
    assert g(f32(1), nested).tolist() == [4]


def test_a_gradient_of_a_method_has_one_program_for_each_state(monkeypatch):
    from msjax.engine.compile import compiled as compileds

    made, build = [], compileds.build
    monkeypatch.setattr(compileds, "build", lambda *args: made.append(1) or build(*args))

    class Scale(nn.Cell):
        def __init__(self):
            super().__init__()
            self.k = 1

        def scaled(self, x):
            return x * self.k

    net = Scale()
    ms.set_context(mode=ms.GRAPH_MODE)
    gradient = ms.grad(net.scaled)
    for n in range(6):
        net.k = 1 + n % 2
        assert gradient(f32(1)).tolist() == [net.k]
    assert len(made) == 2


def test_a_gradient_is_of_its_own_function_though_another_one_has_the_same_attributes():
    class Scale:
        def __init__(self, k):
            self.k = k

        def scaled(self, x):
            return x * self.k

        __call__ = scaled

    class Bare:
        __slots__ = ("__dict__",)  # no weak references
        k, __call__ = 4, Scale.scaled

    def function(x):
        return x * 2

    one, other = Scale(2), Scale(3)
    ms.set_context(mode=ms.GRAPH_MODE)
    # Functions have programs now, and methods their attributes.
    assert ms.grad(function)(f32(1)).tolist() == ms.grad(Scale.scaled, 1)(one, f32(1)).tolist() == [2]

    @functools.wraps(function)
    def wrapper(x):
        return function(x) * 3

    for owner, slope in ((wrapper, 6), (one.scaled, 2), (other.scaled, 3), (one, 2), (Bare(), 4)):
        assert ms.grad(owner)(f32(1)).tolist() == [slope]
    copied = copy.copy(one)
    copied.k = 5
    assert ms.grad(copied)(f32(1)).tolist() == [5]


def test_calls_of_a_compiled_function_alone_change_nothing_for_one_that_calls_it():
    inner = ms.jit(lambda x: x * 2)
    outer = ms.jit(lambda x: inner(x) + 1)
    for n in range(1, 4):
        assert outer(f32(1)).tolist() == [3] and inner(f32(*range(n))).shape == (n,)
    assert outer.compilations() == 1 and inner.compilations() == 3


# ---- the list


def found(*roots):
    return Walk([*roots]).guards()


def of_kind(guards, kind):
    return [guard for guard in guards.found if type(guard) is kind]


def containers(guards):
    return [guard.container for guard in guards.found if isinstance(guard, kinds.Contents)]


def test_guards_say_what_was_read_and_what_was_seen():
    state = [1.0]

    def f(x):
        return x * FACTOR * state[0]

    guards = found(f)
    names = {guard.name: guard.value for guard in of_kind(guards, kinds.Name)}
    assert names == {"__code__": f.__code__, "FACTOR": 2.0, "state": state}
    (contents,) = of_kind(guards, kinds.Contents)
    assert contents.container is state and contents.held == (1.0,)
    assert len(guards.checks) == 4 and guards.hold() and guards.key == found(f).key
    state[0] = 2.0
    assert not guards.hold() and found(f).key != guards.key
    state[0] = 1.0
    assert guards.hold() and found(f).key == guards.key


def test_what_cells_tell_of_is_not_checked():
    guards = found(nn.SequentialCell(nn.Dense(2, 3), nn.ReLU()))
    modules = [guard for guard in guards.found if (guard.seen or ())[:1] == ("module",)]
    assert guards.checks == [] and len(modules) == 3 and len(of_kind(guards, kinds.Variable)) == 2


def test_what_a_list_holds_counts_where_code_reads_it():
    log, read, passed = [1.0, [2.0]], [3.0], [4.0]

    def f(x):
        log.append(len(read))
        return x * max(passed)

    before = found(f)
    assert containers(before) == [passed, read]
    log.append(3.0)
    assert found(f).key == before.key and before.hold()
    read.append(1.0)
    assert found(f).key != before.key and not before.hold()


def test_a_list_is_read_if_any_code_reads_it():
    state = Settings(log=[1.0])

    def appends(x):
        state.log.append(2.0)
        return x

    def reads(x):
        return appends(x) * len(state.log)

    assert containers(found(appends)) == [vars(state)]
    assert containers(found(reads)) == [vars(state), state.log]


def test_a_container_that_is_found_again_is_the_same_one():
    shared, equal = [1.0], [1.0]
    assert found([shared, equal, shared]).key != found([shared, equal, equal]).key == found([equal, shared, shared]).key
    assert found([shared, equal, shared]).key == found([equal, shared, equal]).key
    assert len(of_kind(found([shared, shared]), kinds.FoundBefore)) == 1
    endless = [1.0]
    endless.append(endless)
    guards = found(endless)
    assert guards.key == found(endless).key and guards.hold()


def test_a_container_is_checked_if_one_of_the_ways_to_it_is_used():
    class Keeps(nn.Cell):
        def __init__(self):
            super().__init__()
            self.unnamed, self.named = [[1.0]], [[2.0]]

        def construct(self, x):
            return x * self.named[0][0]

    net = Keeps()
    assert containers(found(net)) == [net.named, net.named[0]]
    assert containers(found(net, net.unnamed)) == [
        net.unnamed,
        net.unnamed[0],
        net.named,
        net.named[0],
    ]
    net.named.append(net.unnamed[0])
    assert set(map(id, containers(found(net)))) == {id(net.named), id(net.named[0]), id(net.unnamed[0])}


def test_guards_of_removed_hooks_are_stale():
    net, other = nn.ReLU(), nn.ReLU()
    weight = ms.Parameter(f32(1), name="w")
    handles = [net.register_forward_hook(lambda cell, args, out: out * 2), weight.register_hook(lambda grad: grad * 2)]
    for root, handle in zip((net, weight), handles):
        guards, without = found(root), found(other)
        assert not guards.stale()
        handle.remove()
        assert guards.stale() and not without.stale() and not found(root).stale()
    # An observer stands in a slot, where another one may come.
    for root, register in ((net, net.register_forward_hook), (weight, weight.register_hook)):
        handle = register(lambda *values: None)
        guards = found(root)
        handle.remove()
        assert not guards.stale() and guards.key != found(root).key
        register(lambda *values: print(values))
        assert guards.key == found(root).key
    product = weight * 2
    product.register_hook(lambda grad: None)
    guards = found(product)
    product.add_(1)  # the hooks belong to the value that was there
    assert guards.stale() and not found(product).stale()


def test_guards_keep_no_cell_alive_and_never_take_a_new_one_for_it():
    net = nn.SequentialCell(nn.ReLU(), nn.Tanh())
    guards, gone = found(net), weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None
    assert all(found(nn.SequentialCell(nn.ReLU(), nn.Tanh())).key != guards.key for _ in range(3))


def test_nothing_is_looked_into_beyond_the_limits():
    deep = level = [1.0]
    for _ in range(8):
        deep = [deep]
    assert level not in containers(found(deep))
    many = [[1.0] for _ in range(1001)]
    assert containers(found(many)) == [many]
    assert containers(found(lambda: LARGE)) == [] and containers(found(lambda: ARRAY)) == [ARRAY]


def test_values_that_differ_only_in_kind_are_told_apart():
    for a, b in ((1, 1.0), (0.0, -0.0), (1, True), ("1", 1), (ms.float32, ms.float16), (slice(1), slice(2))):
        assert found([a]).key != found([b]).key and found((a,)).key != found((b,)).key
        assert found({"k": a}).key != found({"k": b}).key
    assert found({1: 0}).key != found({"1": 0}).key
    assert found([float("nan")]).key == found([float("nan")]).key


def test_a_network_of_hooks_and_ops_has_one_walk_for_its_first_call(monkeypatch):
    from msjax.engine.compile import walk as walks

    begun, init = [], walks.Walk.__init__
    monkeypatch.setattr(walks.Walk, "__init__", lambda self, *args: begun.append(1) or init(self, *args))
    net = nn.Dense(2, 3)
    net.register_forward_hook(lambda cell, args, out: ops.relu(out))
    ms.jit(net)(ops.ones((1, 2)))
    assert len(begun) == 1


def test_a_program_obeys_the_dialect_that_is_set():
    net, x = nn.Tanh(), f32(2)
    net.register_backward_hook(lambda cell, *grads: (grads[0][0] * 10,) if isinstance(cell, nn.Cell) else (grads[1][0] * 100,))
    compiled = ms.jit(lambda x: ms.grad(net)(x))
    for dialect in ("tutorial", "mindspore-1", "tutorial"):
        ms.set_context(hook_dialect=dialect)
        assert compiled(x).tolist() == ms.grad(net)(x).tolist()
    assert compiled.compilations() == 2
