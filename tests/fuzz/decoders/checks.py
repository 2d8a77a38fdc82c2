"""What must hold when a decoder is given any bytes at all.

It refuses them with a code that blames them, a detail that can be sent and a hint; or it accepts
them, and what it read is what the format's own reader reads.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import safetensors as library
import zstandard

from gradwire_engine.errors import CODES, GradwireError
from gradwire_engine.spec import float32
from gradwire_service.host import safetensors
from gradwire_service.host.literals import decode
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import OpsRequest, StepsRequest, TensorBody
from gradwire_service.host.source import parse
from gradwire_service.http.codec.compression import ENCODINGS, decompress
from gradwire_service.http.codec.negotiation import NPY, SAFETENSORS
from gradwire_service.http.codec.request import parsed, read_request
from gradwire_service.http.stream import envelope

Array = np.ndarray[Any, Any]
DEPTH = 100
LIMIT = 2**20
"""Bytes that a compressed body may become, and elements of a literal may take."""


class Charged:
    """Counts what a literal asks for, and refuses more than LIMIT."""

    def charge(self, nbytes: int) -> None:
        """Ask for bytes."""
        if nbytes > LIMIT:
            raise GradwireError("memory_limit", "too many bytes", "send fewer")


def blames_the_input(refused: GradwireError) -> None:
    """The refusal can be sent, says what to do, and is no fault of the server's."""
    status = CODES[refused.code].status
    assert 400 <= status < 500 or refused.code == "memory_limit", refused.code
    assert refused.detail and refused.hint, refused.code
    (refused.detail + refused.hint).encode()
    assert len(refused.detail) < 2000, refused.detail


def check_json(body: bytes) -> None:
    """Python's reader finds the same, ints and floats apart."""
    value, arrays = read_request(None, body, depth=DEPTH)
    assert not arrays
    assert same(value, json.loads(body)), value


def same(one: Any, other: Any) -> bool:
    """Equal, and of equal types all the way down."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if type(one) is list:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def check_request(body: bytes) -> None:
    """What passes as a request of steps can be walked through, its literals read, its source."""
    value = parsed(body, DEPTH)
    if "value" in value:
        literal(read(TensorBody, value).value)
    elif "source" in value:
        source = read(OpsRequest, value).source
        if source is not None:
            statements(source)
    else:
        for step in read(StepsRequest, value).steps:
            literal(getattr(step, "value", 0))


def literal(value: object) -> None:
    """A literal that is accepted is an array of at most LIMIT bytes."""
    array = decode(value, default=float32, limits=Charged())
    assert array.nbytes <= LIMIT
    assert array.flags.c_contiguous and array.flags.aligned


def check_safetensors(body: bytes) -> None:
    """The format's own library finds the same names, shapes and bytes."""
    metadata, arrays = safetensors.read(body)
    found = dict(library.deserialize(body))
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert tuple(found[name]["shape"]) == array.shape
        assert bytes(found[name]["data"]) == array.tobytes()
    assert all(type(text) is str for text in metadata.values())


def check_npy(body: bytes) -> None:
    """NumPy's own reader finds the same."""
    array = read_request(NPY, body, lone=True)[1]["value"]
    expected = np.load(io.BytesIO(body), allow_pickle=False)
    assert array.shape == expected.shape
    assert array.dtype == expected.dtype.newbyteorder("=")
    assert array.tobytes() == expected.astype(array.dtype).tobytes()


def check_source(body: bytes) -> None:
    """Steps that JSON can carry, whose names are in order."""
    statements(body.decode("utf-8", "replace"))


def statements(text: str) -> None:
    """The same, for text."""
    for step in json.loads(json.dumps(parse(text), allow_nan=False)):
        assert step.keys() - {"kwargs", "out"} in ({"bind"}, {"op", "args"}), step
        assert "out" in step or step["op"].endswith("_"), step


def check_encoding(body: bytes) -> None:
    """The first byte says which; what comes out is what the format's library makes of it."""
    name = sorted(ENCODINGS)[body[0] % len(ENCODINGS)] if body else "gzip"
    found = bytes(decompress(body[1:], name, LIMIT))
    assert len(found) <= LIMIT
    if name == "gzip":
        expected = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(body[1:])
        assert found == expected == gzip.decompress(body[1:])
    else:
        assert found == _unzstd(body[1:])


def _unzstd(body: bytes) -> bytes:
    """In small pieces, as bodies come here: libzstd finds other faults in a whole frame."""
    reader = zstandard.ZstdDecompressor().decompressobj()
    return b"".join(reader.decompress(body[at : at + 16]) for at in range(0, len(body), 16))


def check_message(body: bytes) -> None:
    """A stream's message, text or (first byte odd) safetensors: its id, its head, its body."""
    binary = bool(body[:1]) and body[0] % 2 == 1
    try:
        found = envelope.read(body[1:], binary, DEPTH, lambda nbytes: None)
    except envelope.Unfit as unfit:
        raise unfit.problem from None
    kind = SAFETENSORS if binary else None
    request, _ = read_request(kind, found.body, depth=DEPTH)
    assert not request.keys() & {"id", "headers", "data"}
    assert all(name == name.lower() and b"\n" not in value for name, value in found.headers.items())


CHECKS: dict[str, Callable[[bytes], None]] = {
    "json": check_json,
    "request": check_request,
    "safetensors": check_safetensors,
    "npy": check_npy,
    "source": check_source,
    "encoding": check_encoding,
    "message": check_message,
}
"""The decoders, by name."""


PLANTED = "planted"
"""The name of one that fails on four bytes, which chance alone wouldn't meet: it tries fuzzers."""


def check_planted(body: bytes) -> None:
    """Fail byte by byte nearer to them, as code with a fault in its depth does."""
    if body[:1] != b"g":
        return
    if body[1:2] != b"w":
        return
    if body[2:3] == b"\xfe":
        assert body[3:4] != b"!"


def check(name: str, body: bytes) -> None:
    """Give a decoder these bytes; AssertionError, or whatever it raised, where it fails."""
    try:
        (check_planted if name == PLANTED else CHECKS[name])(body)
    except GradwireError as refused:
        blames_the_input(refused)
