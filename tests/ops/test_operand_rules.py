"""Which operands operators and layers take, and in which dtype binary operators and reductions compute; as MindSpore 2.10 does, where stored."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn, ops

F = Tensor([1.0, 2.0, 300.0])
D = Tensor([1.0, 2.0, 300.0], ms.float64)
H = Tensor([1.0, 2.0, 300.0], ms.float16)
INT = Tensor([-2, -1, 1, 2], ms.int32)
LONG = Tensor([1, 2, 300], ms.int64)
BYTE = Tensor([0, 3, 200], ms.uint8)
SMALL = Tensor([-3, 5, 44], ms.int8)
A, B = Tensor([True, False, True]), Tensor([True, True, True])
M = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))

VALUES = [
    # No number wraps around in a small dtype.
    (lambda: BYTE / -1, ms.float32, [0.0, -3.0, -200.0]),
    (lambda: SMALL / 200, ms.float32, [-0.015, 0.025, 0.22]),
    (lambda: -2 / Tensor([1, 4], ms.uint8), ms.float32, [-2.0, -0.5]),
    (lambda: BYTE < -1, ms.bool_, [False] * 3),
    (lambda: BYTE > -1, ms.bool_, [True] * 3),
    (lambda: SMALL < 300, ms.bool_, [True] * 3),
    (lambda: ops.eq(SMALL, 300), ms.bool_, [False] * 3),
    # Negative powers of integers are rounded towards zero.
    (lambda: INT**-1, ms.int32, [0, -1, 1, 0]),
    (lambda: INT**-2, ms.int32, [0, 1, 1, 0]),
    (lambda: INT ** Tensor([-1, -1, -3, 3], ms.int64), ms.int64, [0, -1, 1, 8]),
    (lambda: LONG**-1, ms.int64, [1, 0, 0]),
    (lambda: BYTE[1:] ** -1, ms.uint8, [0, 0]),
    # Bools.
    (lambda: A - B, ms.bool_, [False, True, False]),
    (lambda: A.sub(B), ms.bool_, [False, True, False]),
    (lambda: ms.mint.sub(A, B), ms.bool_, [False, True, False]),
    (lambda: A // B, ms.bool_, [True, False, True]),
    (lambda: ops.fmod(A, B), ms.bool_, [False] * 3),
    (lambda: ops.remainder(A, True), ms.bool_, [False] * 3),
    # XLA takes a Bool times a number for a choice between the number and 0.
    (lambda: A / 0, ms.float32, [np.inf, np.nan, np.inf]),
    (lambda: A * float("inf"), ms.float32, [np.inf, np.nan, np.inf]),
    (lambda: ops.div(A, Tensor(0.0)), ms.float32, [np.inf, np.nan, np.inf]),
    (lambda: ms.jit(lambda a, x: a.astype(ms.float32) * x)(A, Tensor(np.inf)), ms.float32, [np.inf, np.nan, np.inf]),
    # Integers become floats where the result has fractions.
    (lambda: ops.clip_by_norm(Tensor([3, 4], ms.int64), 1.0), ms.float32, [0.6, 0.8]),
    (lambda: ops.huber_loss(INT, Tensor([-2, -1, 1, 3], ms.int32)), ms.float32, 0.125),
    # Sequences.
    (lambda: [1.0, 2.0, 3.0] + F, ms.float32, [2.0, 4.0, 303.0]),
    (lambda: F // (1.0, 2.0, 3.0), ms.float32, [1.0, 1.0, 100.0]),
    # Operands of two ranks, and 0-d ones.
    (lambda: ops.igamma(Tensor([[1.0]]), Tensor([1.0, 2.0])), ms.float32, [[0.63212056, 0.86466472]]),
    (lambda: ops.zeta(Tensor([2.0, 4.0]), 1.0), ms.float32, [1.6449341, 1.0823232]),
    (lambda: ops.sum(Tensor(0.5), 0), ms.float32, 0.5),
    (lambda: ops.mean(Tensor(0.5), -1), ms.float32, 0.5),
    (lambda: ops.prod(Tensor(0.5), 0), ms.float32, 0.5),
    (lambda: ops.all(Tensor(0.5), 0), ms.bool_, True),
    (lambda: ops.logsumexp(Tensor(0.5), 0), ms.float32, 0.5),
]


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_values(number):
    call, dtype, want = VALUES[number]
    out = call()
    assert out.dtype == dtype
    np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-5)


REFUSED = {
    TypeError: [
        lambda: ops.sub(A, B),
        lambda: -A,
        lambda: ops.Invert()(F),
        lambda: F * [1.0, 2.0, 3.0],
        lambda: [1, 2] * Tensor(3),
        lambda: F / (1.0, 2.0, 3.0),
        lambda: F ** [1.0, 2.0, 3.0],
        lambda: F < [1.0, 2.0, 3.0],
        lambda: M @ [1.0, 2.0, 3.0, 4.0],
        lambda: ops.heaviside(F, 2.5),
        lambda: ops.heaviside(F, D),
        lambda: ops.hypot(LONG, LONG),
        lambda: ops.hypot(H, H),
        lambda: ops.logaddexp(F, 2.5),
        lambda: ops.logaddexp(F, LONG),
        lambda: ops.logaddexp2(LONG, F),
        lambda: ops.nextafter(F, D),
        lambda: ops.nextafter(LONG, LONG),
        lambda: ops.igamma(F, 2.0),
        lambda: ops.igammac(LONG, LONG),
        lambda: ops.zeta(H, H),
        lambda: ops.isclose(F, LONG),
        lambda: ops.isclose(F, 1.0),
        lambda: F.allclose(D),
        lambda: ops.fmax(SMALL, SMALL),
        lambda: ops.xdivy(LONG, 2),
        lambda: ops.xdivy(2.5, 2),
        lambda: ops.approximate_equal(LONG, LONG),
        lambda: ops.logical_and(A, 2),
        lambda: ops.logical_xor(F, 2.5),
        lambda: F.view_as(2.5),
        lambda: ops.MatMul()(M, 2.0),
        lambda: ops.sum(M, 1.0),
        lambda: ops.mean(M, "x"),
        lambda: ops.std(M, "x"),
        lambda: ops.prod([1.0, 2.0]),
        lambda: ops.Argmax(1.5)(M),
        lambda: ops.logsumexp(LONG, 0),
        lambda: ops.logsumexp(M, None),
        lambda: ops.ReduceSum("a")(M),
        lambda: ops.ReduceMax(1)(M),
    ],
    ValueError: [
        lambda: ops.mean(M, 5),
        lambda: ops.max(M, 5),
        lambda: ops.Argmin(5)(M),
        lambda: M.std(-3),
        lambda: ops.var(Tensor(0.5), 0),
        lambda: ops.igamma(M, Tensor([1.0, 2.0])),
        lambda: ops.MatMul()(M, M),
        lambda: ops.BatchMatMul()(M, M),
        lambda: LONG @ Tensor(1.0),
    ],
    RuntimeError: [lambda: M @ M.astype(ms.int32)],
}


@pytest.mark.parametrize(("kind", "number"), [(kind, i) for kind in REFUSED for i in range(len(REFUSED[kind]))])
def test_refused(kind, number):
    with pytest.raises(kind):
        REFUSED[kind][number]()


SCALARS = [np.float16(0.5), np.float32(0.5), np.float64(0.5), np.int8(2), np.int64(2), np.bool_(True)]


@pytest.mark.parametrize("number", SCALARS, ids=repr)
def test_scalars_of_numpy_are_numbers(number):
    plain = number.item()
    functions = (ops.add, ops.mul, ops.div, ops.pow, ops.maximum, ops.gt, lambda x, v: v * x, lambda x, v: x - v)
    # By turns: each function with each number, and with each Tensor.
    for i, x in enumerate((H, F, INT, BYTE), [repr(s) for s in SCALARS].index(repr(number))):
        for fn in functions[i % 4 :: 4]:
            got, want = fn(x, number), fn(x, plain)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())
    at = Tensor([True, False, True])
    np.testing.assert_array_equal(ops.masked_fill(F, at, number).asnumpy(), ops.masked_fill(F, at, plain).asnumpy())
    if not isinstance(plain, bool):
        assert float(ops.huber_loss(F, F + 1, "mean", number)) == float(ops.huber_loss(F, F + 1, "mean", plain))
        np.testing.assert_array_equal(nn.LeakyReLU(number)(-F).asnumpy(), nn.LeakyReLU(plain)(-F).asnumpy())


def test_bools_and_a_list_of_unsigned_integers_are_integers():
    total = Tensor([True, False]) + [np.uint8(3), np.uint8(4)]
    assert total.dtype.kind == "i" and total.tolist() == [4, 4]


def test_sequences_are_equal_to_no_tensor():
    assert (F == [1.0, 2.0, 300.0]) is False and (F != (1.0, 2.0, 300.0)) is True


def test_gradients():
    x, y = Tensor([-2.0, -2.0, 0.0, 0.0, 0.0, 2.0]), Tensor([2.0, -1.0, 2.0, 0.0, -1.0, 3.0])
    by_x, by_y = ms.grad(lambda x, y: x**y, (0, 1))(x, y)
    np.testing.assert_allclose(by_x.asnumpy(), [-4, -0.25, 0, 0, -np.inf, 12], rtol=1e-5)
    np.testing.assert_allclose(by_y.asnumpy(), [np.nan, np.nan, 0, 0, -np.inf, 8 * np.log(2)], rtol=1e-5)
    np.testing.assert_allclose(ms.grad(lambda x: x**3.0)(x).asnumpy(), [12, 12, 0, 0, 0, 12], rtol=1e-5)
    slopes = ms.jvp(lambda x: x**3.0, x, ops.ones_like(x))[1]
    np.testing.assert_allclose(slopes.asnumpy(), [12, 12, 0, 0, 0, 12], rtol=1e-5)
    by_x = ms.grad(lambda x: ops.copysign(x, Tensor([1.0, -1.0, 1.0])))(Tensor([0.0, 2.0, -3.0]))
    np.testing.assert_allclose(by_x.asnumpy(), [0, -1, -1])


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: nn.Dense(None, 3), r"'in_channels' should be an int, but got NoneType"),
        (lambda: nn.Dense(2, 3)(None), r"'Dense' in cell Dense, an operand should be .* but got NoneType"),
        (lambda: nn.Dense(2, 3)("x"), r"'Dense' in cell Dense, an operand should be .* but got str 'x'"),
        (lambda: ops.add(ms.Tensor(1.0), "a"), r"For 'Add', an operand should be .* but got str 'a'"),
        (lambda: ops.softmax("abc"), r"For 'softmax', an operand should be .* but got str 'abc'"),
        (lambda: dictionary_between(), r"'ReLU' in cell SequentialCell\.1 \(ReLU\), an operand should be .* but got dict"),
    ],
)
def test_what_is_no_operand_is_named(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def dictionary_between():
    first = nn.ReLU()
    first.register_forward_hook(lambda cell, args, output: {"output": output})
    return nn.SequentialCell(first, nn.ReLU())(ms.Tensor(1.0))


@pytest.mark.parametrize("value", [1.0, np.float64(1), Tensor(1.0)], ids=["float", "numpy", "Tensor"])
def test_a_float_is_no_axis_whether_the_int_was_one_before_or_not(value):
    x = Tensor(np.ones((2, 3), np.float32))
    ops.flip(x, 1)
    with pytest.raises(ValueError, match="integer"):
        ops.flip(x, value)


@pytest.mark.parametrize(
    "op, reference", [(ops.float_power, np.power), (ops.atan2, np.arctan2), (ops.xlogy, lambda x, y: x * np.log(y))]
)
def test_a_number_beside_small_integers_of_which_floats_are_made_does_not_wrap_around(op, reference):
    x = np.array([1, 2, 7], np.int8)
    np.testing.assert_allclose(op(Tensor(x), 300).asnumpy(), reference(x.astype(float), 300.0), rtol=1e-6)
    np.testing.assert_allclose(op(200, Tensor(x)).asnumpy(), reference(200.0, x.astype(float)), rtol=1e-6)
