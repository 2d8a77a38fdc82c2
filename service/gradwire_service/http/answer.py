"""What a route gives: the answer, and how much of a reply there is to write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gradwire_service.host.reply import Filled, Reply, TensorReply
from gradwire_service.host.safetensors import Buffer


class Answer(NamedTuple):
    """What is sent back: a status, the media type, buffers to be sent in turn, more headers."""

    status: int = 200
    media_type: str | None = None
    buffers: Sequence[Buffer] = ()
    headers: tuple[tuple[bytes, bytes], ...] = ()


def weight(reply: Reply) -> int:
    """The bytes of the arrays in a reply, roughly the work of writing it."""
    if type(reply) is Filled:
        return sum([array.nbytes for array in reply.arrays])
    if type(reply) is TensorReply:
        return 0 if reply.array is None else int(reply.array.nbytes)
    if type(reply) is dict:
        return sum(map(weight, reply.values()))
    return sum(map(weight, reply)) if type(reply) is list else 0
