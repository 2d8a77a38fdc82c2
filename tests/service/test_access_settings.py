"""Which names and sites settings let in, and what a browser is told of the latter (CORS)."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from tests.service.heads import started
from tests.service.test_access import EVIL, PREFLIGHT
from tests.service.test_cli import run, serving

from gradwire_service.http.table import routes
from gradwire_service.settings import Settings

KEY = "a-key-that-is-long-enough"


def test_allowed_hosts() -> None:
    given = "Gpu.lab, *.example.com,[fd00::7]"
    with serving("--port", 0, "--log", "none", "--allowed-hosts", given) as (_, url):
        server = started(url)
        for host in ("gpu.lab", "GPU.LAB:8000", "a.example.com", "a.b.example.com:1", "[fd00::7]"):
            assert server.both(f"Host: {host}") == (200, 101)
            own = f"Origin: http://{host.lower()}"
            assert server.both(f"Host: {host}", own) == (200, 101)
            assert server.both(f"Host: {host}", f"Origin: {EVIL}") == (403, 403)
        for host in (
            "example.com",
            "badexample.com",
            "gpu.lab.evil.example",
            "x.gpu.lab",
            "[fd00::8]",
        ):
            assert server.both(f"Host: {host}") == (403, 403)
        assert server.both("Host: localhost") == (200, 101)


def test_any_host_is_allowed_by_a_star() -> None:
    with serving("--port", 0, "--log", "none", GRADWIRE_ALLOWED_HOSTS="*") as (_, url):
        server = started(url)
        for host in ("evil.example", "x" * 300, "odd host", ""):
            assert server.ask(f"Host: {host}").status == 200
        assert server.ask(version="1.0").status == 200
        assert server.both("Host: pub.example", "Origin: https://pub.example") == (200, 101)
        assert server.both("Host: pub.example", f"Origin: {EVIL}") == (403, 403)


def test_a_page_of_an_allowed_origin_can_use_the_server() -> None:
    given = "https://app.example.com,http://localhost:3000, https://*.lab.example:8443"
    with serving("--port", 0, "--log", "none", "--allowed-origins", given) as (_, url):
        server = started(url)
        for origin in (
            "https://app.example.com", "http://localhost:3000", "https://a.b.lab.example:8443",
        ):  # fmt: skip
            page = ("Host: localhost", f"Origin: {origin}")
            asked = (*page, PREFLIGHT, "Access-Control-Request-Headers: content-type")
            for target in ("/v1/sessions", "/nowhere"):
                reply = server.ask(*asked, method="OPTIONS", target=target)
                assert (reply.status, reply.body) == (204, b"")
                assert reply.headers["access-control-allow-origin"] == origin
                allowed = reply.headers["access-control-allow-methods"].split(", ")
                assert allowed == sorted({route.method for route in routes()})
                headers = reply.headers["access-control-allow-headers"].split(", ")
                assert {"content-type", "authorization", "idempotency-key"} <= set(headers)
                assert int(reply.headers["access-control-max-age"]) > 0
                assert "access-control-allow-private-network" not in reply.headers
            private = "Access-Control-Request-Private-Network: true"
            reply = server.ask(*asked, private, method="OPTIONS")
            assert reply.headers["access-control-allow-private-network"] == "true"
            made = server.ask(*page, "Content-Type: application/json", method="POST", body=b"{}")
            assert made.status == 201
            assert made.headers["access-control-allow-origin"] == origin
            assert "location" in made.headers["access-control-expose-headers"]
            assert "access-control-allow-credentials" not in made.headers
            failed = server.ask(*page, target="/v1/sessions/s_none")
            assert (failed.status, failed.code) == (404, "session_not_found")
            assert failed.headers["access-control-allow-origin"] == origin
            assert server.upgrade(*page).status == 101
        for origin in (
            EVIL, "http://app.example.com", "https://lab.example:8443", "https://a.lab.example",
            "https://evil.example/.lab.example:8443", "null",
        ):  # fmt: skip
            page = ("Host: localhost", f"Origin: {origin}")
            assert server.both(*page) == (403, 403)
            reply = server.ask(*page, PREFLIGHT, method="OPTIONS")
            assert (reply.status, reply.code) == (403, "forbidden")
            assert "access-control-allow-origin" not in reply.headers
        plain = server.ask("Host: localhost")
        assert (plain.status, plain.headers["vary"]) == (200, "origin")
        assert "access-control-allow-origin" not in plain.headers
        assert server.ask("Host: evil.example", "Origin: https://app.example.com").status == 403


def test_any_origin_is_allowed_by_a_star() -> None:
    with serving("--port", 0, "--log", "none", GRADWIRE_ALLOWED_ORIGINS="*") as (_, url):
        server = started(url)
        for origin in (EVIL, "null"):
            page = ("Host: localhost", f"Origin: {origin}")
            assert server.both(*page) == (200, 101)
            assert server.ask(*page).headers["access-control-allow-origin"] == origin
        assert server.both("Host: evil.example", f"Origin: {EVIL}") == (403, 403)


@pytest.mark.parametrize("where", ["127.0.0.1", "0.0.0.0"])
def test_with_keys_any_name_leads_here(where: str) -> None:
    """No page of another site has the key, and proxies call the server by names of their own."""
    key = f"Authorization: Bearer {KEY}"
    more = {"GRADWIRE_KEYS": KEY, "GRADWIRE_ALLOWED_ORIGINS": "https://app.example.com"}
    with serving("--host", where, "--port", 0, "--log", "none", **more) as (_, url):
        url = url.replace("0.0.0.0", "127.0.0.1")
        server = started(url, authorization=f"Bearer {KEY}")
        for headers in (["Host: pub.example"], ["Host: pub.example", f"Origin: {EVIL}"]):
            assert server.both(*headers, key) == (200, 101)
            assert server.both(*headers) == (401, 401)
            assert "access-control-allow-origin" not in server.ask(*headers, key).headers
        page = ("Host: pub.example", "Origin: https://app.example.com")
        assert server.ask(*page, PREFLIGHT, method="OPTIONS").status == 204
        for headers, status in ((page, 401), ((*page, key), 200)):
            reply = server.ask(*headers)
            allowed = reply.headers["access-control-allow-origin"]
            assert (reply.status, allowed) == (status, "https://app.example.com")


def test_names_are_checked_with_keys_where_a_setting_says_so() -> None:
    more = {"GRADWIRE_KEYS": KEY, "GRADWIRE_ALLOWED_HOSTS": "pub.example"}
    with serving("--host", "0.0.0.0", "--port", 0, "--log", "none", **more) as (_, url):
        server = started(url.replace("0.0.0.0", "127.0.0.1"), authorization=f"Bearer {KEY}")
        key = f"Authorization: Bearer {KEY}"
        assert server.both("Host: pub.example", key, f"Origin: {EVIL}") == (200, 101)
        assert server.both("Host: other.example", key) == (403, 403)


def test_without_keys_elsewhere_names_are_the_networks_affair() -> None:
    with serving("--host", "0.0.0.0", "--port", 0, "--log", "none", "--insecure") as (_, url):
        server = started(url.replace("0.0.0.0", "127.0.0.1"))
        assert server.both("Host: gradwire:8000") == (200, 101)
        for scheme in ("http", "https"):  # a proxy may speak TLS
            own = f"Origin: {scheme}://gradwire.lab"
            assert server.both("Host: gradwire.lab", own) == (200, 101)
        assert server.both("Host: gradwire.lab", f"Origin: {EVIL}") == (403, 403)


def test_a_unix_socket_takes_any_name(tmp_path: Path) -> None:
    path = tmp_path / "gradwire.sock"
    with (
        serving("--uds", path, "--log", "none"),
        httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client,
    ):
        assert client.get("http://pub.example/v1/sessions").status_code == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("allowed_hosts", "http://example.com"),
        ("allowed_hosts", "example.com:8000"),
        ("allowed_hosts", "a.*.example.com"),
        ("allowed_hosts", "ok.example,exa mple"),
        ("allowed_origins", "example.com"),
        ("allowed_origins", "https://example.com/"),
        ("allowed_origins", "https://*"),
        ("allowed_origins", "ftp://example.com"),
        ("allowed_origins", "null"),
    ],
)
def test_a_wrong_name_is_refused_at_the_start(name: str, value: str) -> None:
    refused = run("serve", "--port", 0, f"--{name.replace('_', '-')}", value)
    assert refused.returncode == 1
    assert f"setting {name}" in refused.stderr
    assert "write " in refused.stderr
    assert "Traceback" not in refused.stderr


def test_settings_are_brought_into_the_form_that_browsers_send() -> None:
    found = Settings(
        allowed_hosts="A.example.,*.B.example", allowed_origins="HTTPS://A.example:443"
    )
    assert found.allowed_hosts == ("a.example", "*.b.example")
    assert found.allowed_origins == ("https://a.example",)
