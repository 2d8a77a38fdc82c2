"""Our server without keys, limits for tenants, turns and metrics: `python -m … PORT`."""

from __future__ import annotations

import sys
from typing import Any

from gradwire_service.__main__ import main as command
from gradwire_service.http import serve
from gradwire_service.http.app import create_app
from gradwire_service.http.call import Call
from gradwire_service.http.service import Service
from gradwire_service.http.tenant import Tenant


class Unguarded(Service):
    """Lets everything in, and counts nothing."""

    def _admit(self, call: Call) -> Tenant | None:  # noqa: ARG002
        return None

    def _note(self, call: Call, status: int, seconds: float) -> None:
        """Nothing is noted."""


def unguarded(*arguments: Any, **more: Any) -> Service:
    """The app, as `create_app` makes it."""
    made = create_app(*arguments, **more)
    made.__class__ = Unguarded
    return made


if __name__ == "__main__":
    serve.create_app = unguarded  # type: ignore[assignment]
    sys.argv[:] = ["gradwire", "serve", "--port", sys.argv[1]]
    command()
