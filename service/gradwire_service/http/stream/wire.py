"""Frames as `websockets` reads and writes them; short messages, each one frame, without its parser.

That is made for frames in any number of pieces, and takes longer than the steps of many a message.
Most are small and come alone, each in what the socket gives at once: of those only the head has to
be looked at. Whatever isn't just like that is the parser's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from websockets.frames import Frame
from websockets.protocol import State
from websockets.server import ServerProtocol

from gradwire_service.host.safetensors import Buffer
from gradwire_service.http.body import SMALL

try:  # as in websockets.frames: in C where it was built
    from websockets.speedups import apply_mask
except ImportError:  # pragma: no cover
    from websockets.utils import apply_mask

_HEAD_ENDS = b"\r\n\r\n"
_BINARY = {0x81: False, 0x82: True}
"""By the first byte of a whole message: nothing reserved in it, and no piece behind it."""
_FIRST = {binary: first for first, binary in _BINARY.items()}
_MASKED, _TWO_BYTES, _SHORT, _MEDIUM = 0x80, 126, 125, 2**16 - 1
_MASK = 4
"""Bytes of a mask."""


class Message(NamedTuple):
    """What a frame carries that is a message by itself."""

    data: bytes
    binary: bool


class Wire(ServerProtocol):
    """The protocol's state, which knows as well whether it stands between two frames.

    For that it counts what came, and takes off what the frames had that it gave. A frame whose head
    is longer than need be is never taken off whole: from there on all is the parser's.
    """

    def __init__(self, longest: int) -> None:
        super().__init__(max_size=longest)
        self._alone = min(longest, SMALL)
        self._rest: float | None = None  # bytes of a frame that has begun; None before the head

    def receive_data(self, data: bytes | bytearray) -> None:
        """Frames, whole or in part; or the handshake."""
        if self._rest is None:
            _, end, behind = data.partition(_HEAD_ENDS)
            self._rest = len(behind) if end else float("inf")
        else:
            self._rest += len(data)
        super().receive_data(data)

    def events_received(self) -> list[Any]:
        """What there is of it."""
        events = super().events_received()
        frames = [event for event in events if isinstance(event, Frame)]
        if self._rest is not None:
            self._rest -= sum(_size(len(frame.data)) + _MASK for frame in frames)
        return events

    def alone(self, data: bytes) -> Message | None:
        """The message that this is all of; None leaves it to the parser, which has seen nothing.

        Not to be asked within a message in pieces.
        """
        if self._rest != 0 or self.state is not State.OPEN or len(data) <= _MASK + 2:
            return None
        binary, size = _BINARY.get(data[0]), data[1] - _MASKED
        start = 2
        if size == _TWO_BYTES:
            size, start = int.from_bytes(data[2:4], "big"), 4
        elif size > _SHORT:  # eight bytes of it
            return None
        behind = start + _MASK
        if binary is None or len(data) != behind + size or size > self._alone:
            return None
        return Message(apply_mask(data[behind:], data[start:behind]), binary)


def framed(buffers: Sequence[Buffer], size: int, binary: bool) -> bytes | None:
    """A message of so many bytes as one frame; None where it is long enough for pieces."""
    if size <= _SHORT:
        head = bytes((_FIRST[binary], size))
    elif size <= _MEDIUM:
        head = bytes((_FIRST[binary], _TWO_BYTES, size >> 8, size & 0xFF))
    else:
        return None
    return b"".join((head, *buffers))


def _size(length: int) -> int:
    """Bytes of a frame that carries so many, but for its mask."""
    return length + (2 if length <= _SHORT else 4 if length <= _MEDIUM else 10)
