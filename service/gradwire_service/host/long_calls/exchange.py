"""Values with arrays between two processes: JSON, and memory that both see, named by nobody.

The memory is a file without a name, of which a descriptor goes through the socket: it is gone when
the last process that holds it ends, however that ends.
"""

from __future__ import annotations

import mmap
import os
import socket
from collections.abc import Sequence
from contextlib import contextmanager
from itertools import accumulate
from json import dumps, loads
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE = 64
"""Bytes at a multiple of which each array begins, as vector instructions have it best."""

_LENGTH = 8
"""Bytes of the length that goes before a message."""


_RAISED: tuple[type[Exception], ...] = (
    np.linalg.LinAlgError, MemoryError, ValueError, TypeError, RuntimeError,
)  # fmt: skip
"""What a call may raise; anything else is told as the last of these."""


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
    arrays: list[np.ndarray] = []
    written = dumps(written_down(value, arrays))
    sizes = [array.nbytes for array in arrays]
    message = dumps([written, sizes]).encode()
    with _memory(_places(sizes)[-1]) as descriptor:
        with mmap.mmap(descriptor, 0) as memory:
            for place, array in zip(_places(sizes), arrays, strict=False):
                into = np.ndarray(array.shape, array.dtype, memory, place)
                np.copyto(into, array)
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
            written, sizes = loads(_exactly(peer, int.from_bytes(length)))
            memory = mmap.mmap(descriptors[0], 0, access=mmap.ACCESS_COPY)
        finally:
            os.close(descriptors[0])
    except ConnectionError as problem:
        raise GoneError from problem
    return read_again(loads(written), memory, _places(sizes))


def written_down(value: Any, arrays: list[np.ndarray]) -> Any:
    """What JSON holds of a value; its arrays are put into a list, in the order of their memory.

    Values are what calls of LAPACK take and give: arrays, numbers, strings, None, tuples, dicts
    by strings, and what a call raised.
    """
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        turned = array.flags.f_contiguous and not array.flags.c_contiguous
        arrays.append(array.T if turned else np.ascontiguousarray(array).reshape(array.shape))
        number = isinstance(value, np.generic)
        return {"array": len(arrays) - 1, "shape": array.shape, "dtype": array.dtype.str,
                "turned": turned, "number": number}  # fmt: skip
    if isinstance(value, tuple | list):
        return {"items": [written_down(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"fields": {name: written_down(item, arrays) for name, item in value.items()}}
    if isinstance(value, Exception):
        kind = next((kind for kind in _RAISED if isinstance(value, kind)), RuntimeError)
        return {"raised": _RAISED.index(kind), "text": str(value)}
    return value


def read_again(written: Any, memory: Any, places: Sequence[int]) -> Any:
    """The value that JSON holds; lists are tuples."""
    if not isinstance(written, dict):
        return written
    if "array" in written:
        shape, place = tuple(written["shape"]), places[written["array"]]
        if written["turned"]:
            return np.ndarray(shape[::-1], written["dtype"], memory, place).T
        found = np.ndarray(shape, written["dtype"], memory, place)
        return found[()] if written["number"] else found
    if "items" in written:
        return tuple([read_again(item, memory, places) for item in written["items"]])
    if "fields" in written:
        found = written["fields"].items()
        return {name: read_again(item, memory, places) for name, item in found}
    return _RAISED[written["raised"]](written["text"])


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
