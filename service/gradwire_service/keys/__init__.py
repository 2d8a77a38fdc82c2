"""API keys: who a request comes from. A file of hashes, or the environment."""

from gradwire_service.keys.ring import Ring
from gradwire_service.keys.store import KeyFile, Row

__all__ = ["KeyFile", "Ring", "Row"]
