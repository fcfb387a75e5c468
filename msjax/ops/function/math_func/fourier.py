"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_kind, check_positive_int, check_value
from msjax.core.base.errors import describe
from msjax.core.base.typing import Axes, JaxArray
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import as_operand, kind_of, to_float, widened

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn", "stft",
]  # fmt: skip

_NORMS = (None, "backward", "forward", "ortho")
_NORM_TEXT = (
    'norm (str, optional): "backward" scales the inverse by 1/n, "forward" the forward transform, "ortho" both by 1/sqrt(n).'
)
_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _numbers(x):
    """Integers and half floats as Float32, since no FFT takes them."""
    return widened(to_float(x))


def _check_norm(norm):
    return check_value(norm, norm in _NORMS, f"be one of {_NORMS}", "norm")


class _OneAxis(Protocol):
    def __call__(self, input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor: ...


class _SeveralAxes(Protocol):
    def __call__(
        self, input: TensorLike, s: Sequence[int] | None = None, dim: Sequence[int] | None = ..., norm: str | None = None
    ) -> Tensor: ...


def _one(name: str, fn: Callable[..., JaxArray], doc: str, size: int = 4) -> _OneAxis:
    def kernel(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> JaxArray:
        return fn(_numbers(input), n, dim, _check_norm(norm))

    doc = f"""{doc} along one axis.

    Args:
        input (Tensor): any shape.
        n (int, optional): the length; the axis is cut or filled up with zeros. Default: None, for the axis's own.
        dim (int): the axis. Default: -1.
        {_NORM_TEXT} Default: None, for "backward".

    Example:
        >>> print(ops.{name}(ops.ones((4, 4))).shape)
        (4, {size})
    """
    return operator()(titled(kernel, name, doc))


def _several(name: str, fn: Callable[..., JaxArray], doc: str, default: tuple[int, int] | None, size: int = 4) -> _SeveralAxes:
    def kernel(
        input: TensorLike, s: Sequence[int] | None = None, dim: Sequence[int] | None = default, norm: str | None = None
    ) -> JaxArray:
        return fn(_numbers(input), s, dim, _check_norm(norm))

    doc = f"""{doc} along {"two" if default else "several"} axes.

    Args:
        input (Tensor): any shape.
        s (tuple of int, optional): the length along each axis. Default: None, for the axes' own.
        dim (tuple of int, optional): the axes. Default: {default}{"" if default else ", for all, or the last ones if s is given"}.
        {_NORM_TEXT} Default: None, for "backward".

    Example:
        >>> print(ops.{name}(ops.ones((4, 4))).shape)
        (4, {size})
    """
    return operator()(titled(kernel, name, doc))


def _axes(x, s, dim):
    if dim is not None:
        return dim
    return tuple(range(x.ndim)) if s is None else tuple(range(-len(s), 0))


def _hfftn(x, s, dim, norm):
    # An Hermitian transform is the inverse real one of the conjugate, scaled the other way.
    return jnp.fft.irfftn(jnp.conj(x), s, _axes(x, s, dim), _OPPOSITE[norm])


def _ihfftn(x, s, dim, norm):
    return jnp.conj(jnp.fft.rfftn(x, s, _axes(x, s, dim), _OPPOSITE[norm]))


_PAIR = (-2, -1)
fft: _OneAxis = _one("fft", jnp.fft.fft, "The discrete Fourier transform")
ifft: _OneAxis = _one("ifft", jnp.fft.ifft, "The inverse discrete Fourier transform")
rfft: _OneAxis = _one("rfft", jnp.fft.rfft, "The discrete Fourier transform of real numbers, its non-negative frequencies,", 3)
irfft: _OneAxis = _one("irfft", jnp.fft.irfft, "The inverse of rfft", 6)
hfft: _OneAxis = _one("hfft", jnp.fft.hfft, "The discrete Fourier transform of a signal that is Hermitian,", 6)
ihfft: _OneAxis = _one("ihfft", jnp.fft.ihfft, "The inverse of hfft", 3)
fft2: _SeveralAxes = _several("fft2", jnp.fft.fftn, "The discrete Fourier transform", _PAIR)
ifft2: _SeveralAxes = _several("ifft2", jnp.fft.ifftn, "The inverse discrete Fourier transform", _PAIR)
rfft2: _SeveralAxes = _several("rfft2", jnp.fft.rfftn, "The discrete Fourier transform of real numbers", _PAIR, 3)
irfft2: _SeveralAxes = _several("irfft2", jnp.fft.irfftn, "The inverse of rfft2", _PAIR, 6)
hfft2: _SeveralAxes = _several(
    "hfft2", _hfftn, "The discrete Fourier transform of a signal that is Hermitian in its last axis,", _PAIR, 6
)
ihfft2: _SeveralAxes = _several("ihfft2", _ihfftn, "The inverse of hfft2", _PAIR, 3)
fftn: _SeveralAxes = _several("fftn", jnp.fft.fftn, "The discrete Fourier transform", None)
ifftn: _SeveralAxes = _several("ifftn", jnp.fft.ifftn, "The inverse discrete Fourier transform", None)
rfftn: _SeveralAxes = _several("rfftn", jnp.fft.rfftn, "The discrete Fourier transform of real numbers", None, 3)
irfftn: _SeveralAxes = _several("irfftn", jnp.fft.irfftn, "The inverse of rfftn", None, 6)
hfftn: _SeveralAxes = _several(
    "hfftn", _hfftn, "The discrete Fourier transform of a signal that is Hermitian in its last axis,", None, 6
)
ihfftn: _SeveralAxes = _several("ihfftn", _ihfftn, "The inverse of hfftn", None, 3)


@operator(int_grad=True)
def fftshift(input: TensorLike, dim: Axes | None = None) -> JaxArray:
    """Frequencies reordered so that 0 is in the middle of the axes `dim` (all by default).

    Example:
        >>> print(ops.fftshift(Tensor([0, 1, 2, 3])))
        [2 3 0 1]
    """
    return jnp.fft.fftshift(as_operand(input), dim)


@operator(int_grad=True)
def ifftshift(input: TensorLike, dim: Axes | None = None) -> JaxArray:
    """The inverse of fftshift.

    Example:
        >>> print(ops.ifftshift(Tensor([0, 1, 2, 3])))
        [2 3 0 1]
    """
    return jnp.fft.ifftshift(as_operand(input), dim)


def _frequencies(of, n, d, dtype):
    return wrap(of(check_positive_int(n, "n", of.__name__), d).astype(mstype.to_jax(mstype.float32 if dtype is None else dtype)))


def fftfreq(n: int, d: float = 1.0, dtype: DTypeLike | None = None) -> Tensor:
    """The frequencies of the results of fft of length n, for samples at a distance of d.

    Example:
        >>> print(ops.fftfreq(4))
        [ 0.    0.25 -0.5  -0.25]
    """
    return _frequencies(jnp.fft.fftfreq, n, d, dtype)


def rfftfreq(n: int, d: float = 1.0, dtype: DTypeLike | None = None) -> Tensor:
    """The frequencies of the results of rfft of length n, for samples at a distance of d.

    Example:
        >>> print(ops.rfftfreq(4))
        [0.   0.25 0.5 ]
    """
    return _frequencies(jnp.fft.rfftfreq, n, d, dtype)


@operator(2, name="stft")
def _stft(x, window, n_fft, hop, center, pad_mode, normalized, onesided, as_complex):
    x = _numbers(x)
    single = x.ndim == 1
    x = x[None] if single else x
    if center:
        x = jnp.pad(x, ((0, 0), (n_fft // 2, n_fft // 2)), mode=pad_mode)
    count = 1 + (x.shape[-1] - n_fft) // hop
    frames = x[:, hop * jnp.arange(count)[:, None] + jnp.arange(n_fft)]
    if window is not None:
        before = (n_fft - window.shape[0]) // 2
        window = jnp.pad(window, (before, n_fft - window.shape[0] - before), constant_values=1)
        frames = frames * window
    real = kind_of(frames.dtype) != "c"
    onesided = real if onesided is None else onesided
    norm = "ortho" if normalized else "backward"
    out = jnp.fft.rfft(frames, axis=-1, norm=norm) if real and onesided else jnp.fft.fft(frames, axis=-1, norm=norm)
    if onesided and not real:
        out = out[..., : n_fft // 2 + 1]
    out = jnp.swapaxes(out, -1, -2)
    out = out[0] if single else out
    as_complex = not real if as_complex is None else as_complex
    return out if as_complex else jnp.stack([jnp.real(out), jnp.imag(out)], -1)


_PAD_MODES = {"reflect": "reflect", "constant": "constant", "replicate": "edge", "circular": "wrap"}


def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "REFLECT",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Tensor:
    """Fourier transforms of the frames of a signal.

    Args:
        x (Tensor): shape (time,) or (batch, time).
        n_fft (int): the size of a frame.
        hop_length (int, optional): from one frame to the next. Default: None, for n_fft // 4.
        win_length (int, optional): the size of the window. Default: None, for n_fft.
        window (Tensor, optional): shape (win_length,), filled up with ones. Default: None, for ones.
        center (bool): whether the signal is padded, so that frames are centered. Default: True.
        pad_mode (str): how it is padded: "reflect", "constant", "replicate" or "circular". Default: "REFLECT".
        normalized (bool): whether the result is divided by sqrt(n_fft). Default: False.
        onesided (bool, optional): whether the spectrum is halved. Default: None, for real signals.
        return_complex (bool, optional): whether the result is complex, not with (real, imaginary) pairs along a last
            axis. Default: None, for complex signals.

    Returns:
        Tensor of shape (..., frequencies, frames) or (..., frequencies, frames, 2).

    Raises:
        TypeError: `x` has another number of axes.
        ValueError: sizes or modes that don't fit.

    Example:
        >>> print(ops.stft(Tensor([1.0, 2.0, 3.0, 4.0]), 4, center=False))
        [[[10.  0.]]
        <BLANKLINE>
         [[-2.  2.]]
        <BLANKLINE>
         [[-2.  0.]]]
    """
    check_kind(x, x.ndim in (1, 2), "have one or two axes", "x", "stft")
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if not 0 < length <= n_fft or hop < 1:
        raise ValueError(f"For 'stft', sizes don't fit: n_fft {n_fft}, hop_length {hop}, win_length {length}.")
    if window is not None and (not isinstance(window, Tensor) or window.shape != (length,)):
        raise ValueError(f"For 'stft', 'window' should be a Tensor of shape ({length},), but got {describe(window)}.")
    mode = _PAD_MODES.get(str(pad_mode).lower())
    check_value(pad_mode, mode is not None, f"be one of {', '.join(_PAD_MODES)}", "pad_mode", "stft")
    return _stft(x, window, n_fft, hop, bool(center), mode, bool(normalized), onesided, return_complex)
