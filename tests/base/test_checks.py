"""Argument checks: what passes, and what the messages of the rest say."""

import re

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


def _raises(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def test_a_kind_and_a_value():
    assert checks.check_kind([1], True, "be a list", "x", "Op") == checks.check_value([1], 1, "be a list", "x", "Op") == [1]
    with _raises(TypeError, "For 'Op', 'x' should be a list, but got int 3."):
        checks.check_kind(3, False, "be a list", "x", "Op")
    for value, came in [
        (3, "got 3"),
        (None, "got None"),
        ("a", "got 'a'"),
        ((1, 2.5), "got (1, 2.5)"),
        ([print], "got [builtin_function_or_method <built-in function print>]"),
        (np.float32(2), "got 2.0"),
        (np.zeros((2, 3)), "its shape is (2, 3)"),
        (ms.Tensor([1, 2]), "its shape is (2,)"),
    ]:
        with _raises(ValueError, f"'x' should be even, but {came}."):
            checks.check_value(value, False, "be even", "x")
    with _raises(ValueError, "For 'Op', the input should be even, but got 3."):
        checks.check_value(3, False, "be even", "the input", "Op")


def test_a_function():
    assert checks.check_callable(print, "x", "Op") is print
    with _raises(TypeError, "For 'Op', 'x' should be a function, but got int 1."):
        checks.check_callable(1, "x", "Op")


def test_ranges_and_orders_of_numbers():
    assert checks.check_in_range(1, "x", "Op", low=1, below=2) == 1
    with _raises(ValueError, "For 'Op', 'x' should be in [1, 2), but got 2."):
        checks.check_in_range(2, "x", "Op", low=1, below=2)
    checks.check_order(1, 1, ("a", "b"), "Op", equal=True)
    with _raises(ValueError, "For 'Op', 'a' should be below 'b', but got 1 and 1."):
        checks.check_order(1, 1, ("a", "b"), "Op")
    with _raises(ValueError, "For 'Op', 'a' should not be above 'b', but got nan and 1."):
        checks.check_order(float("nan"), 1, ("a", "b"), "Op", equal=True)


def test_ranks_and_shapes():
    x = np.zeros((2, 3))
    assert checks.check_rank(x, 2, "x") is checks.check_rank(x, (2, 3), "x") is checks.check_shape(x, (2, 3), "x") is x
    with _raises(ValueError, "'x' should have 1 axes, but its shape is (2, 3)."):
        checks.check_rank(x, 1, "x")
    with _raises(ValueError, "For 'Op', the input should have 3 or 4 axes, but its shape is (2, 3)."):
        checks.check_rank(x, (3, 4), "the input", "Op")
    with _raises(ValueError, "'x' should have shape (3, 2), but its shape is (2, 3)."):
        checks.check_shape(x, (3, 2), "x")
    checks.check_same_shape(x, x, "both inputs", "Op")
    with _raises(ValueError, "For 'Op', both inputs should have one shape, but they have (2, 3) and (3,)."):
        checks.check_same_shape(x, x[0], "both inputs", "Op")
    assert [checks.check_axis_of(x, axis) for axis in (-2, -1, 0, 1)] == [0, 1, 0, 1]
    for axis in (-3, 2):
        with _raises(ValueError, f"For 'Op', axis {axis} is out of range for an input of shape (2, 3)."):
            checks.check_axis_of(x, axis, "Op")


def test_one_of_two_arguments():
    checks.check_one_given(("a", "b"), (None, 0), "Op")
    for given in ((None, None), (0, 0)):
        with _raises(ValueError, "For 'Op', give one of 'a' and 'b'."):
            checks.check_one_given(("a", "b"), given, "Op")


def test_what_has_a_shape_alone_is_no_array():
    """As a flow of flowjax, whose shape is that of its events."""

    class Flow:
        shape = (2,)

    assert "an int, but got Flow." in refusal(Flow())


def refusal(value):
    with pytest.raises(TypeError) as caught:
        checks.check_int(value, "x", "Op")
    return str(caught.value)
