"""docs/settings.md, from the service's settings."""

from __future__ import annotations

from inspect import signature
from typing import Any

from gradwire_service import cli
from gradwire_service.host.limits import Limits
from gradwire_service.settings import Settings

HEAD = """# The settings

Each is an environment variable; some are options of `gradwire serve` too, which come first. Made by
`make docs`.
"""
CLIENT = """
`GET /v1/info` shows the limits, by these names in small letters and without `GRADWIRE_`.

## The client

| variable | meaning |
|---|---|
| `GRADWIRE_URL` | The server that the SDK works on; without it the SDK works in its own process. |
| `GRADWIRE_KEY` | The key that it sends. |
| `GRADWIRE_TRANSPORT` | `http`, or `stream` for a WebSocket for each session. |
"""
_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def page() -> str:
    """The whole page."""
    own = [name for name in Settings.model_fields if name not in Limits.model_fields]
    server = _table("The server", own)
    limits = _table("Limits", list(Limits.model_fields))
    return f"{HEAD}{server}{limits}{CLIENT}"


def _table(title: str, names: list[str]) -> str:
    head = "| variable | option | default | meaning |\n|---|---|---|---|\n"
    return f"\n## {title}\n\n{head}{''.join(map(_row, names))}"


def _row(name: str) -> str:
    said = Settings.model_fields[name].description
    return f"| `GRADWIRE_{name.upper()}` | {_option(name)} | {_default(name)} | {said} |\n"


def _option(name: str) -> str:
    return f"`--{name.replace('_', '-')}`" if name in signature(cli.serve).parameters else ""


def _default(name: str) -> str:
    value: Any = Settings.model_fields[name].default
    if value in (None, ()):
        return ""
    if name.endswith("bytes"):
        unit, size = next((u, s) for u, s in _UNITS if value % s == 0)
        return f"{value // size} {unit}"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,g}" if isinstance(value, int | float) and name != "port" else str(value)
