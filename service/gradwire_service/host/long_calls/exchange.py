"""Values with arrays between two processes: arrays lie in memory that both see, named by nobody.

The memory is a file without a name, of which a descriptor goes through the socket: it is gone when
the last process that holds it ends, however that ends.
"""

from __future__ import annotations

import mmap
import os
import pickle
import socket
from collections.abc import Sequence
from contextlib import contextmanager
from itertools import accumulate
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE = 64
"""Bytes at a multiple of which each array begins, as vector instructions have it best."""

_LENGTH = 8
"""Bytes of the length that goes before a message."""


class GoneError(Exception):
    """The other process has ended."""


def ask(peer: socket.socket) -> None:
    """Send a byte, to be answered by one. GoneError where nobody is there to take it."""
    try:
        peer.sendall(b"?")
    except OSError as problem:
        raise GoneError from problem


def answer(peer: socket.socket) -> None:
    """Wait for a byte. GoneError where the other process has ended; TimeoutError as it has it."""
    try:
        if not peer.recv(1):
            raise GoneError
    except ConnectionError as problem:
        raise GoneError from problem


def send(peer: socket.socket, value: Any) -> None:
    """Send a value. GoneError where nobody is there to take it."""
    parts: list[memoryview] = []
    text = pickle.dumps(value, 5, buffer_callback=lambda part: parts.append(part.raw()))
    sizes = [part.nbytes for part in parts]
    message = pickle.dumps((text, sizes))
    with _memory(_places(sizes)[-1]) as descriptor:
        with mmap.mmap(descriptor, 0) as memory:
            for place, part in zip(_places(sizes), parts, strict=False):
                into = np.frombuffer(memory, np.uint8, part.nbytes, place)
                np.copyto(into, part)
                del into  # or the memory could not be closed
        try:
            socket.send_fds(peer, [len(message).to_bytes(_LENGTH)], [descriptor])
            peer.sendall(message)
        except OSError as problem:
            raise GoneError from problem


def receive(peer: socket.socket) -> Any:
    """Wait for a value. Its arrays may be written to, as LAPACK does for a moment: in a copy.

    GoneError where the other process has ended; TimeoutError as the socket has it, as long as
    nothing of a value has come.
    """
    try:
        length, descriptors, _, _ = socket.recv_fds(peer, _LENGTH, 1)
        if not descriptors:
            raise GoneError
        try:
            peer.setblocking(True)
            message = _exactly(peer, int.from_bytes(length))
            text, sizes = pickle.loads(message)  # noqa: S301 (of our own process)
            memory = mmap.mmap(descriptors[0], 0, access=mmap.ACCESS_COPY)
        finally:
            os.close(descriptors[0])
    except ConnectionError as problem:
        raise GoneError from problem
    whole = memoryview(memory)
    parts = zip(_places(sizes), sizes, strict=False)
    buffers = [whole[place : place + size] for place, size in parts]
    return pickle.loads(text, buffers=buffers)  # noqa: S301


def _places(sizes: Sequence[int]) -> list[int]:
    """Where each array begins, and at last how much all take; a file of no bytes has no memory."""
    places = list(accumulate((-(-size // _LINE) * _LINE for size in sizes), initial=0))
    return [*places[:-1], max(places[-1], _LINE)]


def _exactly(peer: socket.socket, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        more = peer.recv(length - len(found))
        if not more:
            raise GoneError
        found += more
    return bytes(found)


@contextmanager
def _memory(size: int) -> Iterator[int]:
    """A file of so many bytes in memory, or where there is no such thing on a disk."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("gradwire")
        try:
            os.truncate(descriptor, size)
            yield descriptor
        finally:
            os.close(descriptor)
    else:
        with TemporaryFile() as file:
            file.truncate(size)
            yield file.fileno()
