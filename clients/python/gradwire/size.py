"""Shapes and devices, as torch shows them."""

from __future__ import annotations

from math import prod
from typing import Any, SupportsIndex


class Size(tuple[int, ...]):
    """A shape: a tuple of ints that stays one when it is sliced, joined or repeated."""

    __slots__ = ()

    def numel(self) -> int:
        """Number of elements."""
        return prod(self)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: tuple[Any, ...]) -> Size:
        return Size(super().__add__(other))

    def __radd__(self, other: tuple[int, ...]) -> Size:
        return Size((*other, *self))

    def __mul__(self, count: SupportsIndex) -> Size:
        return Size(super().__mul__(count))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class device:
    """Where tensors live: "cpu" or "cuda:0". It equals its name: `x.device == "cpu"` holds."""

    __slots__ = ("index", "type")

    def __init__(self, name: str | device, index: int | None = None) -> None:
        kind, _, number = str(name).partition(":")
        self.type = kind
        self.index = int(number) if number else index

    def __reduce__(self) -> tuple[type[device], tuple[str]]:
        return device, (str(self),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str | device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"


__all__ = ["Size", "device"]
