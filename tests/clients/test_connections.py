"""Connections for steps: kept, opened again where the server closed them, and none by a proxy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from socket import SHUT_RDWR
from typing import Any

import pytest
from tests.service.conftest import Running, running

import gradwire as torch
from gradwire.direct import Direct
from gradwire.http import Http
from gradwire_service.host.limits import Limits


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(Limits(ping_seconds=0.1)) as found:
        yield found
    torch.connect()


def connections(session: Any) -> Direct:
    """Those of a session's transport."""
    transport = session.transport
    assert isinstance(transport, Http)
    assert transport._direct is not None
    return transport._direct


def test_one_connection_serves_all_steps(server: Running) -> None:
    with torch.connect(server.url).session() as session:
        x = torch.zeros(3)
        for done in range(1, 6):
            x = x + 1
            assert x.tolist() == [done] * 3
            (one,) = connections(session)._idle
            if done == 1:
                first = one.sock
            assert one.sock is first


def test_one_that_was_closed_is_opened_again_at_once(server: Running) -> None:
    with torch.connect(server.url).session() as session:
        x = torch.zeros(3)
        assert (x + 1).tolist() == [1.0] * 3
        connections(session)._idle[0].sock.shutdown(SHUT_RDWR)
        began = time.monotonic()
        assert (x + 2).tolist() == [2.0] * 3
        assert time.monotonic() - began < 0.1, "no attempt was lost, which would have been waited"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize("transport", ["http", "stream"])
def test_where_there_may_be_a_proxy_they_are_not_used(
    server: Running, transport: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with torch.connect(server.url, transport=transport).session() as session:
        assert session.transport._direct is None
        assert (torch.zeros(3) + 1).tolist() == [1.0] * 3


def test_a_key_that_is_no_header_is_refused(server: Running) -> None:
    with pytest.raises(Exception, match=r"header|ascii|codec") as refused:
        torch.connect(server.url, key="two\r\nlines").session()
    assert not isinstance(refused.value, AssertionError)


def test_a_stream_that_was_quiet_goes_on(server: Running) -> None:
    """The server asks whether anybody is there, and hears it with the next message, or closes."""
    with torch.connect(server.url, transport="stream").session():
        x = torch.zeros(3)
        for done in range(1, 4):
            x += 1
            assert x.tolist() == [done] * 3
            time.sleep(0.5)
        for done in range(4, 7):
            x += 1
            assert x.tolist() == [done] * 3
            time.sleep(0.05)
