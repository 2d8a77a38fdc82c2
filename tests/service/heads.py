"""Requests and handshakes whose heads a test writes itself, and what comes back, as it came."""

from __future__ import annotations

import base64
import json
import os
import socket
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx


class Reply(NamedTuple):
    """A reply as it came over the wire; headers by their names in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def code(self) -> str:
        found = json.loads(self.body)
        assert found["status"] == self.status
        assert found["detail"] and found["hint"]
        assert self.headers["content-type"] == "application/problem+json"
        return str(found["code"])


class Server(NamedTuple):
    """Where a server process listens, and a session of its."""

    url: str
    session: str

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def ask(
        self,
        *headers: str,
        method: str = "GET",
        target: str = "/v1/sessions",
        body: bytes = b"",
        version: str = "1.1",
    ) -> Reply:
        """Send a request whose head is written as given, and read what comes back."""
        lines = [f"{method} {target} HTTP/{version}", *headers, "Connection: close"]
        lines += [f"Content-Length: {len(body)}"] if body else []
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
            return _read(connection)

    def upgrade(self, *headers: str, target: str | None = None) -> Reply:
        """Send a WebSocket's handshake, and read its answer."""
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {target or f'/v1/sessions/{self.session}/stream'} HTTP/1.1", "Upgrade: websocket",
            "Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}",
        ]  # fmt: skip
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall("\r\n".join([*lines, *headers, "", ""]).encode())
            return _read(connection)

    def both(self, *headers: str) -> tuple[int, int]:
        """The statuses of a request and of a handshake with these headers."""
        return self.ask(*headers).status, self.upgrade(*headers).status


def _read(connection: socket.socket) -> Reply:
    received = b""
    while piece := connection.recv(65536):
        received += piece
        if received.startswith(b"HTTP/1.1 101") and b"\r\n\r\n" in received:
            break
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    headers: dict[str, str] = {}
    for name, _, value in pairs:
        seen = headers.get(name.lower())
        headers[name.lower()] = value if seen is None else f"{seen}, {value}"
    return Reply(int(first.split()[1]), headers, body)


def started(url: str, **headers: str) -> Server:
    """A server at this URL, with a session made on it."""
    reply = httpx.post(f"{url}/v1/sessions", json={}, headers=headers)
    assert reply.status_code == 201, reply.text
    return Server(url, reply.json()["id"])
