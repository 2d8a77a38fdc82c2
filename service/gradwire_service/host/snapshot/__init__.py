"""A session as one safetensors file, and a session made of one."""

from gradwire_service.host.snapshot.restored import restored, version_of
from gradwire_service.host.snapshot.written import VERSION, described, written

__all__ = ["VERSION", "described", "restored", "version_of", "written"]
