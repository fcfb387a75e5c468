"""Programs of operators on disk: found again by what they were compiled from, refused where anything else is asked."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters import mlir

import msjax as ms
from msjax import nn, ops
from msjax.engine.autograd import residuals
from msjax.engine.autograd.op import Op, apply
from msjax.engine.autograd.residuals import Bound
from msjax.engine.programs import cache, disk_cache, originals, store_key
from msjax.engine.programs.cache import ProgramCache
from msjax.engine.programs.originals import Undescribable, describe
from msjax.ops.function.nn_func import activations
from tests.programs.stores import store_in

TANH, SUB, ADD = ops.tanh.op, ops.sub.op, ops.add.op
F, G = "f", "g"


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store in an empty folder; jax has an empty one, too."""
    with store_in(tmp_path / "msjax", tmp_path / "jax", monkeypatch) as made:
        yield made


@pytest.fixture
def compiled(monkeypatch):
    """The functions that were compiled."""
    made, original = [], cache.compile_operator
    monkeypatch.setattr(cache, "compile_operator", lambda fn, values: made.append(fn.fn) or original(fn, values))
    return made


def fresh(op):
    """An operator without programs, as in a new process."""
    return Op(op.name, op.fn, int_grad=op.int_grad)


def files(store):
    return sorted(path for _, _, path in disk_cache.files(store.folder()))


def gradients(op, *static):
    """Forward, gradient and second derivative, with a hook on the gradient of the result."""
    seen = []

    def f(x):
        y = apply(op, (x,), static)
        y.register_hook(lambda g: seen.append(g.asnumpy()) or g * 2)
        return (y * y).sum()

    x = ms.Tensor(np.linspace(-2, 2, 6, dtype=np.float32))
    return [
        apply(op, (x,), static).asnumpy(),
        ms.grad(f)(x).asnumpy(),
        ms.grad(lambda v: ms.grad(f)(v).sum())(x).asnumpy(),
        *seen,
    ]


def test_results_are_those_of_programs_that_were_compiled(store, compiled, monkeypatch):
    gelu = ops.gelu.op
    first = gradients(fresh(gelu), "tanh")
    store.flush()
    stored = files(store)
    assert len(stored) >= 4
    compiled.clear()
    again = gradients(fresh(gelu), "tanh")
    assert not compiled
    monkeypatch.setattr(disk_cache, "chosen_folder", lambda: "")
    expected = gradients(fresh(gelu), "tanh")
    assert compiled and not store._pending
    for a, b, c in zip(expected, first, again, strict=True):
        assert a.tobytes() == b.tobytes() == c.tobytes()


def test_a_backward_that_is_not_on_disk_traces_its_forward_again(store, compiled):
    x = ms.Tensor([0.5, 1.5])
    expected = ms.grad(lambda x: apply(fresh(TANH), (x,)))(x)
    for path, _, fn, _ in store._pending.copy():
        if isinstance(fn, residuals.Backward):
            store._pending = [entry for entry in store._pending if entry[0] != path]
    store.flush()
    compiled.clear()
    assert ms.grad(lambda x: apply(fresh(TANH), (x,)))(x).tolist() == expected.tolist()
    (made,) = compiled
    assert isinstance(made, residuals.Backward)


def test_a_network_with_hooks(store, compiled):
    seen = []

    def train():
        ms.set_seed(0)
        net = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dense(4, 2)).set_train()
        net[2].register_backward_hook(lambda cell, gi, go: seen.append(gi[0].asnumpy()))
        loss, grads = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())(
            ms.Tensor(np.eye(3, dtype=np.float32))
        )
        return [loss.asnumpy(), *[g.asnumpy() for g in grads], *[p.asnumpy() for p in net.get_parameters()], seen.pop()]

    assert [a.tobytes() for a in train()] == [a.tobytes() for a in train()]


def test_a_program_refuses_other_operands_and_settings(store, compiled):
    x = jnp.asarray([1.0, 2.0], jnp.float32)
    apply(fresh(ADD), (x, 1.0))
    store.flush()
    compiled.clear()
    op = fresh(ADD)
    assert apply(op, (x, 1.0)).tolist() == [2.0, 3.0] and not compiled
    cases = [
        (jnp.ones((2, 1), jnp.float32), 1.0),
        (jnp.ones(2, jnp.float16), 1.0),
        (x, 1),
        (x, jnp.asarray(1.0)),
        (x, jnp.float32(1.0) * jnp.asarray(1.0, jnp.float32)),
        (jax.lax.full((2,), 1.0), 1.0),
        (jax.device_put(x, jax.devices()[1]), 1.0),
        (1.0, x),
        (np.ones(2, np.float32), 1.0),
    ]
    for values in cases * 2:
        out, expected = jnp.asarray(apply(op, values)), jax.jit(op.fn)(*values)
        assert out.tolist() == expected.tolist()
        assert (out.dtype, out.weak_type, out.devices()) == (expected.dtype, expected.weak_type, expected.devices())
    traced = []
    jax.jit(lambda: traced.append(jnp.asarray(apply(op, (x, 1.0)))) or traced[0])()
    assert isinstance(traced[0], jax.core.Tracer)
    assert jax.vmap(lambda v: apply(op, (v, 1.0)))(x).tolist() == [2.0, 3.0]
    with jax.enable_x64(not jax.config.jax_enable_x64):
        assert apply(op, (x, 1.0)).tolist() == [2.0, 3.0]
    count = len(compiled)
    assert apply(op, (x, 1.0)).tolist() == [2.0, 3.0] and len(compiled) == count


def test_programs_that_are_dropped_are_freed(store, monkeypatch):
    x = ms.Tensor([1.0])
    ms.grad(lambda x: apply(fresh(TANH), (x,)))(x)
    store.flush()
    loaded, original = [], store.load
    monkeypatch.setattr(store, "load", lambda *args: loaded.append(original(*args)) or loaded[-1])
    ms.grad(lambda x: apply(fresh(TANH), (x,)))(x)
    assert len(loaded) == 2
    loaded = [weakref.ref(executable) for _, executable in loaded]
    gc.collect()
    assert [executable() for executable in loaded] == [None, None]


def test_every_signature_of_an_operator_is_stored(store, compiled):
    shapes = [(2,), (3,), (2, 2), (2,)]
    for shape in shapes:
        apply(TANH_TABLE := fresh(TANH), (jnp.ones(shape),))
    del TANH_TABLE
    store.flush()
    compiled.clear()
    op = fresh(TANH)
    for shape in shapes * 2:
        assert apply(op, (jnp.ones(shape),)).shape == shape
    assert not compiled


def test_descriptions_differ_where_programs_do():
    values = [
        None,
        ...,
        True,
        1,
        1.0,
        0,
        0.0,
        -0.0,
        float("nan"),
        "1",
        (1,),
        [1],
        (1.0,),
        ((1,),),
        slice(1),
        slice(None, 1, None),
        {"a": 1},
    ]
    values += [np.dtype("float32"), np.dtype("int32"), jnp.dtype("bfloat16"), jnp.float32, jnp.tanh, jnp.cos, np.float32]
    values += [TANH.fn, SUB.fn, ADD.fn, activations._softsign, Bound(SUB.fn, (1,)), Bound(SUB.fn, (2,)), jax.nn.relu]
    values += [outer(inner) for outer in (jnp.vectorize, jax.checkpoint) for inner in (jnp.tanh, jnp.cos)]
    assert len({repr(describe(v)) for v in values}) == len(values) - 1  # slice(1) is slice(None, 1)
    assert describe(float("nan")) == describe(-float("nan"))


def test_views_are_described_by_their_steps():
    x = ms.Tensor(np.ones((4, 2), np.float32))
    first, same, *others = [vars(view)["_view"].steps for view in (x[1:3], x[0:2], x[1:2], x.T, x.reshape(2, 4), x.T[0])]
    assert describe(first) == describe(same) and len({repr(describe(steps)) for steps in (first, *others)}) == 5


def test_what_has_no_complete_description_is_not_stored(store, compiled):
    array = jnp.ones(2)
    for value in (
        lambda x: x,
        array,
        np.ones(2),
        object(),
        nn.ReLU(),
        ms.Tensor(1.0),
        fresh.__code__,
    ):
        with pytest.raises(Undescribable):
            describe(value)
    table = ProgramCache(lambda key: lambda x: x + array)
    assert table[()](array).tolist() == [2.0, 2.0]
    store.flush()
    assert not files(store) and not isinstance(table[()], cache.SignatureCache)


def test_keys_differ_where_programs_do(store, monkeypatch):
    x = jnp.ones(2, jnp.float32)
    operands = [
        (x,),
        (x, None),
        (None, x),
        (x, 1),
        (x, 1.0),
        (x, True),
        (x, x),
        (jnp.ones(3, jnp.float32),),
        (jnp.ones(2, jnp.float16),),
    ]
    operands += [(jax.lax.full((2,), 1.0),), (jnp.ones((1, 2), jnp.float32),)]
    keys = [store.key(F, values, {}) for values in operands] + [store.key(G, (x,), {}), store.key(F, (x,), {"a": 1})]
    with monkeypatch.context() as other:
        other.setattr(store_key, "process_stamp", lambda: "another version")
        keys.append(store.key(F, (x,), {}))
    jax.config.update("jax_default_matmul_precision", "highest")
    keys.append(store.key(F, (x,), {}))
    jax.config.update("jax_default_matmul_precision", None)
    assert len({path for path, _, _ in keys}) == len(keys)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 5.0)  # as when another thread compiles
    assert store.key(F, (x,), {}) == keys[0]
    assert store.key(None, (x,), {}) is None
    for values in ((np.ones(2),), (jax.device_put(x, jax.devices()[0]),), (jax.random.key(0),), (1j,)):
        assert store.key(F, values, {}) is None
    with jax.enable_x64(not jax.config.jax_enable_x64):
        assert store.key(F, (x,), {}) is None
    found = []
    jax.jit(lambda: found.append(store.key(F, (x,), {})))()
    assert found == [None]


def test_damaged_files_are_written_again(store, compiled):
    x = jnp.ones(5)
    for damage in (lambda data: b"", lambda data: data[:-9], lambda data: b"damaged", lambda data: data):
        assert apply(fresh(TANH), (x,)).shape == (5,)
        store.flush()
        (path,) = files(store)
        with open(path, "rb") as file:
            data = damage(file.read())
        with open(path, "wb") as file:
            file.write(data)
    assert len(compiled) == 4
    apply(fresh(TANH), (x,))
    assert len(compiled) == 4


def test_programs_that_jax_found_on_disk_or_that_call_libraries_are_not_stored(store, monkeypatch):
    x = jnp.ones(7)
    with monkeypatch.context() as off:
        off.setattr(disk_cache, "chosen_folder", lambda: "")
        apply(fresh(TANH), (x,))
    apply(fresh(TANH), (x,))  # jax stored it just now
    apply(fresh(ops.cholesky.op), (jnp.eye(2),), (False,))
    assert not store._pending
    apply(fresh(SUB), (x, 2.0))
    assert len(store._pending) == 1
    assert jax.config.values["jax_persistent_cache_min_compile_time_secs"] == 0.0


def test_nothing_is_stored_for_a_package_that_changed_after_it_was_imported(monkeypatch):
    stamp = store_key.process_stamp.__wrapped__
    monkeypatch.setattr(store_key, "_IMPORTED", 1 << 62)
    made = stamp()
    assert made and made == stamp()
    monkeypatch.setattr(store_key, "_IMPORTED", 0)
    assert stamp() is None


def test_settings_that_check_every_call_compile_anew(store, compiled):
    x = jnp.ones(3)
    apply(fresh(TANH), (x,))
    store.flush()
    jax.config.update("jax_debug_nans", True)
    try:
        assert store.key(F, (x,), {}) is None
        compiled.clear()
        op = fresh(ops.log.op)
        with pytest.raises(FloatingPointError):
            apply(op, (-x,))
        assert apply(fresh(TANH), (x,)).shape == (3,) and len(compiled) == 2
    finally:
        jax.config.update("jax_debug_nans", False)


def test_a_primitive_of_the_users_own_leaves_jax_as_it_is():
    before = originals.ORIGINALS.digest()
    primitive = jax.extend.core.Primitive("scaled")
    primitive.def_abstract_eval(lambda x: x)
    mlir.register_lowering(primitive, lambda ctx, x: [x])
    assert before is not None and originals.ORIGINALS.digest() == before
