"""How durable sessions are looked after, as settings."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Upkeep(BaseModel):
    """When sessions leave memory, and how many changes are run again at most."""

    model_config = ConfigDict(frozen=True)

    park_seconds: float = Field(
        300.0,
        gt=0,
        description="Seconds without a request after which a durable session leaves memory.",
    )
    snapshot_changes: int = Field(
        1000,
        gt=0,
        description="Changes of a durable session after which there is a snapshot at the latest.",
    )
