"""gzip and zstd bodies: honest ones whole, bombs cut off while they unfold."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gradwire_engine.errors import GradwireError
from gradwire_service.http.codec.compression import ENCODINGS, compress, decompress

MEGABYTE = 2**20


def packed(body: bytes, encoding: str) -> bytes:
    return b"".join(compress([body], encoding))


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(pieces=st.lists(st.binary()), spare=st.integers(0, 100))
def test_round_trip(encoding: str, pieces: list[bytes], spare: int) -> None:
    body = b"".join(pieces)
    stream = b"".join(compress([memoryview(piece) for piece in pieces], encoding))
    assert decompress(stream, encoding, len(body) + spare) == body
    assert decompress(memoryview(stream), encoding.upper(), len(body) + spare) == body


def test_others_read_what_we_write() -> None:
    body = bytes(range(256)) * 100
    assert gzip.decompress(packed(body, "gzip")) == body
    assert zstandard.ZstdDecompressor().stream_reader(packed(body, "zstd")).read() == body


@pytest.mark.parametrize("level", [1, 9])
def test_we_read_what_others_write(level: int) -> None:
    body = bytes(range(256)) * 100_000
    assert decompress(gzip.compress(body, level), "gzip", len(body)) == body
    sized = zstandard.ZstdCompressor(level=level).compress(body)
    assert decompress(sized, "zstd", len(body)) == body
    file = io.BytesIO()
    with gzip.GzipFile("name.json", "wb", level, file) as named:
        named.write(body)
    assert decompress(file.getvalue(), "gzip", len(body)) == body


@pytest.mark.parametrize("encoding", [None, "", "identity", "Identity", " , identity"])
def test_no_encoding_is_no_work(encoding: str | None) -> None:
    body = b"as it is"
    assert decompress(body, encoding, 1) is body


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_bomb_is_cut_off(encoding: str) -> None:
    body = packed(bytes(400 * MEGABYTE), encoding)
    tracemalloc.start()
    with pytest.raises(GradwireError) as caught:
        decompress(body, encoding, 4 * MEGABYTE)
    assert tracemalloc.get_traced_memory()[1] < 12 * MEGABYTE
    tracemalloc.stop()
    assert caught.value.code == "payload_too_large"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_limit_is_exact(encoding: str) -> None:
    body = bytes(range(250)) * 40
    stream = packed(body, encoding)
    assert decompress(stream, encoding, 10_000) == body
    with pytest.raises(GradwireError) as caught:
        decompress(stream, encoding, 9_999)
    assert caught.value.code == "payload_too_large"


def huge_window() -> bytes:
    """A frame that asks its reader for 64 MiB of window."""
    settings = zstandard.ZstdCompressionParameters(window_log=26)
    writer = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    return writer.compress(bytes(1000)) + writer.flush()


BODY = bytes(range(256)) * 10
BAD = [
    (b"", "gzip", "invalid_body"),
    (b"", "zstd", "invalid_body"),
    (b'{"steps": []}', "gzip", "invalid_body"),
    (b'{"steps": []}', "zstd", "invalid_body"),
    (zlib.compress(BODY), "gzip", "invalid_body"),
    (packed(BODY, "zstd"), "gzip", "invalid_body"),
    (packed(BODY, "gzip"), "zstd", "invalid_body"),
    (packed(BODY, "gzip")[:-1], "gzip", "invalid_body"),
    (packed(BODY, "zstd")[:-1], "zstd", "invalid_body"),
    (packed(BODY, "gzip") + b"\0", "gzip", "invalid_body"),
    (packed(BODY, "zstd") + b"\0", "zstd", "invalid_body"),
    (packed(BODY, "gzip") * 2, "gzip", "invalid_body"),
    (packed(BODY, "zstd") * 2, "zstd", "invalid_body"),
    (packed(BODY, "gzip") + bytes(MEGABYTE), "gzip", "invalid_body"),
    (packed(BODY, "gzip")[:-5] + b"\0\0\0\0\0", "gzip", "invalid_body"),
    (huge_window(), "zstd", "invalid_body"),
    (BODY, "br", "unsupported_media_type"),
    (BODY, "deflate", "unsupported_media_type"),
    (BODY, "x-gzip", "unsupported_media_type"),
    (BODY, "gzip, zstd", "unsupported_media_type"),
    (BODY, "gzip,gzip", "unsupported_media_type"),
    (BODY, "a" * 1000, "unsupported_media_type"),
]


@pytest.mark.parametrize(("body", "encoding", "code"), BAD, ids=lambda value: repr(value)[-30:])
def test_broken_bodies(body: bytes, encoding: str, code: str) -> None:
    with pytest.raises(GradwireError) as caught:
        decompress(body, encoding, MEGABYTE)
    assert caught.value.code == code
    assert len(caught.value.detail) < 300


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(data=st.data())
def test_any_bytes_end_in_an_error_or_a_body(encoding: str, data: st.DataObject) -> None:
    body = bytearray(packed(data.draw(st.binary()), encoding))
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = len(decompress(body, encoding, 1000))
    except GradwireError as problem:
        found = 0 if problem.code in ("invalid_body", "payload_too_large") else 9999
    assert found <= 1000
