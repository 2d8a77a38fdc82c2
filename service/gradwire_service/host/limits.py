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
    programs: int = Field(1000, gt=0, description="Stored programs of a tenant.")
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
        8 * GIB,
        gt=0,
        description="Bytes that sessions, programs and requests under way may hold together.",
    )
    tenant_bytes: int = Field(4 * GIB, gt=0, description="Bytes that those of one tenant may.")
    sessions: int = Field(10_000, gt=0, description="Sessions at one time.")
    tenant_sessions: int = Field(1000, gt=0, description="Sessions of one tenant.")
    requests: int = Field(
        1024, gt=0, description="Requests that compute or wait for that; more are answered 503."
    )
    session_requests: int = Field(
        64, gt=0, description="The same of one session; more are answered 503."
    )
    tenant_requests: int = Field(
        256, gt=0, description="The same of one tenant; more are answered 429."
    )
    tenant_rate: float = Field(
        10_000.0, gt=0, description="Requests that a tenant may send a second, on average."
    )
    tenant_seconds: float = Field(
        240.0, gt=0, description="Seconds that a tenant's requests may compute in a minute."
    )
    seconds: float = Field(300.0, gt=0, description="Seconds that one request may compute.")
    body_seconds: float = Field(
        30.0, gt=0, description="Seconds to wait for the next piece of a body, or of its reader."
    )
    body_rate: int = Field(
        16 * KIB, gt=0, description="Bytes a second that a body has to come at, on average."
    )
    tenant_streams: int = Field(
        256, gt=0, description="Streams of one tenant that are open at one time."
    )
    connections: int = Field(4096, gt=0, description="Connections that are open at one time.")
    header_bytes: int = Field(64 * KIB, gt=0, description="Bytes of a request's head.")
    header_seconds: float = Field(
        10.0, gt=0, description="Seconds within which a connection has to send a request's head."
    )
    ping_seconds: float = Field(
        20.0, gt=0, description="Seconds of silence after which a stream's client is pinged."
    )
    idempotency_bytes: int = Field(
        64 * MIB, gt=0, description="Bytes of replies kept for one tenant's Idempotency-Keys."
    )
    idempotency_seconds: float = Field(
        86_400.0, gt=0, description="How long a reply is kept for its Idempotency-Key, in seconds."
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
