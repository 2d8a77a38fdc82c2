"""Somebody who asks again and again whether the server is ready, and how long each answer took."""

from __future__ import annotations

import socket
import time

_PAUSE = 0.005
_ASKED = b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n"
_READY = b'{"status":"ready"}'


def watch(port: int, seconds: float) -> list[float]:
    """The seconds that each answer took, asked for one after the other."""
    taken = []
    connection = _connected(port)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        try:
            _ask(connection)
        except ConnectionError:  # it lay idle for long: the whole machine stood still
            connection.close()
            connection = _connected(port)
            _ask(connection)
        taken.append(time.perf_counter() - began)
        time.sleep(_PAUSE)
    connection.close()
    return taken


def _connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _ask(connection: socket.socket) -> None:
    connection.sendall(_ASKED)
    found = b""
    while not found.endswith(_READY):
        piece = connection.recv(4096)
        if not piece:
            raise ConnectionResetError(f"it hung up: {found!r}")
        found += piece
    assert found.startswith(b"HTTP/1.1 200 "), found
