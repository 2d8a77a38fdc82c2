"""torch.cuda, as far as a host's answer goes: whether tensors can live on a GPU there."""

from __future__ import annotations

from gradwire import current


def device_count() -> int:
    """The number of CUDA devices that sessions can use: the host offers one, or none."""
    devices = current.session().transport.info()["devices"]
    return sum(name.startswith("cuda") for name in devices)


def is_available() -> bool:
    """Whether the host has a CUDA device."""
    return device_count() > 0


def synchronize() -> None:
    """Wait for what was recorded to be done: it is sent."""
    current.session().flush()


__all__ = ["device_count", "is_available", "synchronize"]
