"""The command line, with a server that waits a second for a lock that another one has."""

from __future__ import annotations

from gradwire_service.cli import app
from gradwire_service.store import opening


def main() -> None:
    """Run what the arguments ask for."""
    opening.LOCK_PATIENCE = 1.0
    app()
