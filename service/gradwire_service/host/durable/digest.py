"""What is noted of a reply's elements, for the same request run again to be held against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from sys import float_info
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from ml_dtypes import finfo  # it knows NumPy's own dtypes too

from gradwire_service.host.elements import Array
from gradwire_service.host.reply import TensorReply
from gradwire_service.host.safetensors import raw

_LEAST = 1e-300
_BLOCK = 2**14
"""Elements that are in a processor's cache together, as float64."""


class Digest(NamedTuple):
    """bits: a checksum of all elements. exact: of those that aren't rounded (integers, flags).

    rounded: for each floating dtype how far off it may be relative to 1, and of the finite elements
    the sum and the sum of magnitudes, and how many others there are.
    """

    bits: int
    exact: int
    rounded: dict[str, list[float]]

    @property
    def near(self) -> dict[str, Any]:
        """What `agrees` needs of it, as data."""
        return {"exact": self.exact, "rounded": self.rounded}

    def agrees(self, other: Mapping[str, Any] | None) -> bool:
        """Whether that is `near` of the same numbers but for rounding; None says nothing."""
        if other is None:
            return False
        if self.exact != other["exact"] or self.rounded.keys() != other["rounded"].keys():
            return False
        return all(_near(mine, other["rounded"][name]) for name, mine in self.rounded.items())


def digest(reply: Any) -> Digest:
    """The digest of the tensors in a reply."""
    bits = exact = 0
    rounded: dict[str, list[float]] = {}
    for array in _arrays(reply):
        data = raw(array)
        bits = crc32(data, bits)
        precision = _precision(array)
        if precision is None:
            exact = crc32(data, exact)
        else:
            _add(rounded.setdefault(array.dtype.name, [precision, 0.0, 0.0, 0]), array)
    return Digest(bits, exact, rounded)


def _arrays(reply: Any) -> Iterator[Array]:
    pending = [reply]
    while pending:
        value = pending.pop()
        if type(value) is TensorReply:
            if value.array is not None:
                yield value.array
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif type(value) is list:
            pending.extend(value)


def _precision(array: Array) -> float | None:
    """Half of the digits of the array's dtype; None where it has no rounding."""
    if array.dtype.kind in "biu":
        return None
    precision: float = float(finfo(array.dtype).eps) ** 0.5  # type: ignore[no-untyped-call]
    return precision


def _add(found: list[float], array: Array) -> None:
    flat = np.ascontiguousarray(array).reshape(-1)
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    for start in range(0, flat.size, _BLOCK):
        _add_block(found, flat[start : start + _BLOCK].astype(wide).view(np.float64))


def _add_block(found: list[float], parts: Array) -> None:
    with np.errstate(all="ignore"):
        total, size = float(parts.sum()), float(np.abs(parts).sum())
        if not isfinite(size):
            finite = parts[np.isfinite(parts)]
            found[3] += parts.size - finite.size
            total, size = float(finite.sum()), float(np.abs(finite).sum())
    if isfinite(size) and isfinite(found[2] + size):
        found[1] += total
        found[2] += size
    else:
        found[2] = float_info.max


def _near(mine: list[float], other: list[float]) -> bool:
    precision, total, size, odd = mine
    _, other_total, other_size, other_odd = other
    most = precision * max(size, other_size, _LEAST)
    close = abs(total - other_total) <= most and abs(size - other_size) <= most
    return close and odd == other_odd
