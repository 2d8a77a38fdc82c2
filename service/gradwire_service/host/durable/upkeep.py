"""How durable sessions are looked after, as settings."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from gradwire_service.host.limits import limit


class Upkeep(BaseModel):
    """When sessions leave memory, and how many changes are run again at most."""

    model_config = ConfigDict(frozen=True)

    park_seconds: float = limit(
        300.0, "Seconds without a request after which a durable session leaves memory."
    )
    snapshot_changes: int = limit(
        1000, "Changes of a durable session after which there is a snapshot at the latest."
    )
