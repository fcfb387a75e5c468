"""The gradients that operators have written by hand, against those that jax derives from the same operators."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax.engine.autograd.op import apply
from msjax.engine.autograd.residuals import TracedVJP
from msjax.ops.function.nn_func import pooling_kernels, separate_windows
from msjax.ops.function.nn_func.convolution_kernels import CONV
from msjax.ops.function.nn_func.normalization import BATCH_NORM_TRAIN, LAYER_NORM
from msjax.ops.function.nn_func.pooling_kernels import AVG_POOL, MAX_POOL


def conv(x, weight, stride=1, pads=(0, 0), dilation=1, group=1):
    n = len(x) - 2
    bias = np.ones(weight[0], np.float32)
    return CONV, [x, weight, bias], ((stride,) * n, (pads,) * n, (dilation,) * n, group)


CASES = {
    "a kernel for each channel": conv((2, 3, 7, 6), (3, 1, 3, 3), pads=(1, 1), group=3),
    "stride and dilation": conv((2, 3, 9, 8), (3, 1, 3, 2), stride=2, pads=(1, 2), dilation=2, group=3),
    "wide padding": conv((1, 2, 5), (2, 1, 2), pads=(3, 0), group=2),
    "two kernels for each channel": conv((2, 2, 5, 5), (4, 1, 2, 2), group=2),
    "pixels": conv((2, 3, 4, 5), (4, 3, 1, 1)),
    "one pixel": conv((2, 3, 1, 1), (4, 3, 1, 1)),
    "tiles": conv((2, 3, 4, 4), (4, 3, 2, 2), stride=2),
    "xla": conv((2, 3, 6, 6), (2, 3, 3, 3), pads=(1, 1)),
    "small image": conv((2, 3, 2, 2), (4, 3, 3, 3), pads=(1, 1)),
    "rows": conv((2, 4, 5, 5), (2, 4, 3, 3), stride=2, pads=(1, 0)),
    "separate maxima": (MAX_POOL, [(2, 3, 6, 4)], ((3, 2), (3, 2), ((0, 0), (0, 0)), (1, 1))),
    "overlapping maxima": (MAX_POOL, [(2, 3, 7, 6)], ((3, 2), (2, 2), ((0, 1), (1, 0)), (1, 1))),
    "a dense layer": (ms.ops.dense.op, [(2, 4, 3), (5, 3), (5,)], ()),
    "layer normalization": (LAYER_NORM, [(4, 3, 5), (3, 5), (3, 5), 1e-5], (1, 1)),
    "batch normalization": (BATCH_NORM_TRAIN, [(4, 3, 2, 2), *[(3,)] * 4, 1e-5, 0.9, 0.1], ()),
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_jaxs(name):
    op, operands, static = CASES[name]
    values = [np.random.RandomState(i).rand(*v).astype("float32") if isinstance(v, tuple) else v for i, v in enumerate(operands)]
    slots = (0, 1, 2)[: len(values)]
    need = (True,) * len(slots)

    def gradients(fn):
        def run(*values):
            pull = TracedVJP(fn, values, slots, False)
            return pull.by_rule, pull.out, pull([jnp.sin(pull.out[0]), *[None] * (len(pull.out) - 1)], need)

        return run

    # Within one program, XLA would find out that both compute the same.
    by_rule, out, found = jax.jit(gradients(op.bind(static)))(*values)
    derived, expected_out, expected = jax.jit(gradients(lambda *v: op.fn(*v, *static)))(*values)
    assert by_rule and not derived
    for a, b in zip([*out, *found], [*expected_out, *expected], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_batch_norm_keeps_jaxs_gradient_of_the_moving_statistics():
    x, one = np.random.RandomState(0).rand(4, 2).astype("float32"), ms.Tensor(np.ones(2, "float32"))

    def moved(mean):
        return apply(BATCH_NORM_TRAIN, (ms.Tensor(x), one, one, mean, one, 1e-5, 0.75, 0.25))[1].sum()

    np.testing.assert_allclose(ms.grad(moved)(one).asnumpy(), [0.75, 0.75])


def test_relu_keeps_nothing_but_its_result():
    x = np.array([-4.0, -2.5, -0.5, 0.25, 1.5, 3.5], "float32")
    made = []

    def run(x):
        out = ms.ops.relu(x)
        made.append((out._value, out._node.residuals))  # the arrays that the tape keeps for the backward pass
        return out.sum()

    np.testing.assert_allclose(ms.grad(run)(ms.Tensor(x)).asnumpy(), x > 0)
    ((result, residuals),) = made
    assert [kept is result for kept in residuals] == [True]


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_a_program_has_the_kernels_of_the_platform_it_is_lowered_for(platform):
    """Not those of the process's default backend, the CPU, where the same function is traced."""

    def step(x, weight):
        convolved = TracedVJP(CONV.bind(((1, 1), ((0, 0), (0, 0)), (1, 1), 1)), (x, weight, None), (0, 1), False)
        pooled = TracedVJP(MAX_POOL.bind(((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1))), convolved.out, (0,), False)
        mean = TracedVJP(AVG_POOL.bind(((3, 3), (1, 1), *(((0, 0), (0, 0)),) * 2, None)), pooled.out, (0,), False)
        return convolved(pooled(mean([mean.out[0]], (True,)), (True,)), (True, True))

    # Of so many elements that the CPU has kernels of its own for all of them.
    traced = jax.jit(step).trace(np.ones((2, 4, 64, 64), np.float32), np.ones((6, 4, 1, 1), np.float32))
    own, other = traced.lower().as_text(), traced.lower(lowering_platforms=(platform,)).as_text()
    assert "stablehlo.convolution" not in own and "stablehlo.reduce_window" not in own and "stablehlo.scatter" in own
    assert other.count("stablehlo.convolution") == 3 and other.count("stablehlo.reduce_window") == 2
    assert "scatter" not in other and "stablehlo.dot" not in other
    both = traced.lower(lowering_platforms=("cpu", platform)).as_text()
    assert "stablehlo.convolution" in both and "stablehlo.dot_general" in both


@pytest.mark.parametrize("many", [1, 1 << 20])
@pytest.mark.parametrize("shape, kernel", [((6, 2, 4, 6), (2, 3)), ((5, 8), (2,)), ((4, 3, 2, 2, 4), (2, 1, 2))])
def test_the_gradient_of_separate_maxima_is_the_same_in_both_ways(shape, kernel, many, monkeypatch):
    place, ct = np.random.default_rng(0).integers(0, np.prod(kernel), shape).astype(np.int8), np.arange(1.0, np.prod(shape) + 1)
    ct = ct.reshape(shape)
    want = jax.jit(lambda *a: separate_windows.spread_where_chosen(*a, kernel))(place, ct)
    monkeypatch.setattr(separate_windows, "_MANY", many)
    np.testing.assert_array_equal(jax.jit(lambda *a: separate_windows.woven_where_chosen(*a, kernel))(place, ct), want)


@pytest.mark.long
def test_the_gradient_of_max_pooling_is_the_same_on_all_platforms():
    rng = np.random.default_rng(0)
    for shape, kernel, stride, pads, dilation in [
        ((2, 3, 8, 9), (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1)),
        ((1, 2, 7, 6), (3, 2), (1, 2), ((0, 1), (1, 0)), (2, 1)),
        ((2, 11), (4,), (3,), ((2, 0),), (1,)),
        ((1, 4, 5, 6), (2, 2, 2), (1, 1, 3), ((0, 0), (1, 1), (0, 0)), (1, 1, 2)),
    ]:
        # Small integers, so that many are equal: the first of them has the gradient.
        x = rng.integers(0, 3, shape).astype(np.float32)
        settings = kernel, stride, pads, dilation
        vjp = TracedVJP(MAX_POOL.bind(settings), (x,), (0,), False)
        ct = rng.normal(size=vjp.out[0].shape).astype(np.float32)
        (expected,) = vjp([ct], (True,))
        _, index = pooling_kernels._max_and_index(x, pooling_kernels._sliding(shape, *settings))
        got = pooling_kernels._sums_where_chosen(index, ct, shape, *settings)
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
        if max(dilation) == 1:  # that of TPUs
            _, pull = jax.vjp(lambda x, s=settings: pooling_kernels._largest_of_windows(x, *s), x)
            np.testing.assert_allclose(pull(ct)[0], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape, window, stride", [((2, 1, 6, 6), 2, 1), ((2, 1, 6, 6), 2, 2), ((1, 1, 12, 12), 7, 3)])
def test_what_is_kept_of_a_gradient_refers_to_no_trace(shape, window, stride):
    x = ms.Tensor(np.ones(shape, np.float32))
    with jax.checking_leaks():
        gradient = ms.grad(lambda x: ms.ops.relu(ms.ops.max_pool2d(x, window, stride)).sum())(x)
    assert gradient.asnumpy().sum() == ms.ops.max_pool2d(x, window, stride).size
