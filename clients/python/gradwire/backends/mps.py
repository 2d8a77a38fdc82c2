"""torch.backends.mps: there is no such device."""


def is_available() -> bool:
    """False: sessions live on a processor, or on CUDA."""
    return False


def is_built() -> bool:
    """False likewise."""
    return False


__all__ = ["is_available", "is_built"]
