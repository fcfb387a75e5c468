"""How operators are compiled, and how many of their programs are kept."""

import concurrent.futures
import gc
import importlib.metadata
import warnings
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
import msjax.numpy as mnp
from msjax import nn
from msjax.common.tensor import is_tensor
from msjax.core.base.arrays import is_at_hand
from msjax.engine.autograd import op as op_module
from msjax.engine.autograd.residuals import ResidualSpec
from msjax.engine.programs import cache, limits
from msjax.engine.programs.cache import _ARRAYS, ProgramCache, run_cached
from msjax.engine.programs.compiler_options import compile_operator, is_nested, options_for, platform_of, quick_options
from msjax.nn.layer.embedding import _clip_rows, _renorm
from msjax.ops.dispatch import random_keys


def doubled(key):
    return lambda x: x * 2 + key


@pytest.fixture
def small_cache():
    before = ms.get_context("program_cache_size")
    ms.set_context(program_cache_size=8)
    yield
    ms.set_context(program_cache_size=before)


def test_caches_are_emptied_when_there_are_too_many_programs(small_cache):
    made = []
    cache = ProgramCache(lambda key: made.append(key) or doubled(key))
    x = jnp.ones(2)
    for key in range(12):
        assert cache[key](x)[0] == 2 + key
        assert cache[0](x)[0] == 2
        assert len(cache) <= 9
    assert {*range(12)} == {*made} and len(made) <= 16
    for n in range(31, 41):
        assert ms.ops.zeros(n).shape == (n,)
        assert len(_ARRAYS) <= 9
    assert jax.jit(lambda x: x + jnp.asarray(ms.ops.ones(2)))(jnp.ones(2)).tolist() == [2.0, 2.0]


def test_sequences_of_seeds_are_dropped(monkeypatch):
    monkeypatch.setattr(random_keys, "_SEQUENCES", type(random_keys._SEQUENCES)())
    monkeypatch.setattr(random_keys, "_LARGEST_NUMBER_OF_SEQUENCES", 2)
    ms.manual_seed(0)
    for seed in (1, 2, 1, 3):
        ms.ops.standard_normal((1,), seed)
    assert list(random_keys._SEQUENCES) == [1, 3]


def test_threads_that_draw_from_one_seed_get_keys_of_their_own(hasty_threads):
    keys = random_keys.SeededKeys(3)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: bytes(np.asarray(keys.next_key())), range(200)))
    assert len(set(drawn)) == 200


def test_what_fails_is_not_kept():
    cache = ProgramCache(lambda key: lambda x: x.reshape(key))
    with pytest.raises(TypeError, match="reshape"):
        cache[5](jnp.ones(3))
    assert not cache


def test_one_warning_names_the_cell_that_is_compiled_for_many_shapes(monkeypatch):
    monkeypatch.setattr(limits, "MANY_SIGNATURES", 2)

    class Net(ms.nn.Cell):
        def construct(self, x):
            return ms.ops.tanh(ms.ops.relu(x) + 1)

    net = Net()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(31, 35):
            net(ms.Tensor(np.ones(n, "float32")))
    (warning,) = caught
    assert "in cell Net" in str(warning.message) and "buckets" in str(warning.message)


def test_operators_run_inside_of_jax_transformations():
    a = ms.Tensor(np.ones((2, 3), "float32"))
    grad = ms.grad(lambda x: ms.ops.relu(x).sum())

    @jax.jit
    def f(x):
        # The operands of most operators here are constants to jax.
        return a * a + grad(a) + a.max() + ms.Tensor(x)

    assert f(jnp.ones((2, 3))).tolist() == [[4.0] * 3] * 2


def test_operands_on_another_platform_get_no_options_of_cpus():
    device = mock.Mock(platform="gpu")
    value = mock.Mock(committed=True, is_fully_addressable=True, **{"devices.return_value": {device}})
    value.__class__ = jax.Array
    assert platform_of([value]) == "gpu" and options_for([value]) == {}
    assert platform_of([1.0, jnp.ones(2)]) == "cpu" and options_for([jnp.ones(2)]) == quick_options()
    # Nor are their values looked at, nor those that another process has a part of.
    assert not is_at_hand(value) and is_at_hand(jnp.ones(2)) and is_at_hand(np.ones(2))
    device.platform = "cpu"
    assert is_at_hand(value)
    value.is_fully_addressable = False
    assert not is_at_hand(value)


def test_compiler_options_are_asked_for_only_where_they_exist(monkeypatch):
    quick_options.cache_clear()
    try:
        monkeypatch.setattr(importlib.metadata, "version", lambda _: "0.12.0")
        assert quick_options() == {}
        quick_options.cache_clear()
        monkeypatch.setattr(importlib.metadata, "version", lambda _: "0.10.2")
        monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=true")
        assert quick_options()["xla_cpu_parallel_codegen_split_count"] == 1
        assert "xla_cpu_use_fusion_emitters" not in quick_options()
        quick_options.cache_clear()
        monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
        assert quick_options() == {}
    finally:
        quick_options.cache_clear()


@pytest.mark.parametrize(
    ("fn", "by_size"),
    [
        (lambda x: x + 1, False),
        (lambda x: x.T + 1, True),
        (lambda x: x.T @ x, False),
        (lambda x: x.reshape(-1), False),
        (lambda x: x.reshape(-1) + 1, True),
        (lambda x: x.reshape(2, 1, 3) + 1, False),
        (lambda x: jax.jit(lambda y: y.T)(x), True),
        (lambda x: jnp.pad(x, 1), True),
    ],
)
def test_programs_that_move_elements_have_options_by_size(fn, by_size):
    if not quick_options():
        pytest.skip("this jaxlib has one set of options")
    assert compile_operator(fn, (jnp.ones((2, 3)),))[1] is by_size


def test_a_compiled_function_within_a_transformation_is_the_function():
    cache = ProgramCache(doubled)
    x = jnp.ones(2)
    assert run_cached(cache, 1, (x,)).tolist() == [3.0, 3.0]
    assert jax.jit(lambda y: y + run_cached(cache, 1, (x,)))(x).tolist() == [4.0, 4.0]
    assert not is_nested(ValueError("something else"))


LABELS = ms.Tensor([1, 2, 3, 0])
MEAN, ONES = ms.Tensor([0.1] * 5), ms.Tensor([1.0] * 5)
NUMBERS = {
    "leaky_relu": (lambda x, a: ms.ops.leaky_relu(x, a), (0.1, 0.7, 1.3, 1 / 3)),
    "elu": (lambda x, a: ms.ops.elu(x, a), (0.1, 1.0, 2.3)),
    "celu": (lambda x, a: ms.ops.celu(x, a), (0.1, 1 / 3)),
    "rrelu": (lambda x, a: ms.ops.rrelu(x, a, a + 0.1), (0.1, 1 / 3)),
    "hardtanh": (lambda x, a: ms.ops.hardtanh(x, -a, a + 0.1), (0.1, 0.7, 1 / 3)),
    "hardshrink": (lambda x, a: ms.ops.hardshrink(x, a), (0.1, 0.7)),
    "softshrink": (lambda x, a: ms.ops.softshrink(x, a), (0.1, 1 / 3)),
    "threshold": (lambda x, a: ms.ops.threshold(x, a, a + 0.2), (0.1, 0.7)),
    "dropout": (lambda x, a: ms.ops.dropout(x, a, seed=4), (0.1, 1 / 3, 0.9)),
    "gumbel_softmax": (lambda x, a: ms.ops.gumbel_softmax(x, a), (0.1, 0.7, 1 / 3)),
    "layer_norm": (lambda x, a: ms.ops.layer_norm(x, (5,), eps=a), (1e-5, 0.3)),
    "rms_norm": (lambda x, a: ms.ops.rms_norm(x, ms.Tensor([1.0] * 5), a)[0], (1e-6, 0.3)),
    "group_norm": (lambda x, a: ms.ops.group_norm(x, 5, eps=a), (1e-5, 0.3)),
    "cross_entropy": (lambda x, a: ms.ops.cross_entropy(x, LABELS, label_smoothing=a), (0.1, 1 / 3)),
    "nll_loss": (lambda x, a: ms.ops.nll_loss(x, LABELS, label_smoothing=a), (0.1, 1 / 3)),
    "batch_norm": (lambda x, a: ms.ops.batch_norm(x, MEAN.copy(), ONES.copy(), ONES, MEAN, True, a, a), (0.1, 1 / 3)),
    "smooth_l1_loss": (lambda x, a: ms.ops.smooth_l1_loss(x, x * 2, a), (0.1, 1 / 3)),
    "huber_loss": (lambda x, a: ms.ops.huber_loss(x, x * 2, delta=a), (0.1, 1 / 3)),
    "margin_ranking_loss": (lambda x, a: ms.ops.margin_ranking_loss(x, x * 2, x, a), (0.1, 1 / 3)),
    "triplet_margin_loss": (lambda x, a: ms.ops.triplet_margin_loss(x, x * 2, x * 3, a, eps=a), (0.1, 1 / 3)),
    "lrn": (lambda x, a: ms.ops.lrn(x.reshape(1, 4, 5, 1), 1, a, a), (0.1, 1 / 3)),
    "clip_by_norm": (lambda x, a: ms.ops.clip_by_norm(x, a), (0.1, 1 / 3)),
    "clip_by_global_norm": (lambda x, a: ms.ops.clip_by_global_norm([x, x], a), (0.1, 1 / 3)),
    "clip_by_value": (lambda x, a: ms.ops.clip_by_value(x, -a, a), (0.1, 1 / 3)),
    "addmm": (lambda x, a: ms.ops.addmm(x, x[:, :4], x, beta=a), (0.1, 1 / 3)),
    "softplus": (lambda x, a: ms.ops.softplus(x, a, 20 * a), (0.1, 1 / 3)),
    "logit": (lambda x, a: ms.ops.logit(x, a), (0.1, 1 / 3)),
    "cosine_similarity": (lambda x, a: ms.ops.cosine_similarity(x, x + 1, eps=a), (0.1, 1 / 3)),
    "histc": (lambda x, a: ms.ops.histc(x, 5, -a, a), (0.1, 1 / 3)),
    "cosine decay": (lambda x, a: ms.nn.CosineDecayLR(a, 1.0, 9)(ms.Tensor(2)), (0.1, 1 / 3)),
    "renorm": (lambda x, a: ms.ops.renorm(x, 2, 0, a), (0.1, 1 / 3)),
    "isclose": (lambda x, a: ms.ops.isclose(x, x * 2, a, a), (0.1, 1 / 3)),
    "nan_to_num": (lambda x, a: ms.ops.nan_to_num(x, a, a), (0.1, 1 / 3)),
    "numpy amax": (lambda x, a: mnp.amax(x, 1, initial=a), (0.1, 1 / 3)),
    "numpy pad": (lambda x, a: mnp.pad(x, 1, constant_values=a), (0.1, 1 / 3)),
    "numpy gradient": (lambda x, a: mnp.gradient(x, a, axis=1), (0.1, 1 / 3, 0.7)),
    "lookup": (lambda x, a: _clip_rows(x, a, a**2), (0.1, 1 / 3)),
    "renorm of a table": (lambda x, a: x * _renorm(x, LABELS, a, 2.0), (0.1, 1 / 3)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_an_operand_and_gives_what_a_constant_gives(name, monkeypatch):
    function, numbers = NUMBERS[name]
    x = ms.Tensor(np.random.RandomState(0).randn(4, 5).astype("float32"))
    run = ms.value_and_grad(function)
    run(x, 0.45)
    compiled = []
    monkeypatch.setattr(limits.CACHE_LIMIT, "count", lambda: compiled.append(1))
    for number in numbers:
        run(x, number)
    assert not compiled
    calls = []
    monkeypatch.setattr(op_module, "_run", lambda *call, own=op_module._run: calls.append((call, own(*call))) or calls[-1][1])
    function(x, numbers[-1])
    ((op, _, values, static, *_), out) = calls[-1]
    numbers_at = {i: v for i, v in enumerate(values) if isinstance(v, float)}
    assert numbers_at

    def constant(*values):
        return op.bind(static)(*[numbers_at.get(i, v) for i, v in enumerate(values)])

    expected = compile_operator(constant, values)[0](*values)
    for a, b in zip(jax.tree.leaves(out, is_leaf=is_tensor), jax.tree.leaves(expected)):
        np.testing.assert_array_equal(a.asnumpy(), b)


def test_wrong_numbers_are_errors_of_the_operator():
    x = ms.Tensor([1.0])
    with pytest.raises(RuntimeError, match="For 'softshrink': 'lambd' should not be negative, but got -1"):
        ms.ops.softshrink(x, -1.0)
    with pytest.raises(TypeError, match="alpha"):
        ms.ops.leaky_relu(x, "a")
    assert ms.ops.leaky_relu(x, ms.Tensor(0.5)).asnumpy() == 1.0
    assert ms.ops.dropout(x, 1.0).asnumpy() == 0.0


@pytest.mark.long
def test_programs_that_are_dropped_leave_nothing_for_their_gradients(small_cache):
    gradient = ms.grad(lambda x: ms.ops.tanh(x))

    def specs():
        gc.collect()
        return sum(type(o) is ResidualSpec for o in gc.get_objects())

    before = specs()
    for n in range(41, 66):
        gradient(ms.Tensor(np.ones(n, "float32")))
    assert specs() - before <= 12


@pytest.mark.long
@pytest.mark.parametrize("size", [1, 2])
def test_threads_that_train_beside_each_other_with_next_to_no_cache(size, monkeypatch):
    """Losses, what hooks see and Parameters are those of the same training alone."""

    def train(seed):
        rng, seen, width = np.random.default_rng(seed), [], 20 * size + seed
        net = nn.SequentialCell(nn.Dense(3, width), nn.Tanh(), nn.Dense(width, 1)).set_train()
        for parameter in net.get_parameters():
            parameter.set_data(ms.Tensor(rng.standard_normal(parameter.shape).astype(np.float32)))
        net[1].register_forward_hook(lambda cell, inputs, output: seen.append(output.asnumpy()))
        net[1].register_backward_hook(lambda cell, gradient, _: seen.append(gradient[0].asnumpy()))
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        step = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)
        for _ in range(3):
            loss, gradients = step(ms.Tensor(rng.standard_normal((2, 3)).astype(np.float32)))
            optimizer(gradients)
            seen.append(loss.asnumpy())
        return [a.tobytes() for a in (*seen, *[parameter.asnumpy() for parameter in net.get_parameters()])]

    before = ms.get_context("program_cache_size")
    ms.set_context(program_cache_size=size)
    compiled = []
    monkeypatch.setattr(cache, "compile_operator", lambda fn, values: compiled.append(fn.fn) or compile_operator(fn, values))
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            together = list(threads.map(train, range(2)))
    finally:
        ms.set_context(program_cache_size=before)
    many = len(compiled)
    assert together == [train(seed) for seed in range(2)]
    assert len(compiled) < 2 * many, "programs were dropped and compiled again"
