"""Elementwise operators and activations."""

from tests.kernels.cases import ANY, INTS
from tests.kernels.tables.make import NUMBERS, SCALARS, row, rows

THREE = (((8,), (8,), (8,)), ((2, 4), (4,), (2, 1)), ((0, 3), (3,), ()))

ROWS = [
    *rows(
        "abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil cos cosh deg2rad "
        "erf erfc erfinv exp exp2 expm1 floor frac log log10 log1p log2 neg negative positive rad2deg reciprocal "
        "rsqrt sgn sigmoid sign sin sinh sqrt square tan trunc",
        "ops.{}(x)",
        "torch.{}(x)",
        x="edge",
    ),
    row("ops.tanh(x)", x="edge", absolute=2e-6),
    *rows("digamma lgamma", "ops.{}(x)", "torch.{}(x)", x="pos"),
    # Of Float64, MindSpore has no relu6.
    row("ops.relu6(x)", "F.relu6(x)", x="edge", dtypes=("float32", "float16")),
    row("ops.elu(x)", "F.elu(x)", x="edge"),
    row("ops.sinc(x)", x="edge", dtypes=("float32", "float64"), absolute=1e-6),
    *rows("inv:reciprocal tensor_exp:exp tensor_expm1:expm1", "ops.{}(x)", "torch.{}(x)", x="edge"),
    *rows("i0 bessel_i0:i0", "ops.{}(x)", "torch.special.{}(x)", x="edge", dtypes=("float32", "float64"), loose=20),
    *rows("bessel_i0e:i0e bessel_i1:i1 bessel_i1e:i1e", "ops.{}(x)", "torch.special.{}(x)", x="edge", dtypes=("float32", "float64"), loose=20),
    *rows(
        "bessel_j0 bessel_j1 bessel_y0 bessel_y1 bessel_k0:modified_bessel_k0 bessel_k1:modified_bessel_k1 "
        "bessel_k0e:scaled_modified_bessel_k0 bessel_k1e:scaled_modified_bessel_k1",
        "ops.{}(x)",
        "torch.special.{}(x)",
        x="const:edge",
        dtypes=("float32", "float64"),
    ),
    *rows("isfinite isinf isnan isneginf isposinf isreal signbit logical_not", "ops.{}(x)", "torch.{}(x)", x="any", dtypes=ANY),
    *rows("abs neg sign square positive floor ceil trunc sqrt exp sin", "ops.{}(x)", "torch.{}(x)", x="any", dtypes=ANY),
    row("ops.bitwise_not(x)", x="ints", dtypes=INTS),
    row("ops.invert(x)", "torch.bitwise_not(x)", x="ints", dtypes=INTS),
    row("ops.round(x)", x="edge"),
    row("ops.round(x, decimals=d)", x="mild", settings={"d": [0, 1, -1, 2]}),
    row("ops.logit(x)", x="edge"),
    row("ops.logit(x, e)", x="prob", settings={"e": [0.1, 0.3, 1e-6]}),
    row("ops.nan_to_num(x)", x="edge"),
    row("ops.nan_to_num(x, n, p, m)", x="edge", settings={"n": [0.0, 1.5], "p": [2.0, 7.0], "m": [-2.0, -7.0]}),
    row("ops.polygamma(n, x)", x="pos", settings={"n": [0, 1, 2, 3]}, loose=5),
    row("ops.mvlgamma(x + 2, p)", x="pos", settings={"p": [1, 2, 3]}),
    row("ops.angle(x)", x="edge"),
    row("ops.real(x)", x="edge"),
    row("ops.conj(x)", x="edge"),
    # Activations.
    *rows(
        "relu selu silu gelu mish hardswish hardsigmoid logsigmoid softsign tanhshrink softplus hardshrink hardtanh celu",
        "ops.{}(x)",
        "F.{}(x)",
        x="edge",
    ),
    # Of NaN, MindSpore's is 0.
    *rows("softshrink soft_shrink:softshrink", "ops.{}(x)", "F.{}(x)", x="edge-nan"),
    row("ops.fast_gelu(x)", "x * torch.sigmoid(1.702 * x)", x="edge"),
    row("ops.gelu(x, 'tanh')", "F.gelu(x, approximate='tanh')", x="edge", absolute=2e-6),
    row("ops.elu(x, a)", "F.elu(x, a)", x="edge", settings={"a": [1.0]}),
    row("ops.celu(x, a)", "F.celu(x, a)", x="edge", settings={"a": NUMBERS}),
    row("ops.leaky_relu(x, a)", "F.leaky_relu(x, a)", x="edge", settings={"a": [n for n in NUMBERS if "True" not in repr(n)]}),
    row("ops.hardshrink(x, a)", "F.hardshrink(x, a)", x="edge", settings={"a": NUMBERS}),
    row("ops.softshrink(x, a)", "F.softshrink(x, a)", x="edge-nan", settings={"a": [0, 0.5, 1, 2.0, True]}),
    row("ops.hardtanh(x, a, b)", "F.hardtanh(x, a, b)", x="edge", settings={"a": [-1, 0, -0.5], "b": [1, 0.5, 10**6]}),
    row("ops.softplus(x, a, b)", "F.softplus(x, a, b)", x="edge", settings={"a": [1, 0.5, 2, *SCALARS], "b": [20, 1]}),
    row("ops.threshold(x, a, b)", "F.threshold(x, a, b)", x="edge", settings={"a": [n for n in NUMBERS if "True" not in repr(n)], "b": [0, 1.5, -2, *SCALARS]}),
    row("ops.prelu(x, w)", "F.prelu(x, w)", (((2, 3), (3,)), ((2, 3, 2), (1,)), ((4, 2), (2,))), x="edge", w="normal", second=False),
    row("ops.glu(x)", "F.glu(x)", (((2, 4),), ((6,),), ((3, 0, 2),)), x="mild"),
    row("ops.swiglu(x)", "(lambda a, b: F.silu(a) * b)(*x.chunk(2, -1))", (((2, 4),), ((6,),)), x="mild"),
    # Two operands.
    *rows(
        "maximum minimum fmax fmin logaddexp logaddexp2 xlogy atan2 arctan2 div divide true_divide mul multiply add sub "
        "subtract pow fmod remainder copysign heaviside ldexp float_power",
        "ops.{}(x, y)",
        "torch.{}(x, y)",
        x="edge",
        y="edge",
    ),
    # Of half precision, MindSpore has no hypot and nextafter.
    row("ops.hypot(x, y)", x="edge", y="edge", dtypes=("float32", "float64"), absolute=1e-8),
    *rows(
        "tensor_add:add tensor_sub:sub tensor_mul:mul tensor_div:div tensor_pow:pow floor_mod:remainder truncate_mod:fmod",
        "ops.{}(x, y)",
        "torch.{}(x, y)",
        x="edge",
        y="edge",
    ),
    *rows(
        "maximum minimum add sub mul div fmod remainder floor_divide eq ne lt le gt ge equal:eq not_equal:ne greater "
        "greater_equal less less_equal logical_and logical_or logical_xor",
        "ops.{}(x, y)",
        "torch.{}(x, y)",
        x="any",
        y="any",
        dtypes=ANY,
    ),
    row("ops.truncate_div(x, y)", "torch.div(x, y, rounding_mode='trunc')", x="edge", y="edge"),
    row("ops.div(x, y, rounding_mode=r)", x="edge", y="edge", settings={"r": ["floor", "trunc", None]}),
    row("ops.nextafter(x, y)", x="const:edge", y="const:edge", dtypes=("float32", "float64")),
    row("ops.xdivy(x, y)", "", x="edge", y="edge"),
    *rows("bitwise_and bitwise_or bitwise_xor gcd lcm", "ops.{}(x, y)", "torch.{}(x, y)", x="ints", y="ints", dtypes=INTS),
    *rows("bitwise_left_shift bitwise_right_shift", "ops.{}(x, y)", "torch.{}(x, y)", x="ints", y="int<4", dtypes=("int32",)),
    row("ops.igamma(x, y)", "torch.special.gammainc(x, y)", x="const:pos", y="pos", dtypes=("float32", "float64"), second=False),
    row("ops.igammac(x, y)", "torch.special.gammaincc(x, y)", x="const:pos", y="pos", dtypes=("float32", "float64"), second=False),
    row("ops.zeta(x, y)", "torch.special.zeta(x, y)", x="const:pos", y="const:pos", dtypes=("float32", "float64"), loose=5),
    *[
        row(f"ops.{name}(x, a)", x="edge", settings={"a": NUMBERS})
        for name in ("add", "sub", "mul", "div", "pow", "fmod", "remainder", "lt", "ge", "eq")
    ],
    *[
        row(f"ops.{name}(a, x)", x="edge", settings={"a": [0, -1, 0.5, float("inf"), float("nan"), 2.0, 3, *SCALARS]})
        for name in ("add", "sub", "mul", "div", "pow")
    ],
    row("ops.clamp(x, a, b)", x="edge", settings={"a": [None, -1, 0, 0.5, *SCALARS], "b": [1, 2.0, 10**6, *SCALARS]}),
    row("ops.clamp(x, y, z)", "torch.clamp(x, y, z)", THREE, x="edge", y="normal", z="normal"),
    row("ops.clip(x, a, b)", x="edge", settings={"a": [-1, 0], "b": [1, 0.5, float("inf"), float("nan")]}),
    row("ops.clip_by_value(x, a, b)", "torch.clamp(x, a, b)", x="edge", settings={"a": [-1, 0], "b": [1, 0.5]}),
    row("ops.lerp(x, y, w)", x="edge", y="edge", settings={"w": [0.5, 0.0, 1.0, 0.25, 2.0, -1.0, *SCALARS]}),
    row("ops.lerp(x, y, w)", "torch.lerp(x, y, w)", THREE, x="edge", y="edge", w="edge"),
    row("ops.addcmul(x, y, z, v)", "torch.addcmul(x, y, z, value=v)", THREE, x="edge", y="edge", z="edge", settings={"v": [1, 0.5, 0, -2.0]}),
    row("ops.addcdiv(x, y, z, v)", "torch.addcdiv(x, y, z, value=v)", THREE, x="edge", y="edge", z="edge", settings={"v": [1, 0.5, -2.0]}),
    row("ops.where(b, x, y)", "torch.where(b, x, y)", THREE, b="bool", x="edge", y="edge"),
    row("ops.select(b, x, y)", "torch.where(b, x, y)", ((2, 4), (2, 4), (2, 4)), b="bool", x="edge", y="edge"),
    row("ops.masked_fill(x, b, v)", "torch.masked_fill(x, b, v)", x="edge", b="bool", settings={"v": NUMBERS}),
    row("ops.isclose(x, y)", "torch.isclose(x, y)", x="edge", y="edge"),
    row("ops.isclose(x, y, 0.1, 0.2, True)", "torch.isclose(x, y, 0.1, 0.2, True)", x="edge", y="edge"),
    row("ops.subtract(x, y, alpha=v)", "torch.subtract(x, y, alpha=v)", x="edge", y="edge", settings={"v": [1, 2, 0.5, 0]}),
    row("ops.clip_by_norm([x], n)[0]", "x * min(n / (torch.linalg.vector_norm(x) + 1e-6), torch.tensor(1.0))", x="normal", settings={"n": [1.0, 100.0]}, second=False, dtypes=("float32",)),
]  # fmt: skip
