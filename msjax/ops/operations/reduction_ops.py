"""Operator classes of reductions, cumulative operators and norms."""

from msjax.common import dtype as mstype
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.dispatch.promotion import to_float
from msjax.ops.function.array_func import casting
from msjax.ops.function.math_func import cumulative, extremes, norms, reduction, statistics
from msjax.ops.primitive import REQUIRED, plain_primitives, primitive_class

__all__ = []


def _define(name, attributes, call, doc):
    globals()[name] = primitive_class(name, attributes, call, doc)
    __all__.append(name)


def _flag(primitive):
    keep = primitive.keep_dims
    if not isinstance(keep, bool):
        raise TypeError(f"For '{primitive.name}', 'keep_dims' should be a bool, but got {keep!r}.")
    return keep


_KEEP = "keep_dims (bool): whether reduced axes stay, with size 1. Default: False."

for _name, _function, _what in (
    ("ReduceMean", reduction.mean, "The mean"),
    ("ReduceMax", extremes.amax, "The largest values"),
    ("ReduceMin", extremes.amin, "The smallest values"),
    ("ReduceProd", reduction.prod_kept, "The product"),
    ("ReduceAll", reduction.all, "True where all are true,"),
    ("ReduceAny", reduction.any, "True where any is true,"),
):

    def _reduce(self, x, axis=(), _function=_function):
        return _function(x, () if axis is None else axis, _flag(self))

    _define(
        _name,
        {"keep_dims": False},
        _reduce,
        f"""{_what} over axes (all by default): ``ops.{_name}()(x, axis)``.

    Args:
        {_KEEP}
    """,
    )


def _reduce_sum(self, x, axis=()):
    axis = () if axis is None else freeze(axis)
    if self.skip_mode and axis == ():
        return x
    return reduction.sum_kept(x, axis, _flag(self))


_define(
    "ReduceSum",
    {"keep_dims": False, "skip_mode": False},
    _reduce_sum,
    f"""The sum over axes (all by default): ``ops.ReduceSum()(x, axis)``.

    Args:
        {_KEEP}
        skip_mode (bool): whether nothing is summed where no axes are given. Default: False.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.ReduceSum(keep_dims=True)(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [[3.]
         [7.]]
    """,
)


def _reduce_std(self, x):
    axis = freeze(self.axis)
    return reduction.std_mean(x, None if axis == () else axis, int(self.unbiased), self.keep_dims)


_define(
    "ReduceStd",
    {"axis": (), "unbiased": True, "keep_dims": False},
    _reduce_std,
    f"""The standard deviation and the mean.

    Args:
        axis (int, tuple or list): the axes. Default: (), for all.
        unbiased (bool): whether the divisor is N - 1. Default: True.
        {_KEEP}
    """,
)


def _arg(function):
    def call(self, x):
        kind = mstype.as_dtype(self.output_type)
        if kind not in (mstype.int32, mstype.int64):
            raise TypeError(f"For '{self.name}', 'output_type' should be Int32 or Int64, but got {kind}.")
        return casting.cast(function(x, self.axis, False), kind)

    return call


for _name, _function, _what in (("Argmax", extremes.argmax, "largest"), ("Argmin", extremes.argmin, "smallest")):
    _define(
        _name,
        {"axis": -1, "output_type": mstype.int32},
        _arg(_function),
        f"""The index of the {_what} value along an axis.

    Args:
        axis (int): Default: -1.
        output_type (ms.dtype): Int32 or Int64. Default: Int32.
    """,
    )


def _with_value(function):
    def call(self, input):
        values, index = function(input, self.axis, self.keep_dims)
        return index, values

    return call


for _name, _function, _what in (("ArgMaxWithValue", extremes.max, "largest"), ("ArgMinWithValue", extremes.min, "smallest")):
    _define(
        _name,
        {"axis": 0, "keep_dims": False},
        _with_value(_function),
        f"""The {_what} values along an axis, as (index, values).

    Args:
        axis (int): Default: 0.
        {_KEEP}
    """,
    )

_define(
    "CountNonZero",
    {"dims": None},
    lambda self, x: casting.cast(reduction.count_nonzero(x, () if self.dims is None else self.dims), mstype.int64),
    """How many values are not 0, as Int64.

    Args:
        dims (int, tuple or list, optional): the axes. Default: None, for all.
    """,
)


def _median(self, x):
    if self.global_median:
        return statistics.global_median(x, self.ignore_nan)
    return (statistics.nanmedian if self.ignore_nan else statistics.median)(x, self.axis, self.keep_dims)


_define(
    "Median",
    {"global_median": False, "axis": 0, "keep_dims": False, "ignore_nan": False},
    _median,
    f"""The median along an axis and its index, as (values, indices).

    Args:
        global_median (bool): whether all elements count; the index is 0 then. Default: False.
        axis (int): Default: 0.
        {_KEEP}
        ignore_nan (bool): whether NaN are left out. Default: False.
    """,
)
_define(
    "Quantile",
    {"dim": None, "keep_dims": False, "ignore_nan": False},
    lambda self, x, q: (statistics.nanquantile if self.ignore_nan else statistics.quantile)(x, q, self.dim, self.keep_dims),
    f"""The q-th quantiles: ``ops.Quantile(dim)(x, q)``.

    Args:
        dim (int, optional): the axis. Default: None, for all elements.
        {_KEEP}
        ignore_nan (bool): whether NaN are left out. Default: False.
    """,
)

# ---- cumulative

for _name, _function, _what in (
    ("CumSum", cumulative.cumsum_shifted, "sum"),
    ("CumProd", cumulative.cumprod_shifted, "product"),
):

    def _cumulate(self, x, axis, _function=_function):
        return _function(x, axis, bool(self.exclusive), bool(self.reverse))

    _define(
        _name,
        {"exclusive": False, "reverse": False},
        _cumulate,
        f"""The cumulative {_what} along an axis: ``ops.{_name}()(x, axis)``.

    Args:
        exclusive (bool): whether an element itself is left out of its {_what}. Default: False.
        reverse (bool): whether it goes from the end. Default: False.
    """,
    )
_define(
    "CumulativeLogsumexp",
    {"exclusive": False, "reverse": False},
    lambda self, x, axis: cumulative.logcumsumexp_shifted(x, axis, bool(self.exclusive), bool(self.reverse)),
    """log of the cumulative sum of exp along an axis: ``ops.CumulativeLogsumexp()(x, axis)``.

    Args:
        exclusive (bool): whether an element itself is left out of its sum. Default: False.
        reverse (bool): whether it goes from the end. Default: False.
    """,
)
for _name, _function, _what in (("Cummax", cumulative.cummax, "largest"), ("Cummin", cumulative.cummin, "smallest")):

    def _running(self, input, _function=_function):
        return _function(input, self.axis)

    _define(
        _name,
        {"axis": REQUIRED},
        _running,
        f"""The {_what} values so far along an axis, and their indices.

    Args:
        axis (int): the axis.
    """,
    )

# ---- norms


@operator(name="L2Loss")
def _l2_loss(x):
    x = to_float(x)
    return (x * x).sum() / 2


@operator(2, name="SquareSumAll")
def _square_sum_all(x, y):
    return (x * x).sum(), (y * y).sum()


_PLAIN = plain_primitives({"L2Loss": _l2_loss, "SquareSumAll": _square_sum_all})
_PLAIN["L2Loss"].__doc__ = "Half of the sum of squares: ``ops.L2Loss()(x)``."
_PLAIN["SquareSumAll"].__doc__ = "The sums of squares of two Tensors: ``ops.SquareSumAll()(x, y)``."
globals().update(_PLAIN)
__all__ += list(_PLAIN)


def _l2_normalize(self, x):
    axis = freeze(self.axis)
    if isinstance(axis, tuple):
        if len(axis) != 1:
            raise TypeError(f"For 'L2Normalize', 'axis' should be one axis, but got {axis}.")
        axis = axis[0]
    return norms.l2_normalize(x, axis, float(self.epsilon))


_define(
    "L2Normalize",
    {"axis": 0, "epsilon": 1e-4},
    _l2_normalize,
    """x / sqrt(max(sum(x**2), epsilon)) along an axis.

    Args:
        axis (int): Default: 0.
        epsilon (float): Default: 1e-4.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.L2Normalize()(ms.Tensor([3.0, 4.0])))
        [0.6 0.8]
    """,
)
_define(
    "LpNorm",
    {"axis": REQUIRED, "p": 2, "keep_dims": False, "epsilon": 1e-12},
    lambda self, input: norms.lp_norm(input, self.axis, self.p, self.keep_dims, self.epsilon),
    f"""The p-norm over axes, not below epsilon.

    Args:
        axis (int, tuple or list): the axes.
        p (int): the order. Default: 2.
        {_KEEP}
        epsilon (float): Default: 1e-12.
    """,
)
_define(
    "EuclideanNorm",
    {"keep_dims": False},
    lambda self, x, axes: norms.vector_norm(x, 2, axes, self.keep_dims),
    f"""The 2-norm over axes: ``ops.EuclideanNorm()(x, axes)``.

    Args:
        {_KEEP}
    """,
)
_define(
    "NuclearNorm",
    {"dim": None, "keepdim": False},
    lambda self, x: norms.matrix_norm(x, "nuc", (0, 1) if self.dim is None else self.dim, self.keepdim),
    """The sum of the singular values of matrices.

    Args:
        dim (tuple, optional): the axes of rows and columns. Default: None, for the first two.
        keepdim (bool): whether reduced axes stay, with size 1. Default: False.
    """,
)
_define(
    "Renorm",
    {"p": REQUIRED, "dim": REQUIRED, "maxnorm": REQUIRED},
    lambda self, x: norms.renorm(x, self.p, self.dim, self.maxnorm),
    """Sub-Tensors along an axis scaled down where their p-norm is above maxnorm.

    Args:
        p (float): the order of the norm.
        dim (int): the axis.
        maxnorm (float): the largest norm.
    """,
)
