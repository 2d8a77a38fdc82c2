"""torch.fft: transforms of signals whose second half mirrors the first, so that they are real."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.families import composite
from gradwire_engine.ops.arithmetic import conj
from gradwire_engine.ops.fft_sizes import (
    LAST_TWO,
    as_complex,
    from_half,
    halved_sizes,
    need_axes,
    need_real,
    norm_of,
    one_axis,
    real_points,
    real_sizes,
    resized,
    several_axes,
    to_half,
)
from gradwire_engine.ops.fourier import OTHER, complex_to_complex, complex_to_real, real_to_complex
from gradwire_engine.signature import Dims, Ints


@composite(space="fft.")
def hfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The Fourier transform, which is real, of a signal whose second half mirrors this one."""
    where, dims = norm_of("fft.hfft", norm), one_axis("fft.hfft", input, dim)
    sizes, input = real_points(input, dims, n), as_complex("fft.hfft", input)
    return from_half("fft.hfft", conj(input), dims, sizes, OTHER[where])


@composite(space="fft.")
def ihfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The first half of the inverse Fourier transform of real numbers."""
    where, dims = norm_of("fft.ihfft", norm), one_axis("fft.ihfft", input, dim)
    sizes = [input.shape[dims[0]] if n is None else n]
    return conj(to_half("fft.ihfft", input, dims, sizes, OTHER[where]))


def _hfftn(asked: str, input: Any, s: Ints | None, dim: Dims | None, norm: str | None) -> Any:
    where, (dims, sizes) = norm_of(asked, norm), several_axes(asked, input, s, dim)
    need_axes(asked, dims)
    sizes = real_sizes(input, dims, sizes, s)
    input = resized(asked, as_complex(asked, input), dims, halved_sizes(asked, sizes))
    if dims[1:]:
        input = complex_to_complex(input, dims[:-1], where, inverse=False)
    return complex_to_real(conj(input), dims[-1:], OTHER[where], sizes[-1])


@composite(space="fft.")
def hfftn(
    input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None
) -> Array:
    """The Fourier transform, which is real, of a signal of which one half is given."""
    return _hfftn("fft.hfftn", input, s, dim, norm)


@composite(space="fft.")
def hfft2(
    input: Array, s: Ints | None = None, dim: Ints = LAST_TWO, norm: str | None = None
) -> Array:
    """The Fourier transform along two axes, which is real, of a signal of which half is given."""
    return _hfftn("fft.hfft2", input, s, dim, norm)


def _ihfftn(asked: str, input: Any, s: Ints | None, dim: Dims | None, norm: str | None) -> Any:
    where, (dims, sizes) = norm_of(asked, norm), several_axes(asked, input, s, dim)
    need_axes(asked, dims)
    input = resized(asked, need_real(asked, input), dims, sizes)
    found = conj(real_to_complex(input, dims[-1:], OTHER[where]))
    return complex_to_complex(found, dims[:-1], where, inverse=True) if dims[1:] else found


@composite(space="fft.")
def ihfftn(
    input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None
) -> Array:
    """The first half of the inverse Fourier transform of real numbers along several axes."""
    return _ihfftn("fft.ihfftn", input, s, dim, norm)


@composite(space="fft.")
def ihfft2(
    input: Array, s: Ints | None = None, dim: Ints = LAST_TWO, norm: str | None = None
) -> Array:
    """The first half of the inverse Fourier transform of real numbers along two axes."""
    return _ihfftn("fft.ihfft2", input, s, dim, norm)
