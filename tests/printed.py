"""Comparing printed text, with numbers compared as numbers.

The last digit of a float32 differs from processor to processor and from one version of jax to the next, and with
it the width of what numpy prints.
"""

import doctest
import math
import re

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)(?![\w])")


def same_print(got: str, expected: str, rtol=2e-5, atol=2e-6) -> bool:
    """True if two texts are equal but for blanks next to numbers and small differences of numbers with a point."""
    if got.rstrip() == expected.rstrip():
        return True
    got_numbers, expected_numbers = _NUMBER.findall(got), _NUMBER.findall(expected)
    if len(got_numbers) != len(expected_numbers) or _rest(got) != _rest(expected):
        return False
    return all(map(lambda g, e: _close(g, e, rtol, atol), got_numbers, expected_numbers))


def _rest(text):
    """What stands around the numbers, line by line, with blanks collapsed."""
    lines = _NUMBER.sub("#", text).rstrip().split("\n")
    return [re.sub(r"(?<=[\[(]) | (?=[\])])", "", re.sub(r"\s+", " ", line).strip()) for line in lines]


def _close(got, expected, rtol, atol):
    if re.fullmatch(r"[-+]?\d+", got) and re.fullmatch(r"[-+]?\d+", expected):
        return int(got) == int(expected)
    return math.isclose(float(got), float(expected), rel_tol=rtol, abs_tol=atol)


class Checker(doctest.OutputChecker):
    """Compares the output of examples in docstrings."""

    def check_output(self, want, got, optionflags):
        return super().check_output(want, got, optionflags) or same_print(got, want)
