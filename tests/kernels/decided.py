"""Where msjax is not what was recorded, and why: one rule for each reason. docs/limits.md says the same.

`python -m tests.kernels` counts what these rules explain apart from what is the same, and what nothing explains is a difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.kernels.cases import Case


@dataclass(frozen=True)
class Rule:
    """One reason.

    Attributes:
        calls: a pattern of the calls of the rows.
        parts: in which parts: "result", "gradient", "second derivative".
        holds: whether it applies to a case.
        reason: what the two do.
        allows: (our numbers, those that were recorded, the case) -> which of them may differ. By default, all.
    """

    calls: str
    parts: tuple[str, ...]
    holds: Callable[[Case], bool]
    reason: str
    allows: Callable[[np.ndarray, np.ndarray, Case], np.ndarray] = lambda own, want, case: np.ones(own.shape, bool)


def _any(name, condition):
    return lambda case: bool(condition(case.flushed[name]).any())


def _two_zeros_and_nan(case):
    x = case.flushed["x"]
    return np.isnan(x).any() and (x == 0).sum() > 1


def _limits_crossed(case):
    _, low, high = np.broadcast_arrays(*case.arrays.values())
    return bool((np.isnan(case.arrays["x"]) & (low > high)).any())


def _infinite(case):
    return any(not np.isfinite(a).all() for a in case.flushed.values())


def _not_finite(own, want, case):
    """Where one of the two is infinite or NaN."""
    return ~(np.isfinite(own) & np.isfinite(want))


def _rounded_once(own, want, case):
    """As far apart as the rounding of a result in half precision explains, of numbers as large as the largest."""
    digits = 2.0**-8 if "bfloat16" in case.dtypes.values() else 2.0**-11
    return np.abs(own - want) <= 16 * digits * np.abs(np.where(np.isfinite(want), want, 0.0)).max(initial=2.0**-6)


def _halves(case):
    return "float16" in " ".join(case.dtypes.values())


def _at_margin(case):
    return bool((case.flushed["x"] == case.settings["m"]).any())


SECOND = ("second derivative",)
RULES = [
    Rule(r"\.prod\(", ("gradient", *SECOND), _two_zeros_and_nan, "of zeros and NaN, the gradient of a product is 0 * NaN; recorded are zeros", _not_finite),
    Rule(r"\bclamp\(x, y, z\)", ("gradient",), _limits_crossed, "the result is NaN, no limit; PyTorch gives the gradient to the limit"),
    Rule(r"\b(elu|celu|ELU|CELU)\b", SECOND, _any("x", lambda x: x == 0), "the slope has a bend at 0: either side's is right"),
    Rule(r"(?i)hardswish|hswish", SECOND, _any("x", lambda x: np.abs(x) == 3), "the slope jumps there"),
    Rule(r"\bsinc\b", ("gradient", *SECOND), _any("x", lambda x: (x != 0) & (np.abs(x) < 0.02)), "PyTorch's has few digits beside 0, ours are exact"),
    Rule(r"\bxdivy\b", ("result", "gradient"), _any("x", np.isnan), "MindSpore's NaN / 0 may be -inf", _not_finite),
    Rule(r"\bpow\(x, y\)", SECOND, _any("x", lambda x: x < 0), "the gradient by the exponent is NaN below 0, so its own is NaN, too", _not_finite),
    Rule(r"\blogit\(x\)", SECOND, _any("x", lambda x: ~((x > 0) & (x < 1))), "outside of (0, 1) the result is NaN or infinite", _not_finite),
    Rule(r"\bsoftsign\b|Softsign", SECOND, _any("x", lambda x: np.abs(x) > 1e3), "PyTorch's is the difference of almost equal numbers"),
    Rule(r"mod\(|remainder\(", ("gradient",), _infinite, "the gradient by the divisor is infinite where the result is NaN", _not_finite),
    Rule(r"(?i)softmax", ("gradient",), _halves, "PyTorch takes the gradient of half precision from the rounded result", _rounded_once),
    Rule(r"(?i)hinge_?embedding", ("gradient",), _at_margin, "at the margin the slope is 1/2, as MindSpore's"),
    Rule(r"leaky_relu|LeakyReLU", ("gradient",), _any("x", lambda x: x == 0), "at 0 the slope is between both, as MindSpore's"),
    Rule(r"\b(std|var)(_mean)?\(", ("result", "gradient"), _infinite, "PyTorch's mean is NaN beside its variance; its gradient infinite", _not_finite),
    Rule(r"bessel_i1", ("gradient", *SECOND), _any("x", np.isnan), "the gradient of NaN is NaN; PyTorch's is 1/2", _not_finite),
    Rule(r"cumprod", SECOND, _any("x", lambda x: np.abs(x) > 1e3), "PyTorch divides by the elements, and loses digits"),
    Rule(r"conv_transpose", ("gradient",), _any("x", lambda x: ~np.isfinite(x)), "products with zeros of the padding are NaN", _not_finite),
]  # fmt: skip


def reason(case: Case, part: str, own: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> str | None:
    """Why a case may differ in a part of its results, in the numbers that are `wrong`; None if nothing says so."""
    for rule in RULES:
        if part in rule.parts and re.search(rule.calls, case.row.call) and rule.holds(case):
            with np.errstate(all="ignore"):
                if not (wrong & ~rule.allows(own, want, case)).any():
                    return rule.reason
    return None
