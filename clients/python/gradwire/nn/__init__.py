"""torch.nn."""

from gradwire.nn import functional as functional

__all__ = ["functional"]
