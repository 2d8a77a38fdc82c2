"""The page that a browser sees at the server's address."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from heapq import nlargest
from html import escape
from typing import TYPE_CHECKING, Any

from gradwire_service.host.sessions import Session, timestamp
from gradwire_service.http.everywhere import wants_key
from gradwire_service.http.hosts import name_of
from gradwire_service.http.html import framed
from gradwire_service.quantities import span

if TYPE_CHECKING:
    from gradwire_service.host.host import Host

_ROWS = 50
"""Sessions that the page has, those used last; the others are in the list that it links to."""
_LONGEST_HOST = 255
_LOCKED = (
    "<p>This server asks for a key: requests send the header "
    "<code>Authorization: Bearer KEY</code>. What runs is shown to who has one, by "
    "<code>gradwire top</code>.</p>"
)
_CURL = """\
curl -s {url}/v1/value_and_grad{key} \\
  -H 'Content-Type: application/json' -d '{{
  "program": {{"inputs": ["x"], "source": "y = x ** 2\\nz = y.sum()", "outputs": ["z"]}},
  "inputs": {{"x": [1, 2, 3]}}}}'"""
_PYTHON = """\
import gradwire as torch

torch.connect("{url}"{key})"""


def home(
    welcome: Mapping[str, Any], summaries: Mapping[str, str], asked: str | None, host: Host | None
) -> str:
    """Return the page.

    welcome: what everybody is told. summaries: what a path gives, by path. asked: the header Host.
    host: whose sessions are shown; None where callers need a key, and nothing of what runs is told
    to who has none.
    """
    paths = [path for path in welcome["links"].values() if host is not None or not wants_key(path)]
    return framed(
        welcome["service"],
        f"<h1>{escape(welcome['service'])} <small>{escape(welcome['version'])}</small></h1>\n"
        f"<p>{escape(welcome['about'])}</p>\n"
        f"{_LOCKED if host is None else _open(host)}\n"
        f"{_calls(_url(asked), host is None)}\n"
        f"{_links({path: summaries[path] for path in paths})}",
    )


def _open(host: Host) -> str:
    """The sessions that are there, those used last first."""
    sessions = host.sessions()
    if not sessions:
        return "<h2>Sessions</h2>\n<p>There is none yet.</p>"
    recent = nlargest(_ROWS, sessions, key=lambda session: session.last_use)
    hidden = len(sessions) - len(recent)
    more = f'<p><a href="/v1/sessions">And {hidden:,} more</a>, used before these.</p>'
    return (
        f"<h2>Sessions</h2>\n<p>{len(sessions):,}, those used last first:</p>\n"
        f"{_table(recent)}{more * (hidden > 0)}"
    )


def _table(sessions: Sequence[Session]) -> str:
    now = time.time()
    rows = "\n".join(_row(session, now) for session in sessions)
    head = '<th>Label<th class="wide">Session<th>Tensors<th>Last use<th>'
    return f"<table>\n<thead><tr>{head}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n"


def _row(session: Session, now: float) -> str:
    """A row of the table; a label may hold anything, also text from right to left."""
    label = "" if session.label is None else f"<bdi>{escape(session.label)}</bdi>"
    key = escape(session.id)
    path, used = f"/v1/sessions/{key}", timestamp(session.last_use)
    return (
        f'<tr><td class="text">{label}<td class="wide"><a href="{path}"><code>{key}</code></a>'
        f'<td class="number">{session.brief()["tensors"]:,}'
        f'<td><time datetime="{used}">{span(now - session.last_use)} ago</time>'
        f'<td><a href="{path}/graph?format=svg">graph</a>'
    )


def _calls(url: str, keys: bool) -> str:
    curl = _CURL.format(url=url, key=" \\\n  -H 'Authorization: Bearer KEY'" * keys)
    python = _PYTHON.format(url=url, key=', key="KEY"' * keys)
    return (
        f"<h2>A gradient in one call</h2>\n<pre>{escape(curl)}</pre>\n"
        f"<p>Or from Python, with torch's names:</p>\n<pre>{escape(python)}</pre>"
    )


def _links(summaries: Mapping[str, str]) -> str:
    rows = "\n".join(
        f'<li><a href="{escape(path)}"><code>{escape(path)}</code></a> {escape(said)}</li>'
        for path, said in summaries.items()
    )
    return f"<h2>Read on</h2>\n<ul>\n{rows}\n</ul>"


def _url(asked: str | None) -> str:
    """The address by which the browser came, as far as it is one."""
    fits = asked is not None and len(asked) <= _LONGEST_HOST and name_of(asked) is not None
    return f"http://{asked}" if fits else "http://localhost:8000"
