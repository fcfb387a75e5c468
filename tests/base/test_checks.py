"""Argument checks: what passes, and what the messages of the rest say."""

import numpy as np
import pytest

import msjax as ms
from msjax.core.base import checks


@pytest.mark.parametrize(
    "check, value, options",
    [
        (checks.check_bool, False, {}),
        (checks.check_str, "same", {}),
        (checks.check_int, -3, {}),
        (checks.check_int, 0, {"low": 0, "high": 0}),
        (checks.check_positive_int, 1, {}),
        (checks.check_number, 0, {"low": 0, "below": 1}),
        (checks.check_number, 0.5, {"above": 0, "high": 0.5}),
        (checks.check_float, -1.0, {}),
    ],
)
def test_what_fits_is_returned(check, value, options):
    assert check(value, "x", "Op", **options) is value


@pytest.mark.parametrize(
    "check, value, options, error, message",
    [
        (checks.check_bool, 1, {}, TypeError, "For 'Op', 'x' should be a bool, but got int 1."),
        (checks.check_str, None, {}, TypeError, "For 'Op', 'x' should be a str, but got NoneType None."),
        (checks.check_int, True, {}, TypeError, "For 'Op', 'x' should be an int, but got bool True."),
        (checks.check_int, 1.0, {}, TypeError, "For 'Op', 'x' should be an int, but got float 1.0."),
        (checks.check_int, -1, {"low": 0}, ValueError, "For 'Op', 'x' should not be negative, but got -1."),
        (checks.check_int, 1, {"low": 2}, ValueError, "For 'Op', 'x' should be at least 2, but got 1."),
        (checks.check_int, 5, {"low": 1, "high": 4}, ValueError, "For 'Op', 'x' should be in [1, 4], but got 5."),
        (checks.check_int, 5, {"high": 4}, ValueError, "For 'Op', 'x' should be at most 4, but got 5."),
        (checks.check_positive_int, 0, {}, ValueError, "For 'Op', 'x' should be positive, but got 0."),
        (checks.check_number, "1", {}, TypeError, "For 'Op', 'x' should be a number, but got str '1'."),
        (checks.check_number, 1, {"low": 0, "below": 1}, ValueError, "For 'Op', 'x' should be in [0, 1), but got 1."),
        (checks.check_number, 0, {"above": 0, "high": 1}, ValueError, "For 'Op', 'x' should be in (0, 1], but got 0."),
        (checks.check_number, 1, {"above": 1}, ValueError, "For 'Op', 'x' should be greater than 1, but got 1."),
        (checks.check_number, 1, {"below": 1}, ValueError, "For 'Op', 'x' should be less than 1, but got 1."),
        (checks.check_float, 1, {}, TypeError, "For 'Op', 'x' should be a float, but got int 1."),
        (checks.check_float, float("nan"), {}, ValueError, "For 'Op', 'x' should be a number, but got nan."),
        (checks.check_float, float("nan"), {"low": 0}, ValueError, "For 'Op', 'x' should not be negative, but got nan."),
    ],
)
def test_what_does_not_fit_is_named(check, value, options, error, message):
    with pytest.raises(error) as raised:
        check(value, "x", "Op", **options)
    assert str(raised.value) == message


def test_without_a_caller_the_argument_alone_is_named():
    with pytest.raises(TypeError) as raised:
        checks.check_int("3", "depth")
    assert str(raised.value) == "'depth' should be an int, but got str '3'."


def test_one_of():
    assert checks.check_one_of("sum", ("none", "mean", "sum"), "reduction", "Op") == "sum"
    with pytest.raises(ValueError, match=r"^For 'Op', 'reduction' should be 'none', 'mean' or 'sum', but got 'max'\.$"):
        checks.check_one_of("max", ("none", "mean", "sum"), "reduction", "Op")
    with pytest.raises(ValueError, match=r"should be 'NCHW', but got \[str 'NCHW'\]"):
        checks.check_one_of(["NCHW"], ("NCHW",), "data_format", "Op")
    with pytest.raises(ValueError, match="should be 0 or 1, but got ndarray"):
        checks.check_one_of(np.zeros(3), (0, 1), "mode", "Op")


def test_type():
    assert checks.check_type(1, (int, float), "x", "Op") == 1
    assert checks.check_type(True, (bool, int), "x", "Op") is True
    with pytest.raises(TypeError, match="'x' should be an int or a float, but got bool True"):
        checks.check_type(True, (int, float), "x", "Op")


def test_ints():
    assert checks.check_ints(3, 2, "x") == (3, 3)
    assert checks.check_ints([1, 2], 2, "x") == (1, 2)
    assert checks.check_ints(ms.Tensor([1, 2]), 2, "x") == (1, 2)
    assert checks.check_ints(np.int32(3), 2, "x") == (3, 3)
    for wrong in (True, 1.0, (1, 2.0), (1, True), "12", None):
        with pytest.raises(TypeError, match="For 'Op', 'x' should be an int or 2 ints, but got"):
            checks.check_ints(wrong, 2, "x", "Op")
    with pytest.raises(ValueError, match=r"'x' should be an int or 2 ints, but got \(int 1, int 2, int 3\)"):
        checks.check_ints((1, 2, 3), 2, "x", "Op")
    with pytest.raises(ValueError, match="'x' should be at least 1, but got 0"):
        checks.check_ints((1, 0), 2, "x", "Op", low=1)


def test_axis():
    for axis in (-2, -1, 0, 1):
        checks.check_axis(axis, 2)
    checks.check_axis(True, 2, bools=True)
    for wrong in (True, 1.0, None):
        with pytest.raises(TypeError, match="an axis should be an int, but got"):
            checks.check_axis(wrong, 2)
    for wrong in (-3, 2):
        with pytest.raises(ValueError, match=r"the axis should be in \[-2, 2\), but got"):
            checks.check_axis(wrong, 2)
