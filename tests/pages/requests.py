"""HTTP blocks: a request, and after it the reply it gets.

A request is a line `METHOD path`, header lines, an empty line and a body; a reply is a status,
header lines, an empty line and a body. `{id}` in a path is the id of
what was made last under the same collection, as `/v1/sessions`.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import httpx
from tests.pages.shown import matches, same_text

_REQUEST = re.compile(r"(GET|HEAD|POST|PUT|PATCH|DELETE) (\S+)$")


class Message(NamedTuple):
    """A request or a reply, taken apart."""

    first: str
    headers: dict[str, str]
    body: str


def message(text: str) -> Message:
    """Take a block apart."""
    head, _, body = text.partition("\n\n")
    first, *lines = head.strip().splitlines()
    headers = dict(line.split(": ", 1) for line in lines)
    return Message(first, headers, body.strip())


def is_request(text: str) -> bool:
    """Whether a block is a request rather than a reply."""
    return _REQUEST.match(message(text).first) is not None


class Http:
    """A client that remembers the last id of each collection."""

    def __init__(self, url: str) -> None:
        self.client = httpx.Client(base_url=url, timeout=60)
        self.ids: dict[str, str] = {}

    def send(self, text: str) -> httpx.Response:
        """Send a request block."""
        asked = message(text)
        found = _REQUEST.match(asked.first)
        assert found, f"not a request: {asked.first}"
        headers = {"Content-Type": "application/json"} if asked.body else {}
        collection = "/".join(found[2].split("/")[:3])
        reply = self.client.request(
            found[1], found[2].replace("{id}", self.ids.get(collection, "")),
            content=asked.body or None, headers=headers | asked.headers,
        )  # fmt: skip
        if reply.status_code == 201:
            self.ids[collection] = json.loads(reply.content)["id"]
        return reply

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


def is_reply(shown: str, got: httpx.Response) -> bool:
    """Whether a reply is what the page shows of it."""
    wanted = message(shown)
    return (
        wanted.first.split()[0] == str(got.status_code)
        and all(same_text(v, got.headers.get(k, "")) for k, v in wanted.headers.items())
        and (matches(wanted.body, got.text) if wanted.body else not got.content)
    )
