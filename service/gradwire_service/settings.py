"""Settings: every limit, and how the server listens; from GRADWIRE_* in the environment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gradwire_engine.errors import error
from gradwire_service.host.durable.upkeep import Upkeep
from gradwire_service.host.limits import Limits
from gradwire_service.http.access import checked_origin
from gradwire_service.http.hosts import ANY, checked_pattern, is_loopback


class Settings(BaseSettings, Limits, Upkeep):
    """The limits of the service, and how it is reached."""

    model_config = SettingsConfigDict(env_prefix="GRADWIRE_", frozen=True, extra="ignore")

    host: str = Field("127.0.0.1", description="The address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="The port; 0 takes a free one.")
    uds: str | None = Field(None, description="A Unix socket to listen on instead.")
    log: Literal["auto", "json", "text", "none"] = Field(
        "auto", description="How requests are logged; auto is text on a terminal, else json."
    )
    workers: int = Field(
        4, gt=0, le=256,
        description="Threads that compute; work that takes less than 50 ms runs one to a core.",
    )  # fmt: skip
    keys: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Keys that clients must have, separated by commas; TENANT:KEY says whose.",
    )
    keys_file: Path | None = Field(
        None, description="The file of `gradwire keys`; changes in it count at once."
    )
    insecure: bool = Field(
        False, description="Let other machines in without keys, where the network keeps them out."
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Names by which the server may be called, separated by commas, beside those of "
        "loopback: example.com, *.example.com, or * for any. Where it listens on loopback and asks "
        "for no key, others are refused; where this is set, anywhere.",
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Sites whose pages may call the server from a browser, separated by commas: "
        "https://example.com, https://*.example.com, or * for all.",
    )
    data: str | None = Field(
        None,
        description="Where sessions are kept beyond the server's end: a folder, or a URL of "
        "PostgreSQL or SQLite.",
    )
    traces: str | None = Field(
        None,
        pattern="^https?://[^/]",
        description="Where a span for each request is sent by OTLP over HTTP, as "
        "http://127.0.0.1:4318/v1/traces; needs the extra `otel`.",
    )
    shutdown_seconds: float = Field(
        20.0, gt=0, description="How long requests under way may take after SIGTERM."
    )

    @field_validator("keys", "allowed_hosts", "allowed_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(item for item in map(str.strip, value.split(",")) if item)

    @field_validator("allowed_hosts")
    @classmethod
    def _hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(checked_pattern, value))

    @field_validator("allowed_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(checked_origin, value))

    @field_validator("data", "traces", mode="before")
    @classmethod
    def _nowhere(cls, value: object) -> object:
        return value or None

    @property
    def limits(self) -> Limits:
        """The limits alone, as the host wants them."""
        return Limits(**{name: getattr(self, name) for name in Limits.model_fields})

    @property
    def upkeep(self) -> Upkeep:
        """How durable sessions are looked after, alone."""
        return Upkeep(**{name: getattr(self, name) for name in Upkeep.model_fields})

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """The names that are served beside those of loopback; None where every name is."""
        if ANY in self.allowed_hosts or not (self.allowed_hosts or self._needs_no_key_here):
            return None
        return self.allowed_hosts

    @property
    def _needs_no_key_here(self) -> bool:
        """Whether a browser on this machine reaches the server, which lets it in without a key."""
        return is_loopback(self.host) and not (self.uds or self.keys or self.keys_file)

    def check_address(self) -> None:
        """Refuse to listen where other machines can reach it and nobody asks for a key."""
        if self.keys_file is not None and not self.keys_file.exists():
            raise error(
                "invalid_argument", f"keys_file: there is no {self.keys_file}",
                "gradwire keys create makes it", raised=FileNotFoundError,
            )  # fmt: skip
        if self.uds or self.keys or self.keys_file or self.insecure or is_loopback(self.host):
            return
        raise error(
            "forbidden",
            f"{self.host} can be reached from other machines, and no keys are configured",
            "make keys with gradwire keys create and pass --keys-file, or set GRADWIRE_KEYS; or "
            "listen on 127.0.0.1; or, where the network keeps strangers out, pass --insecure",
        )


_CLIENTS = ("URL", "KEY", "TRANSPORT")
"""What the SDK reads of the environment."""


def misspelt(environment: Iterable[str]) -> list[str]:
    """Variables that begin like settings and are none."""
    prefix = "GRADWIRE_"
    known = {prefix + name.upper() for name in (*Settings.model_fields, *_CLIENTS)}
    return sorted(n for n in environment if n.upper().startswith(prefix) and n.upper() not in known)
