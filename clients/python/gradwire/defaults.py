"""The default dtype: one for the program, as in torch, whichever thread or session asks."""

from __future__ import annotations

from gradwire_engine.errors import error
from gradwire_engine.spec import DType, float32

DEFAULT = [float32]
"""The dtype of floats that nothing else decides, in a cell."""


def dtype() -> DType:
    """The dtype of floats that nothing else decides."""
    return DEFAULT[0]


def set_default_dtype(d: DType) -> None:
    """Make d the dtype of floats that nothing else decides; a floating dtype."""
    if not isinstance(d, DType):
        raise TypeError(f"invalid dtype object: {d!r} is not one of gradwire's dtypes")
    if not d.is_floating_point:
        raise error(
            "dtype_mismatch",
            f"only floating-point types are supported as the default type, not {d.name}",
            raised=TypeError,
        )
    DEFAULT[0] = d


def get_default_dtype() -> DType:
    """The dtype of floats that nothing else decides."""
    return dtype()


__all__ = ["DEFAULT", "dtype", "get_default_dtype", "set_default_dtype"]
