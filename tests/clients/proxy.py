"""A proxy on loopback that may hold, halve or lose each message between the SDK and a server."""

from __future__ import annotations

import select
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count

from tests.service.conftest import until

_ENDS = b"\r\n\r\n"
_CLOSE = 8
"""The opcode of the frame by which one side of a WebSocket ends it."""
_MOMENT = 0.02
"""Seconds between two looks whether a client has noticed what was done to it."""


class Messages:
    """Whole messages of one direction: HTTP's, and those of a WebSocket once it was opened."""

    def __init__(self, connection: socket.socket, flows: threading.Event) -> None:
        self._source, self._flows = connection.makefile("rb"), flows
        self.framed = False

    def read(self) -> bytes:
        """The next message as it came; empty at the end, also in the midst of one."""
        return self._frame() if self.framed else self._http()

    def _http(self) -> bytes:
        head = bytearray()
        while not head.endswith(_ENDS):
            line = self._source.readline()
            if not line:
                return b""
            head += line
        length = 0
        for line in bytes(head).lower().split(b"\r\n"):
            name, _, value = line.partition(b":")
            assert name != b"transfer-encoding"
            if name == b"content-length":
                length = int(value)
        body = self._exactly(length)
        return bytes(head) + body if len(body) == length else b""

    def _frame(self) -> bytes:
        head = self._source.read(2)
        if len(head) < 2:
            return b""
        length = head[1] & 127
        if length > 125:
            size = {126: "!H", 127: "!Q"}[length]
            more = self._source.read(struct.calcsize(size))
            (length,) = struct.unpack(size, more)
            head += more
        length += 4 if head[1] & 128 else 0  # its mask
        body = self._exactly(length)
        return head + body if len(body) == length else b""

    def _exactly(self, length: int) -> bytes:
        """So many bytes, or those up to the end; none is taken while nothing flows."""
        found = bytearray()
        while len(found) < length:
            self._flows.wait()
            part = self._source.read1(length - len(found))
            if not part:
                break
            found += part
        return bytes(found)

    def controls(self, message: bytes) -> bool:
        """Whether a message is a control frame of a WebSocket: a ping, a pong, a close."""
        return self.framed and bool(message[0] & 8)


class Exchange:
    """A request that came, and the connections to both sides."""

    def __init__(
        self, client: socket.socket, server: socket.socket, flows: threading.Event
    ) -> None:
        self._client, self._server, self.request = client, server, b""
        self._replies = Messages(server, flows)

    def pass_on(self, part: float = 1.0) -> None:
        """Send the request, or the first part of it, to the server."""
        self._server.sendall(self.request[: int(len(self.request) * part)])

    def reply(self) -> bytes:
        """Wait for the server's reply, empty where it goes; pings are passed on as they come."""
        while (found := self._replies.read()) and self._replies.controls(found):
            self.answer(found)
        return found

    def end(self) -> None:
        """Pass on that the client closes a WebSocket, and what the server says to it."""
        self.pass_on()
        while found := self._replies.read():
            self.answer(found)

    def answer(self, reply: bytes, part: float = 1.0) -> None:
        """Send a reply, or the first part of it, to the client."""
        self._client.sendall(reply[: int(len(reply) * part)])

    def wait(self, meanwhile: Callable[[], None]) -> None:
        """Be silent until the client goes, or says that it will."""
        while not select.select([self._client], [], [], _MOMENT)[0]:
            meanwhile()
        self._client.recv(1)

    @property
    def framed(self) -> bool:
        """Whether both sides speak by WebSocket."""
        return self._replies.framed

    def upgraded(self) -> None:
        """From here on both sides speak by WebSocket."""
        self._replies.framed = True


Fault = Callable[[Exchange], None]
"""What becomes of one exchange. After it the connection is closed."""


class Proxy:
    """What stands at `port` and passes messages on to `target`, but for those that `faults` get.

    faults: asked for each request for the fault that it meets, by its number among requests or
    among the handshakes of WebSockets; None where it is passed on. faulty: how many met one. held:
    how many of these the client has not let go of yet. flows: while it is cleared nothing of a
    body is read, and who sends a large one waits.
    """

    def __init__(self, target: int, listener: socket.socket) -> None:
        self.target = target
        self.faults: Callable[[int], Fault | None] = lambda number: None
        self.counts = {"request": count(), "handshake": count()}
        self.faulty = self.held = 0
        self.flows = threading.Event()
        self.flows.set()
        self.broken: list[BaseException] = []
        self._listener = listener
        self._open: dict[socket.socket, threading.Thread] = {}
        self.port: int = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def accept(self) -> None:
        """Take connections until the listener is shut."""
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._connected, args=(client,), daemon=True)
            self._open[client] = thread
            thread.start()

    def close(self) -> None:
        """End all connections."""
        for client, thread in self._open.items():
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            thread.join()

    def _connected(self, client: socket.socket) -> None:
        with (
            client,
            suppress(ConnectionError),
            socket.create_connection(("127.0.0.1", self.target)) as server,
        ):
            try:
                self._relay(client, server)
            except ConnectionError:
                raise
            except BaseException as problem:
                self.broken.append(problem)
            finally:
                for one in (client, server):
                    with suppress(OSError):
                        one.shutdown(socket.SHUT_RDWR)

    def _relay(self, client: socket.socket, server: socket.socket) -> None:
        requests, exchange = Messages(client, self.flows), Exchange(client, server, self.flows)
        while message := requests.read():
            exchange.request = message
            if requests.controls(message):
                if message[0] & 15 == _CLOSE:
                    return exchange.end()
                exchange.pass_on()
                continue
            opens = b"\r\nupgrade: websocket\r\n" in message.lower()
            fault = self.faults(next(self.counts["handshake" if opens else "request"]))
            if fault is not None:
                self.faulty += 1
                self.held += 1
                try:
                    return fault(exchange)
                finally:
                    self.held -= 1
            exchange.pass_on()
            reply = exchange.reply()
            if not reply:
                return
            exchange.answer(reply)
            if reply.startswith(b"HTTP/1.1 101"):
                requests.framed = True
                exchange.upgraded()


@contextmanager
def between(target: int) -> Iterator[Proxy]:
    """A proxy to a server's port while the block runs; it must not have failed itself.

    A client must let go of the connections that it was interrupted in.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = Proxy(target, listener)
        threading.Thread(target=proxy.accept, daemon=True).start()
        try:
            yield proxy
            until(lambda: not proxy.held)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            proxy.close()
        assert not proxy.broken


class Interrupt:
    """What is done to the client's main thread, which nothing else keeps from its request.

    number: of a signal, which is sent to it as a terminal or an alarm would; None for nothing, so
    that its own time limit comes.
    """

    def __init__(self, number: signal.Signals | None = None) -> None:
        self._number, self._main = number, threading.main_thread().ident or 0

    def __call__(self) -> None:
        if self._number is not None:
            signal.pthread_kill(self._main, self._number)

    def again(self) -> None:
        """Have the thread notice: the signal may have come just before it began to wait."""
        if self._number is not None:
            signal.pthread_kill(self._main, NOTHING)


NOTHING = signal.SIGUSR1
"""A signal that a test has a handler for which does nothing."""


def not_sent(exchange: Exchange) -> None:
    """Nothing of the request arrives."""


def half_sent(exchange: Exchange) -> None:
    """Half of the request arrives."""
    exchange.pass_on(0.5)


def sent(exchange: Exchange) -> None:
    """The request arrives, and nobody waits for what it does."""
    exchange.pass_on()


def answered(exchange: Exchange) -> None:
    """The request was done, and its reply is kept back."""
    exchange.pass_on()
    exchange.reply()


def half_read(exchange: Exchange) -> None:
    """Half of the reply comes."""
    exchange.pass_on()
    exchange.answer(exchange.reply(), 0.5)


def of_the_proxy(status: int) -> Fault:
    """The request was done, and in the place of its reply comes a proxy's that it got none."""
    reply = f"HTTP/1.1 {status} No Answer\r\nContent-Length: 8\r\nConnection: close\r\n\r\n<nobody>"

    def happens(exchange: Exchange) -> None:
        answered(exchange)
        if not exchange.framed:
            exchange.answer(reply.encode())

    return happens


PLACES = (not_sent, half_sent, sent, answered, half_read)
"""How far an exchange comes that breaks off; `answered` by itself is a reply that is lost."""


def interrupted(place: Fault, interrupt: Interrupt) -> Fault:
    """An exchange that comes as far as this, and then its client is interrupted."""

    def happens(exchange: Exchange) -> None:
        place(exchange)
        interrupt()
        exchange.wait(interrupt.again)

    return happens


def every(number: int, fault: Fault) -> Callable[[int], Fault | None]:
    """One request in so many meets the fault.

    With 2 what the SDK sends again goes through. With 3, too, what a program asks next, after the
    request was finished that it was interrupted in.
    """
    return lambda at: fault if at % number == 0 else None
