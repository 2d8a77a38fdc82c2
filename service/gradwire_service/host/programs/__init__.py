"""Programs: op sequences with named inputs and outputs, checked once, run on values of any kind."""

from gradwire_service.host.programs.build import build
from gradwire_service.host.programs.program import Program
from gradwire_service.host.programs.store import Programs, Stored

__all__ = ["Program", "Programs", "Stored", "build"]
