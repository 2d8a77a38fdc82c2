"""A client that costs next to nothing: one socket, a request made ready, the reply's bytes."""

from __future__ import annotations

import socket
from time import monotonic

CHUNK = 1 << 20
IDLE = 2.0  # seconds


class Connection:
    """A kept-alive HTTP/1.1 connection on the loopback; made anew after it lay idle.

    Servers hang up after some seconds without a request, and the other sides' turns take seconds.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._spare = bytearray(CHUNK)
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._used = monotonic()

    def exchange(self, request: bytes) -> tuple[bytes, bytes]:
        """Send a request; the reply's head and body. A reply that isn't 2xx is a RuntimeError."""
        received, end = self._send(request)
        length = content_length(received, end)
        if len(received) < end + 4 + length:
            self._fill(received, end + 4 + length)
        head, body = bytes(received[:end]), bytes(memoryview(received)[end + 4 :])
        if received[9:10] != b"2":
            raise RuntimeError(f"{head.decode(errors='replace')}\n{body[:500]!r}")
        return head, body

    def drain(self, request: bytes) -> int:
        """Send a request and throw its reply away as it comes; the length of the body."""
        received, end = self._send(request)
        if received[9:10] != b"2":
            raise RuntimeError(bytes(received[:500]).decode(errors="replace"))
        length = content_length(received, end)
        left = end + 4 + length - len(received)
        while left > 0:
            left -= self._counted(self._socket.recv_into(self._spare))
        return length

    def _send(self, request: bytes) -> tuple[bytearray, int]:
        """What came until the head was whole, and where the head ends."""
        now = monotonic()
        if now - self._used > IDLE:
            self._socket.close()
            self._connect()
        self._used = now
        self._socket.sendall(request)
        received = bytearray()
        while (end := received.find(b"\r\n\r\n")) < 0:
            count = self._counted(self._socket.recv_into(self._spare))
            received += memoryview(self._spare)[:count]
        return received, end

    def _fill(self, received: bytearray, size: int) -> None:
        """Read the rest straight into its place."""
        have = len(received)
        received.extend(bytes(size - have))
        view = memoryview(received)
        while have < size:
            have += self._counted(self._socket.recv_into(view[have:]))

    def _counted(self, count: int) -> int:
        if not count:
            raise RuntimeError("the server hung up")
        return count

    def close(self) -> None:
        self._socket.close()


def content_length(received: bytearray, end: int) -> int:
    """The body's length by its head; 0 where the head names none."""
    head = bytes(received[:end]).lower()
    start = head.find(b"\r\ncontent-length:")
    if start < 0:
        return 0
    start += len(b"\r\ncontent-length:")
    stop = head.find(b"\r\n", start)
    return int(head[start : stop if stop >= 0 else len(head)])


def post(
    path: str,
    body: bytes,
    content_type: str = "application/json",
    *,
    accept: str | None = None,
    method: str = "POST",
) -> bytes:
    """The bytes of a request."""
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
    ]
    if accept:
        lines.append(f"Accept: {accept}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def get(path: str, *, accept: str | None = None) -> bytes:
    """The bytes of a GET request."""
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1"]
    if accept:
        lines.append(f"Accept: {accept}")
    return "\r\n".join([*lines, "", ""]).encode()
