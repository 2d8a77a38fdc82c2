"""The page that a browser sees at the server's address, and what others get there."""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser

import httpx
import pytest
from tests.service.conftest import Running, running

from gradwire_service.version import VERSION

BROWSERS = [
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "text/html, application/xhtml+xml, image/jxr, */*",
    "text/html",
    "text/*",
    "application/json;q=0.5, text/html",
]
OTHERS = [
    None,
    "*/*",
    "application/json",
    "application/json, text/html",
    "text/html;q=0.5, application/json",
    "text/html;q=0, */*",
    "text/html;q=x, */*",
]
LABELS = [
    "<script>alert(1)</script>",
    "</table></body><iframe src=//evil.example>",
    "\"' onmouseover=alert(1) x='",
    "<img src=x onerror=alert(1)>",
    "&lt;b&gt; &amp; <b>",
    "]]> <!-- <svg/onload=alert(1)>",
    "{label} {0} %s %(x)s",
    "\u202egpj.exe\u2066",
    "nul \x00 bell \x07 line\nnext",
    "\ufffe \U0001f600 ünï",
    "x" * 200,
]


class Page(HTMLParser):
    """What a browser makes of a page: its elements with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}

    @property
    def links(self) -> list[str]:
        return [str(found["href"]) for tag, found in self.elements if tag == "a"]


def opened(server: Running, **headers: str) -> httpx.Response:
    """What a browser gets."""
    return server.client.get("/", headers={"accept": BROWSERS[0], **headers})


@pytest.mark.parametrize("accept", BROWSERS)
def test_a_browser_gets_a_page(server: Running, accept: str) -> None:
    reply = server.client.get("/", headers={"accept": accept})
    assert (reply.status_code, reply.headers["vary"]) == (200, "accept")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    page = Page(reply.text)
    assert f"gradwire {VERSION}" in page.text
    assert "Autograd as a service" in page.text
    assert {"/docs", "/openapi.json"} <= set(page.links)


@pytest.mark.parametrize("accept", OTHERS)
def test_others_get_json(server: Running, accept: str | None) -> None:
    request = server.client.build_request("GET", "/", headers={"accept": accept or "*/*"})
    if accept is None:
        del request.headers["accept"]
    reply = server.client.send(request)
    assert (reply.status_code, reply.headers["vary"]) == (200, "accept")
    assert reply.headers["content-type"] == "application/json"
    assert reply.json()["version"] == VERSION


def test_who_takes_neither_is_told_so(server: Running) -> None:
    reply = server.client.get("/", headers={"accept": "image/png"})
    assert (reply.status_code, reply.json()["code"]) == (406, "not_acceptable")


def test_a_head_is_that_of_the_page(server: Running) -> None:
    reply = server.client.head("/", headers={"accept": BROWSERS[0]})
    assert (reply.status_code, reply.content) == (200, b"")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert int(reply.headers["content-length"]) > 1000


@pytest.mark.parametrize("path", ["/", "/docs", "/errors", "/errors/forbidden"])
def test_a_page_runs_nothing_and_needs_nothing_from_elsewhere(server: Running, path: str) -> None:
    reply = server.client.get(path, headers={"accept": BROWSERS[0]})
    rules = dict(
        rule.split(" ", 1) for rule in reply.headers["content-security-policy"].split("; ")
    )
    assert rules["default-src"] == rules["frame-ancestors"] == rules["form-action"] == "'none'"
    (style,) = re.findall("<style>(.*?)</style>", reply.text, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert rules["style-src"] == f"'sha256-{digest}'"
    assert "script-src" not in rules
    assert reply.headers["x-content-type-options"] == "nosniff"
    page = Page(reply.text)
    assert not page.tags & {"script", "img", "link", "iframe", "form", "object", "base"}
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert all(link[0] in "/#" and not link.startswith("//") for link in page.links)


def test_every_link_leads_somewhere(server: Running) -> None:
    own = server.session(label="linked")
    own.steps(
        {"tensor": "x", "value": [1, 2], "requires_grad": True},
        {"op": "sin", "args": ["x"], "out": "y"},
    )
    page = Page(opened(server).text)
    graphs = [link for link in page.links if "/graph?" in link and own.id in link]
    for link in page.links:
        if "/graph?" not in link or link in graphs:  # other tests' graphs may be too large to draw
            assert server.client.get(link).status_code == 200, link
    assert server.client.get(graphs[0]).headers["content-type"] == "image/svg+xml"


def test_sessions_are_listed_those_used_last_first(serve: Callable[..., Running]) -> None:
    server = serve()
    assert "There is none yet." in Page(opened(server).text).text
    made = [server.session(label=f"run {number}") for number in range(3)]
    server.session()  # without a label
    made[0].steps({"tensor": "x", "value": [1.0]}, {"tensor": "y", "value": [1.0]})
    page = Page(opened(server).text)
    listed = [link.split("/")[3] for link in page.links if link.endswith("/graph?format=svg")]
    assert len(listed) == 4
    assert listed[0] == made[0].id
    assert re.search(rf"run 0{made[0].id}2\d+ s ago", page.text)
    assert "4, those used last first" in page.text


def test_many_sessions_are_cut_off_with_a_link(serve: Callable[..., Running]) -> None:
    server = serve()
    for _ in range(53):
        server.session()
    page = Page(opened(server).text)
    assert len([link for link in page.links if "/graph?" in link]) == 50
    assert "And 3 more" in page.text


@pytest.mark.parametrize("label", LABELS)
def test_a_label_stays_text(serve: Callable[..., Running], label: str) -> None:
    server = serve()
    server.session(label="plain")
    tags = Page(opened(server).text).tags
    server.session(label=label)
    found = opened(server)
    page = Page(found.text)
    assert page.tags == tags
    assert label in page.text


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("localhost:1234", "http://localhost:1234/v1"),
        ("gpu.lab", "http://gpu.lab/v1"),
        ("[::1]:8000", "http://[::1]:8000/v1"),
        ("'; rm -rf ~; '", "http://localhost:8000/v1"),
        ("<b>x</b>", "http://localhost:8000/v1"),
        ("x" * 4000, "http://localhost:8000/v1"),
    ],
)
def test_the_call_that_is_shown_goes_to_where_the_browser_is(
    server: Running, host: str, shown: str
) -> None:
    page = Page(opened(server, host=host).text)
    assert f"curl -s {shown}/value_and_grad" in page.text
    assert host in page.text or shown.startswith("http://localhost:8000")
    assert "rm -rf" not in page.text


def test_the_call_that_is_shown_works(server: Running) -> None:
    """As the shell and curl read it, but for the program that sends it."""
    text = Page(opened(server).text).text
    command = text[text.index("curl -s") : text.index("Or from Python")]
    curl, _, url, header, media, data, body = shlex.split(command.replace("\\\n", ""))
    assert (curl, header, data, url) == ("curl", "-H", "-d", f"{server.url}/v1/value_and_grad")
    name, _, value = media.partition(": ")
    reply = server.client.post(url, content=body, headers={name: value})
    assert reply.json()["grads"]["x"]["data"] == [2.0, 4.0, 6.0]
    assert json.loads(body)["inputs"] == {"x": [1, 2, 3]}


def test_with_keys_the_page_says_so_and_nothing_of_what_runs() -> None:
    key = {"authorization": f"Bearer {'k' * 20}"}
    with running(keys=[f"alice:{'k' * 20}"]) as server:
        made = server.client.post("/v1/sessions", json={"label": "secret run"}, headers=key)
        for headers in ({}, key):
            page = Page(opened(server, **headers).text)
            assert "Authorization: Bearer KEY" in page.text
            assert "asks for a key" in page.text
            for told in ("secret run", made.json()["id"], "alice", "k" * 20, "Sessions"):
                assert told not in page.text
            assert "-H 'Authorization: Bearer KEY'" in page.text
            assert page.links == ["/docs", "/openapi.json", "/errors", "/health/ready"]
            for link in page.links:
                assert server.client.get(link).status_code == 200


def test_the_icon(server: Running) -> None:
    reply = server.client.get("/favicon.ico")
    assert (reply.status_code, reply.headers["content-type"]) == (200, "image/svg+xml")
    assert reply.text.startswith("<svg ")
