"""Connections over HTTP whose locks no interrupt leaves locked."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Any

import httpx

from gradwire.direct import Direct


def connected(url: str, headers: Mapping[str, str], timeout: float) -> httpx.Client:
    """A client of httpx to a server. timeout: seconds to wait for each part of a reply."""
    made = httpx.Client(base_url=url, headers=headers, timeout=timeout, verify=_trusted(url))
    for transport in (made._transport, *made._mounts.values()):
        _lock_at_once(transport)
    return made


def direct(
    client: httpx.Client, url: str, headers: Mapping[str, str], timeout: float
) -> Direct | None:
    """Connections to the same server for what is hot; None where a proxy may stand before it.

    Nor are there any where the URL has a user's name, which httpx makes a header of, or a header is
    refused by it.
    """
    parsed = httpx.URL(url)
    plain = all(value.isascii() and value.isprintable() for value in headers.values())
    if client._mounts or parsed.userinfo or not plain:
        return None
    return Direct(parsed, _trusted(url), headers, timeout)


def close_copies(client: httpx.Client) -> None:
    """In a forked child: close its copies of the parent's sockets, on which nothing is said.

    Another thread of the parent may have had the pool's lock.
    """
    for transport in (client._transport, *client._mounts.values()):
        _lock_at_once(transport)
    with suppress(Exception):
        client.close()


def _lock_at_once(transport: httpx.BaseTransport | None) -> None:
    """Have a pool enter its lock without Python.

    httpcore's own `__enter__` is a function of Python: where an interrupt comes after it took the
    lock, nobody lets go of it, and the next to take it is the pool's own handling of the interrupt.
    """
    pool: Any = getattr(transport, "_pool", None)
    if hasattr(pool, "_optional_thread_lock"):
        pool._optional_thread_lock = threading.Lock()


def _trusted(url: str) -> SSLContext:
    """Whom to believe: nobody where nobody is asked, since to read all authorities takes 20 ms."""
    return _authorities() if url.startswith("https:") else SSLContext(PROTOCOL_TLS_CLIENT)


@cache
def _authorities() -> SSLContext:
    return httpx.create_ssl_context()


__all__ = ["close_copies", "connected", "direct"]
