"""Convolutions, in MindSpore's layouts: NCHW inputs, OIHW weights."""

import jax

from msjax.autograd.op import Op

__all__ = []

_LAYOUT = {3: ("NCH", "OIH", "NCH"), 4: ("NCHW", "OIHW", "NCHW"), 5: ("NCDHW", "OIDHW", "NCDHW")}


def _conv(x, weight, bias, stride, padding, dilation, group):
    if x.ndim not in _LAYOUT or x.ndim != weight.ndim:
        raise ValueError(f"input and weight should both have {weight.ndim} axes, but the input's shape is {x.shape}.")
    if x.shape[1] != weight.shape[1] * group:
        raise ValueError(
            f"the input should have {weight.shape[1] * group} channels (axis 1), as the weight of shape {weight.shape} "
            f"with {group} group(s) says, but its shape is {x.shape}."
        )
    out = jax.lax.conv_general_dilated(
        x,
        weight.astype(x.dtype),
        window_strides=stride,
        padding=padding,
        rhs_dilation=dilation,
        dimension_numbers=_LAYOUT[x.ndim],
        feature_group_count=group,
    )
    return out if bias is None else out + bias.astype(x.dtype).reshape((1, -1) + (1,) * (x.ndim - 2))


# Operands: input, weight, bias or None. Static: stride, padding ("SAME" or pairs), dilation, group.
CONV = Op("Conv", _conv, shape_error=RuntimeError)


def same_padding(size, kernel, stride, dilation):
    """Padding pairs of one axis for MindSpore's pad_mode "same": the output has size ceil(size / stride)."""
    out = -(-size // stride)
    total = max((out - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2
