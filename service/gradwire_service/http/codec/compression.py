"""Content-Encoding: gzip and zstd, both ways, never far past a limit of decompressed bytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import zstandard

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.safetensors import Buffer

_GZIP = 16 + zlib.MAX_WBITS
_WINDOW = 2**23  # bytes; what RFC 9659 lets a zstd sender ask of a reader
_LARGEST, _SMALLEST = 2**16, 16  # bytes of compressed input taken at once
_AT_ONCE = 2**24  # bytes that these may become


class _Reader(Protocol):
    """What zlib's and zstandard's objects for one stream have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: memoryview, /) -> bytes: ...


class _Writer(Protocol):
    def compress(self, data: Buffer, /) -> bytes: ...
    def flush(self) -> bytes: ...


class _Encoding(NamedTuple):
    """How to read and write one encoding, and the most bytes that one byte of it can stand for."""

    reader: Callable[[], _Reader]
    writer: Callable[[], _Writer]
    broken: type[Exception]
    densest: int


# Level 1: floating-point numbers hardly compress, so what counts is not to be slow.
ENCODINGS: dict[str, _Encoding] = {
    "zstd": _Encoding(
        lambda: zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj(),
        lambda: zstandard.ZstdCompressor(level=1).compressobj(),
        zstandard.ZstdError,
        2**15,  # a block of 4 bytes repeats one byte 128 Ki times
    ),
    "gzip": _Encoding(
        lambda: zlib.decompressobj(_GZIP),
        lambda: zlib.compressobj(1, wbits=_GZIP),
        zlib.error,
        1032,  # deflate's bound: two bits for a match of 258 bytes
    ),
}


def decompress(
    body: Buffer, encoding: str | None, limit: int, lend: Callable[[int], None] = lambda _: None
) -> Buffer:
    """The body without its Content-Encoding, at most `limit` bytes of it.

    lend: is told of bytes as they come, and may refuse them.

    Raises payload_too_large as soon as the limit is passed, invalid_body where the data is broken,
    ends early or goes on behind its end, unsupported_media_type for other encodings.
    """
    names = [name.strip().lower() for name in (encoding or "").split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if not names:
        return body
    if len(names) > 1 or names[0] not in ENCODINGS:
        raise error(
            "unsupported_media_type",
            f"the body has Content-Encoding {(encoding or '')[:100]}",
            f"use one of {', '.join(ENCODINGS)}, once, or none",
        )
    return _inflate(body, names[0], limit, lend)


def _inflate(body: Buffer, name: str, limit: int, lend: Callable[[int], None]) -> bytearray:
    """Decompress piece by piece, each so small that what it can become fits what is left."""
    make, _, broken, densest = ENCODINGS[name]
    reader, view, position, out = make(), memoryview(body), 0, bytearray()
    while position < len(view) and not reader.eof:
        room = min(limit - len(out), _AT_ONCE)
        step = min(max(room // densest, _SMALLEST), _LARGEST)
        try:
            piece = reader.decompress(view[position : position + step])
        except broken as problem:
            raise _invalid(name, str(problem)) from None
        position += step
        lend(len(piece))
        out += piece
        if len(out) > limit:
            raise error(
                "payload_too_large",
                f"the body decompresses from {name} to more than {limit} bytes",
                "send less in one request; /v1/info says the limit, which counts decompressed "
                "bytes",
            )
    if not reader.eof:
        raise _invalid(name, "it ends early")
    if reader.unused_data or position < len(view):
        raise _invalid(name, "more bytes follow its end")
    return out


def _invalid(name: str, problem: str) -> GradwireError:
    return error(
        "invalid_body",
        f"the body is not {name}, as its Content-Encoding says: {problem}",
        "send one complete stream, or leave the header out",
    )


def compress(buffers: Iterable[Buffer], encoding: str) -> list[bytes]:
    """The buffers as one compressed stream; `encoding` is one of ENCODINGS."""
    writer = ENCODINGS[encoding].writer()
    pieces = [writer.compress(buffer) for buffer in buffers]
    return [piece for piece in (*pieces, writer.flush()) if piece]
