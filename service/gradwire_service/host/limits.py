"""Every limit of the service: its default, its meaning, and by its name its setting."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

KIB, MIB, GIB = 2**10, 2**20, 2**30


class Limits(BaseModel):
    """What one request, one session and the server may take; `GET /v1/info` shows all of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body_bytes: int = Field(512 * MIB, gt=0, description="Bytes of a body, decompressed.")
    steps: int = Field(4096, gt=0, description="Steps in one request.")
    depth: int = Field(100, gt=0, le=1000, description="Levels of lists and objects in JSON.")
    names: int = Field(100_000, gt=0, description="Names in one session.")
    source_length: int = Field(65_536, gt=0, description="Characters of source text.")
    program_steps: int = Field(4096, gt=0, description="Steps of one program.")
    programs: int = Field(1000, gt=0, description="Stored programs.")
    program_bytes: int = Field(
        16 * MIB, gt=0, description="Bytes of one program's normal form, as JSON."
    )
    program_depth: int = Field(
        16, gt=0, le=32, description="Levels of programs that call programs."
    )
    program_size: int = Field(
        65_536,
        gt=0,
        description="Steps of one run of a program, with those of the programs it calls.",
    )
    request_size: int = Field(
        1_000_000,
        gt=0,
        description="Steps of one request, with those of the programs that its steps call.",
    )
    session_bytes: int = Field(
        4 * GIB, gt=0, description="Bytes that a session may hold; its own limit may be lower."
    )
    server_bytes: int = Field(
        8 * GIB, gt=0, description="Bytes that all sessions together may hold."
    )
    sessions: int = Field(1000, gt=0, description="Sessions at one time.")
    seconds: float = Field(300.0, gt=0, description="Seconds that one request may compute.")
    body_seconds: float = Field(
        30.0, gt=0, description="Seconds to wait for the next piece of a body."
    )
    ttl_seconds: float = Field(
        3600.0, gt=0, description="Seconds without a request after which a session expires."
    )
    longest_ttl_seconds: float = Field(
        7 * 86_400.0, gt=0, description="The longest ttl_seconds that a session may ask for."
    )
    remembered: int = Field(
        10_000, ge=0, description="Closed and expired sessions that are answered with 410."
    )
    remembered_seconds: float = Field(
        86_400.0, ge=0, description="How long they are remembered, in seconds."
    )
