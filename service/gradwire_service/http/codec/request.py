"""A request's body: one JSON object, and the arrays that travel with it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gradwire_engine.errors import error
from gradwire_service.host import safetensors
from gradwire_service.host.elements import Array, shown
from gradwire_service.host.safetensors import METADATA, Buffer
from gradwire_service.http.codec import json, negotiation, npy

_NO_ARRAYS: Mapping[str, Array] = MappingProxyType({})
_LONE = "value"  # how an .npy body is called where it stands for a whole request


def read_request(
    content_type: str | None, body: Buffer, *, depth: int = json.DEPTH, lone: bool = False
) -> tuple[dict[str, Any], Mapping[str, Array]]:
    """The JSON object of a body and its arrays by name: read-only views that keep `body` alive.

    With `lone` (one tensor is written) the body may also be .npy: the request is then
    {"value": {"binary": "value"}}. Raises invalid_json, invalid_body, invalid_request,
    limit_exceeded, dtype_mismatch, unsupported_media_type.
    """
    if lone and negotiation.sent(content_type) == negotiation.NPY:
        return {"value": {"binary": _LONE}}, {_LONE: npy.read(body)}
    text, arrays = opened(content_type, body)
    return parsed(text, depth), arrays


def opened(content_type: str | None, body: Buffer) -> tuple[Buffer, Mapping[str, Array]]:
    """The text of a body's request, not read yet, and its arrays: see `read_request`."""
    media_type = negotiation.sent(content_type)
    if media_type == negotiation.JSON:
        return body, _NO_ARRAYS
    if media_type == negotiation.SAFETENSORS:
        metadata, arrays = safetensors.read(body)
        return _text(metadata), arrays
    raise error(
        "unsupported_media_type",
        "the body is one .npy array, and this call takes a request",
        "an .npy body goes to PUT /v1/sessions/{id}/tensors/{name} only",
    )


def parsed(text: Buffer, depth: int = json.DEPTH) -> dict[str, Any]:
    """The JSON object that a request's text is."""
    return _object(json.loads(text, depth))


def _text(metadata: dict[str, str]) -> bytes:
    try:
        return metadata["request"].encode()
    except (KeyError, UnicodeEncodeError):
        raise error(
            "invalid_body",
            f"safetensors: {METADATA} has no text of a JSON request under the key request",
            f'put the request there: {{"{METADATA}": {{"request": "{{\\"steps\\": …}}"}}}}',
        ) from None


def _object(value: object) -> dict[str, Any]:
    if type(value) is not dict:
        raise error(
            "invalid_request",
            f"the request is {shown(value)}, not an object",
            'a request is an object, like {"steps": []}',
        )
    return value
