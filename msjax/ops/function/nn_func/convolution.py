"""Convolutions, in MindSpore's layouts: NC... inputs, weights (out, in / groups, ...)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_int, check_kind, check_rank, check_type, check_value
from msjax.core.base.typing import Axes, PadWidths
from msjax.engine.autograd.op import apply
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import broadcast
from msjax.ops.function.nn_func.convolution_kernels import CONV, CONV_TRANSPOSE
from msjax.ops.function.nn_func.sliding import Ints, n_ints, same_pads

__all__ = ["bias_add", "conv1d", "conv2d", "conv3d", "conv3d_transpose", "conv_transpose2d"]


def transposed_sizes(sizes: Ints, kernel: Ints, stride: Ints, pads: PadWidths, dilation: Ints, output_padding: Ints) -> Ints:
    """The spatial sizes of a transposed convolution's output."""
    return tuple(
        [
            (n - 1) * s - sum(p) + (k - 1) * d + 1 + extra
            for n, k, s, p, d, extra in zip(sizes, kernel, stride, pads, dilation, output_padding)
        ]
    )


def grown_pads(pads: PadWidths, stride: Ints, dilation: Ints, extra: Ints, who: str) -> PadWidths:
    """The padding pairs of a transposed convolution with an output padding `extra`.

    Where that is at least the stride, an input for so large an output would have more elements: so many fewer are cut off instead.

    Raises:
        ValueError: an output padding is neither below the stride nor below the dilation.
    """
    for e, s, d in zip(extra, stride, dilation):
        if e and e >= max(s, d):
            raise ValueError(
                f"For '{who}', 'output_padding' should be below 'stride' or 'dilation', but got {extra}, stride {stride} and "
                f"dilation {dilation}."
            )
    return tuple([(low, high - e) if e >= s else (low, high) for (low, high), s, e in zip(pads, stride, extra)])


def conv_pads(pad_mode: str, padding: Axes, n: int, who: str) -> PadWidths | str:
    """The padding pairs of MindSpore's `pad_mode` and `padding`, a number for all sides or one for each of n axes; or "same"."""
    fits = isinstance(pad_mode, str) and pad_mode.lower() in ("same", "valid", "pad")
    check_value(pad_mode, fits, "be 'same', 'valid' or 'pad'", "pad_mode", who)
    mode = pad_mode.lower()
    if isinstance(padding, (tuple, list)) and len(padding) == 2 * n and n > 1:
        flat = n_ints(padding, 2 * n, "padding", who, lowest=0)
        pairs = tuple(zip(flat[::2], flat[1::2]))
    else:
        pairs = tuple((p, p) for p in n_ints(padding, n, "padding", who, lowest=0))
    if mode == "pad":
        return pairs
    check_value(padding, all(p == (0, 0) for p in pairs), f"be 0 with pad_mode {pad_mode!r}", "padding", who)
    return "same" if mode == "same" else ((0, 0),) * n


_CONV_DOC = """A convolution over the last {axes} axes.

    Args:
        input (Tensor): of shape (N, C_in, {sizes}).
        weight (Tensor): of shape (C_out, C_in / groups, {kernel}).
        bias (Tensor, optional): of shape (C_out,).
        stride (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default, no padding), "same" (the output has size ceil(size / stride)) or "pad".
        padding (int or tuple): with "pad", one int for all sides or one for each axis.
        dilation (int or tuple): the distance of neighbouring elements in a window. Default: 1.
        groups (int): channels are convolved in so many groups. Default: 1.

    Returns:
        Tensor, of shape (N, C_out, {out}).

    Raises:
        TypeError, ValueError: an argument of a wrong type, shape or value.

    Example:
        >>> from msjax import ops
        >>> ops.{name}(ops.ones({x}), ops.ones({w})).shape
        {shape}
    """


class _Convolution(Protocol):
    def __call__(
        self, input: TensorLike, weight: Tensor, bias: TensorLike | None = None, stride: Axes = 1, pad_mode: str = "valid",
        padding: Axes = 0, dilation: Axes = 1, groups: int = 1,
    ) -> Tensor: ...  # fmt: skip


def _conv(n: int, sizes: str, x: Sequence[int], w: Sequence[int], shape: Sequence[int]) -> _Convolution:
    who = f"conv{n}d"

    def call(
        input: TensorLike, weight: Tensor, bias: TensorLike | None = None, stride: Axes = 1, pad_mode: str = "valid",
        padding: Axes = 0, dilation: Axes = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        for name, value in (("input", input), ("weight", weight)):
            check_type(value, Tensor, name, who)
            check_rank(value, n + 2, name, who)
        if bias is not None:
            check_kind(bias, isinstance(bias, Tensor), "be a Tensor or None", "bias", who)
            fits = bias.shape == weight.shape[:1]
            check_value(bias, fits, f"have shape {weight.shape[:1]}, one number for each output channel", "bias", who)
        stride = n_ints(stride, n, "stride", who)
        dilation = n_ints(dilation, n, "dilation", who)
        check_int(groups, "groups", who)
        fits = groups > 0 and not weight.shape[0] % groups
        check_value(groups, fits, f"divide the output channels, {weight.shape[0]} by the weight's shape", "groups", who)
        if input.shape[1] % groups:
            raise ValueError(
                f"For '{who}', 'groups' should divide the input's channels, but got {groups} for shape {input.shape}."
            )
        if input.shape[1] != weight.shape[1] * groups:
            raise RuntimeError(
                f"For '{who}', the input should have {weight.shape[1] * groups} channels, as the weight of shape {weight.shape} "
                f"with {groups} group(s) says, but its shape is {input.shape}."
            )
        padding = n_ints(padding, n, "padding", who, lowest=0)
        return apply(CONV, (input, weight, bias), (stride, conv_pads(pad_mode, padding, n, who), dilation, groups))

    out = ", ".join(f"{size}'" for size in sizes.split(", "))
    return titled(
        call, who, _CONV_DOC.format(axes=n, sizes=sizes, kernel=sizes.lower(), out=out, name=who, x=x, w=w, shape=shape)
    )


conv1d: _Convolution = _conv(1, "L", (1, 3, 8), (4, 3, 3), (1, 4, 6))
conv2d: _Convolution = _conv(2, "H, W", (1, 3, 8, 8), (4, 3, 3, 3), (1, 4, 6, 6))
conv3d: _Convolution = _conv(3, "D, H, W", (1, 2, 4, 4, 4), (3, 2, 2, 2, 2), (1, 3, 3, 3, 3))


def conv_transpose2d(
    input: TensorLike,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Axes = 1,
    padding: Axes = 0,
    output_padding: Axes = 0,
    groups: int = 1,
    dilation: Axes = 1,
) -> Tensor:
    """A transposed convolution: the gradient of a 2-D convolution with respect to its input.

    Args:
        input (Tensor): of shape (N, C_in, H, W).
        weight (Tensor): of shape (C_in, C_out / groups, h, w).
        bias (Tensor, optional): of shape (C_out,).
        stride, padding, output_padding, dilation (int or tuple): for both axes, or (height, width).
        groups (int): Default: 1.

    Returns:
        Tensor, of shape (N, C_out, H', W') with H' = (H - 1) * stride - 2 * padding + dilation * (h - 1) + output_padding + 1.

    Example:
        >>> ops.conv_transpose2d(ops.ones((1, 3, 4, 4)), ops.ones((3, 2, 3, 3)), stride=2).shape
        (1, 2, 9, 9)
    """
    who = "conv_transpose2d"
    stride, dilation = n_ints(stride, 2, "stride", who), n_ints(dilation, 2, "dilation", who)
    pads = tuple((p, p) for p in n_ints(padding, 2, "padding", who, lowest=0))
    extra = n_ints(output_padding, 2, "output_padding", who, lowest=0)
    sizes = transposed_sizes(input.shape[2:], weight.shape[2:], stride, pads, dilation, extra)
    pads = grown_pads(pads, stride, dilation, extra, who)
    return apply(CONV_TRANSPOSE, (input, weight, bias), (stride, pads, dilation, groups, sizes))


def conv3d_transpose(
    inputs: Tensor,
    weight: Tensor,
    pad_mode: str = "valid",
    padding: Axes = 0,
    stride: Axes = 1,
    dilation: Axes = 1,
    group: int = 1,
    output_padding: Axes = 0,
) -> Tensor:
    """A transposed convolution: the gradient of a 3-D convolution with respect to its input.

    Args:
        inputs (Tensor): of shape (N, C_in, D, H, W).
        weight (Tensor): of shape (C_in, C_out / group, d, h, w).
        pad_mode (str): "valid" (the default), "same" (the output has size size * stride) or "pad".
        padding (int or tuple): with "pad", one int for all sides, or (front, back, top, bottom, left, right).
        stride, dilation, output_padding (int or tuple): for all axes, or (depth, height, width).
        group (int): Default: 1.

    Returns:
        Tensor, of shape (N, C_out, D', H', W').
    """
    who, kernel = "conv3d_transpose", weight.shape[2:]
    stride, dilation = n_ints(stride, 3, "stride", who), n_ints(dilation, 3, "dilation", who)
    extra = n_ints(output_padding, 3, "output_padding", who, lowest=0)
    pads, sizes = transposed_layout(inputs.shape[2:], kernel, stride, pad_mode, padding, dilation, extra, who)
    return apply(CONV_TRANSPOSE, (inputs, weight, None), (stride, pads, dilation, group, sizes))


def transposed_layout(
    sizes: Ints, kernel: Ints, stride: Ints, pad_mode: str, padding: Axes, dilation: Ints, output_padding: Ints, who: str
) -> tuple[PadWidths, Ints]:
    """The padding pairs and output sizes of a transposed convolution in one of MindSpore's pad modes."""
    pads = conv_pads(pad_mode, padding, len(kernel), who)
    mode = pad_mode.lower()
    check_value(
        output_padding, mode == "pad" or not any(output_padding), f"be 0 with pad_mode {pad_mode!r}", "output_padding", who
    )
    if isinstance(pads, str):
        out = tuple([n * s for n, s in zip(sizes, stride)])
        return same_pads(out, kernel, stride, dilation), out
    out = transposed_sizes(sizes, kernel, stride, pads, dilation, output_padding)
    if mode == "valid":
        # Where the stride is larger than the window, the output reaches to the end of the last step.
        out = tuple([o + max(s - (k - 1) * d - 1, 0) for o, s, k, d in zip(out, stride, kernel, dilation)])
    return grown_pads(pads, stride, dilation, output_padding, who), out


@operator(2, name="BiasAdd", int_grad=True)
def _bias_add(input_x, bias, axis):
    if bias.ndim != 1 or bias.shape[0] != input_x.shape[axis]:
        raise ValueError(
            f"the bias should have shape ({input_x.shape[axis]},), the size of axis {axis} of an input of shape "
            f"{input_x.shape}, but its shape is {bias.shape}."
        )
    return input_x + broadcast(bias.reshape([-1 if i == axis % input_x.ndim else 1 for i in range(input_x.ndim)]), input_x.shape)


def bias_add(input_x: Tensor, bias: Tensor) -> Tensor:
    """input_x + bias, where the bias has one number for each channel (axis 1).

    Args:
        input_x (Tensor): of shape (N, C, ...).
        bias (Tensor): of shape (C,).

    Example:
        >>> print(ops.bias_add(Tensor([[1.0, 2.0]]), Tensor([0.5, 0.25])))
        [[1.5  2.25]]
    """
    return _bias_add(input_x, bias, 1)
