"""The server around the sessions: limits of bodies, headers, health, metrics, error pages, keys."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Callable, Iterator

import pytest
from tests.service.conftest import Running, running, until
from tests.service.test_bad_requests import assert_problem

from gradwire_engine.errors import CODES
from gradwire_service.host.limits import Limits
from gradwire_service.http.explanations import EXPLANATIONS
from gradwire_service.http.log import Log


def exchange(server: Running, *parts: bytes, shut: bool = False) -> bytes:
    """Send bytes as they are; what comes back until the server closes or falls silent."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        for part in parts:
            connection.sendall(part)
        if shut:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while piece := connection.recv(65536):
            received += piece
            if b"\r\n\r\n" in received and received.endswith(b"}"):
                break
        return received


def post(length: int | None, path: str = "/v1/sessions", **headers: str) -> bytes:
    """The head of a request."""
    lines = [f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json"]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.fixture(scope="module")
def small() -> Iterator[Running]:
    """A server that takes bodies of 1000 bytes and waits half a second for them."""
    with running(Limits(body_bytes=1000, body_seconds=0.5)) as found:
        yield found


def assert_refused(received: bytes, status: int, code: str) -> None:
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d" % status), received
    assert json.loads(body)["code"] == code


def test_a_body_that_says_it_is_too_large_is_not_read(small: Running) -> None:
    received = exchange(small, post(10**12))
    assert_refused(received, 413, "payload_too_large")
    assert b"connection: close" in received
    assert b"1000000000000 bytes" in received
    received = exchange(small, post(10**12, Expect="100-continue"))
    assert_refused(received, 413, "payload_too_large")


def test_a_body_that_turns_out_too_large_is_not_read_on(small: Running) -> None:
    chunk = b"3e8\r\n" + b" " * 1000 + b"\r\n"
    received = exchange(small, post(None, Transfer_Encoding="chunked"), chunk, chunk)
    assert_refused(received, 413, "payload_too_large")


def test_a_body_of_just_the_limit(small: Running) -> None:
    body = b"{}" + b" " * 998
    assert exchange(small, post(1000), body).startswith(b"HTTP/1.1 201")
    assert_refused(exchange(small, post(1001), body + b" "), 413, "payload_too_large")
    chunks = b"1f4\r\n" + body[:500] + b"\r\n" + b"1f4\r\n" + body[500:] + b"\r\n0\r\n\r\n"
    received = exchange(small, post(None, Transfer_Encoding="chunked"), chunks)
    assert received.startswith(b"HTTP/1.1 201")


def test_what_a_compressed_body_becomes_counts(small: Running) -> None:
    import gzip

    body = gzip.compress(b"{}" + b" " * 100_000)
    assert len(body) < 1000
    received = exchange(small, post(len(body), Content_Encoding="gzip"), body)
    assert_refused(received, 413, "payload_too_large")


def test_a_body_that_stops_halfway(small: Running) -> None:
    received = exchange(small, post(100), b'{"label": "a')
    assert_refused(received, 408, "request_timeout")
    assert b"connection: close" in received
    before = len(small.service.host.sessions())
    assert exchange(small, post(100), b'{"label": "a', shut=True) == b""
    assert len(small.service.host.sessions()) == before
    assert small.client.get("/health/ready").status_code == 200


def test_a_body_in_pieces(small: Running) -> None:
    text = b'{"label": "pieces"}'
    received = exchange(small, post(len(text)), *[bytes([c]) for c in text])
    assert received.startswith(b"HTTP/1.1 201")
    assert b'"label":"pieces"' in received


def test_request_ids_are_taken_over_or_made(server: Running) -> None:
    reply = server.client.get("/v1/info", headers={"x-request-id": "mine-1.2:3"})
    assert reply.headers["x-request-id"] == "mine-1.2:3"
    made = [server.client.get("/v1/info").headers["x-request-id"] for _ in range(2)]
    assert made[0] != made[1]
    assert all(m.startswith("r_") for m in made)
    for odd in ("a" * 129, "a b", 'a"b', "<a>"):
        reply = server.client.get("/nope", headers={"x-request-id": odd})
        assert reply.headers["x-request-id"].startswith("r_")
        assert_problem(reply)


def test_health(server: Running) -> None:
    assert server.client.get("/health/live").json() == {"status": "live"}
    assert server.client.get("/health/ready").json() == {"status": "ready"}


def test_head_and_options(server: Running) -> None:
    reply = server.client.head("/v1/info")
    assert (reply.status_code, reply.content) == (200, b"")
    assert int(reply.headers["content-length"]) > 100
    reply = server.client.options("/v1/sessions")
    assert reply.status_code == 405
    assert reply.headers["allow"] == "GET, POST"


def test_info_has_every_limit(server: Running) -> None:
    info = server.client.get("/v1/info").json()
    assert info["limits"] == Limits().model_dump()
    assert info["devices"][0] == "cpu"
    assert "meta" not in info["devices"]
    assert len(info["dtypes"]) == 12
    assert info["ops"] == len(server.client.get("/v1/ops").json()["items"])


def test_the_catalogue(server: Running) -> None:
    found = server.client.get("/v1/ops/sum").json()
    assert found["name"] == "sum"
    names = [p["name"] for p in found["signatures"][0]["parameters"]]
    assert names == ["input", "dim", "keepdim", "dtype"]
    assert found["signatures"][0]["parameters"][1] == {
        "name": "dim", "type": "dims", "optional": True, "keyword_only": False,
        "required": False, "default": None,
    }  # fmt: skip
    for item in server.client.get("/v1/ops").json()["items"]:
        assert item["doc"], item["name"]
        assert server.client.get(f"/v1/ops/{item['name']}").json() == item


@pytest.mark.parametrize(
    ("path", "detail", "hint"),
    [
        ("/v1/sessions?limt=3", "?limt is no parameter of this call", "did you mean ?limit?"),
        ("/v1/sessions?x=3", "?x is no parameter of this call", "it takes ?limit, ?cursor, ?label"),
        ("/v1/info?x", "?x is no parameter of this call", "it takes none"),
    ],
)
def test_unknown_parameters_are_named(server: Running, path: str, detail: str, hint: str) -> None:
    found = server.client.get(path).json()
    assert (found["code"], found["detail"], found["hint"]) == ("invalid_request", detail, hint)


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/metrics", "/docs", "/errors"])
def test_pages_and_probes_take_what_is_appended(server: Running, path: str) -> None:
    assert server.client.get(f"{path}?at=5").status_code == 200


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_a_page(server: Running, code: str) -> None:
    reply = server.client.get(f"/errors/{code}")
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    for part in (CODES[code].title, "Cause", "Example", "Way out"):
        assert part in reply.text
    said = EXPLANATIONS[code]
    assert min(map(len, said)) >= 10
    assert f'href="/errors/{code}"' in server.client.get("/errors").text


def test_there_are_no_other_pages() -> None:
    assert EXPLANATIONS.keys() == CODES.keys()


def test_a_failure_of_our_own_says_nothing_of_the_inside(
    serve: Callable[..., Running], tmp_path
) -> None:
    with (tmp_path / "log").open("w") as stream:
        server = serve()
        server.service.log = Log("json", stream)
        session = server.session()
        session.steps({"tensor": "x", "value": [123456789.0]})

        def broken(*_: object) -> None:
            secret = [987654321.0]
            raise RuntimeError(f"a fault in {__file__}" if secret else "")

        server.service.host.run = broken  # type: ignore[method-assign]
        reply = session.post("/steps", {"steps": [{"tensor": "y", "value": [123456789.0]}]})
        assert (reply.status_code, reply.json()["code"]) == (500, "internal")
        assert_problem(reply)
        # A request is logged when its reply has left.
        until(lambda: '"status":500' in (tmp_path / "log").read_text())
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    failure = next(line for line in lines if line["event"] == "failure")
    assert failure["request_id"] == reply.json()["request_id"]
    assert "a fault in" in failure["exception"]
    text = json.dumps(lines)
    assert "987654321" not in text  # no local variables,
    assert "123456789" not in text  # and never data
    last = [line for line in lines if line["event"] == "request" and line["status"] == 500][-1]
    assert last["session"] == session.id
    assert last["request_id"] == reply.json()["request_id"]
    assert last["ms"] > 0


def test_text_logs(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with (tmp_path / "log").open("w") as stream, running() as server:
        server.service.log = Log("text", stream)
        server.client.get("/v1/info")
        until(lambda: "route=/v1/info" in (tmp_path / "log").read_text())


def test_keys(serve: Callable[..., Running]) -> None:
    one, two = "one-key-of-the-tests", "two-key-of-the-tests"
    server = serve(keys=[one, two])
    for headers in ({}, {"authorization": "Bearer three"}, {"authorization": f"Basic {one}"}):
        reply = server.client.post("/v1/sessions", json={}, headers=headers)
        assert reply.json()["code"] == "unauthorized"
        assert reply.headers["www-authenticate"] == "Bearer"
        assert_problem(reply)
    for key in (one, two):
        headers = {"authorization": f"Bearer {key}"}
        assert server.client.post("/v1/sessions", json={}, headers=headers).status_code == 201
    assert server.client.get("/health/ready").status_code == 200
    assert server.client.get("/errors/unauthorized").status_code == 200


def test_nothing_is_taken_while_shutting_down(serve: Callable[..., Running]) -> None:
    server = serve()
    server.service.draining = True
    reply = server.client.post("/v1/sessions", json={})
    assert (reply.status_code, reply.json()["code"]) == (503, "shutting_down")
    assert int(reply.headers["retry-after"]) > 0
    assert server.client.get("/health/ready").status_code == 503
    assert server.client.get("/health/live").status_code == 200
    server.service.draining = False


def test_the_root_leads_on(server: Running) -> None:
    found = server.client.get("/").json()
    assert found["service"] == "gradwire"
    for path in found["links"].values():
        assert server.client.get(path).status_code == 200, path


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_the_log_is_text_on_a_terminal_and_json_elsewhere(stream: io.StringIO) -> None:
    Log("auto", stream).failure("r_1", "/v1/ops", ValueError("no"))
    line = stream.getvalue().splitlines()[0]
    assert line.startswith("{") is not stream.isatty()
    assert "r_1" in line
