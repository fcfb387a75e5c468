"""Convolutions: all ways of computing them agree with XLA's own, values and derivatives."""

import itertools
import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from msjax.engine.programs.compiler_options import equations
from msjax.ops.function.nn_func import convolution_kernels, weight_gradients, wide_windows
from msjax.ops.function.nn_func.depthwise import Windows, convolve_each_channel
from tests.ops.harness import Case, check_gradient

RNG = np.random.default_rng(0)


def plain(x, w, stride, padding, dilation, group):
    layout = {3: ("NCH", "OIH", "NCH"), 4: ("NCHW", "OIHW", "NCHW"), 5: ("NCDHW", "OIDHW", "NCDHW")}[x.ndim]
    return jax.lax.conv_general_dilated(
        x, w, stride, padding, rhs_dilation=dilation, dimension_numbers=layout, feature_group_count=group
    )


def value_and_gradients(convolve, x, w, static):
    def run(x, w):
        out, pull = jax.vjp(lambda x, w: convolve(x, w, *static), x, w)
        return out, pull(jnp.cos(jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape))

    return jax.jit(run)(x, w)


# Input shape, weight shape, stride, pads, dilation, group, and the way that is chosen on CPUs.
WAYS = [
    ((2, 17, 7, 8), (4, 17, 3, 3), (1, 1), ((0, 0), (0, 0)), (1, 1), 1, None),
    ((2, 3, 7, 8), (4, 3, 3, 3), (2, 1), ((1, 0), (0, 1)), (1, 2), 1, "_few_columns"),
    ((2, 6, 7, 8), (4, 6, 3, 2), (2, 1), ((1, 2), (0, 1)), (1, 2), 1, "_rows"),
    ((2, 20, 2, 2), (4, 20, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1, "columns"),
    ((2, 20, 4, 4), (4, 20, 3, 3), (2, 2), ((0, 1), (0, 1)), (1, 1), 1, "columns"),
    ((2, 5, 6, 7), (4, 5, 1, 1), (2, 3), ((0, 0), (0, 0)), (1, 1), 1, "tiles"),
    ((2, 5, 6, 7), (4, 5, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1, "tiles"),
    ((3, 5, 2, 2), (4, 5, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1, "tiles"),
    ((2, 3, 7, 9), (4, 3, 3, 4), (3, 4), ((0, 1), (0, 0)), (1, 1), 1, "tiles"),
    ((2, 3, 5, 5), (4, 3, 5, 5), (1, 1), ((0, 0), (0, 0)), (1, 1), 1, "tiles"),
    ((2, 4, 6, 6), (8, 1, 3, 3), (2, 1), ((1, 1), (1, 1)), (1, 1), 4, "_shifted_sums"),
    ((2, 4, 6, 6), (6, 2, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 2, "_split_groups"),
    ((1, 20, 5, 5), (30, 2, 3, 3), (1, 2), ((1, 1), (1, 1)), (1, 1), 10, "_grouped_columns"),
    ((2, 5, 9), (4, 5, 3), (2,), ((1, 1),), (1,), 1, "_rows"),
    ((1, 2, 4, 5, 6), (3, 2, 2, 2, 2), (1, 1, 1), ((0, 1),) * 3, (1, 1, 1), 1, "_few_columns"),
    ((1, 2, 4, 4, 4), (4, 1, 2, 2, 2), (2, 2, 2), ((0, 0),) * 3, (1, 1, 1), 2, "_shifted_sums"),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda w: f"{w[6] or 'xla'}-{'x'.join(map(str, w[1]))}")
def test_every_way_agrees_with_xla(way):
    x_shape, w_shape, stride, pads, dilation, group, name = way
    # Which way is taken shows in the speed only, and each way has to be taken here.
    chosen = convolution_kernels._cpu_rewrite(x_shape, w_shape, stride, pads, dilation, group)
    assert (chosen.__name__ if chosen else None) == name
    x, w = jnp.asarray(RNG.normal(size=x_shape)), jnp.asarray(RNG.normal(size=w_shape))
    static = (stride, pads, dilation, group)
    want, gradients = value_and_gradients(plain, x, w, static)

    def every(x, w):
        def convolve(x, w=w):
            return convolution_kernels.convolve(x, w, *static)

        out, pull = jax.vjp(convolve, x, w)
        ct = jnp.cos(jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape)
        written = convolution_kernels._gradients(x, w, ct, (True, True), *static)
        # Forward mode and vmap go through the rewritten ways, too.
        return (out, jax.jvp(convolve, (x,), (x,))[1], jax.vmap(convolve)(x[None])[0]), pull(ct), written

    values, own, written = jax.jit(every)(x, w)
    for found, expected in zip((*values, *own, *written), (want, want, want, *gradients, *gradients), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_gradients_of_windows_that_do_not_overlap_are_products_of_matrices():
    x, w, static = jnp.ones((2, 6, 3, 4)), jnp.ones((6, 4, 2, 3)), ((2, 3), ((0, 0), (0, 0)), (1, 1), 1)

    def transposed(x, w, ct):
        out, pull = jax.vjp(lambda x, w: convolution_kernels.deconvolve(x, w, *static, (6, 12)), x, w)
        return out, pull(ct)

    def convolved(x, w, image):
        return convolution_kernels._gradients(image, w, x, (True, True), *static)

    # XLA for CPUs copies, for each product anew, an operand that is contracted over several axes.
    for function, products in ((transposed, 3), (convolved, 2)):
        text = str(jax.make_jaxpr(function)(x, w, jnp.ones((2, 4, 6, 12))))
        contracted = re.findall(r"dimension_numbers=\(\(\[(.*?)\], \[(.*?)\]\)", text)
        assert len(contracted) == products and not any("," in axes for pair in contracted for axes in pair), contracted


@pytest.mark.long
@pytest.mark.parametrize("batch", [4, 7])
def test_columns_of_a_few_examples_at_a_time_agree_with_xla(batch, monkeypatch):
    monkeypatch.setattr(convolution_kernels, "_AT_ONCE", 2 * 27 * 12)
    monkeypatch.setattr(convolution_kernels, "_MANY_COLUMNS", 1)
    x, w = jnp.asarray(RNG.normal(size=(batch, 3, 5, 6))), jnp.asarray(RNG.normal(size=(4, 3, 3, 3)))
    static = ((1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    assert convolution_kernels._examples_at_once(x.shape, w.shape, *static) == 2
    want, gradients = value_and_gradients(plain, x, w, static)
    got, own = value_and_gradients(convolution_kernels.convolve, x, w, static)
    written = jax.jit(lambda x, w, ct: convolution_kernels._gradients(x, w, ct, (True, True), *static))
    by_hand = written(x, w, jnp.cos(jnp.arange(got.size, dtype=got.dtype)).reshape(got.shape))
    for a, b in zip((got, *own, *by_hand), (want, *gradients, *gradients), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


# Image, weight and padding: two, four and eight pixels at once, of which the last ones may lie over the edge; two images at a time of five or
# eight; odd channels; more zeros around the image than the window has pixels.
WIDE = {
    "two": ((2, 12, 6, 9), (12, 12, 3, 2), ((0, 1), (2, 0))),
    "four": ((5, 9, 7, 6), (9, 9, 3, 3), ((1, 1), (1, 1))),
    "eight": ((8, 16, 5, 5), (3, 16, 3, 4), ((3, 0), (0, 4))),
    "few columns": ((5, 3, 8, 10), (6, 3, 3, 3), ((0, 0), (1, 0))),
    "rows": ((5, 6, 7, 7), (16, 6, 5, 5), ((0, 0), (0, 0))),
}


@pytest.mark.parametrize("name", WIDE)
def test_wide_windows_agree_with_xla(name):
    image, weight, pads = WIDE[name]
    assert wide_windows.narrow(image, weight, (1, 1), (1, 1))
    agree_with_xla(image, weight, (1, 1), pads)


@pytest.mark.parametrize(("cores", "height", "kernel"), [(True, 64, 3), (True, 32, 3), (True, 64, 5), (False, 64, 3)])
def test_large_narrow_convolutions_are_xlas_where_it_divides_them(cores, height, kernel, monkeypatch):
    monkeypatch.setattr(wide_windows, "has_core_for_threads", lambda: cores)
    chosen = convolution_kernels._cpu_rewrite((4, 16, height, 64), (16, 16, 3, kernel), (1, 1), ((1, 1), (1, 1)), (1, 1), 1)
    assert chosen is (None if (cores, height, kernel) == (True, 64, 3) else convolution_kernels._wide_windows)


# Image, weight and groups, each of which is computed by what is chosen for one: wide windows, few columns with steps, rows.
GROUPS = {
    "two channels each": ((3, 4, 9, 8), (8, 2, 3, 3), 2, (1, 1)),
    "three, with steps": ((2, 6, 9, 8), (8, 3, 3, 3), 2, (2, 1)),
    "six": ((5, 18, 7, 8), (12, 6, 3, 3), 3, (1, 1)),
    "many outputs": ((2, 12, 8, 8), (40, 6, 3, 3), 2, (1, 1)),
}


@pytest.mark.parametrize("name", GROUPS)
def test_gradients_of_groups_agree_with_xla(name):
    image, weight, group, stride = GROUPS[name]
    pads = ((1, 1), (0, 1))
    assert convolution_kernels._cpu_rewrite(image, weight, stride, pads, (1, 1), group) is convolution_kernels._split_groups
    agree_with_xla(image, weight, stride, pads, group)


# Image, weight, stride and padding: zeros shared by neighbours, more zeros than windows reach, steps, and windows in one of the axes only.
SIDE_BY_SIDE = {
    "shared zeros": ((3, 18, 8, 9), (17, 18, 3, 3), (1, 1), ((1, 1), (1, 1))),
    "more zeros": ((2, 17, 8, 9), (9, 17, 3, 2), (1, 1), ((0, 2), (3, 5))),
    "steps": ((4, 9, 9, 10), (20, 9, 3, 3), (2, 2), ((1, 1), (1, 1))),
    "steps over an odd row": ((3, 12, 9, 11), (20, 12, 4, 3), (1, 3), ((2, 0), (0, 1))),
    "rows": ((3, 20, 9, 9), (17, 20, 1, 3), (1, 1), ((0, 0), (1, 0))),
}


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_images_side_by_side_agree_with_xla(name, monkeypatch):
    image, weight, stride, pads = SIDE_BY_SIDE[name]
    monkeypatch.setattr(wide_windows, "_MUCH", 1 + image[-1] // stride[1] * np.prod(weight))
    monkeypatch.setattr(wide_windows, "has_core_for_threads", lambda: True)
    assert convolution_kernels._cpu_rewrite(image, weight, stride, pads, (1, 1), 1) is convolution_kernels._side_by_side
    agree_with_xla(image, weight, stride, pads)


def agree_with_xla(image, weight, stride, pads, group=1):
    static = (stride, pads, (1, 1), group)
    x, w = (jnp.asarray(RNG.normal(size=shape), jnp.float32) for shape in (image, weight))
    ct = jnp.asarray(RNG.normal(size=plain(x, w, *static).shape), jnp.float32)

    def written(x, w):
        return convolution_kernels._gradients(x, w, ct, (True, True), *static)

    def derivatives(convolve, gradients):
        def second(x, w):
            return sum((g**2).sum() for g in gradients(x, w))

        def run(x, w):
            out, pull = jax.vjp(convolve, x, w)
            along = jax.jvp(convolve, (x, w), (jnp.sin(x), jnp.cos(w)))[1]
            mapped = jax.vmap(convolve, (None, 0))(x, jnp.stack([w, 2 * w]))
            return out, along, mapped, *pull(ct), *gradients(x, w), *jax.grad(second, (0, 1))(x, w)

        return jax.jit(run)(x, w)

    own = derivatives(lambda x, w: convolution_kernels.convolve(x, w, *static), written)
    xlas = derivatives(lambda x, w: plain(x, w, *static), lambda x, w: jax.vjp(lambda x, w: plain(x, w, *static), x, w)[1](ct))
    for got, want in zip(own, xlas, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * float(jnp.abs(want).max()))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", WIDE)
def test_a_bad_pixel_spreads_no_further_than_its_windows(name, bad):
    image, weight, pads = WIDE[name]
    static = ((1, 1), pads, (1, 1), 1)
    x, w = (jnp.asarray(RNG.normal(size=shape), jnp.float32) for shape in (image, weight))
    ct = jnp.ones(plain(x, w, *static).shape, jnp.float32).at[0, 0, 1, 1].set(bad)
    bad_x = x.at[0, 0, 1, 1].set(bad)
    own = convolution_kernels.convolve(bad_x, w, *static), convolution_kernels._gradients(x, w, ct, (True, False), *static)[0]
    xlas = plain(bad_x, w, *static), jax.vjp(lambda x: plain(x, w, *static), x)[1](ct)[0]
    for got, want in zip(own, xlas, strict=True):
        assert (jnp.isnan(got) == jnp.isnan(want)).all() and (jnp.isinf(got) == jnp.isinf(want)).all()


# Image, weight, stride, padding, dilation; two examples in a piece, of four, five or seven, eight of seventeen, and all of three.
PIECES = {
    "lines": ((5, 3, 9), (4, 3, 3), (2,), ((2, 1),), (2,)),
    "images": ((4, 20, 6, 7), (3, 20, 3, 2), (1, 2), ((1, 0), (2, 1)), (1, 2)),
    "rows of a remainder": ((7, 5, 6, 6), (2, 5, 3, 3), (1, 1), ((0, 0), (1, 1)), (1, 1)),
    "few columns": ((17, 20, 6, 6), (3, 20, 3, 2), (2, 2), ((1, 0), (2, 1)), (1, 2)),
    "few columns, one piece": ((3, 20, 6, 6), (3, 20, 3, 2), (2, 2), ((1, 0), (2, 1)), (1, 2)),
    "volumes": ((5, 17, 4, 3, 5), (2, 17, 2, 2, 3), (1, 1, 2), ((0, 1), (1, 0), (1, 1)), (1, 1, 1)),
}


@pytest.mark.parametrize("name", PIECES)
def test_the_gradient_of_a_weight_by_pieces_agrees_with_xlas(name, monkeypatch):
    few = name.startswith("few columns")
    monkeypatch.setattr(weight_gradients, "_MANY_OF_FEW_COLUMNS" if few else "_MANY", 1)
    image, weight, *settings = PIECES[name]
    static = (*settings, 1)
    x, w = jnp.asarray(RNG.normal(size=image)), jnp.asarray(RNG.normal(size=weight))
    out = jax.eval_shape(lambda x, w: plain(x, w, *static), x, w)
    monkeypatch.setattr(weight_gradients, "_PIXELS", 2 * math.prod(out.shape[2:]))
    monkeypatch.setattr(weight_gradients, "_LEAST", 1)
    # Two pieces beside each other, three in a loop; of few columns, two in a loop.
    monkeypatch.setattr(weight_gradients, "_SIDE_BY_SIDE", 1 if few else 2)
    if not few:
        monkeypatch.setattr(weight_gradients, "_FEW_COLUMNS", 0)
    assert weight_gradients.examples_in_a_piece(x, w, *static) == (min(8, len(x)) if few else 2)
    ct = jnp.asarray(RNG.normal(size=out.shape))

    def pieces(x, ct):
        return convolution_kernels._gradients(x, w, ct, (False, True), *static)[1]

    def whole(x, ct):
        return jax.vjp(lambda w: plain(x, w, *static), w)[1](ct)[0]

    def with_derivatives(of):
        def run(x, ct):
            again = jax.grad(lambda x, ct: (of(x, ct) ** 2).sum(), (0, 1))(x, ct)
            return of(x, ct), jax.jvp(of, (x, ct), (jnp.sin(x), jnp.sin(ct)))[1], *again

        return jax.jit(run)

    for got, want in zip(with_derivatives(pieces)(x, ct), with_derivatives(whole)(x, ct), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("way", WAYS, ids=lambda w: f"{w[6] or 'xla'}-{'x'.join(map(str, w[1]))}")
def test_transpose_is_the_gradient(way):
    x_shape, w_shape, stride, pads, dilation, group, _ = way
    x, w = jnp.asarray(RNG.normal(size=x_shape)), jnp.asarray(RNG.normal(size=w_shape))

    def both(x, w):
        out, pull = jax.vjp(lambda x: plain(x, w, stride, pads, dilation, group), x)
        return convolution_kernels.deconvolve(out, w, stride, pads, dilation, group, x_shape[2:]), pull(out)[0]

    np.testing.assert_allclose(*jax.jit(both)(x, w), rtol=1e-9, atol=1e-9)


X = RNG.normal(size=(1, 2, 4, 5)).astype(np.float32)
W = RNG.normal(size=(3, 2, 2, 2)).astype(np.float32)
B = RNG.normal(size=(3,)).astype(np.float32)
GRADIENTS = [
    Case("conv2d", lambda x, w, b: ops.conv2d(x, w, b, stride=2, pad_mode="same"), (X, W, B)),
    Case("conv1d", lambda x, w: ops.conv1d(x, w, pad_mode="pad", padding=1), (X[:, :, 0], W[:, :, 0])),
    Case("conv3d", lambda x, w: ops.conv3d(x, w), (X[..., None].repeat(2, -1), W[..., None].repeat(2, -1))),
    Case("conv_transpose2d", lambda x, w: ops.conv_transpose2d(x, w, stride=2, output_padding=1), (X, W.swapaxes(0, 1))),
    Case("bias_add", ops.bias_add, (X, B[:2])),
]


@pytest.mark.parametrize("case", GRADIENTS, ids=str)
def test_gradient(case):
    check_gradient(case)


def test_same_and_transposed_sizes():
    for size, kernel, stride in itertools.product((5, 8), (1, 2, 3), (1, 2, 3)):

        def sizes(x, w, stride=stride):
            x, w = ms.Tensor(x), ms.Tensor(w)
            up = ops.conv3d_transpose(x.expand_dims(-1), w.expand_dims(-1), "same", stride=stride)
            return jnp.asarray(ops.conv2d(x, w, stride=stride, pad_mode="same")), jnp.asarray(up)

        down, up = jax.eval_shape(sizes, np.ones((1, 1, size, size)), np.ones((1, 1, kernel, kernel)))
        assert (down.shape[2], up.shape[2]) == (-(-size // stride), size * stride)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x, w: ops.conv2d(x, w, padding=1), ValueError),
        (lambda x, w: ops.conv2d(x, w, pad_mode="foo"), ValueError),
        (lambda x, w: ops.conv2d(x, w, stride=0), ValueError),
        (lambda x, w: ops.conv2d(x, w, stride=1.5), TypeError),
        (lambda x, w: ops.conv2d(x[0], w), ValueError),
        (lambda x, w: ops.conv2d(x, w[:, :1]), RuntimeError),
        (lambda x, w: ops.conv2d(x, w, ops.ones(2)), ValueError),
        (lambda x, w: ops.conv2d(1, w), TypeError),
        (lambda x, w: ops.conv2d(x.astype(ms.int32), w), TypeError),
        (lambda x, w: ops.bias_add(x, ops.ones(5)), ValueError),
    ],
)
def test_refuses(call, error):
    with pytest.raises(error):
        call(ms.Tensor(X), ms.Tensor(W))


# ---- what jax derives from depthwise convolutions: one operation, with all that jax does to one

IMAGES, WEIGHTS = RNG.normal(size=(3, 2, 4, 5, 6)), RNG.normal(size=(3, 4, 1, 3, 2))
# stride, pads, dilation, groups
DEPTHWISE = ((2, 1), ((1, 2), (0, 1)), (1, 2), 4)


def own(x, w):
    return convolution_kernels.convolve(x, w, *DEPTHWISE)


def xlas(x, w):
    return plain(x, w, *DEPTHWISE)


def gradients(conv):
    """(x, w) -> both gradients, which are not linear in either operand."""
    return jax.grad(lambda x, w: jnp.sin(conv(x, w)).sum(), (0, 1))


def scanned(conv):
    def run(xs, ws):
        return jax.lax.scan(lambda total, each: (total + jnp.sin(conv(*each)).sum(), None), 0.0, (xs, ws))[0]

    return jax.grad(jax.checkpoint(run), (0, 1))


def second_order(conv):
    """The Hessian times a vector, forward over reverse, and reverse over that."""

    def along(x, w):
        return sum(t.sum() for t in jax.jvp(gradients(conv), (x, w), (jnp.cos(x), jnp.cos(w)))[1])

    return jax.value_and_grad(along, (0, 1))


def mapped(x, w):
    return lambda conv: jax.vmap(lambda *each: jax.tree.leaves((gradients(conv)(*each), second_order(conv)(*each))), (x, w))


DERIVATIVES = {
    "both, twice": (second_order, IMAGES[0], WEIGHTS[0]),
    "in scan and checkpoint": (scanned, IMAGES, WEIGHTS),
    "of images": (mapped(0, None), IMAGES, WEIGHTS[0]),
    "of weights": (mapped(None, 0), IMAGES[0], WEIGHTS),
    "of both": (mapped(1, 2), np.moveaxis(IMAGES, 0, 1), np.moveaxis(WEIGHTS, 0, 2)),
    "nested": (
        lambda conv: jax.vmap(
            lambda x: jax.vmap(lambda w: gradients(conv)(x, w))(jnp.asarray(WEIGHTS)) + gradients(conv)(x, WEIGHTS[0])
        ),
        IMAGES,
    ),
    "of complex numbers": (
        lambda conv: lambda x, w: jax.vjp(conv, x, w)[1](conv(x, w)),
        IMAGES[0] + 1j * IMAGES[1],
        WEIGHTS[0] - 1j * WEIGHTS[1],
    ),
    "of two outputs for each channel": (gradients, IMAGES[0], np.concatenate([WEIGHTS[0], WEIGHTS[1]])),
    "of no lanes": (lambda conv: jax.vmap(gradients(conv), (0, None)), IMAGES[:0], WEIGHTS[0]),
}


def test_derivatives_of_the_transpose():
    out = jax.eval_shape(xlas, IMAGES[0], WEIGHTS[0])

    def transposed(x, w):
        return jax.linear_transpose(lambda image: xlas(image, w), IMAGES[0])(x)[0]

    def ours(x, w):
        return convolution_kernels.deconvolve(x, w, *DEPTHWISE, IMAGES.shape[3:])

    x = np.cos(np.arange(out.size)).reshape(out.shape)
    got, want = jax.jit(lambda x, w: [gradients(fn)(x, w) for fn in (ours, transposed)])(x, WEIGHTS[0])
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_agree_with_those_of_xlas_convolution(name):
    make, *operands = DERIVATIVES[name]
    got, want = map(jax.tree.leaves, jax.jit(lambda *operands: [make(conv)(*operands) for conv in (own, xlas)])(*operands))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_derivatives_have_the_dtype():
    operands = [(jnp.asarray(IMAGES[0], dtype), jnp.asarray(WEIGHTS[0], dtype)) for dtype in ("float16", "bfloat16", "float32")]
    found = jax.jit(lambda every: [(gradients(own)(*each), gradients(xlas)(*each)) for each in every])(operands)
    for each, (x, _) in zip(found, operands):
        for got, want in zip(*each):
            assert got.dtype == want.dtype == x.dtype
            tolerance = 1e-5 if x.dtype == "float32" else 0.1
            np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=tolerance, atol=tolerance)


def test_gradients_in_shard_map_are_summed_over_devices():
    mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    images, everywhere = jax.P("d"), jax.P()

    def summed(conv):
        # The weight is the same on both devices: its gradient is the sum of theirs.
        return jax.jit(jax.shard_map(gradients(conv), mesh=mesh, in_specs=(images, everywhere), out_specs=(images, everywhere)))

    for got, want in zip(summed(own)(IMAGES[0], WEIGHTS[0]), jax.jit(gradients(xlas))(IMAGES[0], WEIGHTS[0])):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_the_gradient_of_a_weight_by_pieces_in_shard_map_is_summed_over_devices(monkeypatch):
    monkeypatch.setattr(weight_gradients, "_MANY", 1)
    monkeypatch.setattr(weight_gradients, "_PIXELS", 2 * 16)
    monkeypatch.setattr(weight_gradients, "_LEAST", 1)
    monkeypatch.setattr(weight_gradients, "_FEW_COLUMNS", 0)
    static = ((1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    x, w = jnp.asarray(RNG.normal(size=(8, 20, 6, 6))), jnp.asarray(RNG.normal(size=(2, 20, 3, 3)))
    ct = jnp.asarray(RNG.normal(size=(8, 2, 4, 4)))
    mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))

    def summed(x, ct):
        w_here = jax.lax.pcast(w, "d", to="varying")
        return jax.lax.psum(convolution_kernels._gradients(x, w_here, ct, (False, True), *static)[1], "d")

    got = jax.jit(jax.shard_map(summed, mesh=mesh, in_specs=jax.P("d"), out_specs=jax.P()))(x, ct)
    want = jax.vjp(lambda w: plain(x, w, *static), w)[1](ct)[0]
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_gradients_where_axes_of_a_mesh_are_explicit():
    windows = Windows(IMAGES.shape[3:], WEIGHTS.shape[3:], *DEPTHWISE[:3])
    mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.set_mesh(mesh):
        x = jax.device_put(IMAGES[0], jax.NamedSharding(mesh, jax.P("d")))
        got = jax.jit(gradients(lambda x, w: convolve_each_channel(x, w, windows)))(x, WEIGHTS[0])
    for a, b in zip(got, jax.jit(gradients(xlas))(IMAGES[0], WEIGHTS[0])):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_a_functionalized_networks_gradient_has_as_few_operations_as_ms_jits():
    net = nn.Conv2d(4, 4, 5, pad_mode="pad", padding=2, group=4, weight_init="ones")
    apply, trained, others = ms.functionalize(net)
    step = jax.jit(jax.grad(lambda p, x: jnp.sin(apply(p, others, x)[0]).sum(), (0, 1)))
    traced = step.trace(trained, jnp.ones((2, 4, 8, 8), jnp.float32))
    # The compiler's options go by what the operation is made of.
    names = {eqn.primitive.name for eqn in equations(traced.jaxpr.jaxpr)}
    assert {"mul", "scan"} < names and "msjax_depthwise_convolution" not in names
    lowered = traced.lower().as_text()
    # 25 products for the result and 25 for the gradient of the image; that of the weight is a loop, in which there is one.
    assert lowered.count("stablehlo.multiply") < 60
    assert lowered.count("stablehlo.while") == 1


@pytest.mark.long
def test_gradients_in_an_exported_program_and_one_operation_at_a_time():
    x, w = jnp.asarray(IMAGES[0]), jnp.asarray(WEIGHTS[0])
    want = jax.jit(gradients(xlas))(x, w)
    program = jax.export.export(jax.jit(gradients(own)), platforms=("cpu", "tpu"))(x, w)
    loaded = jax.export.deserialize(program.serialize())
    with jax.disable_jit():
        eager = gradients(own)(x, w)
    for a, b, c in zip(loaded.call(x, w), eager, want):
        np.testing.assert_allclose(a, c, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(b, c, rtol=1e-9, atol=1e-9)


def test_gradients_in_half_precision_are_rounded_once():
    draw = np.random.default_rng(3).standard_normal
    x, w, ct = (draw(size).astype(np.float16).astype(np.float32) for size in ((1, 20, 6, 6), (32, 20, 3, 3), (1, 32, 6, 6)))
    settings = (1, 1), ((1, 1), (1, 1)), (1, 1), 1
    assert convolution_kernels._cpu_rewrite(x.shape, w.shape, *settings) is wide_windows.columns
    _, exact = jax.vjp(lambda x: plain(x, w, *settings), x)
    _, pull = jax.vjp(lambda x: convolution_kernels.convolve(x, w.astype(np.float16), *settings), x.astype(np.float16))
    (want,), (got,) = exact(ct), pull(ct.astype(np.float16))
    assert np.all(np.abs(np.float32(got) - want) <= np.abs(want) * 2.0**-11 * 1.001 + 1e-4)
