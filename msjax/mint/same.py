"""mint's functions that are those of ops."""

# ruff: noqa: I001
from msjax.ops import (
    abs as abs, acos as acos, acosh as acosh, addbmm as addbmm, addmm as addmm, addmv as addmv, arange as arange, arccos as
    arccos, arccosh as arccosh, arcsin as arcsin, arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2, arctanh as
    arctanh, argmax as argmax, asin as asin, asinh as asinh, atan as atan, atan2 as atan2, atanh as atanh, bincount as
    bincount, bitwise_and as bitwise_and, bitwise_or as bitwise_or, bitwise_xor as bitwise_xor, broadcast_to as broadcast_to,
    ceil as ceil, clamp as clamp, cos as cos, cosh as cosh, cross as cross, div as div, divide as divide, dot as dot, dstack
    as dstack, einsum as einsum, eq as eq, erf as erf, erfc as erfc, erfinv as erfinv, exp as exp, exp2 as exp2, expm1 as
    expm1, eye as eye, flip as flip, float_power as float_power, floor as floor, floor_divide as floor_divide, fmod as fmod,
    full as full, full_like as full_like, gcd as gcd, ge as ge, greater as greater, greater_equal as greater_equal, gt as gt,
    histc as histc, hstack as hstack, imag as imag, inverse as inverse, isclose as isclose, isfinite as isfinite, isinf as
    isinf, isneginf as isneginf, le as le, lerp as lerp, less as less, less_equal as less_equal, log as log, log10 as log10,
    log1p as log1p, log2 as log2, logaddexp as logaddexp, logaddexp2 as logaddexp2, logical_and as logical_and, logical_not as
    logical_not, logical_or as logical_or, logical_xor as logical_xor, lt as lt, masked_select as masked_select, matmul as
    matmul, maximum as maximum, minimum as minimum, mm as mm, mul as mul, nan_to_num as nan_to_num, ne as ne, neg as neg,
    negative as negative, nonzero as nonzero, not_equal as not_equal, ones_like as ones_like, outer as outer, polar as polar,
    pow as pow, ravel as ravel, real as real, reciprocal as reciprocal, remainder as remainder, reshape as reshape, roll as
    roll, round as round, rsqrt as rsqrt, searchsorted as searchsorted, sigmoid as sigmoid, sign as sign, sin as sin, sinc as
    sinc, sinh as sinh, square as square, sum as sum, swapaxes as swapaxes, t as t, take as take, tan as tan, tanh as tanh,
    tile as tile, trace as trace, tril as tril, triu as triu, trunc as trunc, unbind as unbind, unique_consecutive as
    unique_consecutive, unsqueeze as unsqueeze, where as where, xlogy as xlogy, zeros_like as zeros_like,
)  # fmt: skip
