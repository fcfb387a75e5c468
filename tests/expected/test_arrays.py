"""The comparison of arrays that tests use says where they differ."""

import numpy as np
import pytest

from tests.expected.arrays import assert_close

WANT = np.array([[1.0, 2.0, np.nan], [np.inf, -4.0, 100.0]], np.float32)


def test_equal_and_close_arrays():
    assert_close(WANT, WANT, 0, 0)
    assert_close(WANT * np.float32(1 + 1e-6), WANT, 1e-5, 0)
    assert_close(np.float32(2), np.float32(2.001), 0, 0.01)
    assert_close(np.arange(3), np.arange(3), 0, 0)
    assert_close(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), 0, 0)


def test_elements_that_differ_are_listed_the_worst_first():
    got = WANT.copy()
    got[0, 1], got[1, 1] = 2.5, -3
    with pytest.raises(AssertionError) as raised:
        assert_close(got, WANT, 0.01, 0.25, name="gradient")
    assert str(raised.value).split("\n") == [
        "gradient: 2 of 6 elements differ",
        "  (1, 1): expected -4.0, got -3.0, off by 1, allowed 0.29",
        "  (0, 1): expected 2.0, got 2.5, off by 0.5, allowed 0.27",
    ]
    with pytest.raises(AssertionError, match=r"9 of 9 elements differ\n(  .*\n){5}  and 4 more"):
        assert_close(np.zeros(9, np.float32), np.ones(9, np.float32), 0.1, 0)


@pytest.mark.parametrize(
    "got",
    [
        WANT.astype(np.float64),
        WANT[None],
        np.nan_to_num(WANT),
        np.where(np.isnan(WANT), WANT, -WANT),
        np.where(np.isinf(WANT), np.nan, WANT).astype(np.float32),
    ],
    ids=["type", "shape", "number for nan", "sign", "nan for inf"],
)
def test_what_is_not_equal(got):
    with pytest.raises(AssertionError):
        assert_close(got, WANT, 1e-3, 1e-3)


def test_integers_are_equal_or_not():
    with pytest.raises(AssertionError, match=r"\(1,\): expected 1, got 2"):
        assert_close(np.array([0, 2]), np.array([0, 1]), 10, 10)
