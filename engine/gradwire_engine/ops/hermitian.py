"""torch.fft: transforms of signals whose second half mirrors the first, so that they are real."""

from __future__ import annotations

from typing import Any

from gradwire_engine.ops.arithmetic import conj
from gradwire_engine.ops.fft_sizes import (
    as_complex,
    from_half,
    halved_sizes,
    need_axes,
    need_real,
    resized,
    transforms,
)
from gradwire_engine.ops.fourier import OTHER, complex_to_complex, complex_to_real, real_to_complex
from gradwire_engine.signature import Dims


def _hfft(asked: str, input: Any, dims: Dims, sizes: list[int], norm: str) -> Any:
    return from_half(asked, conj(as_complex(asked, input)), dims, sizes, OTHER[norm])


def _hfftn(asked: str, input: Any, dims: Dims, sizes: list[int], norm: str) -> Any:
    input = resized(asked, as_complex(asked, input), dims, halved_sizes(asked, sizes))
    if dims[1:]:
        input = complex_to_complex(input, dims[:-1], norm, inverse=False)
    return complex_to_real(conj(input), dims[-1:], OTHER[norm], sizes[-1])


transforms(
    __name__,
    "hfft",
    _hfft,
    _hfftn,
    "The Fourier transform, which is real, of a signal whose second half mirrors this one.",
    "The Fourier transform, which is real, of a signal of which one half is given.",
    "The Fourier transform along two axes, which is real, of a signal of which half is given.",
    halved=True,
)


def _ihfft(asked: str, input: Any, dims: Dims, sizes: list[int], norm: str) -> Any:
    need_axes(asked, dims)
    input = resized(asked, need_real(asked, input), dims, sizes)
    found = conj(real_to_complex(input, dims[-1:], OTHER[norm]))
    return complex_to_complex(found, dims[:-1], norm, inverse=True) if dims[1:] else found


transforms(
    __name__,
    "ihfft",
    _ihfft,
    _ihfft,
    "The first half of the inverse Fourier transform of real numbers.",
    "The first half of the inverse Fourier transform of real numbers along several axes.",
    "The first half of the inverse Fourier transform of real numbers along two axes.",
)
