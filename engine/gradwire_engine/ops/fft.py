"""torch.fft: transforms of complex and real numbers, of sizes and along axes as asked."""

from __future__ import annotations

from functools import partial
from typing import Any

from gradwire_engine.ops.arithmetic import conj, is_complex
from gradwire_engine.ops.cast import clone
from gradwire_engine.ops.expand import called
from gradwire_engine.ops.fft_sizes import (
    as_complex,
    from_half,
    inexact,
    resized,
    to_half,
    transforms,
)
from gradwire_engine.ops.fourier import OTHER, complex_to_complex, real_to_all
from gradwire_engine.signature import Dims


def _all_frequencies(
    asked: str, input: Any, dims: Dims, sizes: list[int], norm: str, inverse: bool
) -> Any:
    input = resized(asked, inexact(asked, input), dims, sizes)
    if is_complex(input):
        return complex_to_complex(input, dims, norm, inverse)
    if inverse:
        return conj(real_to_all(input, dims, OTHER[norm]))
    return real_to_all(input, dims, norm)


def _all_axes(
    asked: str, input: Any, dims: Dims, sizes: list[int], norm: str, inverse: bool
) -> Any:
    if dims and not inverse and not is_complex(input):  # the same, without a complex copy
        real = resized(asked, inexact(asked, input), dims, sizes)
        return called("FftC2CBackward0", real_to_all(real, dims, norm))
    input = resized(asked, as_complex(asked, input), dims, sizes)
    return complex_to_complex(input, dims, norm, inverse) if dims else clone(input)


fft = transforms(
    __name__,
    "fft",
    partial(_all_frequencies, inverse=False),
    partial(_all_axes, inverse=False),
    "The discrete Fourier transform along an axis.",
    "The discrete Fourier transform along several axes, by default all.",
    "The discrete Fourier transform along two axes.",
)

ifft = transforms(
    __name__,
    "ifft",
    partial(_all_frequencies, inverse=True),
    partial(_all_axes, inverse=True),
    "The inverse discrete Fourier transform along an axis.",
    "The inverse discrete Fourier transform along several axes, by default all.",
    "The inverse discrete Fourier transform along two axes.",
)

rfft = transforms(
    __name__,
    "rfft",
    to_half,
    to_half,
    "The first half of the Fourier transform of real numbers, which determines the other half.",
    "The Fourier transform of real numbers along several axes, of the last one the first half.",
    "The Fourier transform of real numbers along two axes, of the last one the first half.",
)

irfft = transforms(
    __name__,
    "irfft",
    from_half,
    from_half,
    "The n real numbers whose halved Fourier transform this is; n is 2 (size - 1) if not given.",
    "The real numbers whose Fourier transform, halved along the last axis, this is.",
    "The real numbers whose Fourier transform along two axes, halved along the last, this is.",
    halved=True,
)
