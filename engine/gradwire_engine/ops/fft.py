"""torch.fft: transforms of complex and real numbers, of sizes and along axes as asked."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.families import composite
from gradwire_engine.ops.arithmetic import conj, is_complex
from gradwire_engine.ops.cast import clone
from gradwire_engine.ops.expand import called
from gradwire_engine.ops.fft_sizes import (
    LAST_TWO,
    as_complex,
    from_half,
    inexact,
    need_axes,
    norm_of,
    one_axis,
    real_points,
    real_sizes,
    resized,
    several_axes,
    to_half,
)
from gradwire_engine.ops.fourier import OTHER, complex_to_complex, real_to_all
from gradwire_engine.signature import Dims, Ints


def _all_frequencies(
    asked: str, input: Any, n: int | None, dim: int, norm: str | None, inverse: bool
) -> Any:
    where, dims = norm_of(asked, norm), one_axis(asked, input, dim)
    input = inexact(asked, input)
    input = resized(asked, input, dims, (input.shape[dims[0]] if n is None else n,))
    if is_complex(input):
        return complex_to_complex(input, dims, where, inverse)
    if inverse:
        return conj(real_to_all(input, dims, OTHER[where]))
    return real_to_all(input, dims, where)


def _all_axes(
    asked: str, input: Any, s: Ints | None, dim: Dims | None, norm: str | None, inverse: bool
) -> Any:
    where, (dims, sizes) = norm_of(asked, norm), several_axes(asked, input, s, dim)
    if dims and not inverse and not is_complex(input):  # the same, without a complex copy
        real = resized(asked, inexact(asked, input), dims, sizes)
        return called("FftC2CBackward0", real_to_all(real, dims, where))
    input = resized(asked, as_complex(asked, input), dims, sizes)
    return complex_to_complex(input, dims, where, inverse) if dims else clone(input)


@composite(space="fft.")
def fft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The discrete Fourier transform along an axis."""
    return _all_frequencies("fft.fft", input, n, dim, norm, inverse=False)


@composite(space="fft.")
def ifft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The inverse discrete Fourier transform along an axis."""
    return _all_frequencies("fft.ifft", input, n, dim, norm, inverse=True)


@composite(space="fft.")
def fftn(
    input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None
) -> Array:
    """The discrete Fourier transform along several axes, by default all."""
    return _all_axes("fft.fftn", input, s, dim, norm, inverse=False)


@composite(space="fft.")
def ifftn(
    input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None
) -> Array:
    """The inverse discrete Fourier transform along several axes, by default all."""
    return _all_axes("fft.ifftn", input, s, dim, norm, inverse=True)


@composite(space="fft.")
def fft2(
    input: Array, s: Ints | None = None, dim: Ints = LAST_TWO, norm: str | None = None
) -> Array:
    """The discrete Fourier transform along two axes."""
    return _all_axes("fft.fft2", input, s, dim, norm, inverse=False)


@composite(space="fft.")
def ifft2(
    input: Array, s: Ints | None = None, dim: Ints = LAST_TWO, norm: str | None = None
) -> Array:
    """The inverse discrete Fourier transform along two axes."""
    return _all_axes("fft.ifft2", input, s, dim, norm, inverse=True)


@composite(space="fft.")
def rfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The first half of the Fourier transform of real numbers, which determines the other half."""
    where, dims = norm_of("fft.rfft", norm), one_axis("fft.rfft", input, dim)
    return to_half("fft.rfft", input, dims, [input.shape[dims[0]] if n is None else n], where)


@composite(space="fft.")
def irfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The n real numbers whose halved Fourier transform this is; n is 2 (size - 1) if not given."""
    where, dims = norm_of("fft.irfft", norm), one_axis("fft.irfft", input, dim)
    return from_half("fft.irfft", input, dims, real_points(input, dims, n), where)


def _rfftn(asked: str, input: Any, s: Ints | None, dim: Dims | None, norm: str | None) -> Any:
    where, (dims, sizes) = norm_of(asked, norm), several_axes(asked, input, s, dim)
    return to_half(asked, input, dims, sizes, where)


@composite(space="fft.")
def rfftn(
    input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None
) -> Array:
    """The Fourier transform of real numbers along several axes, of the last one the first half."""
    return _rfftn("fft.rfftn", input, s, dim, norm)


@composite(space="fft.")
def rfft2(
    input: Array, s: Ints | None = None, dim: Ints = LAST_TWO, norm: str | None = None
) -> Array:
    """The Fourier transform of real numbers along two axes, of the last one the first half."""
    return _rfftn("fft.rfft2", input, s, dim, norm)


def _irfftn(asked: str, input: Any, s: Ints | None, dim: Dims | None, norm: str | None) -> Any:
    where, (dims, sizes) = norm_of(asked, norm), several_axes(asked, input, s, dim)
    need_axes(asked, dims)
    return from_half(asked, input, dims, real_sizes(input, dims, sizes, s), where)


@composite(space="fft.")
def irfftn(
    input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None
) -> Array:
    """The real numbers whose Fourier transform, halved along the last axis, this is."""
    return _irfftn("fft.irfftn", input, s, dim, norm)


@composite(space="fft.")
def irfft2(
    input: Array, s: Ints | None = None, dim: Ints = LAST_TWO, norm: str | None = None
) -> Array:
    """The real numbers whose Fourier transform along two axes, halved along the last, this is."""
    return _irfftn("fft.irfft2", input, s, dim, norm)
