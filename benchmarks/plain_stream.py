"""A WebSocket client that costs next to nothing: one socket, frames made ready, replies' bytes."""

from __future__ import annotations

import socket
import struct
from base64 import b64encode

from benchmarks.plain_http import CHUNK

TEXT, PING, PONG = 0x81, 0x89, 0x8A
_MASK = bytes(4)  # which leaves the bytes as they are


class Stream:
    """A stream on the loopback; the server's pings are answered when the next reply is read."""

    def __init__(self, port: int, path: str) -> None:
        self._spare = bytearray(CHUNK)
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(_handshake(path))
        self._received = bytearray()
        while (end := self._received.find(b"\r\n\r\n")) < 0:
            self._receive()
        if self._received[9:12] != b"101":
            self.close()
            raise RuntimeError(bytes(self._received).decode(errors="replace"))
        del self._received[: end + 4]

    def exchange(self, message: bytes) -> bytes:
        """Send a frame; what the next message from the server carries."""
        self._socket.sendall(message)
        while True:
            first, data = self._frame()
            if first == TEXT:
                return data
            if first != PING:
                raise RuntimeError(f"the server sent {first:#x} {data[:200]!r}")
            self._socket.sendall(frame(data, PONG))

    def close(self) -> None:
        self._socket.close()

    def _frame(self) -> tuple[int, bytes]:
        received = self._received
        while len(received) < (end := _end(received)):
            self._receive()
        first, start = received[0], _start(received)
        data = bytes(memoryview(received)[start:end])
        self._received = received[end:]
        return first, data

    def _receive(self) -> None:
        count = self._socket.recv_into(self._spare)
        if not count:
            self.close()
            raise RuntimeError("the server hung up")
        self._received += memoryview(self._spare)[:count]


def frame(data: bytes, first: int = TEXT) -> bytes:
    """The bytes of a frame from a client."""
    if len(data) < 126:
        return bytes([first, 0x80 | len(data)]) + _MASK + data
    if len(data) < 2**16:
        return struct.pack("!BBH", first, 0xFE, len(data)) + _MASK + data
    return struct.pack("!BBQ", first, 0xFF, len(data)) + _MASK + data


def _start(received: bytearray) -> int:
    """Where what a frame carries begins: behind its head, as far as that is there."""
    size = received[1] if len(received) > 1 else 0
    return 2 if size < 126 else 4 if size == 126 else 10


def _end(received: bytearray) -> int:
    """Where a frame ends; where more of it has to be there to tell, a place behind that."""
    start = _start(received)
    if len(received) < max(start, 2):
        return len(received) + 1
    size = received[1] if start == 2 else int.from_bytes(received[2:start], "big")
    return start + size


def _handshake(path: str) -> bytes:
    lines = [
        f"GET {path} HTTP/1.1", "Host: 127.0.0.1", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {b64encode(bytes(16)).decode()}", "", "",
    ]  # fmt: skip
    return "\r\n".join(lines).encode()
