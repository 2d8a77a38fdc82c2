"""Content-Type, Accept and Accept-Encoding."""

from __future__ import annotations

import pytest

from gradwire_engine.errors import GradwireError
from gradwire_service.http.codec.negotiation import JSON, NPY, SAFETENSORS, encoding, sent, wanted
from gradwire_service.http.codec.reply import write_reply
from gradwire_service.http.codec.request import read_request


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, JSON),
        ("application/json", JSON),
        ("application/json; charset=utf-8", JSON),
        ('Application/JSON ; Charset="UTF-8"', JSON),
        ("application/x-safetensors", SAFETENSORS),
        ("application/x-npy", NPY),
        ("application/json; charset=latin-1", None),
        ("application/x-www-form-urlencoded", None),
        ("multipart/form-data; boundary=x", None),
        ("application/octet-stream", None),
        ("application/problem+json", None),
        ("text/plain", None),
        ("json", None),
        ("*/*", None),
        ("", None),
        (";", None),
    ],
)
def test_content_type(header: str | None, expected: str | None) -> None:
    if expected is not None:
        assert sent(header) == expected
        return
    with pytest.raises(GradwireError) as caught:
        sent(header)
    assert caught.value.code == "unsupported_media_type"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        ("application/json", JSON),
        ("application/x-safetensors", SAFETENSORS),
        ("APPLICATION/X-SAFETENSORS", SAFETENSORS),
        ("application/x-safetensors, application/json", SAFETENSORS),
        ("application/json, application/x-safetensors", JSON),
        ("*/*, application/x-safetensors", SAFETENSORS),
        ("application/json;q=0.5, application/x-safetensors;q=0.9", SAFETENSORS),
        ("application/json; q=0, */*; q=0.1", SAFETENSORS),
        ("text/html,application/xhtml+xml,*/*;q=0.8", JSON),
        ("application/x-npy", NPY),
        ("text/html", None),
        ("image/*", None),
        ("application/json;q=0", None),
        ("application/json;q=nan", None),
        ("application/json;q=x", None),
        ("json", None),
        (",", None),
        (";;;===,,,", None),
    ],
)
def test_accept(header: str | None, expected: str | None) -> None:
    if expected is not None:
        assert wanted(header) == expected
        return
    with pytest.raises(GradwireError) as caught:
        wanted(header)
    assert caught.value.code == "not_acceptable"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("", None),
        ("identity", None),
        ("gzip", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("zstd;q=0.5, gzip;q=0.8", "gzip"),
        ("gzip;q=0", None),
        ("br", None),
        ("GZIP", "gzip"),
        ("gzip;q=nan", None),
    ],
)
def test_accept_encoding(header: str | None, expected: str | None) -> None:
    assert encoding(header) == expected


@pytest.mark.parametrize("reply", [{"values": {}}, None, []])
def test_npy_is_for_one_tensor(reply: object) -> None:
    with pytest.raises(GradwireError) as caught:
        write_reply(reply, NPY)
    assert caught.value.code == "not_acceptable"


def test_an_npy_body_is_for_one_tensor() -> None:
    with pytest.raises(GradwireError) as caught:
        read_request(NPY, b"")
    assert caught.value.code == "unsupported_media_type"
