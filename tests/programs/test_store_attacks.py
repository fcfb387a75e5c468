"""Programs on disk under attack: functions that were replaced, entries of other programs, damaged ones.

Whatever is done, an operator gives what it gives without the store.
"""

import builtins
import contextlib
import functools
import os
import pickle
import stat
import unittest.mock
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters import ad, mlir

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.core.base import jax_slots
from msjax.engine.autograd import residuals
from msjax.engine.autograd.grad import grad
from msjax.engine.autograd.op import Op, apply
from msjax.engine.programs import cache, disk_cache, originals
from msjax.engine.programs.store import read_entry, structure_as_data, write_entry
from msjax.ops.dispatch import promotion
from msjax.ops.function.nn_func import activations
from tests.programs.stores import store_in

X = np.linspace(-2, 2, 6, dtype=np.float32)
OPS = {
    "fast_gelu": (ops.fast_gelu.op, ()),
    "gelu": (ops.gelu.op, ("tanh",)),
    "hardswish": (ops.hardswish.op, ()),
    "log": (ops.log.op, ()),
    "softsign": (ops.softsign.op, ()),
    "tanh": (ops.tanh.op, ()),
}


def results(name):
    """The forward of an operator without programs, as in a new process, and its gradient."""
    op, static = OPS[name]
    op = Op(op.name, op.fn, int_grad=op.int_grad)
    x = Tensor(X)
    return [apply(op, (x,), static).asnumpy(), grad(lambda x: apply(op, (x,), static).sum())(x).asnumpy()]


def same(some, others):
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(some, others, strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("store"))


@pytest.fixture
def store(folder, monkeypatch, tmp_path):
    """The store of all tests here; jax has an empty folder, as it tells whether a program was compiled."""
    with store_in(folder, tmp_path / "jax", monkeypatch) as made:
        yield made


@contextlib.contextmanager
def off():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk_cache, "chosen_folder", lambda: "")
        yield


@pytest.fixture(scope="module")
def right():
    """What the operators give."""
    with off():
        return {name: results(name) for name in OPS}


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """The functions that were compiled."""
    made, original = COMPILED, cache.compile_operator
    monkeypatch.setattr(cache, "compile_operator", lambda fn, values: made.append(fn.fn) or original(fn, values))
    return made


COMPILED = []


def begin_anew():
    """As a process begins: jax has traced nothing, and nothing has been looked at."""
    jax.clear_caches()
    originals.ORIGINALS.__init__()


def attack(store, right, name, replace, *, changes=True, between=lambda: None):
    """Check an operator's results where something is replaced, with programs on disk, and afterwards.

    Args:
        replace: called with a MonkeyPatch.
        changes: whether the operator gives something else meanwhile.
        between: called when something was replaced, and when it is as before.
    """
    results(name)
    store.flush()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        replace(patch)
        between()
        with off():
            expected = results(name)
        assert same(expected, right[name]) is not changes
        for _ in range(2):
            assert same(results(name), expected)
            store.flush()
    between()
    assert same(results(name), right[name])
    COMPILED.clear()
    assert same(results(name), right[name]) and not COMPILED


# ---- functions that were replaced


def twice(fn):
    return lambda *args, **kwargs: fn(*args, **kwargs) * 2


def copied(fn):
    wrapper = twice(fn)
    return functools.wraps(fn)(lambda *args, **kwargs: wrapper(*args, **kwargs))


def custom(fn):
    made = jax.custom_jvp(twice(fn))
    made.defjvps(lambda t, out, *x: t * 3)
    return made


class Called:
    def __init__(self, fn):
        self.fn = fn

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)


WAYS = {
    "function": twice,
    "copied": copied,
    "jit": lambda fn: jax.jit(copied(fn), static_argnames="approximate" if fn is jax.nn.gelu else ()),
    "partial": lambda fn: functools.partial(twice(fn)),
    "mock": lambda fn: unittest.mock.MagicMock(side_effect=twice(fn)),
    "object": lambda fn: Called(twice(fn)),
    "method": lambda fn: Called(twice(fn)).__call__,
}
READ = [
    ("fast_gelu", jax.nn, "sigmoid"),
    ("gelu", jax.nn, "gelu"),
    ("softsign", jnp, "abs"),
    ("hardswish", activations, "_choose"),
    ("hardswish", jax.lax, "select"),
]


# Each function in two ways, and each way with one function at least.
REPLACED = [(*READ[i % len(READ)], list(WAYS)[i % len(WAYS)]) for i in range(2 * len(READ))]


@pytest.mark.parametrize(
    "name, module, attribute, way", REPLACED, ids=[f"{name}-{what}-{way}" for name, _, what, way in REPLACED]
)
def test_a_replaced_function(store, right, name, module, attribute, way):
    attack(store, right, name, lambda patch: patch.setattr(module, attribute, WAYS[way](getattr(module, attribute))))


def of_code(patch, fn, other):
    patch.setattr(fn, "__code__", other.__code__)


def rule_of_tanh(patch):
    rules = ad.primitive_jvps
    original = rules[jax.lax.tanh_p]

    def rule(primals, tangents, **params):
        out, tangent = original(primals, tangents, **params)
        return out, tangent * 2

    patch.setitem(rules, jax.lax.tanh_p, rule)


def rule_in_a_list(patch):
    patch.setitem(ad.primitive_jvps, jax.lax.tanh_p, None)
    ad.defjvp(jax.lax.tanh_p, lambda tangent, x, **params: tangent * 3)


def lowering_of_another(patch):
    patch.setitem(mlir._lowerings, jax.lax.tanh_p, mlir._lowerings[jax.lax.sin_p])


def lowering_of_its_own(patch):
    patch.setitem(mlir._lowerings, jax.lax.tanh_p, None)
    mlir.register_lowering(jax.lax.tanh_p, mlir.lower_fun(lambda x, **params: jax.lax.sin(x), False))


def bound_twice(self, *operands):
    return self.fn(*operands, *self.static) * 2


def no_gradient(self, cts, need, vjp):
    return [jnp.zeros_like(ct) for ct in cts]


OTHERS = {
    "another function of jax": ("fast_gelu", lambda p: p.setattr(jax.nn, "sigmoid", jax.nn.relu), True),
    "another one of its own": ("softsign", lambda p: p.setattr(jnp, "abs", jnp.square), True),
    "another one of Python": ("softsign", lambda p: p.setattr(jnp, "abs", builtins.abs), False),
    "a helper of msjax by another": ("hardswish", lambda p: p.setattr(activations, "_choose", lambda c, n, x: n + 0 * x), True),
    "a helper two calls away": ("log", lambda p: p.setattr(promotion, "kind_of", lambda dtype: "f"), False),
    "code in its place": ("hardswish", lambda p: of_code(p, activations._choose, lambda condition, number, x: x * 3), True),
    "code of a kernel": ("softsign", lambda p: of_code(p, activations._softsign.__wrapped__, lambda x: x * 3), True),
    "a method of a class": ("gelu", lambda p: p.setattr(residuals.Bound, "__call__", bound_twice), True),
    "a method of the machinery": ("log", lambda p: p.setattr(residuals.VJP, "gradients", no_gradient), True),
    "a hand-written gradient": (
        "softsign",
        lambda p: p.setattr(activations._softsign, "gradient", lambda slots, x: None, raising=False),
        False,
    ),
    "a rule of jax": ("tanh", rule_of_tanh, True),
    "a rule in a list": ("tanh", rule_in_a_list, True),
    "a lowering of another": ("tanh", lowering_of_another, True),
    "a lowering of its own": ("tanh", lowering_of_its_own, True),
    "a primitive's own": ("tanh", lambda p: p.setattr(jax.lax.tanh_p, "bind", lambda x, **k: jax.lax.sin_p.bind(x, **k)), True),
}


@pytest.mark.parametrize("case", OTHERS)
def test_something_else_that_was_replaced(store, right, case):
    name, replace, changes = OTHERS[case]
    attack(store, right, name, replace, changes=changes, between=begin_anew)


def test_programs_of_what_is_replaced_are_not_written(store, right):
    with pytest.MonkeyPatch.context() as patch:
        rule_of_tanh(patch)
        jax.clear_caches()
        op = Op("tanh", ops.tanh.op.fn)
        grad(lambda x: apply(op, (x,)).sum())(Tensor(np.ones(11, np.float32)))
        assert not store._pending
    begin_anew()


# ---- entries


def entries(store, name):
    """The files of an operator's programs, those of its gradient included."""
    for path in disk_cache.files(store.folder()):
        os.remove(path[-1])
    results(name)
    store.flush()
    return sorted(path for _, _, path in disk_cache.files(store.folder()))


def cut(size):
    return lambda path, data, others: data[:size]


def flipped(at):
    return lambda path, data, others: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


class Evil:
    def __reduce__(self):
        return os.mkdir, (MARKER,)


MARKER = "unpickled"


def written(change):
    """A change of an entry that is then written as an entry should be."""

    def damage(path, data, others):
        write_entry(path, *change(*read_entry(path)))
        with open(path, "rb") as file:
            return file.read()

    return damage


DAMAGES = {
    "empty": cut(0),
    "its beginning": cut(20),
    "its first half": cut(400),
    "all but a byte": lambda path, data, others: data[:-1],
    "a byte more": lambda path, data, others: data + b"\0",
    "another mark": flipped(0),
    "another digest": flipped(20),
    "another byte": flipped(100),
    "another's": lambda path, data, others: others[0],
    "a pickle": lambda path, data, others: pickle.dumps(Evil()),
    "no payload": written(lambda results, payload: (results, b"")),
    "other results": written(lambda results, payload: (structure_as_data(jax.tree.structure((0,) * 4)), payload)),
    "results of nothing": written(lambda results, payload: (structure_as_data(jax.tree.structure(())), payload)),
    "results that are none": written(lambda results, payload: ({"a": [None]}, payload)),
    "an executable that is none": written(lambda results, payload: (results, b"none")),
    "a pickle as executable": written(lambda results, payload: (results, pickle.dumps(Evil()))),
    "half of an executable": written(lambda results, payload: (results, payload[: len(payload) // 2])),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_entry_that_is_wrong(store, right, damage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = [Path(path).read_bytes() for path in entries(store, "log")]
    for path in entries(store, "softsign"):
        with open(path, "rb") as file:
            data = file.read()
        changed = DAMAGES[damage](path, data, other)
        with open(path, "wb") as file:
            file.write(changed)
    assert same(results("softsign"), right["softsign"])
    assert not os.path.exists(MARKER)
    store.flush()
    assert same(results("softsign"), right["softsign"])


def test_entries_under_other_names(store, right):
    paths = entries(store, "softsign")
    data = [Path(path).read_bytes() for path in paths]
    for path, content in zip(paths, data[1:] + data[:1]):
        with open(path, "wb") as file:
            file.write(content)
    assert same(results("softsign"), right["softsign"])


def links(path):
    os.rename(path, path + ".elsewhere")
    os.symlink(path + ".elsewhere", path)


@pytest.mark.skipif(os.name == "nt", reason="needs links and pipes")
@pytest.mark.parametrize(
    "change", [links, lambda path: (os.remove(path), os.mkfifo(path)), lambda path: (os.remove(path), os.mkdir(path))]
)
def test_entries_that_are_no_files(store, right, change):
    paths = entries(store, "softsign")
    for path in paths:
        change(path)
    assert same(results("softsign"), right["softsign"])
    store.flush()
    for path in paths:
        if os.path.isdir(path):
            os.rmdir(path)


def test_entries_of_another_user(store, right, compiled, monkeypatch):
    entries(store, "softsign")
    compiled.clear()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert same(results("softsign"), right["softsign"]) and len(compiled) == 3


def test_a_program_that_fails_when_it_is_called(store, right, compiled, monkeypatch):
    entries(store, "softsign")
    compiled.clear()

    def call(self, *operands):
        raise IndexError("a wrong program")

    with monkeypatch.context() as patch:
        patch.setattr(jax_slots.CheckedExecutable, "call", call)
        assert same(results("softsign"), right["softsign"])
    assert len(compiled) == 3


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_full_disk_leaves_nothing_behind(store, monkeypatch, tmp_path, error):
    path = str(tmp_path / "entry")

    def replace(*_):
        raise error

    with monkeypatch.context() as patch, pytest.raises(type(error)):
        patch.setattr(os, "replace", replace)
        write_entry(path, [0], b"1")
    assert os.listdir(tmp_path) == []
    write_entry(path, [0], b"1")
    assert read_entry(path) == ([0], b"1") and stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_what_other_processes_have_left_half_written_is_deleted(tmp_path):
    (tmp_path / "a-cache").write_bytes(b"a program")
    (tmp_path / ".x.msjax-1.tmp").write_bytes(b"")
    old = tmp_path / ".y.msjax-1.tmp"
    old.write_bytes(b"")
    os.utime(old, (1, 1))
    disk_cache.trim(str(tmp_path), 1 << 30)
    assert sorted(os.listdir(tmp_path)) == [".x.msjax-1.tmp", "a-cache"]
