"""Every limit of the service: its default, its meaning, and by its name its setting."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

KIB, MIB, GIB = 2**10, 2**20, 2**30


def limit(usual: float, bounds: str, **more: Any) -> Any:
    """A limit, which is more than 0: what it is where nothing is set, and what it bounds."""
    return Field(usual, gt=0, description=bounds, **more)


class Limits(BaseModel):
    """What one request, one session and the server may take; `GET /v1/info` shows all of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body_bytes: int = limit(512 * MIB, "Bytes of a body, decompressed.")
    steps: int = limit(4096, "Steps in one request.")
    depth: int = limit(100, "Levels of lists and objects in JSON.", le=1000)
    names: int = limit(100_000, "Names in one session.")
    source_length: int = limit(65_536, "Characters of source text.")
    program_steps: int = limit(4096, "Steps of one program.")
    programs: int = limit(1000, "Stored programs of a tenant.")
    program_bytes: int = limit(16 * MIB, "Bytes of one program's normal form, as JSON.")
    program_depth: int = limit(16, "Levels of programs that call programs.", le=32)
    program_size: int = limit(
        65_536, "Steps of one run of a program, with those of the programs it calls."
    )
    request_size: int = limit(
        1_000_000, "Steps of one request, with those of the programs that its steps call."
    )
    session_bytes: int = limit(
        4 * GIB, "Bytes that a session may hold; its own limit may be lower."
    )
    server_bytes: int = limit(
        8 * GIB, "Bytes that sessions, programs and requests under way may hold together."
    )
    tenant_bytes: int = limit(4 * GIB, "Bytes that those of one tenant may.")
    sessions: int = limit(10_000, "Sessions at one time.")
    tenant_sessions: int = limit(1000, "Sessions of one tenant.")
    requests: int = limit(1024, "Requests that compute or wait for that; more are answered 503.")
    session_requests: int = limit(64, "The same of one session; more are answered 503.")
    tenant_requests: int = limit(256, "The same of one tenant; more are answered 429.")
    tenant_rate: float = limit(10_000.0, "Requests that a tenant may send a second, on average.")
    tenant_seconds: float = limit(
        240.0, "Seconds that a tenant's requests may compute in a minute."
    )
    seconds: float = limit(300.0, "Seconds that one request may compute.")
    body_seconds: float = limit(
        30.0, "Seconds to wait for the next piece of a body, or of its reader."
    )
    body_rate: int = limit(16 * KIB, "Bytes a second that a body has to come at, on average.")
    tenant_streams: int = limit(256, "Streams of one tenant that are open at one time.")
    connections: int = limit(4096, "Connections that are open at one time.")
    header_bytes: int = limit(64 * KIB, "Bytes of a request's head.")
    header_seconds: float = limit(
        10.0, "Seconds within which a connection has to send a request's head."
    )
    ping_seconds: float = limit(20.0, "Seconds of silence after which a stream's client is pinged.")
    idempotency_bytes: int = limit(
        64 * MIB, "Bytes of replies kept for one tenant's Idempotency-Keys."
    )
    idempotency_seconds: float = limit(
        86_400.0, "How long a reply is kept for its Idempotency-Key, in seconds."
    )
    ttl_seconds: float = limit(3600.0, "Seconds without a request after which a session expires.")
    longest_ttl_seconds: float = limit(
        7 * 86_400.0, "The longest ttl_seconds that a session may ask for."
    )
    remembered: int = Field(
        10_000, ge=0, description="Closed and expired sessions that are answered with 410."
    )
    remembered_seconds: float = Field(
        86_400.0, ge=0, description="How long they are remembered, in seconds."
    )
