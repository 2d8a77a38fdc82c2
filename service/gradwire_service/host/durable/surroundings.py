"""What a keeper of durable sessions is given by the server that it is part of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from gradwire_engine.errors import GradwireError
from gradwire_service.host.durable.replay import Decode
from gradwire_service.host.executor import Executor
from gradwire_service.host.host import Host


class Tenant(Protocol):
    """Whose sessions they are."""

    @property
    def name(self) -> str: ...
    @property
    def host(self) -> Host: ...
    @property
    def executor(self) -> Executor: ...


class Tenants(Protocol):
    """All of them; one that wasn't here before is made."""

    def __getitem__(self, name: str) -> Tenant: ...
    def __iter__(self) -> Iterator[Tenant]: ...


class Surroundings(NamedTuple):
    """What a keeper is given: who is served, how bodies are read, and where complaints go.

    nobody: the tenant's name who gets a session of which it can't be read whose it is.
    """

    tenants: Tenants
    nobody: str
    decode: Decode
    complain: Callable[[GradwireError], None]
