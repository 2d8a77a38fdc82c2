"""What scripts say of torch's own kernels; a host's are as exact and repeatable as they are."""

from __future__ import annotations

from gradwire_engine.errors import error

_PRECISIONS = ("highest", "high", "medium")


class _Said:
    precision = "highest"
    deterministic = False
    warn_only = False


def set_float32_matmul_precision(precision: str) -> None:
    """Kept and without effect: products of float32 are float32's."""
    if precision not in _PRECISIONS:
        raise error(
            "invalid_argument",
            f"set_float32_matmul_precision: precision is {precision!r}",
            f"it is one of {', '.join(_PRECISIONS)}",
        )
    _Said.precision = precision


def get_float32_matmul_precision() -> str:
    """What was set, "highest" at first."""
    return _Said.precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Kept and without effect: on a processor the same request gives the same bits."""
    _Said.deterministic, _Said.warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What was set, False at first."""
    return _Said.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What was set, False at first."""
    return _Said.warn_only


__all__ = [
    "are_deterministic_algorithms_enabled", "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled", "set_float32_matmul_precision",
    "use_deterministic_algorithms",
]  # fmt: skip
