"""What a server without keys lets in: names of this machine, and no page of another site."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from tests.service.conftest import TLS
from tests.service.heads import Server, started
from tests.service.test_cli import serving

import gradwire
from gradwire_service.http.stream.stream import PATH as STREAM
from gradwire_service.http.table import routes

EVIL = "http://evil.example"
PREFLIGHT = "Access-Control-Request-Method: POST"


@pytest.fixture(scope="module")
def local() -> Iterator[Server]:
    """A server as it is without any setting: on loopback, without keys."""
    with serving("--port", 0, "--log", "none") as (_, url):
        made = started(url)
        leaf = {"value": [1.0], "requires_grad": True}
        httpx.put(f"{url}/v1/sessions/{made.session}/tensors/x", json=leaf).raise_for_status()
        yield made


LOOPBACK = [
    "localhost", "localhost:8000", "LocalHost", "localhost.", "localhost.:8000", "localhost:",
    "127.0.0.1", "127.0.0.1:1", "127.8.9.10", "[::1]", "[::1]:8000", "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]:80", "app.localhost", "a.b.localhost:3000",
]  # fmt: skip
FOREIGN = [
    "evil.example", "evil.example:8000", "localhost.evil.example", "localhostevil", "notlocalhost",
    "127.0.0.1.evil.example", "192.168.1.7", "0.0.0.0", "[::]", "[fe80::1]", "[::ffff:10.0.0.1]",
    "::1", "[::1", "[::1]]", "[::1%25lo]", "localhost:80:80", "localhost:x", "localhost:123456",
    "localhost@evil.example", "evil.example@localhost", "user:word@localhost", "localhost/",
    "localhost,evil.example", "localhost evil.example", "http://localhost", "lo\u0441alhost", "",
    ".", "localhost..", "*", "x" * 3000, "null",
]  # fmt: skip


@pytest.mark.parametrize("host", LOOPBACK)
def test_names_of_loopback_are_served(local: Server, host: str) -> None:
    assert local.both(f"Host: {host}") == (200, 101)


@pytest.mark.parametrize("host", FOREIGN)
def test_other_names_are_refused(local: Server, host: str) -> None:
    for reply in (local.ask(f"Host: {host}"), local.upgrade(f"Host: {host}")):
        assert (reply.status, reply.code) == (403, "forbidden")
        assert len(reply.body) < 1500


def test_a_refusal_says_what_came_and_what_to_do(local: Server) -> None:
    found = json.loads(local.ask("Host: gpu.lab:8000").body)
    assert "'gpu.lab:8000'" in found["detail"]
    assert "127.0.0.1" in found["hint"]
    assert "gpu.lab leads here, set GRADWIRE_ALLOWED_HOSTS" in found["hint"]
    found = json.loads(local.ask("Host: localhost", f"Origin: {EVIL}").body)
    assert f"'{EVIL}'" in found["detail"]
    assert "GRADWIRE_ALLOWED_ORIGINS" in found["hint"]


def test_no_host_and_several(local: Server) -> None:
    for version in ("1.0", "1.1"):
        assert local.ask(version=version).code == "forbidden"
    for pair in (("localhost", "evil.example"), ("evil.example", "localhost"), ("localhost",) * 2):
        headers = [f"Host: {host}" for host in pair]
        assert local.ask(*headers).code == "forbidden"
        assert local.upgrade(*headers).status in (400, 403)
    assert local.ask("Host: localhost", version="1.0").status == 200


def test_an_absolute_target_stands_for_the_host(local: Server) -> None:
    """RFC 9112, 3.2.2: the header doesn't count there."""
    elsewhere, here = f"{EVIL}/v1/sessions", "http://localhost:7/v1/sessions?limit=1"
    assert local.ask("Host: localhost", target=elsewhere).code == "forbidden"
    assert local.ask("Host: evil.example", target=here).status == 200
    assert local.ask(target=here).status == 200
    for odd in ("http://localhost@evil.example/", "http://evil.example?@localhost", "http:///x"):
        assert local.ask("Host: localhost", target=odd).status in (400, 403)
    stream = f"/v1/sessions/{local.session}/stream"
    assert local.upgrade("Host: localhost", target=EVIL + stream).code == "forbidden"


OWN = [
    ("localhost:8000", "http://localhost:8000"), ("localhost", "http://localhost"),
    ("localhost:80", "http://localhost"), ("LOCALHOST:8000", "http://localhost:8000"),
    ("[::1]:8000", "http://[::1]:8000"), ("127.0.0.1:9", "http://127.0.0.1:9"),
    ("localhost.:8000", "http://localhost.:8000"),
]  # fmt: skip
OTHERS = [
    EVIL, "https://localhost:8000", "http://localhost:8001", "http://localhost", "null", "",
    "http://127.0.0.1:8000", "http://localhost:8000.evil.example", "localhost:8000",
    "http://evil.example/localhost:8000", "http://localhost:8000/", "file://", "HTTP://",
    "chrome-extension://abcdef", "http://localhost:8000@evil.example", "*",
]  # fmt: skip


@pytest.mark.parametrize(("host", "origin"), OWN)
def test_the_servers_own_pages_are_served(local: Server, host: str, origin: str) -> None:
    assert local.both(f"Host: {host}", f"Origin: {origin}") == (200, 101)


@pytest.mark.parametrize("origin", OTHERS)
def test_pages_of_other_sites_are_refused(local: Server, origin: str) -> None:
    headers = ("Host: localhost:8000", f"Origin: {origin}")
    for reply in (local.ask(*headers), local.upgrade(*headers)):
        assert (reply.status, reply.code) == (403, "forbidden")
        assert not [name for name in reply.headers if name.startswith("access-control")]


def state(server: Server) -> list[object]:
    """All that a page could have changed: sessions, tensors, programs, but for times of use."""
    with httpx.Client(base_url=server.url, verify=TLS) as client:
        listed = client.get("/v1/sessions").json()["items"]
        names = [client.get(f"/v1/sessions/{one['id']}/tensors").json() for one in listed]
        kept = [{k: one[k] for k in ("id", "label", "ttl_seconds", "tensors")} for one in listed]
        return [kept, names, client.get("/v1/programs").json()]


TABLE = [(route.method, route.path) for route in routes()] + [("WS", STREAM)]


@pytest.mark.parametrize(
    ("host", "origin"),
    [("evil.example", EVIL), ("evil.example", None), ("localhost", EVIL), ("localhost", "null")],
    ids=["rebound", "rebound get", "foreign", "sandboxed"],
)
@pytest.mark.parametrize(("method", "path"), TABLE)
def test_a_foreign_page_reaches_no_route(
    local: Server, method: str, path: str, host: str, origin: str | None
) -> None:
    """As a browser sends it whose page had its own name lead here, or calls by ours."""
    before = state(local)
    assert before[0]
    assert "stolen" not in str(before)
    target = path.format(id=local.session, name="x", code="internal")
    heads = [f"Host: {host}:{local.port}"]
    if origin is not None:
        heads.append(f"Origin: {origin}{f':{local.port}' * (origin != 'null')}")
    if method == "WS":
        replies = [local.upgrade(*heads, target=target)]
    else:
        body = b'{"label": "stolen", "value": [9.0], "steps": []}' if method != "GET" else b""
        media = ([], ["Content-Type: text/plain"], ["Content-Type: application/json"])
        replies = [
            local.ask(*heads, *more, method=method, target=target, body=body) for more in media
        ]
    for reply in replies:
        assert (reply.status, reply.code) == (403, "forbidden")
    assert state(local) == before


def test_every_route_is_tried() -> None:
    """The table is the service's own, and has more than a few."""
    assert len(TABLE) > 40
    assert ("POST", "/v1/sessions") in TABLE
    assert ("GET", "/") in TABLE


def test_a_refused_body_is_not_waited_for(local: Server) -> None:
    head = ("Host: evil.example", "Content-Type: application/json", "Content-Length: 100000000")
    reply = local.ask(*head, method="POST")
    assert reply.code == "forbidden"
    assert reply.headers["connection"] == "close"


def test_refusals_are_counted_and_the_server_goes_on(local: Server) -> None:
    def counted() -> float:
        text = httpx.get(f"{local.url}/metrics").text
        (line,) = [x for x in text.splitlines() if x.startswith('gradwire_errors_total{code="forb')]
        return float(line.split()[1])

    before = counted()
    for number in range(600):  # more hosts than are remembered
        assert local.ask(f"Host: {number}.evil.example").status == 403
    assert counted() == before + 600
    assert local.ask("Host: localhost").status == 200


def test_the_sdk_says_how_to_allow_a_name(local: Server) -> None:
    """127.1 leads here, and is no name of the machine: an error with the way out."""
    gradwire.connect(f"http://127.1:{local.port}")
    try:
        with pytest.raises(PermissionError, match="GRADWIRE_ALLOWED_HOSTS"):
            gradwire.ones(2).tolist()
    finally:
        gradwire.connect()


def test_options_without_a_preflight_are_as_ever() -> None:
    with serving("--port", 0, "--log", "none") as (_, url):
        local = started(url)
        reply = local.ask("Host: localhost", method="OPTIONS")
        assert (reply.status, reply.code) == (405, "method_not_allowed")
        own = ("Host: localhost", "Origin: http://localhost", PREFLIGHT)
        assert local.ask(*own, method="OPTIONS").status == 405
