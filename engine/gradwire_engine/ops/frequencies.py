"""The order of frequencies in a transform: what they are, and zero moved to the middle and back."""

from __future__ import annotations

from math import inf
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument
from gradwire_engine.families import composite, primitive
from gradwire_engine.ops.arrange import roll
from gradwire_engine.ops.creation import default_dtype, sized
from gradwire_engine.signature import Device, Ints, axis
from gradwire_engine.spec import FLOAT, DType, Spec


def _shifted(asked: str, input: Any, dim: Ints | None, *, back: bool) -> Any:
    given = range(input.ndim) if dim is None else dim
    dims = tuple(axis(asked, d, input.ndim) for d in given)
    if not dims:
        raise invalid_argument(f"{asked}: there is no axis to shift", "give at least one")
    sizes = [input.shape[d] for d in dims]
    return roll(input, tuple((n + 1) // 2 if back else n // 2 for n in sizes), dims)


@composite(space="fft.")
def fftshift(input: Array, dim: Ints | None = None) -> Array:
    """Frequencies in rising order: the zero one moved from the front to the middle."""
    return _shifted("fft.fftshift", input, dim, back=False)


@composite(space="fft.")
def ifftshift(input: Array, dim: Ints | None = None) -> Array:
    """Frequencies in the order of a transform: the zero one moved from the middle to the front."""
    return _shifted("fft.ifftshift", input, dim, back=True)


def _floats(n: int, dtype: DType | None) -> Spec:
    dtype = dtype or default_dtype()
    if dtype.category < FLOAT:
        raise dtype_mismatch(
            f"fftfreq: frequencies are no whole numbers, dtype is {dtype.name}",
            "choose a floating dtype",
        )
    return Spec(sized("fftfreq", (n,)), dtype, "")


def _step(n: int, d: float) -> float:
    return 1 / (n * d) if n * d else inf


@primitive(space="fft.", spec=lambda n, dtype: _floats(n, dtype))
def fftfreq(
    xp: Any, n: int, d: float = 1.0, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """The frequencies of a transform of n points that are d apart, in cycles per unit of d."""
    places = xp.arange(n)
    return xp.where(places < (n + 1) // 2, places, places - n) * _step(n, d)


@primitive(space="fft.", spec=lambda n, dtype: _floats(n // 2 + 1, dtype))
def rfftfreq(
    xp: Any, n: int, d: float = 1.0, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """The frequencies of the halved transform of n points that are d apart."""
    return xp.arange(n // 2 + 1) * _step(n, d)
