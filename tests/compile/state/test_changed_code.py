"""Code and data that change in place between two calls of a compiled function: methods, modules, and what Python's own objects hold."""

import array
import collections
import contextvars
import functools
import importlib
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn, ops
from tests.compile.calls import f32, warned

MODULE = types.ModuleType("another_module_of_the_users")
MODULE.scale = 2.0


class Base:
    scale = 2.0

    def scaled(self, x):
        return x * self.scale

    def __call__(self, x):
        return x + self.scale

    @property
    def twice(self):
        return 2 * self.scale


class Derived(Base):
    pass


class Other(Base):
    def scaled(self, x):
        return x - 1


class Stack(list):
    factor = 2.0

    def top(self):
        return self[-1] * self.factor


class Mixin:
    def mixed(self, x):
        return x * 2


class Net(nn.Cell, Mixin):
    def construct(self, x):
        return self.mixed(x)


class Behind(nn.Cell):
    """What only a base class reads, and its code, which `super` alone finds."""

    def __init__(self):
        super().__init__()
        self.factor, self.items_ = 2.0, [2.0]

    def construct(self, x):
        return self.scaled(x) * self.factor + self.offset

    def scaled(self, x):
        return x * self.items_[0]

    @property
    def offset(self):
        return MODULE.scale


class Before(Behind):
    def construct(self, x):
        return super().construct(x) + 1

    def scaled(self, x):
        return super().scaled(x) * 2

    @property
    def offset(self):
        return super().offset + 1


class PlainBefore(Base):
    def scaled(self, x):
        return super().scaled(x) + MODULE.scale


class Settings:
    factor = 2.0

    class Inner:
        factor = 2.0

    @staticmethod
    def scaled(x):
        return x * MODULE.scale


class Configured(nn.Cell):
    """Classes that hold settings, as an attribute and within the class; functions behind Python's own descriptors."""

    class Within:
        factor = 3.0

    def __init__(self):
        super().__init__()
        self.settings, self.by, self.listed = Settings, [2.0], [Settings.Inner]

    def _scaled(self, x, factor):
        return x * self.by[0] * factor

    doubled = functools.partialmethod(_scaled, factor=2.0)

    @functools.singledispatchmethod
    def moved(self, x):
        return x + self.by[0]

    @functools.cached_property
    def offset(self):
        return self.settings.Inner.factor

    def construct(self, x):
        return self.settings.scaled(x) * self.settings.factor + self.Within.factor * self.listed[0].factor


class Local(threading.local):
    def __init__(self):
        self.value = 2.0


def helper(x):
    return x * 2


def power(x, *, exponent=2.0):
    return x**exponent


@functools.cache
def cached():
    return MODULE.scale


def imports(x):
    import another_module_of_the_users

    return x * another_module_of_the_users.scale


def imports_from(x):
    from another_module_of_the_users import scale

    return x * scale


def replaced(owner, name, value):
    """(change, undo) of an attribute."""
    before = vars(owner).get(name)
    return lambda: setattr(owner, name, value), lambda: delattr(owner, name) if before is None else setattr(owner, name, before)


def item(container, key, value):
    """(change, undo) of an item."""
    before = container[key]
    return lambda: container.__setitem__(key, value), lambda: container.__setitem__(key, before)


DERIVED, NET, LOCAL, STACK = Derived(), Net(), Local(), Stack([1.0])
BEFORE, PLAIN_BEFORE, CONFIGURED = Before(), PlainBefore(), Configured()
WEAK_CELL, WEAK_METHOD = weakref.ref(BEFORE), weakref.WeakMethod(BEFORE.scaled)
PARTIAL = functools.partial(power, exponent=3.0)
CONTEXT = contextvars.ContextVar("factor", default=2.0)
DEFAULT = collections.defaultdict(lambda: 2.0)
CHAIN, TABLE = collections.ChainMap({"a": 2.0}, {"b": 3.0}), {"a": 2.0}
VIEW, WRAPPED, LISTED = types.MappingProxyType(TABLE), collections.UserDict(a=2.0), collections.UserList([2.0])
BYTES, NUMBERS, ITEMS = bytearray(b"\x02\x03"), array.array("d", [2.0]), np.array([[2.0], "text"], object)

CHANGES = {
    "a method of a base class": (lambda x: DERIVED.scaled(x), *replaced(Base, "scaled", lambda self, x: x + 100)),
    "a method that hides that of a base class": (lambda x: DERIVED.scaled(x), *replaced(Derived, "scaled", Other.scaled)),
    "how an object is called": (lambda x: DERIVED(x), *replaced(Base, "__call__", lambda self, x: x * 9)),
    "a property": (lambda x: x * DERIVED.twice, *replaced(Base, "twice", property(lambda self: 10.0))),
    "the bases of a class": (
        lambda x: DERIVED.scaled(x),
        lambda: setattr(Derived, "__bases__", (Other,)),
        lambda: setattr(Derived, "__bases__", (Base,)),
    ),
    "an object's class": (
        lambda x: DERIVED.scaled(x),
        lambda: setattr(DERIVED, "__class__", Other),
        lambda: setattr(DERIVED, "__class__", Derived),
    ),
    "a method of a cell's other base class": (lambda x: NET(x), *replaced(Mixin, "mixed", lambda self, x: x * 5)),
    "the code of a function": (
        lambda x: helper(x),
        lambda code=(lambda x: x * 7).__code__: setattr(helper, "__code__", code),
        lambda code=helper.__code__: setattr(helper, "__code__", code),
    ),
    "the code of a cell's method": (
        lambda x: NET(x),
        lambda code=(lambda self, x: x * 7).__code__: setattr(Net.construct, "__code__", code),
        lambda code=Net.construct.__code__: setattr(Net.construct, "__code__", code),
    ),
    "an attribute that only a base class reads": (lambda x: BEFORE(x), *replaced(BEFORE, "factor", 5.0)),
    "an item that only a base class reads": (lambda x: BEFORE(x), *item(BEFORE.items_, 0, 5.0)),
    "what the property of a base class reads": (lambda x: BEFORE(x), *replaced(MODULE, "scale", 5.0)),
    "a hidden method": (lambda x: BEFORE(x), *replaced(Behind, "scaled", lambda self, x: x * 9)),
    "a hidden method of a plain object": (lambda x: PLAIN_BEFORE.scaled(x), *replaced(Base, "scaled", lambda self, x: x * 9)),
    "what a hidden method of a plain object reads": (lambda x: PLAIN_BEFORE.scaled(x), *replaced(Base, "scale", 9.0)),
    "a cell behind a weak reference": (lambda x: WEAK_CELL()(x), *replaced(BEFORE, "factor", 5.0)),
    "a cell behind the weak reference of a method": (lambda x: WEAK_METHOD()(x), *item(BEFORE.items_, 0, 5.0)),
    "what a static method of a class in an attribute reads": (lambda x: CONFIGURED(x), *replaced(MODULE, "scale", 5.0)),
    "an attribute of a class in an attribute": (lambda x: CONFIGURED(x), *replaced(Settings, "factor", 5.0)),
    "an attribute of a class within": (lambda x: CONFIGURED(x), *replaced(Configured.Within, "factor", 5.0)),
    "an attribute of a class in a list": (lambda x: CONFIGURED(x), *replaced(Settings.Inner, "factor", 5.0)),
    "a class within": (lambda x: CONFIGURED(x), *replaced(Configured, "Within", Settings)),
    "an attribute of a class that is a default": (lambda x, of=Settings: x * of.factor, *replaced(Settings, "factor", 5.0)),
    "what a partial method reads": (lambda x: CONFIGURED.doubled(x), *item(CONFIGURED.by, 0, 5.0)),
    "what a method for several types reads": (lambda x: CONFIGURED.moved(x), *item(CONFIGURED.by, 0, 5.0)),
    "what a cached property reads": (
        lambda x: x * CONFIGURED.offset,
        lambda: (setattr(Settings.Inner, "factor", 5.0), vars(CONFIGURED).pop("offset")),
        lambda: (setattr(Settings.Inner, "factor", 2.0), vars(CONFIGURED).pop("offset")),
    ),
    "a keyword of a partial function": (lambda x: PARTIAL(x), *item(PARTIAL.keywords, "exponent", 2.0)),
    "an attribute of a list's class": (lambda x: x * STACK.top(), *replaced(Stack, "factor", 5.0)),
    "an attribute of a list": (
        lambda x: x * STACK.top(),
        lambda: setattr(STACK, "factor", 7.0),
        lambda: delattr(STACK, "factor"),
    ),
    "what a missing item is": (
        lambda x: x * DEFAULT["new"],
        lambda: (DEFAULT.clear(), setattr(DEFAULT, "default_factory", lambda: 5.0)),
        lambda: (DEFAULT.clear(), setattr(DEFAULT, "default_factory", lambda: 2.0)),
    ),
    "an item of a chain of dicts": (lambda x: x * CHAIN["a"], *item(CHAIN.maps[0], "a", 5.0)),
    "an item of a wrapped dict": (lambda x: x * WRAPPED["a"], *item(WRAPPED, "a", 5.0)),
    "an item of a wrapped list": (lambda x: x * LISTED[0], *item(LISTED, 0, 5.0)),
    "an item of the dict behind a view": (lambda x: x * VIEW["a"], *item(TABLE, "a", 5.0)),
    "a byte": (lambda x: x * BYTES[0], *item(BYTES, 0, 5)),
    "an item of an array of Python's": (lambda x: x * NUMBERS[0], *item(NUMBERS, 0, 5.0)),
    "an item in an array of objects": (lambda x: x * ITEMS[0][0], *item(ITEMS[0], 0, 5.0)),
    "an attribute of a function that isn't there": (
        lambda x: x * getattr(helper, "by", 1.0),
        lambda: setattr(helper, "by", 5.0),
        lambda: delattr(helper, "by"),
    ),
    "a name of a module that isn't there": (
        lambda x: x * vars(MODULE).get("by", 1.0),
        lambda: setattr(MODULE, "by", 5.0),
        lambda: delattr(MODULE, "by"),
    ),
    "a name of a module by its text": (lambda x: x * getattr(MODULE, "scale", 1.0), *replaced(MODULE, "scale", 5.0)),
    "a module that the code imports": (imports, *replaced(MODULE, "scale", 5.0)),
    "a name that the code imports": (imports_from, *replaced(MODULE, "scale", 5.0)),
}


@pytest.mark.parametrize("row", CHANGES)
def test_a_change_is_noticed_and_taken_back(row, monkeypatch):
    function, change, undo = CHANGES[row]
    monkeypatch.setitem(sys.modules, MODULE.__name__, MODULE)
    compiled, x = ms.jit(function), f32(2, 3)
    before = function(x).asnumpy()
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x).asnumpy(), before)
    change()
    try:
        changed = function(x).asnumpy()
        assert not np.array_equal(changed, before)
        np.testing.assert_allclose(compiled(x).asnumpy(), changed, rtol=1e-6)
    finally:
        undo()
    np.testing.assert_allclose(compiled(x).asnumpy(), before, rtol=1e-6)


def count_on_itself(x):
    count_on_itself.calls = getattr(count_on_itself, "calls", 0) + 1
    return x * count_on_itself.calls


def try_on_itself(x):
    try:
        try_on_itself.calls += 1
    except AttributeError:
        try_on_itself.calls = 1
    return x * try_on_itself.calls


def try_global(x):
    global NEW
    try:
        NEW += 1
    except NameError:
        NEW = 1
    return x * NEW


class Counts(Behind):
    def construct(self, x):
        self.factor += 1
        return x * self.factor


class CountsBefore(Counts):
    def construct(self, x):
        return super().construct(x)


@pytest.mark.parametrize("make", [
    lambda: count_on_itself, lambda: try_on_itself, lambda: try_global, CountsBefore,
])  # fmt: skip
def test_what_is_not_there_before_and_what_a_base_class_counts(make):
    function, x = make(), f32(1)
    compiled = ms.jit(function)
    try:
        values, _ = warned(lambda: [float(compiled(x)) for _ in range(5)])
        assert values == [values[0] + n for n in range(5)]
    finally:
        globals().pop("NEW", None)
        vars(function).pop("calls", None)


def of_reference(owner):
    weak = weakref.ref(owner)
    return lambda x: x * weak().scale


def of_keys(owner):
    factors = weakref.WeakKeyDictionary({owner: None})
    return lambda x: x * next(iter(factors)).scale


@pytest.mark.parametrize("make", [of_reference, of_keys])
@pytest.mark.parametrize("cls", [Base, ms.train.LossMonitor])
def test_a_weak_reference_to_a_plain_object_runs_in_pynative_mode(make, cls, monkeypatch):
    kept = cls()
    monkeypatch.setattr(kept, "scale", 2.0, raising=False)
    compiled, gone = ms.jit(make(kept)), weakref.ref(kept)
    values, messages = warned(lambda: compiled(f32(1)).tolist())
    monkeypatch.setattr(kept, "scale", 5.0)
    assert values == [2.0] and compiled(f32(1)).tolist() == [5.0] and "weak reference" in messages[0]
    monkeypatch.undo()
    del kept
    assert gone() is None


@pytest.mark.parametrize("weak", [weakref.ref, lambda cell: weakref.WeakMethod(cell.construct)])
def test_a_cell_behind_a_weak_reference_is_gone(weak):
    kept = [nn.ReLU()]
    found = [weak(kept[0])]
    compiled = ms.jit(lambda x: x * sum(each() is not None for each in found), fullgraph=True)
    assert compiled(f32(1)).tolist() == [1.0]
    kept.clear()
    assert compiled(f32(1)).tolist() == [0.0]


def test_a_handle_in_what_code_reads_is_no_hindrance():
    net = nn.ReLU()
    handles = [net.register_forward_hook(lambda cell, inputs, output: None), net.register_forward_hook(lambda *_: None)]
    compiled = ms.jit(lambda x: net(x) * len(handles), fullgraph=True)
    assert compiled(f32(1)).tolist() == [2.0]
    handles.pop().remove()
    assert compiled(f32(1)).tolist() == [1.0]


def test_a_function_behind_a_cache_of_results_is_followed(monkeypatch):
    monkeypatch.setattr(MODULE, "scale", 2.0)
    compiled, x = ms.jit(lambda x: x * cached()), f32(1)
    cached.cache_clear()
    assert compiled(x).asnumpy() == 2
    MODULE.scale = 5.0
    cached.cache_clear()
    assert compiled(x).asnumpy() == 5
    cached.cache_clear()


@pytest.mark.parametrize("function", [lambda x: x * CONTEXT.get(), lambda x: x * LOCAL.value])
def test_what_each_thread_has_for_itself_is_read_in_pynative_mode(function):
    compiled, x = ms.jit(function), f32(1)
    results, messages = warned(lambda: [compiled(x).tolist() for _ in range(2)])
    assert results == [[2.0], [2.0]] and len(messages) == 1 and "each thread has for itself" in messages[0]
    CONTEXT.set(5.0)
    LOCAL.value = 5.0
    assert compiled(x).tolist() == [5.0]
    CONTEXT.set(2.0)
    LOCAL.value = 2.0


def test_a_module_that_is_edited_and_reloaded_in_place(tmp_path, monkeypatch):
    """As `%autoreload 2` of notebooks does it: the old functions get the new code, the old classes the new attributes."""
    text = """
from msjax import nn

def helper(x):
    return x * 2

class Net(nn.Cell):
    def construct(self, x):
        return helper(x) + 1
"""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "edited_module_of_the_users.py"
    path.write_text(text)
    module = importlib.import_module(path.stem)
    monkeypatch.setitem(sys.modules, path.stem, module)
    net, old = module.Net(), (module.helper, module.Net.construct)
    compiled, x = ms.jit(lambda x: net(x)), f32(1)
    assert compiled(x).asnumpy() == 3
    for edit, expected in ((("x * 2", "x * 5"), 6), (("+ 1", "+ 100"), 105), (("helper(x) +", "helper(x * 2) +"), 110)):
        text = text.replace(*edit)
        namespace = {}
        exec(compile(text, str(path), "exec"), namespace)
        for function, new in zip(old, (namespace["helper"], namespace["Net"].construct)):
            function.__code__ = new.__code__
        assert net(x).asnumpy() == expected
        assert compiled(x).asnumpy() == expected


def test_a_setting_of_a_group_of_parameters_counts_from_the_next_step_on():
    weight = ms.Parameter(np.ones(2, np.float32), name="w")
    optimizer = ms.mint.optim.SGD([weight], lr=0.5)
    compiled = ms.jit(lambda gradient: optimizer((gradient,)))
    compiled(f32(1, 1))
    assert weight.asnumpy()[0] == 0.5
    optimizer.param_groups[0]["weight_decay"] = 0.2
    compiled(f32(1, 1))
    np.testing.assert_allclose(weight.asnumpy(), -0.05, rtol=1e-6)


def test_code_that_names_libraries_is_compiled_once():
    """Names of libraries that are made when they are first asked for, and a second look, make no difference."""

    def function(x):
        return ops.relu(x) * np.float32(np.pi) + ms.ops.zeros_like(x)

    compiled, x = ms.jit(function), f32(1, 2)
    cells = [nn.ReLU() for _ in range(2)]
    compiled(x)
    for cell in cells:
        cell.set_train()
        cell.register_forward_hook(lambda cell, args, result: None).remove()
        compiled(x)
    assert compiled.compilations() == 1


def test_names_that_a_class_made_without_a_module_reads():
    names = {"nn": nn, "factor": 1.0}
    exec("class Net(nn.Cell):\n    def construct(self, x):\n        return x * factor\n", names)
    net = ms.jit(names["Net"]())
    assert net(Tensor(2.0)) == 2.0
    names["factor"] = 3.0
    assert net(Tensor(2.0)) == 6.0
