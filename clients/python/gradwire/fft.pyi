"""torch.fft, from the catalogue.

Made from the catalogue by `make docs`.
"""

from typing import overload
from gradwire._typed.arguments import Device, Ints
from gradwire.tensor import Tensor
from gradwire_engine.spec import DType

def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along an axis."""

def fft2(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """The discrete Fourier transform along two axes."""

def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of a transform of n points that are d apart, in cycles per unit of d."""

def fftn(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints | None = None,
    norm: str | None = None,
) -> Tensor:
    """The discrete Fourier transform along several axes, by default all."""

@overload
def fftshift(input: Tensor, dim: Ints | None = None) -> Tensor:
    """Frequencies in rising order: the zero one moved from the front to the middle."""
@overload
def fftshift(input: Tensor, *dim: int) -> Tensor: ...

def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform, which is real, of a signal whose second half mirrors this one."""

def hfft2(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """The Fourier transform along two axes, which is real, of a signal of which half is given."""

def hfftn(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints | None = None,
    norm: str | None = None,
) -> Tensor:
    """The Fourier transform, which is real, of a signal of which one half is given."""

def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse discrete Fourier transform along an axis."""

def ifft2(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """The inverse discrete Fourier transform along two axes."""

def ifftn(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse discrete Fourier transform along several axes, by default all."""

@overload
def ifftshift(input: Tensor, dim: Ints | None = None) -> Tensor:
    """Frequencies in the order of a transform: the zero one moved from the middle to the front."""
@overload
def ifftshift(input: Tensor, *dim: int) -> Tensor: ...

def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first half of the inverse Fourier transform of real numbers."""

def ihfft2(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """The first half of the inverse Fourier transform of real numbers along two axes."""

def ihfftn(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints | None = None,
    norm: str | None = None,
) -> Tensor:
    """The first half of the inverse Fourier transform of real numbers along several axes."""

def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The n real numbers whose halved Fourier transform this is; n is 2 (size - 1) if not given."""

def irfft2(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """The real numbers whose Fourier transform along two axes, halved along the last, this is."""

def irfftn(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints | None = None,
    norm: str | None = None,
) -> Tensor:
    """The real numbers whose Fourier transform, halved along the last axis, this is."""

def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first half of the Fourier transform of real numbers, which determines the other half."""

def rfft2(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """The Fourier transform of real numbers along two axes, of the last one the first half."""

def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the halved transform of n points that are d apart."""

def rfftn(
    input: Tensor,
    s: Ints | None = None,
    dim: Ints | None = None,
    norm: str | None = None,
) -> Tensor:
    """The Fourier transform of real numbers along several axes, of the last one the first half."""
