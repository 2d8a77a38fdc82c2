"""WebSocket connections on which one message is sent and one received at a time.

The protocol is that of `websockets`, without its threads: what the server says in between, as
whether anybody is there, is answered when the next message is sent, or the connection is opened
again.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from logging import NullHandler, getLogger
from socket import SHUT_RDWR, create_connection, socket
from time import monotonic
from typing import Any

from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.sync.client import ClientConnection, connect
from websockets.uri import parse_uri

from gradwire.direct import send_all

_CLOSING = 1.0
"""Seconds to wait for a server that is told goodbye."""
_READ = 2**16
_log = getLogger("gradwire.stream")
_log.addHandler(NullHandler())  # what is interrupted as it sends is an error to websockets


class Messages:
    """A connection to a server. timeout: seconds to wait for a message, and for each part sent.

    Raises what a socket raises, or exceptions of websockets: InvalidStatus where the handshake is
    refused.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        uri = parse_uri(url)
        self._protocol = ClientProtocol(uri, max_size=None, logger=_log)
        self._timeout = timeout
        self._pieces: list[bytes] = []
        self._whole: str | bytes | None = None
        self._socket: socket = create_connection((uri.host, uri.port), timeout)
        try:
            if uri.secure:
                context = ssl.create_default_context()
                self._socket = context.wrap_socket(self._socket, server_hostname=uri.host)
            request = self._protocol.connect()
            for name, value in headers.items():
                request.headers[name] = value
            self._protocol.send_request(request)
            self._write()
            while self._protocol.state is State.CONNECTING:
                self._read()
                if self._protocol.handshake_exc is not None:
                    raise self._protocol.handshake_exc
        except BaseException:
            self._socket.close()
            raise

    @property
    def is_open(self) -> bool:
        """Whether a message can be sent: what the server said meanwhile is read and answered."""
        try:
            while self._protocol.state is State.OPEN and (data := self._waiting()) is not None:
                self._take(data)
        except (OSError, ConnectionClosed):
            return False
        return self._protocol.state is State.OPEN

    def _waiting(self) -> bytes | None:
        """Read bytes that came already, none at the end of the stream; None where nothing came."""
        self._socket.settimeout(0)
        try:
            return self._socket.recv(_READ)
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        finally:
            self._socket.settimeout(self._timeout)

    def send(self, message: str | bytes) -> None:
        """Send a message."""
        if isinstance(message, str):
            self._protocol.send_text(message.encode())
        else:
            self._protocol.send_binary(message)
        self._write()

    def receive(self) -> str | bytes:
        """The next message. Raises TimeoutError where it takes longer, whatever else comes."""
        end = monotonic() + self._timeout
        while self._whole is None:
            left = end - monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            self._socket.settimeout(left)
            self._read()
        self._socket.settimeout(self._timeout)
        found, self._whole = self._whole, None
        return found

    def _write(self) -> None:
        parts = self._protocol.data_to_send()
        if parts:
            data = b"".join(parts)
            if data:
                send_all(self._socket, data)

    def _read(self) -> None:
        """Read what comes next. Raises ConnectionClosed where nothing more does."""
        self._take(self._socket.recv(_READ))

    def _take(self, data: bytes) -> None:
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        for event in self._protocol.events_received():
            if isinstance(event, Frame) and event.opcode in _OF_MESSAGES:
                self._piece(event)
        self._write()
        if self._whole is None and self._protocol.state is State.CLOSED:
            raise self._protocol.close_exc

    def _piece(self, frame: Frame) -> None:
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
        self._pieces.append(bytes(frame.data))
        if frame.fin:
            data = b"".join(self._pieces)
            self._pieces.clear()
            self._whole = data.decode() if self._is_text else data

    def close(self) -> None:
        """Say goodbye, and wait a little for the answer."""
        end = monotonic() + _CLOSING
        try:
            if self._protocol.state is State.OPEN:
                self._protocol.send_close(1000)
                self._write()
            with suppress(ConnectionClosed):
                while (left := end - monotonic()) > 0:
                    self._socket.settimeout(left)
                    self._read()
        finally:
            self._socket.close()

    def break_off(self) -> None:
        """Leave it without a goodbye."""
        with suppress(OSError):
            self._socket.shutdown(SHUT_RDWR)
        self._socket.close()

    def close_copy(self) -> None:
        """In a forked child: nothing is said on the parent's socket."""
        self._socket.close()


_OF_MESSAGES = frozenset({Opcode.TEXT, Opcode.BINARY, Opcode.CONT})


class _Connection(ClientConnection):
    """A connection that ends where its handshake is interrupted: its thread would hold it open."""

    def handshake(self, *args: Any, **kwargs: Any) -> None:
        """Open it. Raises what the server or the connection is at fault for, or an interrupt."""
        try:
            super().handshake(*args, **kwargs)
        except BaseException:
            _shut(self)
            raise


def _shut(connection: ClientConnection) -> None:
    """End a connection whose locks an interrupt may hold; its own thread closes it then."""
    with suppress(OSError):
        connection.socket.shutdown(SHUT_RDWR)


class Proxied:
    """A connection like Messages through a proxy, by the client of websockets, with its thread."""

    is_open = True

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._timeout, self._open = timeout, ExitStack()
        connecting = connect(
            url,
            additional_headers=headers,
            compression=None,
            max_size=None,
            open_timeout=timeout,
            close_timeout=_CLOSING,
            create_connection=_Connection,
            logger=_log,
            ping_interval=None,  # the server asks whether anybody is there
        )
        self._connection = self._open.enter_context(connecting)

    def send(self, message: str | bytes) -> None:
        """Send a message."""
        self._connection.send(message)

    def receive(self) -> str | bytes:
        """The next message."""
        return self._connection.recv(self._timeout)

    def close(self) -> None:
        """Say goodbye."""
        self._open.close()

    def break_off(self) -> None:
        """Leave it without a goodbye, for which its locks would be needed."""
        self._open.pop_all()
        _shut(self._connection)

    def close_copy(self) -> None:
        """In a forked child: nothing is said on the parent's socket."""
        self._open.pop_all()
        self._connection.socket.close()


__all__ = ["Messages", "Proxied"]
