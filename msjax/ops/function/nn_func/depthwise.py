"""Depthwise convolutions on CPUs: sums of shifted images, and their gradients, for jax's derivatives, too.

A convolution is linear in its image and in its weight. Its two gradients are linear in their operands, too, and the transposes of all
three are each other. To jax, they are one primitive that says so: what jax would derive from as many products as a window has
positions takes two to four times as long to compile, and up to twice as long to run.
"""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from msjax.core.base import jax_slots
from msjax.core.base.typing import JaxArray, PadWidths
from msjax.engine.programs.compiler_options import EQUATIONS_OF
from msjax.ops.function.nn_func.sliding import Ints, out_sizes, pad_spatial, shifted

# What the operands of each map are. Images and outputs have shapes (N, C, *sizes), weights (C, 1, *sizes).
_OPERANDS = {"output": ("image", "weight"), "image": ("output", "weight"), "weight": ("image", "output")}


class Windows(NamedTuple):
    """The settings of a depthwise convolution: a number for each spatial axis, for `padding` a pair.

    Attributes:
        sizes: of the image.
        kernel: of the weight.
    """

    sizes: Ints
    kernel: Ints
    stride: Ints
    padding: PadWidths
    dilation: Ints

    @property
    def spans(self) -> tuple[Ints, ...]:
        """The settings that tell sizes."""
        return self.kernel, self.stride, self.padding, self.dilation


def tangent_of_each_channel(x: JaxArray, weight: JaxArray, windows: Windows) -> JaxArray:
    """`convolve_each_channel`, where one of the operands is a tangent: one operation, which jax transposes to those below."""
    return _linear("output", (x, weight), windows)


def gradient_of_image(ct: JaxArray, weight: JaxArray, windows: Windows) -> JaxArray:
    """The gradient of `convolve_each_channel` with respect to the image; `ct` is that of the result."""
    return _differentiable("image", ct, weight, windows)


def gradient_of_weight(x: JaxArray, ct: JaxArray, windows: Windows) -> JaxArray:
    """The gradient of `convolve_each_channel` with respect to the weight."""
    return _differentiable("weight", x, ct, windows)


# ---- the kernels
# Tried: one loop for both gradients takes as long to compile, and up to 2.6 times as long to run; all shifts stacked and summed at once, up
# to ten times; the loop as one kernel, by XLA's mark for calls of small loops, is compiled without fusions.


def convolve_each_channel(x: JaxArray, weight: JaxArray, windows: Windows) -> JaxArray:
    """The convolution of images (N, C, *sizes) with weights (C, 1, *kernel), which jax is not to differentiate: a sum of shifted images."""
    columns, out = weight.reshape(weight.shape[0], -1), None
    for i, tap in enumerate(shifted(x, *windows.spans, 2)):
        # By functions of jax.lax, which take a third of the time of jax.numpy's to trace.
        scale = jax.lax.slice_in_dim(columns, i, i + 1, axis=1)
        term = jax.lax.mul(tap, jax.lax.broadcast_in_dim(scale, tap.shape, (1, 2)))
        out = term if out is None else jax.lax.add(out, term)
    return out


def _shifted_sums_of_output(ct, weight, windows):
    """Shifted sums, too, with the kernel turned round."""
    widths = [(0, 0, 0)] * 2
    for size, out, k, s, (low, _), d in zip(windows.sizes, ct.shape[2:], *windows.spans):
        widths.append(((k - 1) * d - low, size - 1 - (out - 1) * s + low, s - 1))
    ct = jax.lax.pad(ct, jnp.zeros((), ct.dtype), widths)
    n = len(windows.sizes)
    turned = Windows(ct.shape[2:], windows.kernel, (1,) * n, ((0, 0),) * n, windows.dilation)
    return convolve_each_channel(ct, jnp.flip(weight, range(2, 2 + n)), turned)


def _products_at_shifts(x, ct, windows):
    """For each position in the window, a sum of products.

    It is a loop, since XLA needs much time to compile as many sums as there are positions.
    """
    kernel, stride, padding, dilation = windows.spans
    x = pad_spatial(x, padding)
    spans = [(out - 1) * s + 1 for out, s in zip(ct.shape[2:], stride)]
    starts = np.array(list(itertools.product(*(range(0, k * d, d) for k, d in zip(kernel, dilation)))), np.int32)
    zero = np.int32(0)

    def at(start):
        tap = jax.lax.dynamic_slice(x, (zero, zero, *start), (*x.shape[:2], *spans))
        tap = jax.lax.slice(tap, (0,) * x.ndim, tap.shape, (1, 1, *stride))
        return (tap * ct).sum((0, *range(2, x.ndim)))

    return jnp.moveaxis(jax.lax.map(at, starts), 0, -1).reshape(x.shape[1], 1, *kernel)


_KERNELS = {"output": convolve_each_channel, "image": _shifted_sums_of_output, "weight": _products_at_shifts}


def _differentiable(result, a, b, windows):
    """The kernel, whose equations stand in the program; its derivatives are the primitive."""

    @jax.custom_jvp
    def run(a, b):
        return _KERNELS[result](a, b, windows)

    def run_jvp(primals, tangents):
        found = []
        for i, tangent in enumerate(tangents):
            if not isinstance(tangent, jax.custom_derivatives.SymbolicZero):
                operands = (tangent, primals[1]) if i == 0 else (primals[0], tangent)
                found.append(_linear(result, operands, windows))
        out = run(*primals)
        return out, sum(found[1:], found[0]) if found else jnp.zeros_like(out)

    run.defjvp(run_jvp, symbolic_zeros=True)
    return run(a, b)


# ---- the primitive

_depthwise_p = jax.extend.core.Primitive("msjax_depthwise_convolution")


def _linear(result, operands, windows):
    if any(any(jax.typeof(v).sharding.spec) for v in operands):
        # Rules for explicit axes of a mesh have jax's own operations only.
        return _KERNELS[result](*operands, windows)
    varying = [jax_slots.varying_axes(jax.typeof(v)) for v in operands]
    missing = [frozenset().union(*varying) - axes for axes in varying]
    operands = [jax.lax.pcast(v, tuple(axes), to="varying") if axes else v for v, axes in zip(operands, missing)]
    return _depthwise_p.bind(*operands, result=result, windows=windows)


def _kernel(a, b, *, result, windows):
    return _KERNELS[result](a, b, windows)


_computed = jax.jit(_kernel, static_argnames=("result", "windows"))


def _abstract(a, b, *, result, windows):
    sizes = {
        "output": lambda: out_sizes(windows.sizes, *windows.spans),
        "image": lambda: windows.sizes,
        "weight": lambda: windows.kernel,
    }[result]()
    return a.update(shape=((a.shape[1], 1) if result == "weight" else a.shape[:2]) + sizes, weak_type=False)


def _jvp(primals, tangents, *, result, windows):
    out = _linear(result, primals, windows)
    pairs = [(tangents[0], primals[1]), (primals[0], tangents[1])]
    terms = [_linear(result, pair, windows) for pair, t in zip(pairs, tangents) if not isinstance(t, ad.Zero)]
    return out, functools.reduce(jax.lax.add, terms) if terms else ad.Zero.from_primal_value(out)


def _transposed(ct, a, b, *, result, windows):
    """The maps from a gradient of the result to that of the operand that is linear."""
    i = 0 if ad.is_undefined_primal(a) else 1
    of, other = _OPERANDS[result][i], _OPERANDS[result][1 - i]
    if isinstance(ct, ad.Zero):
        found = ad.Zero((a, b)[i].aval)
    else:
        given = {result: ct, other: (a, b)[1 - i]}
        found = _linear(of, [given[name] for name in _OPERANDS[of]], windows)
    return [found, None] if i == 0 else [None, found]


def _batched(values, axes, *, result, windows):
    """Lanes of one weight become examples; lanes of different ones, channels."""
    names = _OPERANDS[result]
    lanes = next(v.shape[axis] for v, axis in zip(values, axes) if axis is not None)
    examples, channels = [n for i, n in enumerate(values[0].shape) if i != axes[0]][:2]
    one_weight = "weight" in names and axes[names.index("weight")] is None

    def folded(name, v, axis):
        if one_weight and name == "weight":
            return v
        at = 0 if one_weight or name == "weight" else 1
        v = jnp.broadcast_to(v, (lanes, *v.shape)) if axis is None else v
        v = jnp.moveaxis(v, 0 if axis is None else axis, at)
        return v.reshape(*v.shape[:at], lanes * v.shape[at + 1], *v.shape[at + 2 :])

    out = _linear(result, [folded(*each) for each in zip(names, values, axes)], windows)
    at = 0 if one_weight or result == "weight" else 1
    return out.reshape(*out.shape[:at], lanes, examples if one_weight else channels, *out.shape[at + 1 :]), at


_depthwise_p.def_impl(_computed)
_depthwise_p.def_abstract_eval(_abstract)
ad.deflinear2(_depthwise_p, _transposed)
ad.primitive_jvps[_depthwise_p] = _jvp
batching.primitive_batchers[_depthwise_p] = _batched
mlir.register_lowering(_depthwise_p, mlir.lower_fun(_kernel, multiple_results=False))
EQUATIONS_OF[_depthwise_p] = _kernel
