"""Bodies: what a request's bytes say, and a reply as bytes."""

from gradwire_service.host.safetensors import Buffer
from gradwire_service.http.codec.compression import ENCODINGS, compress, decompress
from gradwire_service.http.codec.json import weight as weight_of
from gradwire_service.http.codec.negotiation import (
    JSON,
    NPY,
    SAFETENSORS,
    encoding,
    need_taken,
    prefers,
    sent,
    wanted,
)
from gradwire_service.http.codec.reply import Data, Written, write_reply
from gradwire_service.http.codec.request import opened, parsed, read_request

__all__ = [
    "ENCODINGS",
    "JSON",
    "NPY",
    "SAFETENSORS",
    "Buffer",
    "Data",
    "Written",
    "compress",
    "decompress",
    "encoding",
    "need_taken",
    "opened",
    "parsed",
    "prefers",
    "read_request",
    "sent",
    "wanted",
    "weight_of",
    "write_reply",
]
