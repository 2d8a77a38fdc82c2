"""A reply as bytes: JSON, or safetensors with the JSON in its metadata, or one .npy array."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import orjson

from gradwire_engine.errors import error
from gradwire_engine.spec import complex128
from gradwire_service.host import safetensors
from gradwire_service.host.elements import Array, as_pairs
from gradwire_service.host.reply import Filled, Reply, TensorReply
from gradwire_service.host.safetensors import METADATA, Buffer, raw
from gradwire_service.http.codec import json, negotiation, npy

Data = Literal["nested", "none", "base64"]


class Written(NamedTuple):
    """A reply's media type and its bytes, as buffers to be sent one after the other.

    The buffers are the tensors' own memory where that is contiguous: they have to be sent, or
    copied, before the session may write to it again.
    """

    media_type: str
    buffers: list[Buffer]


def write_reply(reply: Reply, accept: str | None = None, data: Data = "nested") -> Written:
    """Write a tree of dicts, lists, TensorReplies, numbers, strings and None.

    `data` says how JSON shows elements; binary formats carry them as they are. Raises
    not_acceptable where `accept` leaves nothing, or asks for npy and the reply is no lone tensor.
    """
    media_type = negotiation.wanted(accept)
    if type(reply) is Filled:
        if media_type == negotiation.JSON and data == "nested":
            return Written(media_type, [_between(reply)])
        reply = reply.reply()
    if media_type == negotiation.SAFETENSORS:
        return Written(media_type, _file(reply, data))
    if media_type == negotiation.NPY:
        return Written(media_type, npy.write(_lone(reply, data)))
    return Written(media_type, [json.dumps(reply, _DEFAULTS[data])])


_GAP = b"\0"  # which no JSON text has in it


def _between(reply: Filled) -> bytes:
    """A template's text, which is made once, with the elements in its gaps."""
    texts = reply.template.texts.get("nested")
    if texts is None:
        gap = {"data": orjson.Fragment(_GAP)}
        whole = json.dumps(reply.template.reply, lambda tensor: _fields(tensor) | gap)
        texts = reply.template.texts["nested"] = whole.split(_GAP)
    pieces = [texts[0]]
    for array, text in zip(reply.arrays, texts[1:], strict=True):
        pieces += json.text_of(array), text
    return b"".join(pieces)


def _fields(tensor: object) -> dict[str, Any]:
    """What a reply says of a tensor, but for its elements."""
    if type(tensor) is not TensorReply:
        raise _stranger(tensor)
    return {
        "name": tensor.name,
        "dtype": tensor.dtype.name,
        "shape": tensor.shape,
        "device": tensor.device,
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "grad_fn": tensor.grad_fn,
        "version": tensor.version,
    }


def _stranger(found: object) -> TypeError:
    return TypeError(f"a reply holds {type(found).__name__}")


def _nested(tensor: object) -> orjson.Fragment:
    if type(tensor) is not TensorReply:
        raise _stranger(tensor)
    head = _head(*tensor[:-1])
    array = tensor.array
    return orjson.Fragment(
        head + b"}" if array is None else b'%b,"data":%b}' % (head, json.text_of(array))
    )


@lru_cache(maxsize=1024)
def _head(*said: Any) -> bytes:
    """The text of what is said of a tensor, but for its end; of few, since loops answer alike."""
    return json.dumps(_fields(TensorReply(*said)))[:-1]


def _base64(tensor: TensorReply) -> dict[str, Any]:
    fields = _fields(tensor)
    if tensor.array is not None:
        fields["base64"] = orjson.Fragment(b'"%b"' % b64encode(raw(tensor.array)))
    return fields


_DEFAULTS: dict[Data, Callable[[Any], Any]] = {
    "nested": _nested,
    "base64": _base64,
    "none": _fields,
}


def _file(reply: Reply, data: Data) -> list[Buffer]:
    """A safetensors file: every tensor's elements by name, everything else as text beside them."""
    arrays: dict[str, Array] = {}

    def binary(tensor: TensorReply) -> dict[str, Any]:
        fields = _fields(tensor)
        if tensor.array is not None and data != "none":
            name = tensor.name or "tensor"
            if name in arrays or name == METADATA:
                name = f"{name}~{len(arrays)}"  # no name of a tensor has a ~ in it
            arrays[name] = as_pairs(tensor.array) if tensor.dtype is complex128 else tensor.array
            fields["binary"] = name
        return fields

    text = json.dumps(reply, binary).decode()
    return safetensors.write(arrays, {"response": text})


def _lone(reply: Reply, data: Data) -> Array:
    if type(reply) is not TensorReply or reply.array is None or data == "none":
        raise error(
            "not_acceptable",
            "the reply is wanted as application/x-npy, and is more or less than one tensor",
            "accept application/json or application/x-safetensors",
        )
    return reply.array
