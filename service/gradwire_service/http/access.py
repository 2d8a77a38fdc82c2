"""Which names a server is called by, and which pages of browsers may call it.

Where no key is asked for, a page of another site could act for whoever reads it. A browser tells
such a page by the header Origin, and by a Host that isn't the server's where the page had its own
name lead here (DNS rebinding). Origins that are allowed beside the server's own get what CORS has
to say, since without it a browser shows them nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from gradwire_engine.errors import GradwireError, error
from gradwire_service.http.answer import Answer
from gradwire_service.http.hosts import ANY, Hosts, checked_pattern, name_of

if TYPE_CHECKING:
    from gradwire_service.http.call import Call

_ORIGIN = re.compile(r"(https?)://(.+?)(:[0-9]{1,5})?")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_SHOWN = 200
_KNOWN, _LONG = 256, 512
"""Hosts that are remembered as served to programs, which send no Origin; characters of none."""
_SENT = (
    b"accept, authorization, content-encoding, content-type, gradwire-timeout, idempotency-key, "
    b"traceparent, x-request-id"
)
_SHOWN_HEADERS = (
    b"access-control-expose-headers",
    b"allow, idempotency-replayed, location, retry-after, www-authenticate, x-request-id",
)
_VARY = (b"vary", b"origin")
_SECONDS = b"600"
"""How long a browser may go by the answer to its preflight."""


class Access:
    """The check that comes before anything else, and the headers of CORS.

    hosts: patterns that are served beside loopback's names; None serves every name. origins: those
    of other sites whose pages are served. methods: what the routes take. keys: whether callers need
    one, which no page of another site has.
    """

    def __init__(
        self,
        hosts: Collection[str] | None,
        origins: Collection[str],
        methods: Collection[str],
        keys: bool,
    ) -> None:
        self._hosts = None if hosts is None else Hosts(hosts)
        self._origins = Origins(origins)
        self._own_only = not keys
        self._methods = ", ".join(sorted(methods)).encode("ascii")
        self._known: set[str | None] = set()
        self.shared = bool(origins)

    def check(self, call: Call) -> Answer | None:
        """Refuse what comes by a foreign name or from a foreign page. Raises forbidden.

        The answer is one to a browser that asks whether its page may send a request.
        """
        host = call.header(b"host")
        if host in self._known and b"origin" not in call.header_names and not call.repeats(b"host"):
            return None
        return self._looked_at(call, host, call.header(b"origin"))

    def _looked_at(self, call: Call, host: str | None, origin: str | None) -> Answer | None:
        """Check what isn't known to be served."""
        found = self._refusal(host, origin)
        if self._hosts is not None and call.repeats(b"host"):
            found = error("forbidden", "the request has several Host headers", "send one")
        if found is not None:
            raise found
        if call.scope["method"] == "OPTIONS" and self._shares(origin):
            return self._preflight(call)
        if origin is None and len(self._known) < _KNOWN and len(host or "") < _LONG:
            self._known.add(host)
        return None

    def cors(self, call: Call) -> tuple[tuple[bytes, bytes], ...]:
        """Return what lets a page of an allowed origin read the answer."""
        origin = call.header(b"origin")
        if origin is None or not self._shares(origin):
            return (_VARY,)
        allowed = (b"access-control-allow-origin", origin.encode("latin-1"))
        return (_VARY, allowed, _SHOWN_HEADERS)

    def _shares(self, origin: str | None) -> bool:
        return self.shared and origin is not None and origin.lower() in self._origins

    def _preflight(self, call: Call) -> Answer | None:
        if call.header(b"access-control-request-method") is None:
            return None
        headers = [
            (b"access-control-allow-methods", self._methods),
            (b"access-control-allow-headers", _SENT),
            (b"access-control-max-age", _SECONDS),
        ]
        if call.header(b"access-control-request-private-network") == "true":
            headers.append((b"access-control-allow-private-network", b"true"))
        return Answer(204, headers=tuple(headers))

    def _refusal(self, host: str | None, origin: str | None) -> GradwireError | None:
        """Why a request with these headers is refused, if it is."""
        if self._hosts is not None:
            name = None if host is None else name_of(host)
            if name is None or name not in self._hosts:
                return _foreign_host(host, name)
        if origin is None or not self._own_only or self._is_own(origin, host):
            return None
        if origin.lower() in self._origins:
            return None
        return error(
            "forbidden",
            f"a page of {origin[:_SHOWN]!r} sent the request, which is another site",
            "send it from a page of this server, or from a program, which sends no Origin; or "
            "allow the page's site by GRADWIRE_ALLOWED_ORIGINS",
        )

    def _is_own(self, origin: str, host: str | None) -> bool:
        """Whether a page is the server's. By any name it may be behind a proxy that speaks TLS."""
        schemes = ("http",) if self._hosts is not None else ("http", "https")
        found = _ORIGIN.fullmatch(origin.lower())
        if found is None or host is None or found[1] not in schemes:
            return False
        own = f"{found[1]}://{host.lower().removesuffix(':')}"
        return origin.lower() == own.removesuffix(_DEFAULT_PORTS[found[1]])


class Origins:
    """Origins that are allowed: each as it is, `https://*.example.com`, or `*` for all."""

    def __init__(self, patterns: Collection[str]) -> None:
        self._exact = frozenset(patterns)
        self._below = [pattern.split("*", 1) for pattern in patterns if "://*." in pattern]

    def __contains__(self, origin: str) -> bool:
        """Tell whether an origin, in small letters, is allowed."""
        if origin in self._exact or ANY in self._exact:
            return True
        return any(
            origin.startswith(scheme)
            and origin.endswith(name)
            and name_of(origin[len(scheme) :]) is not None
            for scheme, name in self._below
        )


def checked_origin(text: str) -> str:
    """Return a pattern of origins as browsers write them. Raises ValueError where it is none."""
    if text == ANY:
        return text
    found = _ORIGIN.fullmatch(text.lower())
    try:
        name = None if found is None else checked_pattern(found[2])
    except ValueError:
        name = None
    if found is None or name in (None, ANY):
        raise ValueError(
            f"{text!r} is no origin; write https://example.com, https://*.example.com, "
            "http://localhost:3000, or *, without a path"
        )
    port = found[3] or ""
    return f"{found[1]}://{name}{'' if port == _DEFAULT_PORTS[found[1]] else port}"


def _foreign_host(host: str | None, name: str | None) -> GradwireError:
    served = "by the names of this machine, localhost, 127.0.0.1 or [::1], or by one allowed here"
    if host is None:
        hint = f"send one: call the server {served}"
        return error("forbidden", "the request has no Host header", hint)
    allow = "" if name is None else f"; if {name[:_SHOWN]} leads here, set GRADWIRE_ALLOWED_HOSTS"
    return error(
        "forbidden",
        f"the request's Host is {host[:_SHOWN]!r}, which this server doesn't serve",
        f"call it {served}{allow}",
    )
