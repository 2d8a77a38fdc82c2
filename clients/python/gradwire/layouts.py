"""torch.memory_format and torch.layout: how the elements of a result lie in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire_engine.errors import error

if TYPE_CHECKING:
    from gradwire.tensor import Tensor


class layout:
    """torch.layout, of which there is `strided`: each element has a place of its own."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class memory_format(layout):
    """torch.memory_format. ndim: the axes that a tensor must have for it; None for any."""

    def __init__(self, name: str, ndim: int | None = None) -> None:
        super().__init__(name)
        self.ndim = ndim


strided = layout("strided")
preserve_format = memory_format("preserve_format")
contiguous_format = memory_format("contiguous_format")
channels_last = memory_format("channels_last", 4)
channels_last_3d = memory_format("channels_last_3d", 5)


def checked(asked: str, wanted: Any) -> memory_format:
    """A memory format, or a TypeError that says which there are."""
    if isinstance(wanted, memory_format):
        return wanted
    raise TypeError(
        f"{asked}(): argument 'memory_format' must be torch.memory_format, "
        f"not {type(wanted).__name__}"
    )


def laid(tensor: Tensor, wanted: memory_format) -> Tensor:
    """The tensor where its elements lie so, else a copy where they do."""
    if wanted is preserve_format:
        return tensor
    if wanted.ndim is None:
        return tensor.contiguous()
    seen = _channels_behind(tensor, wanted)
    if seen.is_contiguous():
        return tensor
    return seen.contiguous().permute(0, wanted.ndim - 1, *range(1, wanted.ndim - 1))


def lies(tensor: Tensor, wanted: memory_format) -> bool:
    """Whether the elements of a tensor lie so, without gaps."""
    if wanted is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if wanted.ndim is None:
        return tensor.is_contiguous()
    if tensor.ndim != wanted.ndim:
        return False
    return _channels_behind(tensor, wanted).is_contiguous()


def _channels_behind(tensor: Tensor, wanted: memory_format) -> Tensor:
    if tensor.ndim != wanted.ndim:
        raise error(
            "shape_mismatch",
            f"required rank {wanted.ndim} tensor to use {str(wanted).removeprefix('torch.')} "
            f"format, this one is {list(tensor.shape)}",
            "leave memory_format out",
        )
    return tensor.permute(0, *range(2, wanted.ndim), 1)


__all__ = [
    "channels_last", "channels_last_3d", "checked", "contiguous_format", "laid", "layout", "lies",
    "memory_format", "preserve_format", "strided",
]  # fmt: skip
