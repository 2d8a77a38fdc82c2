"""Every test of the SDK runs twice: embedded in this process, and against a server over HTTP."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.clients.serving import serving

import gradwire
from gradwire.session import Session
from gradwire.transport import Transport


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what tests of requests, or marked `recorded`, would do embedded: nothing is sent.

    Ops run where they are called there.
    """
    left_out = [item for item in items if _is_embedded(item) and _looks_at_requests(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _is_embedded(item: pytest.Item) -> bool:
    found = getattr(item, "callspec", None)
    return found is not None and any(
        isinstance(v, str) and v == "embedded" for v in found.params.values()
    )


def _looks_at_requests(item: Any) -> bool:
    return "counted" in item.fixturenames or item.get_closest_marker("recorded") is not None


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """A server for all tests."""
    with serving() as url:
        yield url


@pytest.fixture(params=["embedded", "http"])
def door(request: pytest.FixtureRequest) -> str | None:
    """A server's URL, or None for embedded work."""
    if request.param == "embedded":
        return None
    url: str = request.getfixturevalue("server_url")
    return url


class Counted:
    """A transport that also keeps the requests that passed through it."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.sent: list[list[str]] = []
        self.copies = 0

    def steps(self, session_id, request):
        self.sent.append([_word(step) for step in request.steps])
        return self._inner.steps(session_id, request)

    def imagine(self, *asked):
        self.copies += 1
        return self._inner.imagine(*asked)

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def take(self) -> list[list[str]]:
        """What was sent since the last look: the words of each request's steps."""
        sent, self.sent = self.sent, []
        return sent


def _word(step: dict) -> str:
    for word in ("op", "tensor", "grad", "backward"):
        if word in step:
            return step["op"] if word == "op" else word
    return next(iter(step))


@pytest.fixture
def session(door: str | None) -> Iterator[Session]:
    """A session of its own, in force for the test; `session.transport` counts."""
    client = gradwire.connect(door)
    client.transport = Counted(client.transport)
    with client.session() as found:
        yield found
    gradwire.set_default_dtype(gradwire.float32)


@pytest.fixture
def counted(session: Session) -> Counted:
    """The session's requests."""
    assert isinstance(session.transport, Counted)
    return session.transport


@pytest.fixture
def swallowed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Interrupts that Python itself swallows, as it does in `__del__`."""
    found: list[str] = []

    def note(problem: Any) -> None:
        assert isinstance(problem.exc_value, KeyboardInterrupt | TimeoutError)
        found.append(repr(problem.object))

    monkeypatch.setattr(sys, "unraisablehook", note)
    return found
