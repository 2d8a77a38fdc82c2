"""`gradwire top`: what a server does and its sessions, or a session's tensors, again and again."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console, Group
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

from gradwire_service.commands.doors import answered, client_of
from gradwire_service.quantities import size, span

_PAGE = 1000
_AROUND = 6
"""Lines of the terminal that aren't sessions."""
_LEAST = 5
_ID = 26
"""Characters of an id, which is of no use in part."""


class Look(NamedTuple):
    """What was seen at a moment (of time.monotonic): sums of metrics, and sessions."""

    at: float
    counted: Mapping[str, float]
    sessions: list[dict[str, Any]]


def top(url: str, key: str | None, every: float, once: bool, session: str | None) -> None:
    """Look and show it, every so many seconds until Ctrl-C, or once.

    session: the id or the label of one whose tensors are shown in place of all sessions.
    """
    console = Console()
    with client_of(url, key, timeout=30) as client:
        draw = _sessions_of(client) if session is None else _tensors_of(client, session)
        if once:
            console.print(draw(None))
            return
        try:
            with Live(console=console, screen=console.is_terminal, auto_refresh=False) as live:
                while True:
                    live.update(draw(max(_LEAST, console.height - _AROUND)), refresh=True)
                    time.sleep(every)
        except KeyboardInterrupt:
            return


def _sessions_of(client: httpx.Client) -> Callable[[int | None], Group]:
    """What shows a server's sessions: so many, or all."""
    before: Look | None = None

    def draw(rows: int | None) -> Group:
        nonlocal before
        now = look(client)
        found = shown(before, now, len(now.sessions) if rows is None else rows)
        before = now
        return found

    return draw


def _tensors_of(client: httpx.Client, session: str) -> Callable[[int | None], Group]:
    """What shows the tensors of a session: so many, or all."""
    key = quote(session, safe="")
    if "/" in session:  # a label that no path can say
        asked = {"label": session}
        labelled = answered(client, "GET", "/v1/sessions", params=asked).json()["items"]
        key = labelled[0]["id"] if len(labelled) == 1 else key
    url = f"/v1/sessions/{key}"

    def draw(rows: int | None) -> Group:
        about = answered(client, "GET", url).json()
        tensors = answered(client, "GET", f"{url}/tensors").json()["items"]
        return shown_tensors(about, tensors, len(tensors) if rows is None else rows)

    return draw


def look(client: httpx.Client) -> Look:
    """Ask the server for its metrics and its sessions."""
    counted: defaultdict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(answered(client, "GET", "/metrics").text):
        for sample in family.samples:
            counted[sample.name] += sample.value
            if sample.name == "gradwire_requests_total" and sample.labels["status"][0] in "45":
                counted["refused"] += sample.value
    return Look(time.monotonic(), counted, list(_sessions(client)))


def _sessions(client: httpx.Client) -> Iterator[dict[str, Any]]:
    """All that the key may see, a page after the other."""
    cursor: str | None = ""
    while cursor is not None:
        asked = {"limit": str(_PAGE)} | ({"cursor": cursor} if cursor else {})
        page = answered(client, "GET", "/v1/sessions", params=asked).json()
        yield from page["items"]
        cursor = page["next"]


def shown(before: Look | None, now: Look, rows: int) -> Group:
    """The server in a line, then the sessions that were used last."""
    key = Column("session", no_wrap=True, min_width=_ID)
    table = Table(key, "label", "device", "tensors", "idle", "expires in", "", box=None)
    recent = sorted(now.sessions, key=lambda one: str(one["last_use"]), reverse=True)
    for one in recent[:rows]:
        kept = "parked" if one["parked"] else "durable" if one["durable"] else ""
        table.add_row(
            one["id"], Text(_label(one)), one["device"], str(one["tensors"]),
            span(-_from_now(one["last_use"])), span(_from_now(one["expires"])), kept,
        )  # fmt: skip
    hidden = len(recent) - rows
    more = Text(f"and {hidden} more, used before these" if hidden > 0 else "")
    return Group(Text(_line(before, now)), Text(""), table, more)


def shown_tensors(about: dict[str, Any], tensors: list[dict[str, Any]], rows: int) -> Group:
    """A session in a line, then its tensors by name, the largest first."""
    table = Table("tensor", "dtype", "shape", "size", "", box=None)
    largest = sorted(tensors, key=lambda one: (-one["bytes"], one["name"]))
    for one in largest[:rows]:
        kind = "requires grad" if one["requires_grad"] else ""
        table.add_row(
            Text(one["name"]), one["dtype"], Text(str(one["shape"])), size(one["bytes"]),
            "has a gradient" if one["has_grad"] else kind,
        )  # fmt: skip
    hidden = len(largest) - rows
    line = (
        f"{about['id']} {_label(about)}, {len(tensors)} tensors, {about['nodes']} nodes, "
        f"{size(about['bytes']['total'])} held, idle {span(-_from_now(about['last_use']))}"
    )
    more = Text(f"and {hidden} more, smaller than these" if hidden > 0 else "")
    return Group(Text(line), Text(""), table, more)


def _line(before: Look | None, now: Look) -> str:
    count = now.counted
    parts = [
        f"{count['gradwire_sessions']:.0f} sessions", f"{size(count['gradwire_bytes'])} held",
        f"{count['gradwire_requests_waiting']:.0f} requests run or wait",
    ]  # fmt: skip
    if before is None:
        return ", ".join([*parts, f"{count['gradwire_requests_total']:.0f} answered so far"])
    seconds = now.at - before.at
    for name, what in (("gradwire_requests_total", "answers"), ("refused", "refusals")):
        parts.append(f"{(count[name] - before.counted[name]) / seconds:.1f} {what} a second")
    return ", ".join(parts)


def _label(about: dict[str, Any]) -> str:
    """A session's label in one line: other characters of it could steer the terminal."""
    return "".join(c if c.isprintable() else "�" for c in about["label"] or "")


def _from_now(text: str) -> float:
    return (datetime.fromisoformat(text) - datetime.now(UTC)).total_seconds()
