"""torch.backends.cudnn: its flags are kept as they are set, and nothing asks them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled, benchmark, benchmark_limit, deterministic, allow_tf32 = True, False, 10, False, True


def is_available() -> bool:
    """False: no library of that name is called."""
    return False


def version() -> None:
    """None: there is none."""


@contextmanager
def flags(**said: Any) -> Iterator[None]:
    """Flags for a block: `with flags(enabled=False):`."""
    here = globals()
    unknown = said.keys() - _FLAGS
    if unknown:
        raise TypeError(f"flags() got an unexpected keyword argument {min(unknown)!r}")
    before = {name: here[name] for name in said}
    here.update(said)
    try:
        yield
    finally:
        here.update(before)


_FLAGS = {"enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32"}

__all__ = [
    "allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags",
    "is_available", "version",
]  # fmt: skip
