"""torch.cuda, as far as a host's answer goes: whether tensors can live on a GPU there."""

from __future__ import annotations

from gradwire import current, random


def device_count() -> int:
    """The number of CUDA devices that sessions can use: the host offers one, or none."""
    devices = current.session().transport.info()["devices"]
    return sum(name.startswith("cuda") for name in devices)


def is_available() -> bool:
    """Whether the host has a CUDA device."""
    return device_count() > 0


def manual_seed(seed: int) -> None:
    """Seed the session's random numbers where its tensors live on a GPU; else nothing."""
    session = current.session()
    if session.device.startswith("cuda"):
        random.manual_seed(seed)


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Nothing: the host gives back what is free by itself."""


def synchronize() -> None:
    """Wait for what was recorded to be done: it is sent."""
    current.session().flush()


__all__ = [
    "device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "synchronize",
]  # fmt: skip
