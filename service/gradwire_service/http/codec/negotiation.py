"""Which encoding a body has, and which one the caller takes: two headers, read once each."""

from __future__ import annotations

from functools import lru_cache

from gradwire_engine.errors import error
from gradwire_service.http.codec.compression import ENCODINGS

JSON = "application/json"
SAFETENSORS = "application/x-safetensors"
NPY = "application/x-npy"
OFFERED = (JSON, SAFETENSORS, NPY)


@lru_cache(maxsize=256)
def sent(content_type: str | None) -> str:
    """The media type of a request body; without a header it is JSON. Raises unsupported_media_type.

    A charset other than UTF-8 is refused: JSON has no other.
    """
    if content_type is None:
        return JSON
    media_type, parameters = _parts(content_type)
    if media_type not in OFFERED or parameters.get("charset", "utf-8") not in ("utf-8", "utf8"):
        raise error(
            "unsupported_media_type",
            f"the body has Content-Type {content_type[:100]}",
            f"send {JSON} (UTF-8) or {SAFETENSORS}; a single tensor may also be {NPY}",
        )
    return media_type


@lru_cache(maxsize=256)
def wanted(accept: str | None) -> str:
    """The media type to answer in: by quality, then the more exact, then the one named first.

    Raises not_acceptable.
    """
    items = [_parts(item) for item in (accept or "*/*").split(",")]
    rank, found = max(((_rank(offer, items), offer) for offer in OFFERED), key=lambda pair: pair[0])
    if rank[0] == 0:
        raise error(
            "not_acceptable",
            f"the reply is wanted as {(accept or '')[:100]}",
            f"accept one of {', '.join(OFFERED)}",
        )
    return found


@lru_cache(maxsize=256)
def need_taken(accept: str | None, offer: str) -> None:
    """Refuse a caller that doesn't take the only media type there is. Raises not_acceptable."""
    if _rank(offer, [_parts(item) for item in (accept or "*/*").split(",")])[0] == 0:
        raise error(
            "not_acceptable",
            f"the reply is wanted as {(accept or '')[:100]}",
            f"accept {offer}",
        )


@lru_cache(maxsize=256)
def prefers(accept: str | None, other: str) -> bool:
    """Tell whether a caller would rather have this media type than any that replies come in."""
    items = [_parts(item) for item in (accept or "*/*").split(",")]
    return _rank(other, items) > max(_rank(offer, items) for offer in OFFERED)


@lru_cache(maxsize=256)
def encoding(accept_encoding: str | None) -> str | None:
    """The Content-Encoding to answer in, None for none: zstd before gzip where both are as good."""
    best, found = 0.0, None
    for item in (accept_encoding or "").split(","):
        name, parameters = _parts(item)
        quality = _quality(parameters.get("q", "1"))
        if name in ENCODINGS and (quality > best or (quality == best > 0 and name == "zstd")):
            best, found = quality, name
    return found


def _parts(header: str) -> tuple[str, dict[str, str]]:
    media_type, *rest = header.lower().split(";")
    pairs = (item.partition("=") for item in rest)
    return media_type.strip(), {k.strip(): v.strip().strip('"') for k, _, v in pairs}


def _rank(offer: str, items: list[tuple[str, dict[str, str]]]) -> tuple[float, int, int]:
    """Quality, exactness and place of the item that decides on an offer: the most exact one."""
    matches = [
        (2 - pattern.count("*"), -place, _quality(parameters.get("q", "1")))
        for place, (pattern, parameters) in enumerate(items)
        if pattern in (offer, "*/*", offer.partition("/")[0] + "/*")
    ]
    exactness, place, quality = max(matches, default=(0, 0, 0.0))
    return quality, exactness, place


def _quality(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 <= value <= 1 else 0.0
